/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the two ways to walk a copied stack. */
#ifndef STACKS_FINISH_INTERNAL_H
#define STACKS_FINISH_INTERNAL_H

#include "stacks/unwinder_internal.h"

struct finish {
	struct unwinder *u; /* borrowed during the walk, like the next two */
	const struct process *process;
	uint64_t time_ns;
	const struct stack_copy *stack;
	bool waits; /* whether to wait for the table of `missing` */
	uint32_t missing;
	uint32_t nr_looked; /* words searched, see struct pa_walk; for a walk with all registers */
	uint32_t nr_calls;  /* calls followed to find a function's start */
	bool is_past_copy;  /* it needed more of the stack than was copied */
	bool is_sp_low;     /* as in struct pa_walk, after the last frame */
};

/* Reads from the copied pages, possibly across page boundaries; or from the file mapped there. 0,
 * or -EFAULT. */
int finish_read(struct finish *f, uint64_t addr, void *to, size_t size);

/* Up to n bytes of the code mapped at addr: of a file, or what the live process has there now. The
 * number of bytes, or negative. */
long finish_read_code(struct finish *f, uint64_t addr, void *to, size_t n);
long finish_read_file(const struct finish *f, const struct mapping *m, uint64_t addr, void *to,
		      size_t n);

/* A frame in code without a table. */
struct finish_frame {
	uint64_t pc, sp, fp;
	bool has_fp, is_sp_low, is_exact; /* as in struct pa_walk */
};

/* The rule by which its own instructions return, to a return address on this stack. */
bool finish_learn(struct finish *f, const struct finish_frame *frame, pa_rule *ret_rule);
bool finish_agrees(struct finish *f, const struct finish_frame *frame, pa_rule rule);

/* True if the word at addr is the return address of the frame: it follows a direct call, and the
 * called function reaches pc with exactly that many bytes on the stack. The result holds for all
 * stacks. */
bool finish_is_from_call(struct finish *f, const struct finish_frame *frame, uint64_t addr,
			 pa_rule *ret_rule);
void finish_keep_rule(struct finish *f, uint64_t pc, pa_rule rule);

/* The caller of a frame whose code does not show how it returns: found by a rule, or, if that is
 * PA_RULE_WORD_NONE, given by pc and sp. Its fp is then unknown. */
struct finish_caller {
	pa_rule rule;
	uint64_t pc, sp;
};
bool finish_scan(struct finish *f, const struct finish_frame *frame,
		 struct finish_caller *ret_caller);

/* Moves from a frame at a return address to its caller; false with the reason if there is none. */
bool finish_step(struct finish *f, struct finish_frame *frame, uint32_t *ret_stop);
bool finish_is_code(struct finish *f, uint64_t addr);

/* The CFA according to a rule. */
bool finish_cfa(struct finish *f, const struct finish_frame *frame, pa_rule rule,
		uint64_t *ret_cfa);

/* True if a call precedes pc; for a direct call its target, otherwise 0. */
bool finish_call_before(struct finish *f, uint64_t pc, uint64_t *ret_target);

/* True if the code at pc, where a walk has found no caller, cannot return to one. */
bool finish_is_end(struct unwinder *u, const struct process *p, uint64_t time_ns, uint64_t pc);

/* The source of the code at a pc, and its table's word. */
struct finish_code {
	const struct mapping *mapping;
	uint64_t addr; /* link-time, if there is a rule */
	pa_rule word;
};

/* 0, or the reason why there is none (enum pa_stop). */
uint32_t finish_find(struct finish *f, uint64_t pc, struct finish_code *ret_code);

/* Where the frame record is, by the code at pc (see finish_read_code()); the code at the sampled pc
 * was sent with the registers. */
enum pa_record_place finish_record_at(struct finish *f, uint64_t pc);
bool finish_can_return_to(struct finish *f, uint64_t pc); /* judged by the preceding code */
bool finish_may_skip(struct finish *f, uint64_t sp, uint64_t fp);

/* Walks again with all registers and all CFI. Sets only those fields of ret_walk that are found. */
void finish_full(struct finish *f, struct finished_walk *ret_walk);

#endif
