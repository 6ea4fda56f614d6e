/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads /proc. The root is a parameter, so that tests can bring their own tree. Everything read
 * here is written by the kernel but influenced by the target (names, paths): it is parsed as
 * untrusted.
 *
 * Calls that a target could block forever are made by the reader (reader.h). Every call that names
 * a process or a path may therefore return -ETIMEDOUT: no answer. A process that did not answer is
 * not asked again for a while (unanswered.h), nor is a user who has kept the agent waiting for too
 * long (wait_accounts.h). Any thread.
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

/* While hurry is requested, all deadlines are short. Copied; its context must live until
 * procfs_close(). */
void procfs_set_hurry(struct procfs *p, const struct cancel *hurry);
bool procfs_is_in_a_hurry(const struct procfs *p);

/* One line of /proc/<pid>/maps. */
struct maps_entry {
	uint64_t start, end, offset;
	bool is_exec;
	uint32_t major, minor;
	uint64_t inode;
	/* Valid during the call; "" if there is none; \012 is decoded to a newline. */
	const char *path;
};

typedef int (*maps_entry_fn)(void *ctx, const struct maps_entry *e);

/* Parses text into entries, in the order of the text. Lines that do not parse are skipped and
 * counted. Modifies text. Stops when fn returns nonzero and returns that; *ret_nr_bad is set unless
 * the result is negative. */
int maps_parse(char *text, size_t len, maps_entry_fn fn, void *ctx, uint64_t *ret_nr_bad);

/* -ESRCH: no such process; -EACCES, -EPERM. An empty file (a kernel thread) has no entries. Text
 * beyond the limit of a user (text_accounts.h) is left out. *nr_bad (or NULL) grows by the number
 * of lines that do not parse. */
int procfs_maps(const struct procfs *p, pid_t pid, maps_entry_fn fn, void *ctx, uint64_t *nr_bad);

/* A thread that still has the memory of a process whose main thread has exited; usable as a PID in
 * all calls here. 0: none. */
pid_t procfs_live_thread(const struct procfs *p, pid_t pid);
/* As procfs_live_thread(), but 0 also if the main thread has not exited. The functions below that
 * read memory or open files do this themselves. */
pid_t procfs_other_thread(const struct procfs *p, pid_t pid);

/* The name of a process, from /proc/<pid>/comm. */
int procfs_comm(const struct procfs *p, pid_t pid, char ret_comm[PROC_COMM_SIZE]);

/* The path of the program that a process runs, without " (deleted)"; -ENAMETOOLONG beyond size - 1
 * bytes. */
int procfs_program(const struct procfs *p, pid_t pid, char *ret_path, size_t size);

/* Calls fn for every process (not thread); stops when fn returns nonzero and returns that. */
typedef int (*proc_pid_fn)(void *ctx, pid_t pid);
int procfs_each_pid(const struct procfs *p, proc_pid_fn fn, void *ctx);

/* Fields of /proc/<pid>/stat, parsed after the last ')', because a name may contain anything. */
struct proc_stat {
	pid_t ppid;           /* field 4 */
	uint64_t start_ticks; /* field 22: distinguishes processes with the same PID; 0: unknown */
	bool is_exiting;      /* field 9 */
};
int procfs_stat(const struct procfs *p, pid_t pid, struct proc_stat *ret_stat);
/* When the process started, on CLOCK_MONOTONIC. /proc counts USER_HZ ticks; returns the end of the
 * tick. 0: unknown. */
uint64_t proc_stat_started_ns(const struct proc_stat *st);
/* False if it started after time_ns: then it is another task than the one that had its ID. */
bool proc_stat_began_by(const struct proc_stat *st, uint64_t time_ns);
int procfs_parent(const struct procfs *p, pid_t pid, pid_t *ret_ppid);

/* Appends the contents of /proc/<pid>/<name> to `to`, at most max_bytes. */
int procfs_read(const struct procfs *p, pid_t pid, const char *name, size_t max_bytes,
		struct buf *to);

/* Fields of /proc/<pid>/status; the PID may also be a TID. */
struct proc_status {
	pid_t tgid;       /* the process of the thread; 0: unknown */
	bool is_over;     /* it has exited: a zombie, or already being removed */
	pid_t ns_pid;     /* the PID that the process itself sees: in its innermost namespace */
	uint32_t nr_pids; /* in all PID namespaces from that of this /proc down to its own */
	uid_t euid;       /* in the user namespace of the caller */
	bool is_one_user; /* real, effective and saved user ID are the same */
};

