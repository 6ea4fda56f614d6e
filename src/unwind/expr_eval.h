/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluates CFI expressions (DWARF 5, 2.5 and 6.4.2) on the registers and memory of one frame. For
 * the symbolic forms that a rule can hold, see cfi_expr.h.
 */
#ifndef UNWIND_EXPR_EVAL_H
#define UNWIND_EXPR_EVAL_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/arch.h"

/* operations executed, since there are jumps; known expressions need 12 */
#define EXPR_MAX_STEPS 256
#define EXPR_MAX_STACK 64

/* General registers by DWARF number, including the pc's column. */
struct frame_regs {
	uint64_t v[CFI_MAX_REGS];
	uint64_t known; /* bit by register number */
};
_Static_assert(CFI_MAX_REGS <= 64, "a bit for each");

/* The frame on which an expression is evaluated. */
struct expr_frame {
	const struct frame_regs *regs;                                /* borrowed */
	int (*read)(void *ctx, uint64_t addr, void *to, size_t size); /* 0, or negative */
	void *ctx;
};

/*
 * cfa: initial value on the stack, as for register rules; NULL: the stack is empty. -ENODATA: needs
 * an unknown register; -EFAULT: unreadable memory; -EBADMSG: an invalid expression, or an operation
 * that is not allowed here; -E2BIG: it does not terminate.
 */
int expr_eval(const uint8_t *expr, size_t len, const struct expr_frame *frame, const uint64_t *cfa,
	      uint64_t *ret_value);

#endif
