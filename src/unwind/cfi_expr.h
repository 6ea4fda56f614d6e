/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reduces CFI expressions to the few forms that a rule can hold. It evaluates them symbolically, so
 * that every spelling of a form is recognized.
 */
#ifndef UNWIND_CFI_EXPR_H
#define UNWIND_CFI_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cfi_sym_kind {
	CFI_SYM_CONST, /* off */
	CFI_SYM_REG,   /* reg + off */
	CFI_SYM_CFA,   /* CFA + off */
	CFI_SYM_DEREF, /* *(reg + off) + add */
	CFI_SYM_PLT,   /* reg + off + ((pc & 15) >= add ? 8 : 0) */
	/* Intermediate values of PLT: pc & 15; the result of comparing that with off; 8 if it is >=
	 * off. */
	CFI_SYM_PC_LOW,
	CFI_SYM_PC_LOW_GE,
	CFI_SYM_PC_LOW_GE_8,
};

struct cfi_sym {
	uint8_t kind; /* enum cfi_sym_kind */
	uint16_t reg;
	int64_t off;
	int64_t add;
};

/*
 * pc_reg: the column that stands for the pc. has_cfa: the CFA is on the stack at the start, as for
 * register rules. False if the expression has none of the forms.
 */
bool cfi_expr_reduce(const uint8_t *expr, size_t len, uint8_t pc_reg, bool has_cfa,
		     struct cfi_sym *ret_sym);

#endif
