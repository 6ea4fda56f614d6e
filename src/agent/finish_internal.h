/* SPDX-License-Identifier: Apache-2.0 */
/* What the two ways to walk a copied stack share. */
#ifndef AGENT_FINISH_INTERNAL_H
#define AGENT_FINISH_INTERNAL_H

#include "agent/unwinder_internal.h"

struct finish {
	struct unwinder *u; /* borrowed while the walk lasts, as the next two */
	const struct process *process;
	uint64_t time_ns;
	const struct stack_copy *stack;
	bool waits; /* for the table of `missing` */
	uint32_t missing;
	bool is_cut; /* it asked for more of the stack than was copied */
};

/* From the copied pages, over whose end into the next one a read may reach; or from the file that is
 * mapped there. 0, or -EFAULT. */
int finish_read(struct finish *f, uint64_t addr, void *to, size_t size);

/* Where the code at a pc comes from, and the word of its table. */
struct finish_code {
	const struct mapping *mapping;
	uint64_t addr; /* link-time, if there is a rule */
	pa_rule word;
};

/* 0, or why there is no answer, a reason of enum pa_stop. */
uint32_t finish_find(struct finish *f, uint64_t pc, struct finish_code *ret_code);

/*
 * By the code at pc. Of a file it is at hand; of code that was made at run time for the sampled pc
 * alone, with whose registers it came. Where a signal interrupted such code, what the process has there
 * by now, if it still lives, may be another function's. The frame pointer counts there.
 */
enum pa_record_place finish_record_at(struct finish *f, uint64_t pc);
bool finish_can_return_to(struct finish *f, uint64_t pc); /* as far as the code before it shows */

/* Walks again with all registers, by all that the files say. Of ret_walk only what is found. */
void finish_full(struct finish *f, struct finished_walk *ret_walk);

#endif
