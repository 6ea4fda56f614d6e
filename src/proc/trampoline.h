/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that CPython (3.12 and later, -X perf) makes at run time so that each Python function has an
 * address of its own: many copies of "sub $8, %rsp; call *%rcx; add $8, %rsp; ret", which keep no
 * frame pointer (Python/asm_trampoline.S, x86-64 alone). Known by its bytes, it can be unwound.
 * With -X perf_jit (3.13) each copy has 256 bytes of padding, as room for unwind information in the
 * file that `perf inject` writes.
 */
#ifndef PROC_TRAMPOLINE_H
#define PROC_TRAMPOLINE_H

#include <stddef.h>
#include <stdint.h>

#define TRAMPOLINE_LOOK_BYTES 1024   /* several of the largest stride */
#define TRAMPOLINE_ARENA_BYTES 65536 /* CPython fills so much at once, always from the start */

/* The kinds that there are: with or without endbr64, packed, aligned, or padded. */
struct trampoline {
	uint8_t endbr_bytes; /* before the first instruction */
	uint16_t stride;     /* bytes from one to the next */
};
#define NR_TRAMPOLINES 6
extern const struct trampoline trampolines[NR_TRAMPOLINES];

/* What the first bytes of a mapping are; -1: something else. */
int trampoline_find(const uint8_t *code, size_t n);

#endif
