/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the kernel's walker informed (which process has which code where, and the code's tables),
 * and finishes in user space the walks that it could not finish. Belongs to the session's thread.
 */
#ifndef STACKS_UNWINDER_H
#define STACKS_UNWINDER_H

#include <stdint.h>

#include "bpf/abi.h"
#include "stacks/unwind_files.h"

struct code_recognizer;
struct procfs;
struct tracker;
struct unwinder;

/* If files.tables is NULL, nothing is published, and walks are only finished. The others are
 * borrowed. */
int unwinder_new(const struct tracker *tracker, const struct procfs *procfs,
		 const struct unwind_files_config *files, struct unwinder **ret_unwinder);
struct unwinder *unwinder_free(struct unwinder *u);
DEFINE_CLEANUP(struct unwinder *, unwinder_free)

/* For the tracker: recognizes generated code that has a table. NULL if there is none on this
 * architecture. */
const struct code_recognizer *unwinder_recognizer(void);

/* To be called when the mappings of process pid have changed; unwinder_publish() informs the
 * kernel. */
void unwinder_touch(struct unwinder *u, pid_t pid);

/* To be called when a walk that stopped in code without a table was finished: copying such stacks
 * of the process is worthwhile. */
void unwinder_followed(struct unwinder *u, pid_t pid);

/* To be called when a walk of the process stopped for that reason: the kernel gets what was
 * missing, unless that is in progress. */
void unwinder_missed(struct unwinder *u, pid_t pid, uint8_t stop);

/* Called once per turn, before walks are finished: takes what the worker has compiled. */
void unwinder_take(struct unwinder *u);
/* Called after walks are finished: submits what they needed. */
void unwinder_give(struct unwinder *u);
/* Waits until the worker has compiled something. False: it has nothing to do, or waiting was
 * cancelled (unwind_files_wait()). */
bool unwinder_wait(struct unwinder *u, uint64_t max_cpu_ns);
/* Tables are no longer needed, not even those that are being compiled. */
void unwinder_give_up(struct unwinder *u);
uint64_t unwinder_cpu_ns(const struct unwinder *u);
/* Why that file has no table, if a limit is the reason. */
enum work_end unwinder_end(const struct unwinder *u, uint32_t file);
/* Becomes readable when the worker has compiled something. */
int unwinder_fd(const struct unwinder *u);
/* True if that file's table (finished_walk.missing) is being compiled. */
bool unwinder_is_awaited(const struct unwinder *u, uint32_t file);

/* To be called when the store releases the file; false: its table is being compiled. */
bool unwinder_forget_file(struct unwinder *u, uint32_t file);
/* To be called when a stack contains code of that mapping. */
void unwinder_use(struct unwinder *u, const struct mapping *m, uint64_t time_ns);

/* Compiles the tables of everything that the processes to be published have mapped, and waits for
 * them, within a limit. */
void unwinder_compile_touched(struct unwinder *u);

/* Publishes what is new to the kernel, once per turn; returns whether there was anything. */
bool unwinder_publish(struct unwinder *u);

/* True if a walk with mappings of that generation used the code that process p had at time_ns: none
 * of its pcs (as in a record) lies where a mapping had been replaced that the walker still knew. */
bool unwinder_is_current(const struct unwinder *u, uint32_t generation, const struct process *p,
			 uint64_t time_ns, const uint64_t *pcs, uint32_t nr);

/* Requests the table of the file that contains pc (as in a record), for lack of which the kernel's
 * walk stopped. A walk in user space requests only what its copy of the stack reaches: not what
 * lies beyond a frame larger than the copy, nor on another stack. */
void unwinder_ask_at(struct unwinder *u, const struct process *p, uint64_t pc, uint64_t time_ns);

/* For a file by its number: see compiled_file. */
bool unwinder_has_own_stack(const struct unwinder *u, uint64_t file);

/* True if the program's runtime was started so that its generated code keeps frame records. */
bool unwinder_is_record_keeper(const struct unwinder *u, pid_t pid, uint64_t program);

/* True if a walk that ended at pc (as in a record) has reached the outermost frame after all: the
 * kernel's rows do not know entry points without CFI, nor Go's goexit. */
bool unwinder_is_root(struct unwinder *u, const struct process *p, uint64_t pc, uint64_t time_ns);
/* True if pc may be a return address; the code that begins a stack may return to a function's first
 * byte. */
bool unwinder_is_called(struct unwinder *u, const struct process *p, uint64_t pc, uint64_t time_ns);

/* A copied stack: pages that could be read, by address. */
struct stack_copy {
	bool must_end;      /* do not wait for tables */
	bool is_in_syscall; /* pc is after the system call instruction */
	uint8_t stop;       /* enum pa_stop: for a walk that needs more than was copied */
	struct pa_stack_regs regs;
	const struct pa_stack_page *pages[PA_STACK_MAX_PAGES]; /* borrowed */
	uint32_t nr_pages;
};

/* Walks again, with all available tables. pcs: as in a record, at most PA_MAX_USER_FRAMES. -EAGAIN:
 * the table of file ret_walk->missing is not ready, and was requested. */
struct finished_walk {
	uint64_t pcs[PA_MAX_USER_FRAMES];
	uint32_t nr;
	uint32_t missing; /* a file's number, see unwind_files.h */
	uint8_t stop;
};
int unwinder_finish(struct unwinder *u, const struct process *p, uint64_t time_ns,
		    const struct stack_copy *stack, struct finished_walk *ret_walk);

struct unwinder_stats {
	uint64_t nr_processes_refused; /* times that the kernel had no room for mappings */
	struct unwind_files_stats files;
};
struct unwinder_stats unwinder_stats(const struct unwinder *u);

#endif
