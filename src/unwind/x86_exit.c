/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/x86_exit.h"

#include <errno.h>
#include <string.h>

#include "unwind/x86_way.h"

#define BUFFER_BYTES 256u
#define NONE_MAX_INSNS 24u /* glibc's __start_context has 13 if it supports shadow stacks */
#define NR_SEEN (2 * X86_CALL_MAX_INSNS) /* half of the slots stay free */

/* Decodes instructions one after another. */
struct insns {
	const struct x86_code *code;
	uint64_t at; /* offset into the buffer */
	size_t n;
	unsigned int nr; /* instructions read */
	uint8_t buffer[BUFFER_BYTES];
};

/* All paths through the code; too big to be created just to read an instruction or two. */
struct follower {
	struct insns insns;
	unsigned int max_insns;
	struct x86_way ways[X86_EXIT_MAX_WAYS];
	unsigned int nr_ways;
	uint64_t from, to;    /* a function, and the pc that paths should reach; 0: none */
	bool leaves_function; /* `to` is outside the function */
	bool has_switch;
	struct x86_way at_switch; /* state at the first switch */
	bool has_record;          /* some path removes a frame record, whatever follows */
	pa_rule record;
	bool has_entry; /* some path begins by pushing a frame record */
	struct x86_exit entry;
	bool uses_frame;        /* some path uses the frame, by fp */
	uint32_t seen[NR_SEEN]; /* pcs visited, low half; 0: free */
};

/* The bytes at pc: as many as an instruction may have, fewer at the end of the code. */
static size_t fetch_code(struct insns *in, uint64_t pc, const uint8_t **ret_bytes)
{
	long n;

	if (pc - in->at >= in->n || in->n - (pc - in->at) < X86_INSN_MAX_BYTES) {
		n = in->code->read(in->code->ctx, pc, in->buffer, sizeof(in->buffer));
		in->at = pc;
		in->n = n > 0 ? (size_t)n : 0;
	}
	*ret_bytes = in->buffer + (pc - in->at);
	return in->n - (size_t)(pc - in->at);
}

static int next_insn(struct insns *in, uint64_t pc, struct x86_insn *ret_insn)
{
	const uint8_t *bytes;
	size_t n = fetch_code(in, pc, &bytes);

	in->nr++;
	return x86_insn_decode(bytes, n, ret_insn);
}

/* True if the pc was visited before: paths merge there, and the first one's result counts for
 * all. */
static bool was_here(struct follower *f, uint64_t pc)
{
	uint64_t at = pc * 0x9e3779b97f4a7c15ull >> 48;

	for (;; at++) {
		uint32_t *slot = &f->seen[at % NR_SEEN];

		if (*slot == (uint32_t)pc)
			return true;
		if (*slot)
			continue;
		*slot = (uint32_t)pc;
		return false;
	}
}

static void put_aside(struct follower *f, const struct x86_way *w, uint64_t pc)
{
	if (f->nr_ways == X86_EXIT_MAX_WAYS)
		return;
	f->ways[f->nr_ways] = *w;
	f->ways[f->nr_ways++].pc = pc;
}

/* Notes that the path removes a frame record. Such code returns to the address after the record: V8
 * pops a number of arguments given in a register, and does not return by a plain ret. */
static void note_record(struct follower *f, const struct x86_way *w)
{
	if (!f->has_record && w->sp.base == X86_OF_FP && w->sp.off == X86_WORD &&
	    w->fp.state == X86_FP_LOADED &&
	    x86_place_is_same(w->fp.at, (struct x86_place){ X86_OF_FP, 0 }))
		f->has_record = x86_way_rule(w, 0, &f->record) == 0;
}

static void set_entry(struct follower *f, const struct x86_way *w, struct x86_place ra,
		      enum x86_exit_by by)
{
	if (f->has_entry || w->has_called || ra.base != X86_OF_SP || ra.off < 0 ||
	    ra.off % X86_WORD ||
	    x86_make_rule(PA_REG_X86_SP, ra.off + X86_WORD, 0, -1, &f->entry.rule) < 0)
		return;
	f->has_entry = true;
	f->entry.by = by;
}

/*
 * Notes that the path pushes a frame record: the function was just called, and its return address
 * is after the record, where it was at the start of the path, or where the path has moved it. (A
 * call on the path may not return, and the next function may follow it.)
 */
