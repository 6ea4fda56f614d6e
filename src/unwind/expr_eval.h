/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries out the expressions of call frame information (DWARF 5, 2.5 and 6.4.2), on the registers
 * and the memory of one frame. For the forms that a rule can hold, without values, see cfi_expr.h.
 */
#ifndef UNWIND_EXPR_EVAL_H
#define UNWIND_EXPR_EVAL_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/arch.h"

#define EXPR_MAX_STEPS 256 /* executed operations: there are jumps; known expressions have 12 */
#define EXPR_MAX_STACK 64

/* General registers by DWARF number, the column of the pc among them. */
struct frame_regs {
	uint64_t v[CFI_MAX_REGS];
	uint64_t known; /* bit by register */
};
_Static_assert(CFI_MAX_REGS <= 64, "a bit for each");

/* The frame that an expression is about. */
struct expr_frame {
	const struct frame_regs *regs;                                /* borrowed */
	int (*read)(void *ctx, uint64_t addr, void *to, size_t size); /* 0, or negative */
	void *ctx;
};

/*
 * cfa: on the stack at the start, as for the rules of registers; NULL: nothing is. -ENODATA: a
 * register that is not known; -EFAULT: memory that is not to be had; -EBADMSG: not a sound
 * expression, or an operation that has no place here; -E2BIG: it does not end.
 */
int expr_eval(const uint8_t *expr, size_t len, const struct expr_frame *frame, const uint64_t *cfa,
	      uint64_t *ret_value);

#endif
