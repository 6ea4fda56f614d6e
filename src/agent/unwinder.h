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

struct tracker;
struct unwinder;

/* tables may be NULL: nothing is published, walks are only finished. All are borrowed. */
int unwinder_new(const struct tracker *tracker, const struct filestore *store,
		 struct tables *tables, const struct log *log, struct unwinder **ret_unwinder);
struct unwinder *unwinder_free(struct unwinder *u);
DEFINE_CLEANUP(struct unwinder *, unwinder_free)

/* Something has changed in what process pid has mapped; unwinder_publish() will tell the kernel. */
void unwinder_touch(struct unwinder *u, pid_t pid);

/* Compiles the tables of everything that a process has mapped. */
void unwinder_compile_all(struct unwinder *u, pid_t pid);

/* Tells the kernel all that is new; whether anything was. Once per turn. */
bool unwinder_publish(struct unwinder *u);

/* Whether a walk with mappings of that generation went by the code that process p had at time_ns:
 * none of its pcs (as in a record) lies where a mapping had been replaced that the walker still knew. */
bool unwinder_is_current(const struct unwinder *u, uint32_t generation, const struct process *p,
			 uint64_t time_ns, const uint64_t *pcs, uint32_t nr);

/* Whether a walk that ended at pc (as in a record) has reached the outermost frame after all: the
 * kernel's rows do not know entries without call frame information, nor Go's goexit. */
bool unwinder_is_root(struct unwinder *u, const struct process *p, uint64_t pc, uint64_t time_ns);

/* A copied stack: pages that could be read, by address. */
struct stack_copy {
	struct pa_stack_regs regs;
	const struct pa_stack_page *pages[PA_STACK_MAX_PAGES]; /* borrowed */
	uint32_t nr_pages;
};

/* Walks again, with whatever tables it takes. pcs: as in a record, at most PA_MAX_USER_FRAMES. */
struct finished_walk {
	uint64_t pcs[PA_MAX_USER_FRAMES];
	uint32_t nr;
	uint8_t stop;
};
void unwinder_finish(struct unwinder *u, const struct process *p, uint64_t time_ns,
		     const struct stack_copy *stack, struct finished_walk *ret_walk);

struct unwinder_stats {
	uint64_t nr_finished; /* walks that were made again */
	uint64_t nr_compiled; /* files */
	uint64_t nr_refused;  /* processes or tables that the kernel has no room for */
};
struct unwinder_stats unwinder_stats(const struct unwinder *u);

#endif
