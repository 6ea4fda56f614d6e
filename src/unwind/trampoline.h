/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trampolines that CPython (3.12 and later, -X perf) generates so that each Python function has an
 * address of its own: copies of "sub $8, %rsp; call *%rcx; add $8, %rsp; ret", without a frame
 * pointer (Python/asm_trampoline.S, x86-64 only). They are recognized by their bytes. With -X
 * perf_jit (3.13) each copy has 256 bytes of padding, as room for unwind information in the file
 * that `perf inject` writes.
 */
#ifndef UNWIND_TRAMPOLINE_H
#define UNWIND_TRAMPOLINE_H

#include <stddef.h>
#include <stdint.h>

/* bytes of a mapping that are examined: several trampolines of the largest stride */
#define TRAMPOLINE_LOOK_BYTES 1024
/* CPython fills this many bytes at once, always from the start */
#define TRAMPOLINE_ARENA_BYTES 65536

/* The known kinds: with or without endbr64; packed, aligned, or padded. */
struct trampoline {
	uint8_t endbr_bytes; /* before the first instruction */
	uint16_t stride;     /* bytes from one trampoline to the next */
};
#define NR_TRAMPOLINES 6
extern const struct trampoline trampolines[NR_TRAMPOLINES];

/* The kind of the trampolines at the start of a mapping; -1 if there are none. */
int trampoline_find(const uint8_t *code, size_t n);

#endif
