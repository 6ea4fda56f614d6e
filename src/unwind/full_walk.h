/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk over a stack that follows all general registers, from frame to frame, by all that the files
 * say. Slow, and only for user space: for stacks on which the walker of bpf/walk.h, which follows
 * three registers, meets a rule that it cannot carry out. It knows nothing of processes and files:
 * whoever walks brings memory and rules.
 */
#ifndef UNWIND_FULL_WALK_H
#define UNWIND_FULL_WALK_H

#include "bpf/abi.h"
#include "bpf/rows.h"
#include "bpf/walk_state.h"
#include "unwind/expr_eval.h"

struct cfi_full_row;

struct full_walk;

struct full_walk_source {
	/* Reads target memory: 0, or negative. */
	int (*read)(void *ctx, uint64_t addr, void *to, size_t size);
	/*
	 * What is known of a pc: 0 and the word of the table, or why there is no answer, a reason
	 * of enum pa_stop. Unless the word is NONE, END, SIGNAL or SWITCH, *ret_row is what the
	 * file says; its nr_regs is 0 where that is nothing, and the word known by other means.
	 */
	uint32_t (*rule)(void *ctx, uint64_t pc, pa_rule *ret_word, struct cfi_full_row *ret_row);
	/* By the code at an exact pc that has no rule. */
	enum pa_record_place (*record_at)(void *ctx, uint64_t pc);
	/* Whether somebody may have called from there; so it is where that cannot be told. */
	bool (*can_return_to)(void *ctx, uint64_t pc);
	/* For code without a rule; both may be NULL. A rule by which the code itself returns from there, in the form of
	 * such a word; false: none is to be had. */
	bool (*learn)(void *ctx, const struct full_walk *w, pa_rule *ret_word);
	/* Whether a word below the frame record may be a return address that the record skips. */
	bool (*may_skip)(void *ctx, uint64_t sp, uint64_t fp);
};

struct full_walk {
	const struct unwind_arch *arch; /* borrowed, as the next two */
	const struct full_walk_source *source;
	void *ctx;
	uint64_t pc;
	struct frame_regs regs; /* of the frame at pc */
	uint32_t nr;            /* frames found so far, the first included */
	uint32_t stop;          /* enum pa_stop, once the walk is over */
	bool is_exact;          /* pc is where it stands, not a return address */
	bool is_interrupted;    /* by a signal: the frame before this one is no caller's, it is the
				 * trampoline that the handler returns to */
	bool is_sp_low;         /* as in struct pa_walk */
};

/* At the frame with the given registers by DWARF number (nr of them); the pc is not among them. */
void full_walk_init(struct full_walk *w, const struct unwind_arch *arch, uint64_t pc,
		    const uint64_t *regs, size_t nr);

/* From the frame at w->pc to its caller. False: it is over, w->stop says why. */
bool full_walk_frame(struct full_walk *w);

#endif
