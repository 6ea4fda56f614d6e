/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One path through x86-64 code: the effect of its instructions on the stack pointer and the frame
 * pointer, relative to their values at its start.
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
	X86_LOST, /* sp became unknown: the stack contents cannot be tracked any more */
};

/* An address, relative to sp or fp at the start of the path. */
struct x86_place {
	enum x86_base base;
	int64_t off;
};

/* What fp contains. */
enum x86_fp_state {
	X86_FP_OWN,    /* its value at the start of the path */
	X86_FP_PLACE,  /* the address `at` */
	X86_FP_LOADED, /* the value that was saved at address `at` */
};

struct x86_fp {
	enum x86_fp_state state;
	struct x86_place at;
};

/* What is on top of the stack when a return address is moved. */
enum x86_top {
	X86_TOP_OTHER,
	X86_TOP_MOVED,    /* the return address */
	X86_TOP_FP_MOVED, /* a frame pointer, with the return address after it */
};

struct x86_way {
	uint64_t pc;
	struct x86_place sp;
	struct x86_fp fp;
	bool has_saved; /* fp was saved on the path, at `saved_at` */
	struct x86_place saved_at;
	struct x86_fp saved;
	uint16_t written; /* registers that may have changed, by number */
	bool has_called;
	bool has_popped; /* the first word popped from the stack, into `popped` */
	uint8_t popped;
	struct x86_place popped_at;
	enum x86_top top;
};

bool x86_place_is_same(struct x86_place a, struct x86_place b);

/* Applies an instruction that continues with the next one. False: it cannot be tracked. */
bool x86_way_apply(struct x86_way *w, const struct x86_insn *i);

/* The rule at the start of a path that returns, removing the given bytes of arguments. 0, or
 * -ENOENT. */
int x86_way_rule(const struct x86_way *w, int64_t arguments, pa_rule *ret_rule);

/* Encodes a rule: the CFA by a register, and both registers in words from there; fp: 0 if
 * unchanged. 0, or -ENOENT: it does not fit. */
int x86_make_rule(unsigned int reg, int64_t cfa, int64_t fp, int64_t ra, pa_rule *ret_rule);

#endif
