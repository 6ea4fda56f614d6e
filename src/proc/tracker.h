/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who was running and what was mapped where, at any moment of the capture. Fed with events in time
 * order (the side-band) and with /proc on first sight; asked with the time of a sample.
 *
 * A PID that is reused is another process. exec replaces all mappings. There is no event for
 * munmap: a range ends when another takes it. Mappings of a forked child are the parent's until
 * one of the two changes them (shared, copied on the first change).
 */
#ifndef PROC_TRACKER_H
#define PROC_TRACKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/build_id.h"
#include "base/cleanup.h"
#include "proc/filestore.h"

struct procfs;
struct tracker;

#define TRACKER_MAX_PROCESSES (1u << 22) /* also the kernel's highest PID (PID_MAX_LIMIT) */
#define TRACKER_MAX_MAPPINGS (1u << 20)  /* of one process */
#define TRACKER_MAX_VERSIONS (1u << 16)  /* of one process: changes that took something away */

enum mapping_kind {
	MAPPING_FILE, /* also a copy of a file's code in its place, see moved_text.h */
	MAPPING_ANON, /* code made at run time: //anon, heap, stack, /dev/zero, huge pages, SysV */
	MAPPING_VDSO,
	MAPPING_OTHER,      /* [vsyscall], [uprobes] … */
	MAPPING_TRAMPOLINE, /* made at run time too: CPython's, see trampoline.h */
};

struct mapping {
	uint64_t start, end; /* run-time addresses */
	uint64_t offset;     /* in the file; 0 for all other kinds */
	uint64_t since_ns;   /* mapped at that time or before */
	enum mapping_kind kind;
	uint32_t file;    /* number in the filestore for MAPPING_FILE, in trampolines[] for
			 * MAPPING_TRAMPOLINE */
	uint32_t content; /* of the file: whatever its path, the same bytes */
	/* Of MAPPING_ANON: the file that was mapped there before, if that was seen. Its offset at an address
	 * is the address plus origin_bias, also in a part of the mapping. */
	bool has_origin;
	bool has_inode; /* it is shared memory, or has a path like that: it may be some file system's */
	uint32_t origin_file;
	uint64_t origin_bias;
	bool is_jitdump; /* by its name, jit-<number>.dump: a process maps it so that it be found */
};

/* Only executable mappings, in every call. */
struct mmap_event {
	uint64_t time_ns;
	pid_t pid;
	uint64_t start, end, offset;
	struct file_key key;
	const char *path; /* as the kernel gave it */
};

/* Both are borrowed until tracker_free(). */
int tracker_new(const struct procfs *procfs, struct filestore *files, struct tracker **ret_tracker);
struct tracker *tracker_free(struct tracker *t);
DEFINE_CLEANUP(struct tracker *, tracker_free)

/*
 * Events. Times never go back by more than the order of arrival allows; an event older than the
 * newest of its process is applied as if it had come at that time. Addresses in the upper half are
 * not the process's and are ignored. -EINVAL: not a PID, not a range; -ENOMEM; -E2BIG past a limit.
 *
 * An unknown process is looked up in /proc, and added empty when it is not there any more. A thread
 * that is not the first one may run, map and exec after the first has exited (tracker_exit): events
 * after an exit belong to the same process unless /proc shows another.
 */
int tracker_fork(struct tracker *t, uint64_t time_ns, pid_t pid, pid_t ppid);
int tracker_exec(struct tracker *t, uint64_t time_ns, pid_t pid);
int tracker_exit(struct tracker *t, uint64_t time_ns, pid_t pid);
/* Somebody else says that an exec has ended. If no event told of it (on a CPU that came back a moment
 * ago nobody listens yet), it is made good, with what /proc shows, and 1 returned. */
int tracker_exec_heard(struct tracker *t, uint64_t time_ns, pid_t pid);
int tracker_mmap(struct tracker *t, const struct mmap_event *e);

/* The build-id of what process pid has mapped at start right now. -ENOENT is normal. */
int tracker_build_id(struct tracker *t, pid_t pid, uint64_t start, const struct build_id *id);

/* Replaces what is known of pid's mappings by /proc/<pid>/maps, as of time_ns. An unknown process
 * is added (its mappings then hold from the beginning of time). An empty maps file of a known one
 * changes nothing: it is exiting, its code was still there. -ESRCH: gone. */
int tracker_scan(struct tracker *t, uint64_t time_ns, pid_t pid);

struct process;

/* The process that had this PID at that time, or NULL. One that exited has it until another gets it:
 * its other threads may live a little longer. Borrowed until the next event or forget. */
const struct process *tracker_find(const struct tracker *t, pid_t pid, uint64_t time_ns);

/* A number that no other process of this tracker has, also under a reused PID. A process keeps it
 * over exec. */
uint64_t process_id(const struct process *p);
/* A number that no other program of this tracker has: a process gets another one by exec. */
uint64_t process_program(const struct process *p, uint64_t time_ns);
/* When that program was begun by exec; 0: not known. */
uint64_t process_exec_ns(const struct process *p, uint64_t time_ns);
/* A number for the code that is mapped: a new one whenever some is taken away or replaced by other
 * code, by exec too. Only forked children share it, until one of the two changes. */
uint64_t process_image(const struct process *p, uint64_t time_ns);
/* Whether the code at addr at that time is what it was in (the last state of) such an image: it may
 * have come into place since, but replaced nothing else. False also when that is not known any more. */
bool process_has_code_of(const struct process *p, uint64_t addr, uint64_t time_ns, uint64_t image);
bool process_is_over(const struct process *p);
/* How many jitdumps the program has mapped itself: an inherited one is its parent's. */
uint32_t process_nr_jitdumps(const struct process *p, uint64_t time_ns);

/* A program that goes on in a forked child. */
struct process_origin {
	uint64_t program; /* of the parent, see process_program() */
	pid_t pid;        /* of the parent */
	uint64_t fork_ns; /* until when it was the parent's alone */
};

/* What the process went on with when it began, if that is known, and no exec has come since. */
bool process_origin(const struct process *p, uint64_t time_ns, struct process_origin *ret_origin);
pid_t process_pid(const struct process *p);
pid_t process_parent(const struct process *p); /* 0: not known */

/* What the process had mapped at that address at that time, or NULL. */
const struct mapping *process_mapping(const struct process *p, uint64_t addr, uint64_t time_ns);

/* The first mapping at that time that ends after addr, or NULL: for going through all of them. */
const struct mapping *process_mapping_from(const struct process *p, uint64_t addr,
					   uint64_t time_ns);

/* Drops processes that exited before time_ns and past mappings that ended before it: no sample
 * older than that will be asked about. */
void tracker_forget(struct tracker *t, uint64_t time_ns);

uint32_t tracker_nr_processes(const struct tracker *t); /* that exited ones are among */

/* Past states of processes dropped before tracker_forget() asked for it, over the limit. */
uint64_t tracker_nr_versions_dropped(const struct tracker *t);

#endif
