/* SPDX-License-Identifier: Apache-2.0 */
/* PLT stubs, through which code calls other files, as linkers write them for x86-64 and AArch64. */
#ifndef ELF_PLT_STUB_H
#define ELF_PLT_STUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* AArch64: a landing pad, and the start of a stub. */
#define PLT_ARM64_BTI_C 0xd503245fu
#define PLT_ARM64_ADRP_X16 0x90000010u
#define PLT_ARM64_ADRP_MASK 0x9f00001fu

/* Alignment of stubs. */
#define PLT_STUB_ALIGN_X86 8u
#define PLT_STUB_ALIGN_ARM64 4u

struct plt_stub {
	uint64_t slot;  /* link-time address of the slot that holds the jump target */
	uint32_t bytes; /* size of its code, at most the bytes given */
};

/* Decodes the stub at the start of n bytes at a link-time address. False: not a stub. The head of a
 * PLT may look like a stub, but no relocation refers to its slot. */
bool plt_stub_decode(uint16_t machine, const void *bytes, size_t n, uint64_t addr,
		     struct plt_stub *ret_stub);

#endif