static void note_entry(struct follower *f, const struct x86_way *w)
{
	if (!w->has_saved || w->saved.state != X86_FP_OWN)
		return;
	if (w->top == X86_TOP_FP_MOVED)
		set_entry(f, w, w->popped_at, X86_BY_MOVE);
	else if (x86_place_is_same(w->saved_at, w->sp))
		set_entry(f, w, (struct x86_place){ w->sp.base, w->sp.off + X86_WORD },
			  X86_BY_ENTRY);
}

/* Notes a jump that leaves the function. HotSpot's adapters keep the return address below an
 * aligned stack, and jump on. */
static void note_jump(struct follower *f, const struct x86_way *w)
{
	if (w->top == X86_TOP_MOVED && w->sp.base == X86_LOST && w->fp.state == X86_FP_OWN)
		set_entry(f, w, w->popped_at, X86_BY_MOVE);
}

static void note_place(struct follower *f, const struct x86_way *w, const struct x86_insn *i)
{
	note_record(f, w);
	if (i->op == X86_FP_FROM_SP && i->value == 0)
		note_entry(f, w);
	if (i->is_below_fp && w->fp.state == X86_FP_OWN && !w->has_saved &&
	    !(w->written >> X86_REG_FP & 1))
		f->uses_frame = true;
}

/* True for an indirect jump to the cases of a switch, which follow it. With nothing on the stack it
 * may also be a tail call. */
static bool is_switch(const struct x86_way *w, const struct x86_insn *i)
{
	return i->op == X86_JMP_INDIRECT && (w->sp.base != X86_OF_SP || w->sp.off != 0);
}

/* The end of a switch case is followed by the next case. Another function may follow instead; its
 * results are never used, because no return address lies there. */
static void note_case(struct follower *f, const struct x86_way *w, const struct x86_insn *i)
{
	if (!f->has_switch && is_switch(w, i)) {
		f->has_switch = true;
		f->at_switch = *w;
	}
	if (f->has_switch && (i->op == X86_JMP || i->op == X86_JMP_INDIRECT || i->op == X86_RET ||
			      i->op == X86_TRAP))
		put_aside(f, &f->at_switch, w->pc);
}

/* Notes a call on a path from the start of a function. If a function begins there before the target
 * pc, that function is the one that runs at the target. */
static void note_on_call(struct follower *f, const struct x86_way *w, const struct x86_insn *i)
{
	uint64_t target = w->pc + (uint64_t)i->value;

	note_case(f, w, i);
	if (i->op == X86_CALL && target > f->from && target <= f->to)
		f->leaves_function = true;
}

/* Follows one path to its end. 0: a return, whose rule it is, or the target pc. -ENOENT. */
static int follow_way(struct follower *f, struct x86_way *w, pa_rule *ret_rule)
{
	struct x86_insn i;

	while (f->insns.nr < f->max_insns && !f->leaves_function) {
		if (f->to && w->pc == f->to)
			return 0;
		if (was_here(f, w->pc) || next_insn(&f->insns, w->pc, &i) < 0)
			return -ENOENT;
		w->pc += i.size;
		if (f->to)
			note_on_call(f, w, &i);
		if (i.op == X86_RET)
			return f->to ? -ENOENT : x86_way_rule(w, i.value, ret_rule);
		if (i.op == X86_JMP) {
			w->pc += (uint64_t)i.value;
			continue;
		}
		if (i.op == X86_JMP_IF) {
			put_aside(f, w, w->pc + (uint64_t)i.value);
			continue;
		}
		if (i.op == X86_JMP_INDIRECT)
			note_jump(f, w);
		if (!x86_way_apply(w, &i))
			return -ENOENT;
		note_place(f, w, &i);
	}
	return -ENOENT;
}

/* Follows all paths until one succeeds. */
static int follow_all(struct follower *f, struct x86_way *ret_way, pa_rule *ret_rule)
{
	while (f->nr_ways && f->insns.nr < f->max_insns && !f->leaves_function) {
		*ret_way = f->ways[--f->nr_ways];
		if (follow_way(f, ret_way, ret_rule) == 0)
			return 0;
	}
	return -ENOENT;
}

/* The result if no path returns. If the code uses the stack in both ways, nothing is known. */
static int find_other(const struct follower *f, struct x86_exit *ret_exit)
{
	if (f->has_record)
		*ret_exit = (struct x86_exit){ .rule = f->record, .by = X86_BY_RECORD };
	else if (f->has_entry && !f->uses_frame)
		*ret_exit = f->entry;
	else if (f->uses_frame && !f->has_entry &&
		 x86_make_rule(PA_REG_X86_FP, 2 * X86_WORD, -2, -1, &ret_exit->rule) == 0)
		ret_exit->by = X86_BY_FRAME;
	else
		return -ENOENT;
	return 0;
}