/* Parses the text. -EBADMSG: a line is missing or malformed. */
int status_parse(const char *text, size_t len, struct proc_status *ret_status);
int procfs_status(const struct procfs *p, pid_t pid, struct proc_status *ret_status);

/* Reads at most n bytes of the process's memory. Returns their number, or a negative errno. */
ssize_t procfs_read_mem(const struct procfs *p, pid_t pid, uint64_t addr, void *to, size_t n);

/* Finds the value of a type (AT_…) in the contents of /proc/<pid>/auxv. -ENOENT. */
int auxv_parse(const void *bytes, size_t n, uint64_t wanted, uint64_t *ret_value);

/* True if both processes come from the same exec, one being a fork of the other: then the addresses
 * that the kernel chose at random (their auxv) are the same. False also if that cannot be
 * determined: without address randomisation. */
bool procfs_has_same_exec(const struct procfs *p, pid_t a, pid_t b);

/* Opens the file that the process has mapped at [start, end), through map_files: a descriptor (the
 * caller's), and the attributes of the file (ret_file may be NULL). Regular files only (-ENODEV,
 * with ret_file->st filled in). -ESRCH: no such process; -ENOENT: no such mapping; -EPERM, -EACCES;
 * -EFBIG: not local, and larger than may be copied. */
int procfs_open_mapped(const struct procfs *p, pid_t pid, uint64_t start, uint64_t end,
		       struct reader_file *ret_file);

/* The current path of that file according to map_files, relative to our root, with " (deleted)" if
 * it is unlinked. 0, or a negative errno as above; -ENAMETOOLONG beyond size - 1 bytes. */
int procfs_mapped_path(const struct procfs *p, pid_t pid, uint64_t start, uint64_t end,
		       char *ret_path, size_t size);

/* Opens path inside the root of process pid, or (pid 0) in our own. Symbolic links are resolved
 * inside that root and never lead out of it (openat2 with RESOLVE_IN_ROOT; -ENOSYS if the kernel
 * lacks it). Regular files only (-ENODEV); nothing else is ever opened, because opening a device
 * can have side effects. */
int procfs_open_in_root(const struct procfs *p, pid_t pid, const char *path,
			struct reader_file *ret_file);

/* As procfs_open_in_root(), for a name that anyone may have created: the last component of the path
 * must not be a link (-ELOOP). */
int procfs_open_no_link(const struct procfs *p, pid_t pid, const char *path,
			struct reader_file *ret_file);

/* procfs_open_in_root() in two steps, so that a root can be kept. First step: an O_PATH descriptor
 * of the root (the caller's), its fstat() and its mount ID (0: unknown). */
int procfs_open_root_at(const struct procfs *p, pid_t pid, struct stat *ret_st,
			uint64_t *ret_mount);
int procfs_open_root(const struct procfs *p, pid_t pid);

/* Who is charged for what a process costs (accounts.h); -ESRCH: it has gone. No reader is
 * involved. */
int procfs_payer(const struct procfs *p, pid_t pid, uint64_t *ret_payer);

/* Charges the user of process pid for slow accesses in a root that is kept. */
void procfs_keep_root(const struct procfs *p, int root_fd, pid_t pid);

/* Second step: opens a path inside it. A root that did not answer is not asked again; our own (of
 * PID 0, or -1) is, except in the same directory. */
int procfs_open_beneath(const struct procfs *p, int root_fd, const char *path,
			struct reader_file *ret_file);

/* As procfs_open_beneath(), if everyone may read the file, or if it belongs to owner (PROC_NO_USER:
 * to no one); otherwise -EACCES, without opening it. */
#define PROC_NO_USER ((uid_t)-1)
int procfs_open_readable(const struct procfs *p, int root_fd, const char *path, uid_t owner,
			 struct reader_file *ret_file);

/* How long readers have been asleep in total. */
uint64_t procfs_slept_ns(const struct procfs *p);

/* The number of requests that were not answered, and the nr-th of them; false if it was not
 * kept. */
uint64_t procfs_nr_unanswered(const struct procfs *p);
bool procfs_unanswered(const struct procfs *p, uint32_t nr, struct unanswered_item *ret_item);

#endif
