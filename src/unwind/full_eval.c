/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/full_eval.h"

#include <errno.h>

static int take_reg(const struct expr_frame *frame, unsigned int reg, uint64_t *ret_value)
{
	if (reg >= CFI_MAX_REGS || !(frame->regs->known >> reg & 1))
		return -ENODATA;
	*ret_value = frame->regs->v[reg];
	return 0;
}

int cfi_eval_cfa(const struct cfi_full_row *row, const struct expr_frame *frame, uint64_t *ret_cfa)
{
	const struct cfi_rule *cfa = &row->cfa;
	uint64_t base;
	int r;

	if (cfa->kind == CFI_VAL_EXPR)
		return expr_eval(cfa->expr, cfa->expr_len, frame, NULL, ret_cfa);
	if (cfa->kind != CFI_CFA)
		return -EBADMSG;
	r = take_reg(frame, cfa->reg, &base);
	if (r == 0)
		*ret_cfa = base + (uint64_t)cfa->off;
	return r;
}

int cfi_eval_slot(const struct cfi_rule *rule, const struct expr_frame *frame, uint64_t cfa,
		  uint64_t *ret_addr)
{
	if (rule->kind == CFI_EXPR)
		return expr_eval(rule->expr, rule->expr_len, frame, &cfa, ret_addr);
	if (rule->kind != CFI_OFFSET)
		return -EINVAL;
	*ret_addr = cfa + (uint64_t)rule->off;
	return 0;
}

static int read_slot(const struct cfi_rule *rule, const struct expr_frame *frame, uint64_t cfa,
		     uint64_t *ret_value)
{
	uint64_t addr, v;
	int r;

	r = cfi_eval_slot(rule, frame, cfa, &addr);
	if (r < 0)
		return r;
	if (frame->read(frame->ctx, addr, &v, sizeof(v)) < 0)
		return -EFAULT;
	*ret_value = v;
	return 0;
}

int cfi_eval_reg(const struct cfi_full_row *row, const struct expr_frame *frame, unsigned int reg,
		 uint64_t cfa, uint64_t *ret_value)
{
	const struct cfi_rule *rule = &row->regs[reg];

	switch (rule->kind) {
	case CFI_UNSET:
	case CFI_SAME:
		return take_reg(frame, reg, ret_value);
	case CFI_REGISTER:
		return take_reg(frame, rule->reg, ret_value);
	case CFI_OFFSET:
	case CFI_EXPR:
		return read_slot(rule, frame, cfa, ret_value);
	case CFI_VAL_OFFSET:
		*ret_value = cfa + (uint64_t)rule->off;
		return 0;
	case CFI_VAL_EXPR:
		return expr_eval(rule->expr, rule->expr_len, frame, &cfa, ret_value);
	default:
		return -ENODATA;
	}
}