int x86_exit_find(const struct x86_code *code, uint64_t pc, struct x86_exit *ret_exit)
{
	struct follower f = { .insns.code = code, .max_insns = X86_EXIT_MAX_INSNS, .nr_ways = 1 };
	struct x86_way w;

	f.ways[0] = (struct x86_way){ .pc = pc };
	*ret_exit = (struct x86_exit){ .by = X86_BY_RETURN };
	if (follow_all(&f, &w, &ret_exit->rule) < 0)
		return find_other(&f, ret_exit);
	ret_exit->calls_without_record = w.has_called && !w.has_saved &&
					 PA_RULE_FP_KIND(ret_exit->rule) == PA_FP_SAME;
	return 0;
}

/* True if fp points to a record at the start of the path, so that sp does not matter. */
static bool has_record(const struct x86_way *w)
{
	return w->has_saved && w->saved.state == X86_FP_OWN && w->fp.state == X86_FP_PLACE &&
	       x86_place_is_same(w->fp.at, w->saved_at);
}

/* Where the caller's fp is at the end of a path from the start of a function; 0: it is
 * unchanged. */
static int find_fp(const struct x86_way *w, int64_t *ret_fp)
{
	*ret_fp = 0;
	if (w->has_saved && (w->saved_at.base != X86_OF_SP || w->saved_at.off % X86_WORD ||
			     w->saved.state != X86_FP_OWN))
		return -ENOENT;
	if (w->has_saved && (w->sp.base == X86_LOST || w->saved_at.off >= w->sp.off))
		*ret_fp = w->saved_at.off / X86_WORD - 1;
	else if (w->fp.state != X86_FP_OWN || w->written >> X86_REG_FP & 1)
		return -ENOENT;
	return 0;
}

int x86_exit_of_call(const struct x86_code *code, uint64_t start, uint64_t pc, pa_rule *ret_rule)
{
	struct follower f = { .insns.code = code,
			      .max_insns = X86_CALL_MAX_INSNS,
			      .nr_ways = 1,
			      .from = start,
			      .to = pc };
	unsigned int reg = PA_REG_X86_SP;
	struct x86_place at;
	struct x86_way w;
	int64_t fp;

	f.ways[0] = (struct x86_way){ .pc = start };
	if (follow_all(&f, &w, ret_rule) < 0 || find_fp(&w, &fp) < 0)
		return -ENOENT;
	at = w.sp;
	if (w.sp.base == X86_LOST && has_record(&w)) {
		at = w.fp.at;
		reg = PA_REG_X86_FP;
	}
	if (at.base != X86_OF_SP || at.off > 0 || at.off % X86_WORD)
		return -ENOENT;
	return x86_make_rule(reg, X86_WORD - at.off, fp, -1, ret_rule);
}

uint64_t x86_first_end(const struct x86_code *code, uint64_t start, uint64_t max)
{
	struct insns in = { .code = code };
	uint64_t pc = start, end = start + max;
	struct x86_insn i;

	while (pc < end && next_insn(&in, pc, &i) == 0) {
		pc += i.size;
		if (pc >= end)
			break;
		if (i.op == X86_RET || i.op == X86_JMP || i.op == X86_JMP_INDIRECT ||
		    i.op == X86_HALT || i.op == X86_TRAP)
			break;
		if (i.op == X86_CALL && (uint64_t)i.value < end - pc)
			end = pc + (uint64_t)i.value;
	}
	return pc < end ? pc : end;
}

bool x86_exit_is_none(const struct x86_code *code, uint64_t pc)
{
	struct insns in = { .code = code };
	uint64_t reached = pc; /* by conditional jumps */
	struct x86_insn i;

	while (in.nr < NONE_MAX_INSNS && next_insn(&in, pc, &i) == 0) {
		/* A hlt that is jumped over is an assertion in musl. */
		if (i.op == X86_HALT)
			return reached <= pc;
		if (i.op == X86_RET || i.op == X86_JMP || i.op == X86_JMP_INDIRECT ||
		    i.op == X86_TRAP)
			return false;
		pc += i.size;
		if (i.op == X86_JMP_IF && i.value > 0 && pc + (uint64_t)i.value > reached)
			reached = pc + (uint64_t)i.value;
	}
	return false;
}
