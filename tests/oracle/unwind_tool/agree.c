/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/unwind_tool/agree.h"

#include <elf.h>

#include "oracle/unwind_tool/world.h"
#include "unwind/arch.h"
#include "unwind/rule.h"

#define NR_WORLDS 2 /* different memory: equal by chance once in 2^128 */

static bool cfa_ops(const struct oracle_row *row, Dwarf_Op **ret_ops, size_t *ret_nr)
{
	return dwarf_frame_cfa(row->frame, ret_ops, ret_nr) == 0;
}

bool is_pc_relative(const struct oracle_row *row)
{
	Dwarf_Op *ops;
	size_t nr;

	if (!cfa_ops(row, &ops, &nr))
		return false;
	for (size_t i = 0; i < nr; i++)
		if (ops[i].atom == DW_OP_breg16)
			return true;
	return false;
}

static struct value libdw_cfa(const struct world *w, const struct oracle_row *row)
{
	Dwarf_Op *ops;
	size_t nr;

	if (!cfa_ops(row, &ops, &nr) || nr == 0)
		return (struct value){ VALUE_BEYOND, 0 };
	return world_ops(w, ops, nr, 0, false);
}

static struct value libdw_reg(const struct world *w, const struct oracle_row *row, unsigned int reg,
			      uint64_t cfa)
{
	Dwarf_Op mem[3], *ops;
	size_t nr;

	if (dwarf_frame_register(row->frame, (int)reg, mem, &ops, &nr) < 0)
		return (struct value){ VALUE_BEYOND, 0 };
	if (nr)
		return world_ops(w, ops, nr, cfa, true);
	if (!ops)
		return (struct value){ VALUE_KNOWN, w->regs[reg] };
	return (struct value){ VALUE_UNDEFINED, 0 };
}

static int libdw_ra_reg(const struct oracle_row *row)
{
	return dwarf_frame_info(row->frame, NULL, NULL, NULL);
}

/* At most "CFA + offset": what a rule must be able to hold. */
static bool is_simple_reg(const struct oracle_row *row, unsigned int reg)
{
	Dwarf_Op mem[3], *ops;
	size_t nr;

	if (dwarf_frame_register(row->frame, (int)reg, mem, &ops, &nr) < 0)
		return false;
	if (nr == 0)
		return ops == NULL;
	return ops[0].atom == DW_OP_call_frame_cfa &&
	       (nr == 1 || (nr == 2 && ops[1].atom == DW_OP_plus_uconst));
}

static bool is_simple_cfa(const struct oracle_row *row)
{
	Dwarf_Op *ops;
	size_t nr;

	return cfa_ops(row, &ops, &nr) && nr == 1 &&
	       ((ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) ||
		ops[0].atom == DW_OP_bregx);
}

/* Whether SP is what follows from the CFA alone. */
static bool is_simple_sp(const struct unwind_arch *arch, const struct oracle_row *row)
{
	Dwarf_Op mem[3], *ops;
	size_t nr;

	return dwarf_frame_register(row->frame, arch->sp, mem, &ops, &nr) == 0 && nr == 2 &&
	       ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_stack_value;
}

static bool same(struct value a, struct value b)
{
	return a.state == VALUE_KNOWN && b.state == VALUE_KNOWN && a.v == b.v;
}

/* The row is there, but libdw calls its CFA invalid. */
static bool has_no_cfa(const struct oracle_row *row)
{
	Dwarf_Op *ops;
	size_t nr;

	return !cfa_ops(row, &ops, &nr) || nr == 0;
}

/* Nothing is said about a column that is a register: we take it as unchanged. */
static bool is_ra_in_column(const struct oracle_row *row, pa_rule rule)
{
	return PA_RULE_RA_KIND(rule) == PA_RA_REG &&
	       PA_RULE_RA_REG(rule) == (unsigned int)libdw_ra_reg(row);
}

/* The return address is said to be above the CFA, which then is not the caller's sp; see
 * cfi_uncounted_bytes(). */
static bool is_uncounted(const struct world *w, const struct unwind_arch *arch, struct value cfa,
			 struct value ra, const struct outcome *ours)
{
	return arch->lr != UNWIND_NO_REG && ra.v == world_read(w, cfa.v + 8) &&
	       ours->cfa.v == cfa.v + 16 && same(ra, ours->ra);
}

/* The one instruction in front of such code; see cfi_is_behind_pad(). */
static bool is_pad(const struct world *w, const struct unwind_arch *arch,
		   const struct oracle_row *row, struct value cfa, const struct outcome *ours)
{
	return arch->lr != UNWIND_NO_REG && row->end - row->start == CFI_PAD_BYTES &&
	       cfa.v == w->regs[arch->sp] && ours->cfa.v == cfa.v + 16 &&
	       ours->ra.v == world_read(w, cfa.v + 8);
}

