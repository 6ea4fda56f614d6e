/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the kernel's walker informed (which process has which code where, and the code's tables),
 * and finishes in user space the walks that it could not finish. Of the session's thread.
 */
#ifndef AGENT_UNWINDER_H
#define AGENT_UNWINDER_H

#include <stdint.h>

#include "agent/unwind_files.h"
#include "bpf/abi.h"

struct procfs;
struct tracker;
struct unwinder;

/* files.tables may be NULL: nothing is published, walks are only finished. The others are borrowed. */
int unwinder_new(const struct tracker *tracker, const struct procfs *procfs,
		 const struct unwind_files_config *files, struct unwinder **ret_unwinder);
struct unwinder *unwinder_free(struct unwinder *u);
DEFINE_CLEANUP(struct unwinder *, unwinder_free)

/* Something has changed in what process pid has mapped; unwinder_publish() will tell the kernel. */
void unwinder_touch(struct unwinder *u, pid_t pid);

/* A walk of the process that stopped in code which nothing describes was finished: it is worth while to
 * have their stacks copied. */
void unwinder_followed(struct unwinder *u, pid_t pid);

/* A walk of the process stopped so: unless it is on its way, the kernel shall be told what it lacked. */
void unwinder_missed(struct unwinder *u, pid_t pid, uint8_t stop);

/* Once per turn, before walks are finished: takes what the worker has made. */
void unwinder_take(struct unwinder *u);
/* And when they are: gives it what they lacked. */
void unwinder_give(struct unwinder *u);
/* Waits until the worker has made something; false: it has nothing to do, or nobody wants to wait any
 * more (unwind_files_wait()). */
bool unwinder_wait(struct unwinder *u, uint64_t max_cpu_ns);
uint64_t unwinder_cpu_ns(const struct unwinder *u);
/* Why the file of that number has no table, if that is because of a limit. */
enum work_end unwinder_end(const struct unwinder *u, uint32_t file);
/* Becomes readable when it has. */
int unwinder_fd(const struct unwinder *u);
/* Whether that file's table (finished_walk.missing) is on its way. */
bool unwinder_is_awaited(const struct unwinder *u, uint32_t file);

/* A stack shows code of that mapping. */
/* The store gives the file back; false: its table is on its way. */
bool unwinder_forget_file(struct unwinder *u, uint32_t file);

void unwinder_use(struct unwinder *u, const struct mapping *m, uint64_t time_ns);

/* Compiles the tables of everything that the processes to be told have mapped, and waits for them,
 * unless that takes too long. */
void unwinder_compile_touched(struct unwinder *u);

/* Tells the kernel all that is new; whether anything was. Once per turn. */
bool unwinder_publish(struct unwinder *u);

/* Whether a walk with mappings of that generation went by the code that process p had at time_ns:
 * none of its pcs (as in a record) lies where a mapping had been replaced that the walker still knew. */
bool unwinder_is_current(const struct unwinder *u, uint32_t generation, const struct process *p,
			 uint64_t time_ns, const uint64_t *pcs, uint32_t nr);

/* Asks for the table of the file that holds pc (as in a record), where the kernel's walk stopped for
 * want of it. A walk in user space asks only for what its copy of the stack reaches: not for what lies
 * beyond a frame larger than the copy, nor on another stack. */
void unwinder_ask_at(struct unwinder *u, const struct process *p, uint64_t pc, uint64_t time_ns);

/* Of a file by its number: see compiled_file. */
bool unwinder_has_own_stack(const struct unwinder *u, uint64_t file);

/* Whether a program's runtime was started so that the code that it generates keeps frame records. */
bool unwinder_is_record_keeper(const struct unwinder *u, pid_t pid, uint64_t program);

/* Whether a walk that ended at pc (as in a record) has reached the outermost frame after all: the
 * kernel's rows do not know entries without call frame information, nor Go's goexit. */
bool unwinder_is_root(struct unwinder *u, const struct process *p, uint64_t pc, uint64_t time_ns);
/* Whether somebody may have called from before pc: who begins a stack may return to a function's first
 * byte. */
bool unwinder_is_called(struct unwinder *u, const struct process *p, uint64_t pc, uint64_t time_ns);

/* A copied stack: pages that could be read, by address. */
struct stack_copy {
	bool must_end;      /* without waiting for tables */
	bool is_in_syscall; /* pc is behind the instruction that made it */
	uint8_t stop;       /* enum pa_stop: of a walk that needs more than was copied */
	struct pa_stack_regs regs;
	const struct pa_stack_page *pages[PA_STACK_MAX_PAGES]; /* borrowed */
	uint32_t nr_pages;
};

/* Walks again, with every table there is. pcs: as in a record, at most PA_MAX_USER_FRAMES. -EAGAIN:
 * it needs a table that is not there, and that was asked for; ret_walk->missing says which. */
struct finished_walk {
	uint64_t pcs[PA_MAX_USER_FRAMES];
	uint32_t nr;
	uint32_t missing; /* a file's number, see unwind_files.h */
	uint8_t stop;
};
int unwinder_finish(struct unwinder *u, const struct process *p, uint64_t time_ns,
		    const struct stack_copy *stack, struct finished_walk *ret_walk);

struct unwinder_stats {
	uint64_t nr_processes_refused; /* times that the kernel had no room for one's mappings */
	struct unwind_files_stats files;
};
struct unwinder_stats unwinder_stats(const struct unwinder *u);

#endif
