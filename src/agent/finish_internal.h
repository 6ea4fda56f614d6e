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
	uint32_t nr_looked; /* words, see struct pa_walk; of a walk with all registers */
	uint32_t nr_calls;  /* that were followed to find a function's begin */
	bool is_cut;        /* it asked for more of the stack than was copied */
	bool is_sp_low;     /* as in struct pa_walk, after the frame that was left last */
};

/* From the copied pages, over whose end into the next one a read may reach; or from the file that is
 * mapped there. 0, or -EFAULT. */
int finish_read(struct finish *f, uint64_t addr, void *to, size_t size);

/* As much as there is, up to n bytes, of the code that is mapped at addr: of a file, or what the process
 * has there by now, if it still lives. How many, or negative. */
long finish_read_code(struct finish *f, uint64_t addr, void *to, size_t n);
long finish_read_file(const struct finish *f, const struct mapping *m, uint64_t addr, void *to,
		      size_t n);

/* A frame in code that no table describes. */
struct finish_frame {
	uint64_t pc, sp, fp;
	bool has_fp, is_sp_low, is_exact; /* as in struct pa_walk */
};

/* The rule by which its own instructions return from there, to a return address on this stack. */
bool finish_learn(struct finish *f, const struct finish_frame *frame, pa_rule *ret_rule);
bool finish_agrees(struct finish *f, const struct finish_frame *frame, pa_rule rule);

/* Whether the word at addr is the return address of the frame: it is behind a direct call, and the function
 * that was called comes to pc with just so much on the stack. That is a rule for all stacks. */
bool finish_is_from_call(struct finish *f, const struct finish_frame *frame, uint64_t addr,
			 pa_rule *ret_rule);
void finish_keep_rule(struct finish *f, uint64_t pc, pa_rule rule);

/* The caller of a frame whose code does not show how it returns: by a rule, or, where that is
 * PA_RULE_WORD_NONE, at pc, with that sp. Its fp is not known then. */
struct finish_caller {
	pa_rule rule;
	uint64_t pc, sp;
};
bool finish_scan(struct finish *f, const struct finish_frame *frame,
		 struct finish_caller *ret_caller);

/* From a frame at a return address to its caller; false: there is none, and why. */
bool finish_step(struct finish *f, struct finish_frame *frame, uint32_t *ret_stop);
bool finish_is_code(struct finish *f, uint64_t addr);

/* Where the CFA is by a rule. */
bool finish_cfa(struct finish *f, const struct finish_frame *frame, pa_rule rule,
		uint64_t *ret_cfa);

/* Whether a call is before pc; of a direct one its target, else 0. */
bool finish_call_before(struct finish *f, uint64_t pc, uint64_t *ret_target);

/* Whether the code at pc, where a walk has found no caller, cannot return to one. */
bool finish_is_end(struct unwinder *u, const struct process *p, uint64_t time_ns, uint64_t pc);

/* Where the code at a pc comes from, and the word of its table. */
struct finish_code {
	const struct mapping *mapping;
	uint64_t addr; /* link-time, if there is a rule */
	pa_rule word;
};

/* 0, or why there is no answer, a reason of enum pa_stop. */
uint32_t finish_find(struct finish *f, uint64_t pc, struct finish_code *ret_code);

/* By the code at pc, see finish_read_code(); that at the sampled pc came with the registers. */
enum pa_record_place finish_record_at(struct finish *f, uint64_t pc);
bool finish_can_return_to(struct finish *f, uint64_t pc); /* as far as the code before it shows */
bool finish_may_skip(struct finish *f, uint64_t sp, uint64_t fp);

/* Walks again with all registers, by all that the files say. Of ret_walk only what is found. */
void finish_full(struct finish *f, struct finished_walk *ret_walk);

#endif
