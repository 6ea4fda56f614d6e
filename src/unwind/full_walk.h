/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk over a stack by the policy of bpf/walk_policy.h that tracks all general registers and
 * evaluates all CFI. Slow, and only for user space: for stacks on which the walker of bpf/walk.h,
 * which tracks three registers, meets a rule that it cannot evaluate. It knows nothing about
 * processes and files: callbacks supply memory and rules.
 */
#ifndef UNWIND_FULL_WALK_H
#define UNWIND_FULL_WALK_H

#include "bpf/abi.h"
#include "bpf/rows.h"
#include "bpf/walk_state.h"
#include "unwind/expr_eval.h"
#include "unwind/full_row.h"

struct full_walk;

struct full_walk_source {
	/* Reads target memory: 0, or negative. */
	int (*read)(void *ctx, uint64_t addr, void *to, size_t size);
	/*
	 * Looks up a pc: 0 and the word of the table, or the reason why there is none (enum
	 * pa_stop). Unless the word is NONE, END, SIGNAL or SWITCH, *ret_row is the file's CFI; its
	 * nr_regs is 0 if the file has none and the word has another source.
	 */
	uint32_t (*rule)(void *ctx, uint64_t pc, pa_rule *ret_word, struct cfi_full_row *ret_row);
	/* Where the frame record is, by the code at an exact pc without a rule. */
	enum pa_record_place (*record_at)(void *ctx, uint64_t pc);
	/* True if pc may be a return address, or if that cannot be checked. */
	bool (*can_return_to)(void *ctx, uint64_t pc);
	/* For code without a rule: derives from the code how it returns, as a word; false if that
	 * fails. This callback and the next may be NULL. */
	bool (*learn)(void *ctx, const struct full_walk *w, pa_rule *ret_word);
	/* True if a word below the frame record may be a return address that following the record
	 * would skip. */
	bool (*may_skip)(void *ctx, uint64_t sp, uint64_t fp);
};

struct full_walk {
	const struct unwind_arch *arch; /* borrowed, like the next two */
	const struct full_walk_source *source;
	void *ctx;
	struct pa_walk at;      /* the current frame; its registers are those below */
	struct frame_regs regs; /* registers of the frame at at.pc */
	/* While leaving a frame: */
	struct frame_regs next;  /* the caller's, except sp, fp and pc */
	struct cfi_full_row row; /* nr_regs 0: only the word is known */
	bool is_learned;         /* the word was derived from the code */
};

/* Starts at the frame with the given registers by DWARF number (nr of them), without the pc. */
void full_walk_init(struct full_walk *w, const struct unwind_arch *arch, uint64_t pc,
		    const uint64_t *regs, size_t nr);

/* Advances from the frame at at.pc to its caller. False: the walk has ended, at.stop is the
 * reason. */
bool full_walk_frame(struct full_walk *w);

#endif
