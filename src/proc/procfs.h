/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading /proc. The root is a parameter, so that tests bring their own tree. Everything read here
 * is written by the kernel but shaped by the target (names, paths): it is parsed as untrusted.
 *
 * What a target could make wait for ever is done by the reader (reader.h). All calls that name a
 * process or a path may therefore end with -ETIMEDOUT: it does not answer. A process that did not is not
 * asked again for a while (unanswered.h), nor is a user who has kept the agent waiting for too long
 * (wait_accounts.h). Any thread.
 */
#ifndef PROC_PROCFS_H
#define PROC_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "proc/reader.h"

struct unanswered;
struct unanswered_item; /* unanswered.h */
struct wait_accounts;   /* wait_accounts.h */

#define PROC_MAX_MAPS_BYTES (256u << 20)
#define PROC_COMM_SIZE 16

struct procfs {
	int fd;                        /* directory; owned */
	struct reader *reader;         /* owned */
	struct unanswered *unanswered; /* owned */
	struct wait_accounts *waits;   /* owned */
	struct text_accounts *texts;   /* owned */
};

int procfs_open(const char *root, struct procfs *ret_procfs); /* "/proc" */
void procfs_close(struct procfs *p);

/* While that is asked for, waiting is short for everybody. Copied; its context lives until procfs_close(). */
void procfs_set_hurry(struct procfs *p, const struct cancel *hurry);
bool procfs_is_in_a_hurry(const struct procfs *p);

/* One line of /proc/<pid>/maps. */
struct maps_entry {
	uint64_t start, end, offset;
	bool is_exec;
	uint32_t major, minor;
	uint64_t inode;
	/* Valid during the call; "" when there is none; \012 is a newline again. */
	const char *path;
};

typedef int (*maps_entry_fn)(void *ctx, const struct maps_entry *e);

/* Pure: text in, entries out, in the order of the text. Lines that do not parse are skipped and
 * counted. text is modified. Ends early with fn's result when that is not 0; *ret_nr_bad is set
 * unless that is negative. */
int maps_parse(char *text, size_t len, maps_entry_fn fn, void *ctx, uint64_t *ret_nr_bad);

/* -ESRCH: no such process; -EACCES / -EPERM. An empty file (a kernel thread) is no entry. What is beyond
 * the limit of a user (text_accounts.h) is left out. */
int procfs_maps(const struct procfs *p, pid_t pid, maps_entry_fn fn, void *ctx);

/* A thread that has the memory which the process's first thread, having exited, has not any more; as
 * a PID it serves for everything here. 0: there is none. */
pid_t procfs_live_thread(const struct procfs *p, pid_t pid);

/* The name of a process, as /proc/<pid>/comm has it. */
int procfs_comm(const struct procfs *p, pid_t pid, char ret_comm[PROC_COMM_SIZE]);

/* Every process (not thread) there is; ends early with fn's result when that is not 0. */
typedef int (*proc_pid_fn)(void *ctx, pid_t pid);
int procfs_each_pid(const struct procfs *p, proc_pid_fn fn, void *ctx);

/* From /proc/<pid>/stat, read behind the last ')' since a name may hold anything. */
struct proc_stat {
	pid_t ppid;           /* field 4 */
	uint64_t start_ticks; /* field 22: tells two processes of one PID apart; 0: not told */
};
int procfs_stat(const struct procfs *p, pid_t pid, struct proc_stat *ret_stat);
/* When the process began, in the clock of samples: the end of that hundredth of a second. 0: not told. */
uint64_t proc_stat_started_ns(const struct proc_stat *st);
int procfs_parent(const struct procfs *p, pid_t pid, pid_t *ret_ppid);

/* All of /proc/<pid>/<name>, at most max_bytes of it, behind what `to` holds. */
int procfs_read(const struct procfs *p, pid_t pid, const char *name, size_t max_bytes,
		struct buf *to);

/* From /proc/<pid>/status. */
struct proc_status {
	pid_t ns_pid;     /* the PID that the process itself sees: in its innermost namespace */
	uint32_t nr_pids; /* how many it has, from the namespace of this /proc down to its own */
	uid_t euid;       /* in the user namespace of who asks */
	bool is_one_user; /* the real and the saved one are the same */
};

