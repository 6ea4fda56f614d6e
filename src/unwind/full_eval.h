/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the rules of a full row exactly as the file gives them. full_walk.h handles what the
 * rules leave undefined, and what compilers are known to get wrong. */
#ifndef UNWIND_FULL_EVAL_H
#define UNWIND_FULL_EVAL_H

#include "unwind/expr_eval.h"
#include "unwind/full_row.h"

/* Errors as in expr_eval(). */
int cfi_eval_cfa(const struct cfi_full_row *row, const struct expr_frame *frame, uint64_t *ret_cfa);

/* The memory address of a saved register, for CFI_OFFSET and CFI_EXPR; otherwise -EINVAL. */
int cfi_eval_slot(const struct cfi_rule *rule, const struct expr_frame *frame, uint64_t cfa,
		  uint64_t *ret_addr);

/*
 * The value of register reg in the caller. A register without a rule is treated as preserved, even
 * a call-clobbered one, because hand-written assembly keeps the CFA in such registers. -ENODATA
 * also if the rule says that it cannot be recovered.
 */
int cfi_eval_reg(const struct cfi_full_row *row, const struct expr_frame *frame, unsigned int reg,
		 uint64_t cfa, uint64_t *ret_value);

#endif
