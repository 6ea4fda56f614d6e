/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/rule.h"

#include "unwind/cfi_expr.h"
#include "unwind/eh_frame.h"

struct packer {
	const struct unwind_arch *arch;
	uint8_t ra_reg; /* column of the return address */
	const struct cfi_state *state;
	struct cfi_sym cfa; /* REG, DEREF or PLT */
};

/* True if a slot at this distance from the CFA fits into units of 8 bytes. */
static bool is_slot(int64_t off, unsigned int bits)
{
	return (off & 7) == 0 && rule_fits(off >> 3, bits);
}

static pa_rule slot_field(int64_t off)
{
	return rule_field(off >> 3, PA_RULE_SLOT_SHIFT, PA_RULE_SLOT_BITS);
}

/* Reduces the CFA to one of the forms; false if a rule cannot hold it. */
static bool reduce_cfa(struct packer *p)
{
	const struct cfi_rule *cfa = &p->state->cfa;

	if (cfa->kind == CFI_CFA) {
		p->cfa = (struct cfi_sym){ .kind = CFI_SYM_REG, .reg = cfa->reg, .off = cfa->off };
		return true;
	}
	return cfa->kind == CFI_VAL_EXPR &&
	       cfi_expr_reduce(cfa->expr, cfa->expr_len, p->arch->pc, false, &p->cfa);
}

static pa_rule pack_cfa(const struct packer *p)
{
	const struct cfi_sym *cfa = &p->cfa;
	pa_rule reg = (pa_rule)cfa->reg << PA_RULE_REG_SHIFT;

	if (cfa->reg > 31)
		return PA_RULE_WORD_USER;
	if (cfa->kind == CFI_SYM_REG && rule_fits(cfa->off, PA_RULE_CFA_BITS))
		return PA_CFA_REG | reg | rule_field(cfa->off, PA_RULE_CFA_SHIFT, PA_RULE_CFA_BITS);
	if (cfa->kind == CFI_SYM_DEREF && rule_fits(cfa->off, PA_RULE_DEREF_BITS) &&
	    rule_fits(cfa->add, PA_RULE_ADD_BITS))
		return PA_CFA_DEREF | reg |
		       rule_field(cfa->off, PA_RULE_CFA_SHIFT, PA_RULE_DEREF_BITS) |
		       rule_field(cfa->add, PA_RULE_ADD_SHIFT, PA_RULE_ADD_BITS);
	if (cfa->kind == CFI_SYM_PLT && cfa->reg == p->arch->sp && cfa->off == 8 && cfa->add >= 0 &&
	    cfa->add <= 15)
		return PA_CFA_PLT | rule_field(cfa->add, PA_RULE_CFA_SHIFT, PA_RULE_CFA_BITS);
	return PA_RULE_WORD_USER;
}

/* The slot of a saved register: CFA + off, or another register + off. */
static bool reduce_slot(const struct packer *p, const struct cfi_rule *rule, struct cfi_sym *ret)
{
	struct cfi_sym sym = { .kind = CFI_SYM_CFA, .off = rule->off };

	if (rule->kind != CFI_OFFSET) {
		if (rule->kind != CFI_EXPR ||
		    !cfi_expr_reduce(rule->expr, rule->expr_len, p->arch->pc, true, &sym))
			return false;
		/* Expressed relative to the CFA if both have the same base register, so that there
		 * is one form. */
		if (sym.kind == CFI_SYM_REG && p->cfa.kind == CFI_SYM_REG && sym.reg == p->cfa.reg)
			sym = (struct cfi_sym){
				.kind = CFI_SYM_CFA,
				.off = (int64_t)((uint64_t)sym.off - (uint64_t)p->cfa.off),
			};
	}
	*ret = sym;
	return sym.kind == CFI_SYM_CFA || sym.kind == CFI_SYM_REG;
}

struct fp_part {
	enum pa_fp kind;
	int64_t off;
};

static struct fp_part reduce_fp(const struct packer *p)
{
	const struct cfi_rule *rule = &p->state->slots[CFI_SLOT_FP];
	struct cfi_sym sym;

