/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "inject/thread_look.h"
#include "proc/procfs.h"

#define STAT_MAX_BYTES 4096u
#define PATH_BYTES 64

/* False: the line is missing. */
static bool read_numbers(const char *text, const char *label, int base, uint32_t *to, size_t n)
{
	const char *at = strstr(text, label);
	char *end;

	if (!at)
		return false;
	at += strlen(label);
	for (size_t i = 0; i < n; i++, at = end) {
		to[i] = (uint32_t)strtoul(at, &end, base);
		if (end == at)
			return false;
	}
	return true;
}

static bool read_set(const char *text, const char *label, uint64_t *to)
{
	const char *at = strstr(text, label);

	if (at)
		*to = strtoull(at + strlen(label), NULL, 16);
	return at;
}

static int read_rights(const struct procfs *procfs, pid_t pid, pid_t tid, struct identity *i)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(THREAD_LOOK_STATUS_BYTES + 1ull);
	uint32_t tgid;
	int r = thread_look_text(procfs, pid, tid, "status", THREAD_LOOK_STATUS_BYTES, &text);

	if (r < 0)
		return r;
	/* Every label begins a line: newlines in the thread's name, which comes first, are escaped. */
	if (!read_numbers(text.data, "\nTgid:", 10, &tgid, 1) ||
	    !read_numbers(text.data, "\nUid:", 10, i->uids, IDENTITY_NR_IDS) ||
	    !read_numbers(text.data, "\nGid:", 10, i->gids, IDENTITY_NR_IDS) ||
	    !read_set(text.data, "\nCapPrm:", &i->permitted) ||
	    !read_set(text.data, "\nCapEff:", &i->effective))
		return -EBADMSG;
	return tgid == (uint32_t)pid ? 0 : -ESRCH;
}

/* The addresses are those of the thread's own memory, and not of the process's as a whole. */
static int read_addrs(const struct procfs *procfs, pid_t pid, pid_t tid, struct identity *i)
{
	/* startcode, endcode, startstack, start_data, start_brk */
	static const int fields[IDENTITY_NR_ADDRS] = { 26, 27, 28, 45, 47 };
	_cleanup_(buf_done) struct buf text = BUF_INIT(STAT_MAX_BYTES + 1ull);
	const char *at;
	int r = thread_look_text(procfs, pid, tid, "stat", STAT_MAX_BYTES, &text), nr = 2;

	if (r < 0)
		return r;
	at = strrchr(text.data, ')');
	for (size_t f = 0; f < IDENTITY_NR_ADDRS && at; f++) {
		for (; nr < fields[f] && at; nr++)
			at = strchr(at + 1, ' ');
		i->addrs[f] = at ? strtoull(at, NULL, 10) : 0;
	}
	return at ? 0 : -EBADMSG;
}

static int read_auxv(const struct procfs *procfs, pid_t pid, pid_t tid, struct identity *i)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT(IDENTITY_AUXV_BYTES);
	char path[PATH_BYTES];
	int r;

	(void)snprintf(path, sizeof(path), "task/%d/auxv", (int)tid);
	r = procfs_read(procfs, pid, path, IDENTITY_AUXV_BYTES, &bytes);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	if (!bytes.len) /* it has no memory any more */
		return -ESRCH;
	i->auxv_bytes = (uint32_t)bytes.len;
	memcpy(i->auxv, bytes.data, bytes.len);
	return 0;
}

/* The kernel gives the files of a process that is not dumpable to root. */
static int read_owner(const struct procfs *procfs, pid_t pid, pid_t tid, struct identity *i)
{
	char path[PATH_BYTES];
	struct stat st, own;

	(void)snprintf(path, sizeof(path), "%d/task/%d/status", (int)pid, (int)tid);
	if (fstatat(procfs->fd, path, &st, 0) < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	i->is_dumpable = st.st_uid == i->uids[1] && st.st_gid == i->gids[1];
	(void)snprintf(path, sizeof(path), "%d/task/%d/ns/user", (int)pid, (int)tid);
	i->is_of_own_namespace = fstatat(procfs->fd, path, &st, 0) < 0 ||
				 fstatat(procfs->fd, "self/ns/user", &own, 0) < 0 ||
				 (st.st_ino == own.st_ino && st.st_dev == own.st_dev);
	return 0;
}

int identity_read(const struct procfs *procfs, pid_t pid, pid_t tid, struct identity *ret_identity)
{
	struct identity *i = ret_identity;
	struct proc_stat st;
	int r;

	*i = (struct identity){ 0 };
	r = procfs_stat(procfs, pid, &st);
	if (r == 0)
		i->start_ticks = st.start_ticks;
	if (r == 0)
		r = read_addrs(procfs, pid, tid, i);
	if (r == 0)
		r = read_auxv(procfs, pid, tid, i);
	if (r == 0)
		r = read_rights(procfs, pid, tid, i);
	return r < 0 ? r : read_owner(procfs, pid, tid, i);
}

int identity_read_process(const struct procfs *procfs, pid_t pid, struct identity *ret_identity)
{
	pid_t other = procfs_other_thread(procfs, pid);

	return identity_read(procfs, pid, other ? other : pid, ret_identity);
}

static bool has_same_rights(const struct identity *a, const struct identity *b)
{
	return memcmp(a->uids, b->uids, sizeof(a->uids)) == 0 &&
	       memcmp(a->gids, b->gids, sizeof(a->gids)) == 0 && a->permitted == b->permitted &&
	       a->effective == b->effective && a->is_dumpable == b->is_dumpable &&
	       a->is_of_own_namespace == b->is_of_own_namespace;
}

bool identity_has_same_memory(const struct identity *a, const struct identity *b)
{
	return memcmp(a->addrs, b->addrs, sizeof(a->addrs)) == 0 &&
	       a->auxv_bytes == b->auxv_bytes && memcmp(a->auxv, b->auxv, a->auxv_bytes) == 0;
}

bool identity_is_same(const struct identity *a, const struct identity *b)
{
	return a->start_ticks && a->start_ticks == b->start_ticks && has_same_rights(a, b) &&
	       identity_has_same_memory(a, b);
}

static bool are_equal(const uint32_t ids[IDENTITY_NR_IDS])
{
	return ids[0] == ids[1] && ids[1] == ids[2] && ids[2] == ids[3];
}

/* In another namespace of users a process may have all capabilities there, whoever it is here. */
bool identity_is_privileged(const struct identity *i)
{
	bool has_capabilities = (i->permitted | i->effective) && i->uids[1] != 0;

	return !are_equal(i->uids) || !are_equal(i->gids) || !i->is_dumpable ||
	       (has_capabilities && i->is_of_own_namespace);
}
