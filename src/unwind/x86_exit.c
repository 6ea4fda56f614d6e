/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/x86_exit.h"

#include <errno.h>
#include <string.h>

#include "unwind/x86_insn.h"

#define BUFFER_BYTES 256u
#define NONE_MAX_INSNS 24u /* glibc's __start_context has 13 where shadow stacks are */
#define WORD 8
#define NR_SEEN (2 * X86_EXIT_MAX_INSNS) /* slots: half of them stay free */

/* An address, as far from sp or fp as they are at the pc. */
struct place {
	bool is_fp;
	int64_t off;
};

/* What fp holds. */
enum fp_state {
	FP_OWN,    /* what it held at the pc */
	FP_PLACE,  /* that address */
	FP_LOADED, /* what is at that address, where it was kept */
};

struct fp_value {
	enum fp_state state;
	struct place at;
};

struct way {
	uint64_t pc;
	struct place sp;
	struct fp_value fp;
	bool has_pushed; /* fp, on the way, to `pushed_at` */
	struct place pushed_at;
	struct fp_value pushed;
};

struct follower {
	const struct x86_code *code;
	uint8_t buffer[BUFFER_BYTES];
	uint64_t at; /* of the buffer */
	size_t n;
	unsigned int nr_insns;
	struct way ways[X86_EXIT_MAX_WAYS];
	unsigned int nr_ways;
	bool has_record; /* some way takes it off, however it goes on */
	pa_rule record;
	uint64_t seen[NR_SEEN]; /* pcs that a way has come by; 0: free */
};

/* The bytes from pc on: as many as an instruction may have, fewer where code ends. */
static size_t fetch(struct follower *f, uint64_t pc, const uint8_t **ret_bytes)
{
	long n;

	if (pc - f->at >= f->n || f->n - (pc - f->at) < X86_INSN_MAX_BYTES) {
		n = f->code->read(f->code->ctx, pc, f->buffer, sizeof(f->buffer));
		f->at = pc;
		f->n = n > 0 ? (size_t)n : 0;
	}
	*ret_bytes = f->buffer + (pc - f->at);
	return f->n - (size_t)(pc - f->at);
}

static int next_insn(struct follower *f, uint64_t pc, struct x86_insn *ret_insn)
{
	const uint8_t *bytes;
	size_t n = fetch(f, pc, &bytes);

	f->nr_insns++;
	return x86_insn_decode(bytes, n, ret_insn);
}

/* Ways meet: what the first of them came to is all there is. */
static bool was_here(struct follower *f, uint64_t pc)
{
	uint64_t at = pc * 0x9e3779b97f4a7c15ull >> 53;

	for (;; at++) {
		uint64_t *slot = &f->seen[at % NR_SEEN];

		if (*slot == pc)
			return true;
		if (*slot)
			continue;
		*slot = pc;
		return false;
	}
}

static bool is_same(struct place a, struct place b)
{
	return a.is_fp == b.is_fp && a.off == b.off;
}

static struct place moved(struct place p, int64_t by)
{
	p.off += by;
	return p;
}

/* fp as a base: its own value, or an address that it was set to. */
static bool fp_place(const struct way *w, int64_t off, struct place *ret_place)
{
	if (w->fp.state == FP_LOADED)
		return false;
	*ret_place = w->fp.state == FP_OWN ? (struct place){ true, off } : moved(w->fp.at, off);
	return true;
}

static void load_fp(struct way *w, struct place at)
{
	if (w->has_pushed && is_same(at, w->pushed_at))
		w->fp = w->pushed;
	else
		w->fp = (struct fp_value){ FP_LOADED, at };
}

static void push(struct way *w, uint8_t reg)
{
	w->sp.off -= WORD;
	if (reg != X86_REG_FP)
		return;
	w->has_pushed = true;
	w->pushed_at = w->sp;
	w->pushed = w->fp;
}

static void pop(struct way *w, uint8_t reg)
{
	if (reg == X86_REG_FP)
		load_fp(w, w->sp);
	w->sp.off += WORD;
}

/* What an instruction that goes on with the next one does. False: no one can follow it. */
static bool apply(struct way *w, const struct x86_insn *i)
{
	struct place p;

	switch (i->op) {
	case X86_PUSH:
		push(w, i->reg);
		return true;
	case X86_POP:
		pop(w, i->reg);
		return true;
	case X86_ADD_SP:
		w->sp.off += i->value;
		return true;
	case X86_FP_FROM_SP:
		w->fp = (struct fp_value){ FP_PLACE, moved(w->sp, i->value) };
		return true;
	case X86_FP_AT_SP:
		load_fp(w, moved(w->sp, i->value));
		return true;
	case X86_FP_AT_FP:
		if (!fp_place(w, i->value, &p))
			return false;
		load_fp(w, p);
		return true;
	case X86_SP_FROM_FP:
		return fp_place(w, i->value, &w->sp);
	case X86_LEAVE:
		if (!fp_place(w, 0, &w->sp))
			return false;
		pop(w, X86_REG_FP);
		return true;
	default:
		return i->op == X86_OTHER || i->op == X86_CALL || i->op == X86_CALL_INDIRECT;
	}
}

static bool fits(int64_t value, unsigned int bits)
{
	return value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << (bits - 1);
}

