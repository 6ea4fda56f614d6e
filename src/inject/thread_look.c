/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/thread_look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "inject/thread_state.h"
#include "proc/procfs.h"

#define MAX_STACKS 4096
#define TEXT_BYTES 4096

static uint64_t status_number(const char *text, const char *field, int base)
{
	const char *at = strstr(text, field);

	return at ? strtoull(at + strlen(field), NULL, base) : 0;
}

int thread_look_text(const struct procfs *procfs, pid_t pid, pid_t tid, const char *name,
		     size_t max_bytes, struct buf *to)
{
	char path[64];
	int r;

	(void)snprintf(path, sizeof(path), "task/%d/%s", (int)tid, name);
	r = procfs_read(procfs, pid, path, max_bytes, to);
	if (r == -ENOENT)
		return -ESRCH;
	if (r == 0 && !to->len)
		return -ENODATA;
	return r < 0 ? r : buf_append(to, "", 1);
}

static bool is_in_fragile_syscall(const char *text)
{
	uint64_t args[6];
	char *end;
	long nr = strtol(text, &end, 10);

	if (end == text) /* "running" */
		return false;
	for (int i = 0; i < 6; i++)
		args[i] = strtoull(end, &end, 16);
	return thread_syscall_is_fragile(nr, args);
}

int thread_look_at(const struct procfs *procfs, pid_t pid, pid_t tid, struct thread_look *ret_look)
{
	_cleanup_(buf_done) struct buf status = BUF_INIT(THREAD_LOOK_STATUS_BYTES + 1ull);
	_cleanup_(buf_done) struct buf syscall = BUF_INIT(TEXT_BYTES);
	struct thread_look l = { 0 };
	const char *state;
	int r = thread_look_text(procfs, pid, tid, "status", THREAD_LOOK_STATUS_BYTES, &status);

	if (r < 0)
		return r;
	/* The first line is the thread's name; newlines in it are escaped. */
	state = strstr(status.data, "\nState:\t");
	l.state = state ? state[8] : '?';
	l.is_traced = status_number(status.data, "\nTracerPid:\t", 10) != 0;
	l.seccomp = (int)status_number(status.data, "\nSeccomp:\t", 10);
	l.caught = status_number(status.data, "\nSigCgt:\t", 16);
	if (thread_look_text(procfs, pid, tid, "syscall", TEXT_BYTES - 1, &syscall) == 0)
		l.is_fragile = is_in_fragile_syscall(syscall.data);
	*ret_look = l;
	return 0;
}

uint32_t thread_look_list(const struct procfs *procfs, pid_t pid, pid_t tids[THREAD_LOOK_MAX])
{
	_cleanup_(dirclosep) DIR *dir = NULL;
	const struct dirent *e;
	uint32_t nr = 0;
	char path[32];
	int fd;

	(void)snprintf(path, sizeof(path), "%d/task", (int)pid);
	fd = openat(procfs->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (nr < THREAD_LOOK_MAX && (e = readdir(dir)) != NULL) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid > 0)
			tids[nr++] = tid;
	}
	return nr;
}

struct stacks {
	uint32_t nr;
	struct {
		uint64_t start, end;
	} at[MAX_STACKS];
};

/* A file may have an inode number of 0 too. */
bool thread_look_has_no_file(const struct maps_entry *e)
{
	return !e->inode && !e->major && !e->minor;
}

static int note_stack(void *ctx, const struct maps_entry *e)
{
	struct stacks *to = ctx;

	if (!thread_look_has_no_file(e) || e->is_exec || to->nr == MAX_STACKS)
		return 0;
	to->at[to->nr].start = e->start;
	to->at[to->nr++].end = e->end;
	return 0;
}

bool thread_look_has_stack(const struct stacks *stacks, uint64_t sp, uint64_t n)
{
	for (uint32_t i = 0; i < stacks->nr; i++)
		if (sp > stacks->at[i].start && sp <= stacks->at[i].end)
			return sp - stacks->at[i].start >= n;
	return false;
}

struct stacks *thread_look_stacks(const struct procfs *procfs, pid_t pid)
{
	struct stacks *to = calloc(1, sizeof(*to));

	if (to && procfs_maps(procfs, pid, note_stack, to, NULL) < 0)
		to->nr = 0;
	return to;
}