	if (rule->kind == CFI_UNSET || rule->kind == CFI_SAME ||
	    (rule->kind == CFI_REGISTER && rule->reg == p->arch->fp))
		return (struct fp_part){ PA_FP_SAME, 0 };
	if (!reduce_slot(p, rule, &sym) || !is_slot(sym.off, PA_RULE_SLOT_BITS))
		return (struct fp_part){ PA_FP_LOST, 0 };
	if (sym.kind == CFI_SYM_CFA)
		return (struct fp_part){ PA_FP_AT_CFA, sym.off };
	return sym.reg == p->arch->fp ? (struct fp_part){ PA_FP_AT_FP, sym.off }
				      : (struct fp_part){ PA_FP_LOST, 0 };
}

static pa_rule pack_fp(struct fp_part fp)
{
	return (pa_rule)fp.kind << PA_RULE_FP_SHIFT | slot_field(fp.off);
}

static pa_rule pack_ra_kind(enum pa_ra kind)
{
	return (pa_rule)kind << PA_RULE_RA_SHIFT;
}

/* The return address is in a register: the link register needs no number. */
static pa_rule pack_ra_register(const struct packer *p, struct fp_part fp, uint16_t reg)
{
	if (reg == p->arch->lr)
		return pack_fp(fp) | pack_ra_kind(PA_RA_LR);
	if (reg > 31 || reg == p->arch->pc || fp.off != 0 || fp.kind == PA_FP_AT_FP ||
	    fp.kind == PA_FP_AT_CFA)
		return PA_RULE_WORD_USER;
	return pack_fp(fp) | pack_ra_kind(PA_RA_REG) | (pa_rule)reg << PA_RULE_SLOT_SHIFT;
}

/* The return address is at CFA + off. The order of the checks makes the encoding unique. */
static pa_rule pack_ra_slot(struct fp_part fp, int64_t off)
{
	bool fp_has_slot = fp.kind == PA_FP_AT_CFA || fp.kind == PA_FP_AT_FP;

	if (off == -8)
		return pack_fp(fp) | pack_ra_kind(PA_RA_CFA_MINUS_8);
	if (fp.kind == PA_FP_AT_CFA && off == fp.off + 8)
		return pack_fp(fp) | pack_ra_kind(PA_RA_AFTER_FP);
	if (!fp_has_slot && is_slot(off, PA_RULE_SLOT_BITS))
		return pack_fp(fp) | pack_ra_kind(PA_RA_AT_CFA) | slot_field(off);
	if (fp.kind == PA_FP_AT_CFA && is_slot(off, PA_RULE_HALF_BITS) &&
	    is_slot(fp.off, PA_RULE_HALF_BITS))
		return (pa_rule)fp.kind << PA_RULE_FP_SHIFT | pack_ra_kind(PA_RA_BOTH) |
		       rule_field(fp.off >> 3, PA_RULE_SLOT_SHIFT, PA_RULE_HALF_BITS) |
		       rule_field(off >> 3, PA_RULE_HALF_SHIFT, PA_RULE_HALF_BITS);
	return PA_RULE_WORD_USER;
}

static pa_rule pack_ra_and_fp(const struct packer *p)
{
	const struct cfi_rule *ra = &p->state->slots[CFI_SLOT_RA];
	struct fp_part fp = reduce_fp(p);
	struct cfi_sym sym;

	if (ra->kind == CFI_OFFSET)
		return pack_ra_slot(fp, ra->off);
	if (ra->kind == CFI_REGISTER)
		return pack_ra_register(p, fp, ra->reg);
	/* Unchanged: it is in the register of its column. */
	if (ra->kind == CFI_UNSET || ra->kind == CFI_SAME)
		return pack_ra_register(p, fp, p->ra_reg);
	if (reduce_slot(p, ra, &sym) && sym.kind == CFI_SYM_CFA)
		return pack_ra_slot(fp, sym.off);
	return PA_RULE_WORD_USER;
}

/* A rule implies that sp is the CFA; any other sp is left to user space. */
static bool is_sp_the_cfa(const struct cfi_rule *sp)
{
	return sp->kind == CFI_UNSET || (sp->kind == CFI_VAL_OFFSET && sp->off == 0);
}

/* True for nearly every row of compiled code: register + offset, return address at CFA - 8, nothing
 * else. */