static enum agreement agree_in(const struct world *w, const struct unwind_arch *arch,
			       const struct oracle_row *row, pa_rule rule)
{
	struct value cfa = libdw_cfa(w, row);
	struct value fp = libdw_reg(w, row, arch->fp, cfa.v);
	struct value ra = libdw_reg(w, row, (unsigned int)libdw_ra_reg(row), cfa.v);
	struct outcome ours = world_rule(w, arch, rule);

	if (same(fp, ours.fp) && is_uncounted(w, arch, cfa, ra, &ours))
		return AGREE_UNCOUNTED;
	if (same(fp, ours.fp) && is_pad(w, arch, row, cfa, &ours))
		return AGREE_PAD;
	if (!same(cfa, ours.cfa) || !!(rule & PA_RULE_SIGNAL) != row->is_signal)
		return AGREE_DIFFER;
	if (!same(ra, ours.ra))
		return ra.state == VALUE_UNDEFINED && same(fp, ours.fp) &&
				       is_ra_in_column(row, rule)
			       ? AGREE_COLUMN
			       : AGREE_DIFFER;
	if (same(fp, ours.fp))
		return AGREE_SAME;
	if (PA_RULE_FP_KIND(rule) == PA_FP_LOST && !is_simple_reg(row, arch->fp))
		return AGREE_FP_LOST;
	return AGREE_DIFFER;
}

static bool is_ra_undefined(const struct oracle_row *row)
{
	Dwarf_Op mem[3], *ops;
	size_t nr;

	return dwarf_frame_register(row->frame, libdw_ra_reg(row), mem, &ops, &nr) == 0 &&
	       nr == 0 && ops;
}

/* Giving up is right only where the rule is not one of the plain ones. */
static enum agreement agree_user(const struct unwind_arch *arch, const struct oracle_row *row)
{
	bool is_plain = is_simple_cfa(row) && is_simple_sp(arch, row) &&
			is_simple_reg(row, (unsigned int)libdw_ra_reg(row));

	return is_plain ? AGREE_DIFFER : AGREE_USER;
}

enum agreement agree_rule(const struct unwind_arch *arch, const struct oracle_row *row,
			  pa_rule rule, uint64_t pc)
{
	enum agreement worst = AGREE_SAME;

	if (has_no_cfa(row))
		return PA_RULE_CFA_KIND(rule) == PA_CFA_REG ? AGREE_NO_CFA : AGREE_DIFFER;
	switch (PA_RULE_CFA_KIND(rule)) {
	case PA_CFA_NONE:
		return AGREE_DIFFER;
	case PA_CFA_USER:
		return agree_user(arch, row);
	case PA_CFA_END:
		return is_ra_undefined(row) ? AGREE_END : AGREE_DIFFER;
	case PA_CFA_SIGNAL:
		if (arch->machine == EM_AARCH64)
			return row->is_signal ? AGREE_SIGNAL : AGREE_DIFFER;
		break;
	default:
		break;
	}
	for (uint64_t seed = 1; seed <= NR_WORLDS; seed++) {
		enum agreement a;
		struct world w;

		world_init(&w, arch, seed, pc);
		a = agree_in(&w, arch, row, rule);
		if (a > worst)
			worst = a;
	}
	return worst;
}

static bool agree_reg(const struct world *w, const struct unwind_arch *arch,
		      const struct oracle_row *row, const struct cfi_full_row *full,
		      unsigned int reg, uint64_t cfa)
{
	struct value theirs = libdw_reg(w, row, reg, cfa);
	struct value ours = world_full_reg(w, full, reg, cfa);

	/* libdw knows which registers a call overwrites, and that SP is the CFA. */
	if (ours.state == VALUE_NOT_SAID && reg == arch->sp)
		return theirs.state == VALUE_KNOWN && theirs.v == cfa;
	if (ours.state == VALUE_NOT_SAID)
		return theirs.state == VALUE_UNDEFINED ||
		       (theirs.state == VALUE_KNOWN && theirs.v == ours.v);
	return theirs.state == ours.state && theirs.v == ours.v && ours.state != VALUE_BEYOND;
}

/* The one register that a pad's row takes from the row behind it; see is_pad(). */
static bool is_above(const struct world *w, const struct cfi_full_row *full, unsigned int reg,
		     uint64_t cfa)
{
	struct value ours = world_full_reg(w, full, reg, cfa);

	return ours.state == VALUE_KNOWN && ours.v == world_read(w, cfa + 8);
}

bool agree_full_row(const struct unwind_arch *arch, const struct oracle_row *row,
		    const struct cfi_full_row *full, uint64_t pc)
{
	struct value cfa, full_cfa;
	struct world w;

	if (has_no_cfa(row))
		return full->cfa.kind == CFI_CFA;
	world_init(&w, arch, 1, pc);
	cfa = libdw_cfa(&w, row);
	full_cfa = world_full_cfa(&w, full);
	if (!same(cfa, full_cfa) || full->is_signal != row->is_signal)
		return false;
	for (unsigned int reg = 0; reg < full->nr_regs; reg++)
		if (!agree_reg(&w, arch, row, full, reg, cfa.v) &&
		    !(full->is_pad && reg == full->ra_reg && is_above(&w, full, reg, cfa.v)))
			return false;
	return true;
}
