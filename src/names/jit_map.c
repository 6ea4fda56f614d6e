/* SPDX-License-Identifier: Apache-2.0 */
#include "names/jit_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/procfs.h"

/* File timestamps are coarse, and /proc has start times with a resolution of 10 ms. */
#define STALE_SLACK_NS (2 * NS_PER_S)
/* The time of an exec is exact. */
#define EXEC_SLACK_NS (100 * NS_PER_MS)

/* The user that the map must belong to, the PID in its name, and the process whose root it is in. */
struct owner {
	pid_t root_pid;
	pid_t ns_pid;
	uid_t uid;
	uint64_t start_ticks; /* 0: unknown */
};

/* A process that is gone is assumed to have had the same user and root as its parent. Its PID is
 * known only if ours is the only namespace in which it has one. */
static int owner_by_parent(const struct procfs *procfs, const struct jit_map_query *q,
			   struct owner *ret_owner)
{
	struct proc_status st;
	int r = q->ppid > 0 ? procfs_status(procfs, q->ppid, &st) : -ESRCH;

	if (r < 0 || st.nr_pids != 1)
		return -ESRCH;
	*ret_owner = (struct owner){
		.root_pid = q->ppid, .ns_pid = q->pid, .uid = st.euid, .start_ticks = q->start_ticks
	};
	return 0;
}

/* A thread that has ended has no root: finds one that still runs. 0 if there is none. */
static pid_t root_holder(const struct procfs *procfs, pid_t pid)
{
	_cleanup_(closep) int fd = procfs_open_root(procfs, pid);

	return fd == -ENOENT ? procfs_live_thread(procfs, pid) : pid;
}

static int find_owner(const struct procfs *procfs, const struct jit_map_query *q,
		      struct owner *ret_owner)
{
	struct proc_status st;
	struct proc_stat stat = { 0 };
	int r = procfs_status(procfs, q->pid, &st);
	pid_t root_pid;

	if (r == -ESRCH)
		return owner_by_parent(procfs, q, ret_owner);
	if (r < 0)
		return r;
	(void)procfs_stat(procfs, q->pid, &stat); /* if it fails, the age is not checked */
	if (q->start_ticks && stat.start_ticks && q->start_ticks != stat.start_ticks)
		return -ESRCH; /* the PID was reused: its map is another process's */
	root_pid = root_holder(procfs, q->pid);
	if (!root_pid)
		return owner_by_parent(procfs, q, ret_owner); /* a zombie */
	*ret_owner = (struct owner){ .root_pid = root_pid,
				     .ns_pid = st.ns_pid,
				     .uid = st.euid,
				     .start_ticks = stat.start_ticks };
	return 0;
}

uint64_t jit_map_written_real_ns(const struct stat *st)
{
	if (st->st_mtim.tv_sec < 0)
		return 0;
	return (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
}

/* True if the file was last written before the process, or its program, began. */
static bool is_stale(const struct stat *st, const struct owner *o, uint64_t exec_real_ns)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK), written = jit_map_written_real_ns(st), start;
	uint64_t boot_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);

	if (!written)
		return false;
	if (exec_real_ns && written + EXEC_SLACK_NS < exec_real_ns)
		return true;
	if (!o->start_ticks || o->start_ticks / hz > UINT32_MAX)
		return false;
	start = boot_ns + o->start_ticks * (NS_PER_S / hz);
	return written + STALE_SLACK_NS < start;
}

static enum jit_map judge_error(int r)
{
	switch (r) {
	case -ENOENT:
	case -ENOTDIR:
		return JIT_MAP_NONE;
	case -ESRCH:
		return JIT_MAP_GONE;
	case -ELOOP:
	case -ENODEV:
		return JIT_MAP_LINK;
	default:
		return JIT_MAP_UNREADABLE;
	}
}

enum jit_map jit_map_open(const struct procfs *procfs, const struct jit_map_query *q, int *ret_fd)
{
	_cleanup_(closep) int fd = -1;
	struct reader_file file;
	struct owner o;
	char path[64];
	int r = find_owner(procfs, q, &o);

	if (r < 0)
		return judge_error(r);
	(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)o.ns_pid);
	fd = procfs_open_no_link(procfs, o.root_pid, path, &file);
	if (fd < 0)
		return judge_error(fd);
	if (file.st.st_uid != o.uid)
		return JIT_MAP_FOREIGN;
	if (file.st.st_nlink > 1)
		return JIT_MAP_LINK; /* anyone can create a hard link with this name */
	if (is_stale(&file.st, &o, q->exec_real_ns))
		return JIT_MAP_STALE;
	*ret_fd = TAKE_FD(fd);
	return JIT_MAP_OPEN;
}