static bool is_plain(const struct cfi_cie *cie, const struct cfi_state *state)
{
	const struct cfi_rule *fp = &state->slots[CFI_SLOT_FP], *ra = &state->slots[CFI_SLOT_RA];

	return state->cfa.kind == CFI_CFA && state->cfa.reg < 32 &&
	       rule_fits(state->cfa.off, PA_RULE_CFA_BITS) && ra->kind == CFI_OFFSET &&
	       ra->off == -8 &&
	       (fp->kind == CFI_UNSET ||
		(fp->kind == CFI_OFFSET && is_slot(fp->off, PA_RULE_SLOT_BITS))) &&
	       state->slots[CFI_SLOT_SP].kind == CFI_UNSET && !cie->is_signal && !state->ra_signed;
}

/* The whole rule except the offset of the CFA. */
static pa_rule pack_plain_rest(const struct cfi_state *state)
{
	const struct cfi_rule *fp = &state->slots[CFI_SLOT_FP];
	pa_rule rest = PA_CFA_REG | (pa_rule)state->cfa.reg << PA_RULE_REG_SHIFT;

	if (fp->kind == CFI_OFFSET)
		rest |= pack_fp((struct fp_part){ PA_FP_AT_CFA, fp->off });
	return rest;
}

int64_t cfi_uncounted_bytes(const struct unwind_arch *arch, const struct cfi_rule *cfa,
			    const struct cfi_rule *ra)
{
	bool is_above = arch->lr != UNWIND_NO_REG && cfa->kind == CFI_CFA && cfa->reg == arch->sp &&
			ra->kind == CFI_OFFSET && ra->off >= 0 && ra->off <= INT16_MAX;

	return is_above ? ra->off + 8 : 0;
}

bool cfi_is_behind_pad(const struct unwind_arch *arch, const struct cfi_rule *cfa,
		       const struct cfi_rule *ra)
{
	return cfi_uncounted_bytes(arch, cfa, ra) != 0 && cfa->off == 0;
}

static void count_bytes(struct cfi_state *state, int64_t bytes)
{
	struct cfi_rule *fp = &state->slots[CFI_SLOT_FP];

	state->cfa.off = (int64_t)((uint64_t)state->cfa.off + (uint64_t)bytes);
	state->slots[CFI_SLOT_RA].off -= bytes;
	if (fp->kind == CFI_OFFSET)
		fp->off = (int64_t)((uint64_t)fp->off - (uint64_t)bytes);
}

static bool is_kernel_signal(const struct rule_packer *p, const struct cfi_state *state)
{
	return p->cie->is_signal && p->arch->is_kernel_signal_frame(state, p->img, p->fde_start);
}

static pa_rule pack_any(const struct rule_packer *by, const struct cfi_state *state)
{
	struct packer p = { .arch = by->arch, .ra_reg = by->cie->ra_reg, .state = state };
	pa_rule cfa, rest;

	if (state->slots[CFI_SLOT_RA].kind == CFI_UNDEFINED)
		return PA_CFA_END;
	if (is_kernel_signal(by, state))
		return PA_CFA_SIGNAL | PA_RULE_SIGNAL;
	if (!is_sp_the_cfa(&state->slots[CFI_SLOT_SP]) || !reduce_cfa(&p))
		return PA_RULE_WORD_USER;
	cfa = pack_cfa(&p);
	rest = pack_ra_and_fp(&p);
	if (cfa == PA_RULE_WORD_USER || rest == PA_RULE_WORD_USER)
		return PA_RULE_WORD_USER;
	return cfa | rest | (state->ra_signed ? PA_RULE_SIGNED : 0) |
	       (by->cie->is_signal ? PA_RULE_SIGNAL : 0);
}

static pa_rule pack_counted(const struct rule_packer *p, const struct cfi_state *state)
{
	int64_t bytes = cfi_uncounted_bytes(p->arch, &state->cfa, &state->slots[CFI_SLOT_RA]);
	struct cfi_state counted;

	if (bytes == 0)
		return pack_any(p, state);
	cfi_state_copy(&counted, state, CFI_NR_ROW_SLOTS);
	count_bytes(&counted, bytes);
	return pack_any(p, &counted);
}

pa_rule rule_pack(struct rule_packer *p, const struct cfi_state *state)
{
	p->rest = 0;
	if (!is_plain(p->cie, state))
		return pack_counted(p, state);
	p->rest = pack_plain_rest(state);
	return p->rest | rule_field(state->cfa.off, PA_RULE_CFA_SHIFT, PA_RULE_CFA_BITS);
}
