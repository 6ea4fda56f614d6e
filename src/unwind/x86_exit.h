/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How x86-64 code without CFI leaves its function: instructions are followed from a pc to a return,
 * and their effect on the stack pointer shows where the return address and the caller's frame
 * pointer are. Only code on the path is used: if the function cleans up a certain stack layout, the
 * code before the pc must have set it up.
 *
 * The result is about the code, not about a stack: the caller checks whether the word it leads to
 * is a plausible return address.
 */
#ifndef UNWIND_X86_EXIT_H
#define UNWIND_X86_EXIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/rows.h"

#define X86_EXIT_MAX_INSNS 1024u /* on all paths in total */
/* on all paths from the start of a function; higher, because interpreters are long */
#define X86_CALL_MAX_INSNS 8192u
#define X86_EXIT_MAX_WAYS 256u /* pending branches */

struct x86_code {
	/* Reads up to n bytes of code; returns the number of bytes, which is below n at the end of
	 * the code, or negative. */
	long (*read)(void *ctx, uint64_t addr, void *to, size_t n);
	void *ctx;
};

/* How the return address was found. */
enum x86_exit_by {
	X86_BY_RETURN, /* some path returns */
	X86_BY_RECORD, /* a path removes the frame record, and possibly more */
	X86_BY_FRAME,  /* a path uses memory below fp: there is a record, and no path returns */
	X86_BY_ENTRY,  /* a path pushes a frame record: the function was just called */
	/* as X86_BY_ENTRY, or it jumps to another function; the return address was moved to do
	 * so */
	X86_BY_MOVE,
};

struct x86_exit {
	pa_rule rule;
	enum x86_exit_by by; /* only X86_BY_RETURN shows what else is removed from the stack */
	/* calls, and then returns without a frame record, which code with frame pointers never
	 * does */
	bool calls_without_record;
};

/* Finds the rule that applies at pc. 0, or -ENOENT if no path shows it. */
int x86_exit_find(const struct x86_code *code, uint64_t pc, struct x86_exit *ret_exit);

/* Finds the rule at pc for a function that was called at `start`, from its effect on a path from
 * there to pc. 0, or -ENOENT: no path leads there, a path passes the start of another function, or
 * the stack contents are unknown. */
int x86_exit_of_call(const struct x86_code *code, uint64_t start, uint64_t pc, pa_rule *ret_rule);

/* The end of a program's entry code, at most max bytes after its start: a jump, a hlt, or the start
 * of another function that it calls. */
uint64_t x86_first_end(const struct x86_code *code, uint64_t start, uint64_t max);

/* True if the code at pc runs into a hlt, which user mode may not execute, without a return or a
 * jump on the way, as after the call that ends a thread, a fiber or a program. */
bool x86_exit_is_none(const struct x86_code *code, uint64_t pc);

#endif
