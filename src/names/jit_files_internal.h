/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by jit_files.c, jit_origins.c and jit_places.c only. */
#ifndef NAMES_JIT_FILES_INTERNAL_H
#define NAMES_JIT_FILES_INTERNAL_H

#include "base/idtable.h"
#include "names/jit_files.h"

#define NO_FILE UINT32_MAX
#define NO_PROCESS UINT32_MAX
#define NO_USER UINT32_MAX

/* A range of a file that is mapped. */
struct jit_range {
	uint64_t start, end, offset;
	uint32_t file;
};

/* A process between two calls of execve(). */
struct jit_process {
	uint64_t id; /* of the program */
	struct jit_map_query query;
	pid_t ns_pid;    /* in its own namespace; 0: unknown */
	uint32_t user;   /* NO_USER: it has changed, or is unknown */
	uint32_t parent; /* what it was forked from without an exec; NO_PROCESS: unknown */
	uint64_t forked_ns;
	bool has_lost_pid; /* its PID may have been reused */
	/* When an exec replaced the program, whose map would have the same path; 0: not yet. */
	uint64_t replaced_real_ns;
	/* the runtime that generates its code, see advice.h; static; NULL: unknown */
	const char *runtime;
	enum jit_map map;
	/* while the process existed, so JIT_MAP_NONE means that there was no map */
	bool was_looked_for;
	int map_fd;          /* owned; -1: none */
	uint32_t nr_users;   /* programs that its files will resolve, itself included */
	uint32_t nr_holders; /* models with samples in its code */
	uint32_t dump_file;  /* number in the filestore; NO_FILE: no jitdump of its own */
	uint32_t nr_dumps;   /* jitdumps mapped at the last look */
	uint64_t look_again_ns, wait_ns;
	bool was_asked;           /* jit_files_get() was called for it */
	struct jit_range *ranges; /* owned; of a process that has a map or a dump */
	uint32_t nr_ranges, cap_ranges;
};

/* A range of a process that lists code. */
struct indexed_range {
	uint32_t content, root; /* see struct file */
	uint64_t offset, bytes;
	uint64_t start;
	uint32_t process;
};

struct jit_files {
	const struct procfs *procfs;   /* borrowed */
	struct filestore *files;       /* borrowed */
	const struct tracker *tracker; /* borrowed */
	unsigned int max_fds, nr_fds;
	struct jit_process *processes; /* owned */
	uint32_t nr_processes, cap_processes;
	struct idtable by_id;
	struct indexed_range *index; /* owned; filled by jit_files_list_places() */
	uint32_t nr_index, cap_index;
	struct jit_map_counts gone; /* counts of processes that were forgotten */
};

/* jit_files.c. NO_PROCESS if unknown, or out of memory. */
uint32_t jit_process_find(const struct jit_files *j, uint64_t id);
uint32_t jit_process_add(struct jit_files *j, uint64_t id, pid_t pid, pid_t ppid);
void jit_process_note_exec(struct jit_files *j, uint32_t i, const struct process *p,
			   uint64_t time_ns);
/* The jitdump; borrowed; -1: none, or it could not be opened. */
int jit_process_dump_fd(const struct jit_files *j, const struct jit_process *p);

/* jit_origins.c. Finds the programs that a process was forked from, up to the first known one. */
void jit_process_note_origins(struct jit_files *j, uint32_t i, const struct process *p,
			      uint64_t time_ns);

/* jit_places.c. Notes the files that the process has mapped. If memory is short, their code gets no
 * symbols. */
void jit_process_note_ranges(struct jit_files *j, struct jit_process *jp, const struct process *p,
			     uint64_t time_ns);
void jit_process_drop_ranges(struct jit_files *j, struct jit_process *jp);

#endif