static pa_rule field(int64_t value, unsigned int bits, unsigned int shift)
{
	return ((pa_rule)value & ((1ull << bits) - 1)) << shift;
}

/* Whether the caller's frame pointer is kept where a word can say. */
static bool is_kept_near(const struct way *w, int64_t cfa)
{
	int64_t off = w->fp.at.off - cfa;

	return w->fp.at.is_fp == w->sp.is_fp && off % WORD == 0 &&
	       (w->fp.at.is_fp || w->fp.at.off >= 0) && fits(off / WORD, PA_RULE_HALF_BITS);
}

/* Where both registers are, in units of a word from the CFA on; fp: 0 where it is unchanged. */
static pa_rule slots(int64_t fp, int64_t ra)
{
	pa_rule kind = fp ? (pa_rule)PA_FP_AT_CFA << PA_RULE_FP_SHIFT : 0;

	if (ra == -1)
		return kind | field(fp, PA_RULE_SLOT_BITS, PA_RULE_SLOT_SHIFT);
	if (!fp)
		return (pa_rule)PA_RA_AT_CFA << PA_RULE_RA_SHIFT |
		       field(ra, PA_RULE_SLOT_BITS, PA_RULE_SLOT_SHIFT);
	return kind | (pa_rule)PA_RA_BOTH << PA_RULE_RA_SHIFT |
	       field(fp, PA_RULE_HALF_BITS, PA_RULE_SLOT_SHIFT) |
	       field(ra, PA_RULE_HALF_BITS, PA_RULE_HALF_SHIFT);
}

/* The word of a rule: the CFA is where sp is behind the return, and behind the arguments it takes off. */
static int make_rule(const struct way *w, int64_t arguments, pa_rule *ret_rule)
{
	int64_t cfa = w->sp.off + WORD + arguments, ra = -(WORD + arguments) / WORD, fp = 0;
	unsigned int reg = w->sp.is_fp ? PA_REG_X86_FP : PA_REG_X86_SP;

	if (w->sp.off % WORD || arguments % WORD || (!w->sp.is_fp && w->sp.off < 0) ||
	    !fits(cfa, PA_RULE_CFA_BITS) || !fits(ra, PA_RULE_HALF_BITS))
		return -ENOENT;
	if (w->fp.state == FP_PLACE || (w->fp.state == FP_LOADED && !is_kept_near(w, cfa)))
		return -ENOENT;
	if (w->fp.state == FP_LOADED)
		fp = (w->fp.at.off - cfa) / WORD;
	*ret_rule = PA_CFA_REG | (pa_rule)reg << PA_RULE_REG_SHIFT |
		    field(cfa, PA_RULE_CFA_BITS, PA_RULE_CFA_SHIFT) | slots(fp, ra);
	return 0;
}

static void put_aside(struct follower *f, const struct way *w, uint64_t pc)
{
	if (f->nr_ways == X86_EXIT_MAX_WAYS)
		return;
	f->ways[f->nr_ways] = *w;
	f->ways[f->nr_ways++].pc = pc;
}

/* Who takes a frame record off returns to what is behind it: V8 takes a number of arguments off that it
 * has in a register, and does not return by a return alone. */
static void note_record(struct follower *f, const struct way *w)
{
	if (!f->has_record && w->sp.is_fp && w->sp.off == WORD && w->fp.state == FP_LOADED &&
	    is_same(w->fp.at, (struct place){ true, 0 }))
		f->has_record = make_rule(w, 0, &f->record) == 0;
}

/* One way to its end. 0, or -ENOENT. */
static int follow(struct follower *f, struct way *w, pa_rule *ret_rule)
{
	struct x86_insn i;

	while (f->nr_insns < X86_EXIT_MAX_INSNS) {
		if (was_here(f, w->pc) || next_insn(f, w->pc, &i) < 0)
			return -ENOENT;
		w->pc += i.size;
		if (i.op == X86_RET)
			return make_rule(w, i.value, ret_rule);
		if (i.op == X86_JMP) {
			w->pc += (uint64_t)i.value;
			continue;
		}
		if (i.op == X86_JMP_IF) {
			put_aside(f, w, w->pc + (uint64_t)i.value);
			continue;
		}
		if (!apply(w, &i))
			return -ENOENT;
		note_record(f, w);
	}
	return -ENOENT;
}

int x86_exit_rule(const struct x86_code *code, uint64_t pc, pa_rule *ret_rule)
{
	struct follower f = { .code = code, .nr_ways = 1 };

	f.ways[0] = (struct way){ .pc = pc };
	while (f.nr_ways && f.nr_insns < X86_EXIT_MAX_INSNS) {
		struct way w = f.ways[--f.nr_ways];

		if (follow(&f, &w, ret_rule) == 0)
			return 0;
	}
	*ret_rule = f.record;
	return f.has_record ? 0 : -ENOENT;
}

bool x86_exit_is_none(const struct x86_code *code, uint64_t pc)
{
	struct follower f = { .code = code };
	struct x86_insn i;

	while (f.nr_insns < NONE_MAX_INSNS && next_insn(&f, pc, &i) == 0) {
		if (i.op == X86_HALT)
			return true;
		if (i.op == X86_RET || i.op == X86_JMP || i.op == X86_JMP_INDIRECT ||
		    i.op == X86_TRAP)
			return false;
		pc += i.size;
	}
	return false;
}
