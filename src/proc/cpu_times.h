/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time as the kernel counts it: of the whole machine, a process, a thread or a cgroup. */
#ifndef PROC_CPU_TIMES_H
#define PROC_CPU_TIMES_H

#include <stdint.h>
#include <sys/types.h>

/* Sums over all CPUs since boot. */
struct cpu_times {
	uint64_t busy_ns; /* user, system and interrupts */
	uint64_t idle_ns; /* including time spent waiting for I/O */
	/* the hypervisor ran something else although this virtual machine had work */
	uint64_t steal_ns;
};

/* Parses the first line of /proc/stat, which counts in units of 1/hz seconds. -EBADMSG. */
int cpu_times_parse(const char *text, unsigned int hz, struct cpu_times *ret_times);

int cpu_times_read(const char *stat_path, struct cpu_times *ret_times); /* "/proc/stat" */

/* The differences between two readings. The kernel may correct a sum downwards, which counts as
 * 0. */
struct cpu_times cpu_times_between(const struct cpu_times *from, const struct cpu_times *to);

/* The CPU time of all threads of a process, including exited ones; also for a zombie. -ESRCH. */
int cpu_time_of_process(pid_t pid, uint64_t *ret_ns);

/* The CPU time of a thread up to the kernel's last tick, a few milliseconds ago; also for a zombie.
 * -ESRCH, also if the kernel does not report it. */
int cpu_time_of_thread(pid_t tid, uint64_t *ret_ns);

/* The CPU time of the processes in a cgroup of version 2, and below, while they were there. dir_fd:
 * its directory. -EBADMSG, or why its cpu.stat cannot be read. */
int cpu_time_of_cgroup(int dir_fd, uint64_t *ret_ns);

/* Parses cpu.stat. -EBADMSG. */
int cpu_time_parse_cgroup(const char *text, uint64_t *ret_ns);

#endif
