/* SPDX-License-Identifier: Apache-2.0 */
/* The stubs through which code calls other files, as linkers write them for x86-64 and AArch64. */
#ifndef ELF_PLT_STUB_H
#define ELF_PLT_STUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* AArch64: a landing pad; and how a stub begins. */
#define PLT_ARM64_BTI_C 0xd503245fu
#define PLT_ARM64_ADRP_X16 0x90000010u
#define PLT_ARM64_ADRP_MASK 0x9f00001fu

/* No stub begins between two multiples of this. */
#define PLT_STUB_ALIGN_X86 8u
#define PLT_STUB_ALIGN_ARM64 4u

struct plt_stub {
	uint64_t slot;  /* the link-time address of the word that holds where it jumps to */
	uint32_t bytes; /* of its code, at most as many as there were */
};

/* The stub at the start of n bytes, which stand at a link-time address. False: this is none. The head
 * of a table may look like one; no relocation has its slot. */
bool plt_stub_decode(uint16_t machine, const void *bytes, size_t n, uint64_t addr,
		     struct plt_stub *ret_stub);

#endif
