/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the rules of a full row, word for word as the file has them. What they leave open, and
 * what compilers are known to get wrong, is the business of full_walk.h. */
#ifndef UNWIND_FULL_EVAL_H
#define UNWIND_FULL_EVAL_H

#include "unwind/expr_eval.h"
#include "unwind/full_row.h"

/* The errors are those of expr_eval(). */
int cfi_eval_cfa(const struct cfi_full_row *row, const struct expr_frame *frame, uint64_t *ret_cfa);

/* Where in memory a rule has the register, for CFI_OFFSET and CFI_EXPR; else -EINVAL. */
int cfi_eval_slot(const struct cfi_rule *rule, const struct expr_frame *frame, uint64_t cfa,
		  uint64_t *ret_addr);

/*
 * What register reg is in the caller. A register that nothing is said about is unchanged, also one
 * that calls may overwrite: hand-written code keeps the CFA in such a one. -ENODATA also where the
 * rule says that it is not to be had.
 */
int cfi_eval_reg(const struct cfi_full_row *row, const struct expr_frame *frame, unsigned int reg,
		 uint64_t cfa, uint64_t *ret_value);

#endif
