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
#define X86_EXIT_MAX_WAYS 32u    /* branches that are put aside */

struct x86_code {
	/* Reads up to n bytes of code: how many, or negative. Fewer than n: there are no more. */
	long (*read)(void *ctx, uint64_t addr, void *to, size_t n);
	void *ctx;
};

/* The rule that holds at pc. 0, or -ENOENT: no return was found, or its code does other things to the
 * stack. */
int x86_exit_rule(const struct x86_code *code, uint64_t pc, pa_rule *ret_rule);

/* Whether the code at pc runs into a hlt, which user mode may not execute, without a return or a jump
 * on the way: as do those who begin a thread, a fiber or a program, behind what ends it. */
bool x86_exit_is_none(const struct x86_code *code, uint64_t pc);

#endif
