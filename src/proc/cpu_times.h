/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time as the kernel counts it: of the whole machine, a process, a thread or a cgroup. */
#ifndef PROC_CPU_TIMES_H
#define PROC_CPU_TIMES_H

#include <stdint.h>
#include <sys/types.h>

/* Sums over all CPUs since boot. */
struct cpu_times {
	uint64_t busy_ns;  /* user, system and interrupts */
	uint64_t idle_ns;  /* also while waiting for I/O */
	uint64_t steal_ns; /* the host ran something else while this virtual machine had work */
};

/* Pure: the first line of /proc/stat, which counts ticks, hz of them a second. -EBADMSG. */
int cpu_times_parse(const char *text, unsigned int hz, struct cpu_times *ret_times);

int cpu_times_read(const char *stat_path, struct cpu_times *ret_times); /* "/proc/stat" */

/* From one reading to a later one. The kernel may correct a sum downwards: that counts as nothing. */
struct cpu_times cpu_times_between(const struct cpu_times *from, const struct cpu_times *to);

/* What all threads of a process have used, also those that have exited; of a zombie too. -ESRCH. */
int cpu_time_of_process(pid_t pid, uint64_t *ret_ns);

/* What a thread has used up to the kernel's last tick, a few milliseconds ago; of a zombie too. -ESRCH, also
 * where the kernel does not say. */
int cpu_time_of_thread(pid_t tid, uint64_t *ret_ns);

/* What the processes of a cgroup of version 2, and below, have used while they were there. dir_fd: its
 * directory. -EBADMSG, or why its cpu.stat cannot be read. */
int cpu_time_of_cgroup(int dir_fd, uint64_t *ret_ns);

/* Pure: the text of cpu.stat. -EBADMSG. */
int cpu_time_parse_cgroup(const char *text, uint64_t *ret_ns);

#endif
