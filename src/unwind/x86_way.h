/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One way through x86-64 code: what its instructions do to the stack pointer and the frame pointer, as
 * far from what both are where it begins.
 */
#ifndef UNWIND_X86_WAY_H
#define UNWIND_X86_WAY_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/rows.h"
#include "unwind/x86_insn.h"

#define X86_WORD 8

enum x86_base {
	X86_OF_SP,
	X86_OF_FP,
	X86_LOST, /* sp was set to something else: what is on the stack cannot be followed any more */
};

/* An address, as far from sp or fp as they are where the way begins. */
struct x86_place {
	enum x86_base base;
	int64_t off;
};

/* What fp holds. */
enum x86_fp_state {
	X86_FP_OWN,    /* what it held where the way begins */
	X86_FP_PLACE,  /* that address */
	X86_FP_LOADED, /* what is at that address, where it was kept */
};

struct x86_fp {
	enum x86_fp_state state;
	struct x86_place at;
};

/* What is on top of the stack, of a return address that is moved. */
enum x86_top {
	X86_TOP_OTHER,
	X86_TOP_MOVED,    /* it */
	X86_TOP_FP_MOVED, /* a frame pointer, and it is behind */
};

struct x86_way {
	uint64_t pc;
	struct x86_place sp;
	struct x86_fp fp;
	bool has_saved; /* fp, on the way, at `saved_at` */
	struct x86_place saved_at;
	struct x86_fp saved;
	uint16_t written; /* registers that may hold something else by now */
	bool has_called;
	bool has_popped; /* the first word that it takes from the stack, into `popped` */
	uint8_t popped;
	struct x86_place popped_at;
	enum x86_top top;
};

bool x86_place_is_same(struct x86_place a, struct x86_place b);

/* What an instruction that goes on with the next one does. False: no one can follow it. */
bool x86_way_apply(struct x86_way *w, const struct x86_insn *i);

/* The rule of the way's begin where the way returns, and takes so many bytes of arguments off. 0, or
 * -ENOENT. */
int x86_way_rule(const struct x86_way *w, int64_t arguments, pa_rule *ret_rule);

/* A rule: the CFA by a register, and in units of a word from there on where both registers are; fp: 0
 * where it is unchanged. 0, or -ENOENT: it does not fit. */
int x86_make_rule(unsigned int reg, int64_t cfa, int64_t fp, int64_t ra, pa_rule *ret_rule);

#endif
