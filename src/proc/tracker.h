/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes ran and what was mapped where, at any time of the capture. Fed with events in
 * time order (the side-band) and with /proc on first sight; queried with the time of a sample.
 *
 * A reused PID is another process. exec replaces all mappings. There is no event for munmap: a
 * range ends when another one replaces it, or when many mappings are compared with /proc. A forked child shares the parent's mappings until one of
 * the two changes them (copied on the first change).
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
#define TRACKER_CHECK_MAPPINGS 1024      /* of one process: then they are compared with /proc */
#define TRACKER_MAX_VERSIONS (1u << 16)  /* of one process: changes that removed something */

enum mapping_kind {
	MAPPING_FILE, /* also a copy of a file's code in its place, see moved_text.h */
	MAPPING_ANON, /* generated code: //anon, heap, stack, /dev/zero, huge pages, SysV */
	MAPPING_VDSO,
	MAPPING_OTHER, /* [vsyscall], [uprobes] …; files whose user has too many */
	MAPPING_KNOWN, /* generated too; a struct code_recognizer knows its bytes */
};

struct mapping {
	uint64_t start, end; /* run-time addresses */
	uint64_t offset;     /* in the file; 0 for all other kinds */
	uint64_t since_ns;   /* mapped at that time or before */
	enum mapping_kind kind;
	uint32_t file; /* MAPPING_FILE: number in the filestore; MAPPING_KNOWN: the recognizer's */
	uint32_t content; /* of the file: the same bytes, whatever its path */
	/* For MAPPING_ANON: the file that was mapped there before, if known. Its offset at an
	 * address is the address plus origin_bias, also in a part of the mapping. */
	bool has_origin;
	bool has_inode; /* shared memory, or with a path like it: may belong to a file system */
	uint32_t origin_file;
	uint64_t origin_bias;
	bool is_jitdump; /* named jit-<number>.dump: a process maps it so that profilers find it */
};

/* Every call refers to executable mappings only. */
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

#define CODE_LOOK_MAX_BYTES 1024

/* Recognizes code that runtimes generate identically in every process, by its first bytes. */
struct code_recognizer {
	uint64_t size_unit; /* the size of such a mapping is a multiple of this */
	size_t look_bytes;  /* bytes examined; up to CODE_LOOK_MAX_BYTES */
	int (*find)(const uint8_t *code, size_t n); /* its number; negative: other code */
};

/* Used for mappings from now on. NULL: none; otherwise borrowed until tracker_free(). */
void tracker_set_recognizer(struct tracker *t, const struct code_recognizer *recognizer);

/*
 * Events. Times never decrease by more than the order of arrival allows; an event older than the
 * newest of its process is applied as if it had come at that time. Addresses in the upper half are
 * not the process's and are ignored. -EINVAL: not a PID, not a range; -ENOMEM; -E2BIG beyond a
 * limit.
 *
 * An unknown process is looked up in /proc, and added without mappings if it is gone. A thread
 * other than the first may run, map and exec after the first has exited (tracker_exit): events
 * after an exit belong to the same process unless /proc shows another.
 */
int tracker_fork(struct tracker *t, uint64_t time_ns, pid_t pid, pid_t ppid);
int tracker_exec(struct tracker *t, uint64_t time_ns, pid_t pid);
int tracker_exit(struct tracker *t, uint64_t time_ns, pid_t pid);
/* Reports an exec from a source other than events. If no event reported it (a CPU that just came
 * online is not watched yet), it is applied now, with what /proc shows, and 1 is returned. */
int tracker_exec_heard(struct tracker *t, uint64_t time_ns, pid_t pid);
int tracker_mmap(struct tracker *t, const struct mmap_event *e);

/* The build-id of what process pid has mapped at start at this moment. -ENOENT is normal. */
int tracker_build_id(struct tracker *t, pid_t pid, uint64_t start, const struct build_id *id);

/* Replaces the known mappings of pid by /proc/<pid>/maps, as of time_ns. An unknown process is
 * added (its mappings then apply from the beginning of time). An empty maps file of a known process
 * changes nothing: it is exiting, and its code was there until now. -ESRCH: gone. */
int tracker_scan(struct tracker *t, uint64_t time_ns, pid_t pid);

struct process;

/* The process that had this PID at that time, or NULL. A process that exited keeps it until another
 * gets it, because its other threads may live a little longer. Borrowed until the next event or
 * forget. */
const struct process *tracker_find(const struct tracker *t, pid_t pid, uint64_t time_ns);

/* A number unique to the process in this tracker, even under a reused PID. It survives exec. */
uint64_t process_id(const struct process *p);
/* A number unique to the program in this tracker: it changes with every exec. */
uint64_t process_program(const struct process *p, uint64_t time_ns);
/* When that program was started by exec; 0: unknown. */
uint64_t process_exec_ns(const struct process *p, uint64_t time_ns);
/* A number for the mapped code: it changes whenever some is removed or replaced by other code, also
 * by exec. Only forked children share it, until one of the two changes. */
uint64_t process_image(const struct process *p, uint64_t time_ns);
/* True if the code at addr at that time is what it was in (the last state of) such an image: it may
 * have been mapped since, but replaced nothing else. False also if unknown. */
bool process_has_code_of(const struct process *p, uint64_t addr, uint64_t time_ns, uint64_t image);
bool process_is_over(const struct process *p);
/* When it was forked; 0: before the capture, or unknown. */
uint64_t process_start_ns(const struct process *p);
/* When its first thread exited; UINT64_MAX: not yet. */
uint64_t process_end_ns(const struct process *p);
/* How many jitdumps the program itself has mapped: an inherited one belongs to its parent. */
uint32_t process_nr_jitdumps(const struct process *p, uint64_t time_ns);

/* A program that continues in a forked child. */
struct process_origin {
	uint64_t program; /* of the parent, see process_program() */
	pid_t pid;        /* of the parent */
	uint64_t fork_ns; /* time of the fork */
};

/* The program that the process continued when it began, if known, and if there was no exec since.
 * */
bool process_origin(const struct process *p, uint64_t time_ns, struct process_origin *ret_origin);
pid_t process_pid(const struct process *p);
pid_t process_parent(const struct process *p); /* 0: unknown */

/* The process's mapping at that address at that time, or NULL. */
const struct mapping *process_mapping(const struct process *p, uint64_t addr, uint64_t time_ns);

/* The first mapping at that time that ends after addr, or NULL: for iterating over all of them. */
const struct mapping *process_mapping_from(const struct process *p, uint64_t addr,
					   uint64_t time_ns);

/* Drops processes that exited before time_ns and mappings that ended before it: no older sample
 * will be looked up. */
void tracker_forget(struct tracker *t, uint64_t time_ns);

uint32_t tracker_nr_processes(const struct tracker *t); /* includes exited processes */
/* Of all processes, now and in past states that samples may need; one that a forked child shares counts once. */
uint32_t tracker_nr_mappings(const struct tracker *t);

struct tracker_losses {
	uint64_t nr_bad_lines; /* lines of /proc/<pid>/maps that do not parse */
	/* past states of processes beyond the limit, which samples might have needed */
	uint64_t nr_versions;
};
struct tracker_losses tracker_losses(const struct tracker *t);

#endif
