/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How x86-64 code that nothing describes leaves its function: its instructions are followed from a pc
 * on to a return, and what they do to the stack pointer until then says where the return address is
 * and where the caller's frame pointer. Only what is on the way is believed: of a function that was
 * found to clean up so and so, the code before the pc must have set it up so.
 *
 * It is an answer about the code, not about a stack: whoever uses it looks whether the word that it
 * leads to can be a return address.
 */
#ifndef UNWIND_X86_EXIT_H
#define UNWIND_X86_EXIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/rows.h"

#define X86_EXIT_MAX_INSNS 1024u /* on all ways together */
#define X86_CALL_MAX_INSNS                                                                         \
	8192u                  /* the same from the begin of a function on: interpreters are long */
#define X86_EXIT_MAX_WAYS 256u /* branches that are put aside */

struct x86_code {
	/* Reads up to n bytes of code: how many, or negative. Fewer than n: there are no more. */
	long (*read)(void *ctx, uint64_t addr, void *to, size_t n);
	void *ctx;
};

/* What on its ways shows where the return address is. */
enum x86_exit_by {
	X86_BY_RETURN, /* one returns */
	X86_BY_RECORD, /* one takes the frame record off, and maybe more than that */
	X86_BY_FRAME,  /* one uses what lies below fp: it has a record, and nobody returns */
	X86_BY_ENTRY,  /* one puts a frame record on the stack: it was just called */
	X86_BY_MOVE,   /* the same, or jumps on, and moves the return address to do so */
};

struct x86_exit {
	pa_rule rule;
	enum x86_exit_by by; /* others than returns do not show what else is taken off the stack */
	bool calls_without_record; /* before it returns, as no function with frame pointers does */
};

/* The rule that holds at pc. 0, or -ENOENT: no way shows it. */
int x86_exit_find(const struct x86_code *code, uint64_t pc, struct x86_exit *ret_exit);

/* The same of a function that was called at `start`, by what it does on a way from there to pc. 0, or
 * -ENOENT: no way leads there, or past the begin of another function, or nobody can say what is on the
 * stack then. */
int x86_exit_of_call(const struct x86_code *code, uint64_t start, uint64_t pc, pa_rule *ret_rule);

/* Where the code that a program begins with ends, at most max bytes behind its start: with a jump or a
 * halt, or where another function begins that it calls. */
uint64_t x86_first_end(const struct x86_code *code, uint64_t start, uint64_t max);

/* Whether the code at pc runs into a hlt, which user mode may not execute, without a return or a jump
 * on the way: as do those who begin a thread, a fiber or a program, behind what ends it. */
bool x86_exit_is_none(const struct x86_code *code, uint64_t pc);

#endif