/* Pure. -EBADMSG: a line is missing or makes no sense. */
int status_parse(const char *text, size_t len, struct proc_status *ret_status);
int procfs_status(const struct procfs *p, pid_t pid, struct proc_status *ret_status);

/* At most n bytes of the process's memory; how many, or a negative errno. */
ssize_t procfs_read_mem(const struct procfs *p, pid_t pid, uint64_t addr, void *to, size_t n);

/* Pure: the value of this type (AT_…) in what /proc/<pid>/auxv has. -ENOENT. */
int auxv_parse(const void *bytes, size_t n, uint64_t wanted, uint64_t *ret_value);

/* Whether the two have come out of the same exec, one being a fork of the other: the kernel chose
 * addresses at random for both, and the same ones (their auxv). False also where that cannot be told:
 * without randomised addresses. */
bool procfs_has_same_exec(const struct procfs *p, pid_t a, pid_t b);

/* The process's file behind [start, end), through map_files: a descriptor (the caller's), and all that
 * is known of the file (ret_file may be NULL). Regular files only (-ENODEV, with ret_file->st filled
 * in). -ESRCH: no such process; -ENOENT: no such mapping; -EPERM, -EACCES; -EFBIG: it is not local, and
 * more than may be copied. */
int procfs_open_mapped(const struct procfs *p, pid_t pid, uint64_t start, uint64_t end,
		       struct reader_file *ret_file);

/* Where map_files says that file is now, seen from our root, with " (deleted)" behind it. 0, or a
 * negative errno as above; -ENAMETOOLONG past size - 1 bytes. */
int procfs_mapped_path(const struct procfs *p, pid_t pid, uint64_t start, uint64_t end,
		       char *ret_path, size_t size);

/* Opens path inside the root of process pid, or (pid 0) in our own. Symbolic links are resolved
 * inside that root and never lead out of it (openat2 with RESOLVE_IN_ROOT; -ENOSYS where the kernel
 * lacks it). Regular files only (-ENODEV); nothing else is ever opened, not even for a moment, since
 * opening a device can do harm. */
int procfs_open_in_root(const struct procfs *p, pid_t pid, const char *path,
			struct reader_file *ret_file);

/* The same for a name that anybody may have put there: the last part of the path must not be a link,
 * wherever it leads (-ELOOP). */
int procfs_open_no_link(const struct procfs *p, pid_t pid, const char *path,
			struct reader_file *ret_file);

/* procfs_open_in_root() in two steps, so that a root can be kept: an O_PATH descriptor of it (the caller's),
 * with what fstat() says of it and the number of its mount (0: not known), … */
int procfs_open_root_at(const struct procfs *p, pid_t pid, struct stat *ret_st,
			uint64_t *ret_mount);
int procfs_open_root(const struct procfs *p, pid_t pid);

/* Process pid's user pays for what is slow in a root that is kept. */
void procfs_keep_root(const struct procfs *p, int root_fd, pid_t pid);

/* … and a path inside of it. Once a root did not answer, it is not asked again; our own (of PID 0, or -1)
 * is, but not in the same folder. */
int procfs_open_beneath(const struct procfs *p, int root_fd, const char *path,
			struct reader_file *ret_file);

/* The same, if everybody may read the file, or if it is owner's (PROC_NO_USER: nobody's); else -EACCES,
 * and it is not opened. */
#define PROC_NO_USER ((uid_t)-1)
int procfs_open_readable(const struct procfs *p, int root_fd, const char *path, uid_t owner,
			 struct reader_file *ret_file);

/* How long readers have been asleep, in all. */
uint64_t procfs_slept_ns(const struct procfs *p);

/* How many have not answered so far, and the nr-th of them; false: it is not among those kept. */
uint64_t procfs_nr_unanswered(const struct procfs *p);
bool procfs_unanswered(const struct procfs *p, uint32_t nr, struct unanswered_item *ret_item);

#endif
