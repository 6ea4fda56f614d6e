/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PLT stubs of AArch64 (Procedure Call Standard and ELF for the Arm 64-bit Architecture; as written
 * by GNU ld and lld). Linkers emit no CFI for them. (On x86-64 GNU ld does; where it does not, and
 * for lld, the walker recognizes the stub by its single instruction, pa_record_at().) A stub does
 * not touch sp or the link register; the PLT header, used by calls that are not bound yet, pushes
 * two registers first.
 */
#include <elf.h>
#include <string.h>

#include "elf/elf_image.h"
#include "elf/plt_stub.h"
#include "unwind/known_code_internal.h"

#define HEAD_BYTES 32u
#define PUSHED_BYTES 16u

#define INSN_PUSH 0xa9bf7bf0u /* stp x16, x30, [sp, #-16]! */

/* The return address is in the link register, the frame pointer unchanged. */
static pa_rule stub_rule(uint64_t pushed_bytes)
{
	return PA_CFA_REG | (pa_rule)PA_REG_ARM64_SP << PA_RULE_REG_SHIFT |
	       pushed_bytes << PA_RULE_CFA_SHIFT | (pa_rule)PA_RA_LR << PA_RULE_RA_SHIFT;
}

static int add_table(struct known_code *k, const struct elf_image *img, const struct elf_section *s)
{
	uint64_t end = s->addr + s->size, pushed;
	uint32_t insns[2];
	int r;

	if (s->type != SHT_PROGBITS || s->size < HEAD_BYTES / 2 || end < s->addr ||
	    elf_image_read(img, s->offset, insns, sizeof(insns)) < 0)
		return 0;
	pushed = s->addr + (insns[0] == PLT_ARM64_BTI_C ? 8 : 4);
	if (insns[0] == PLT_ARM64_BTI_C)
		insns[0] = insns[1];
	if ((insns[0] & PLT_ARM64_ADRP_MASK) == PLT_ARM64_ADRP_X16)
		return known_code_add(k, s->addr, end, stub_rule(0)); /* no PLT header */
	if (insns[0] != INSN_PUSH || s->size < HEAD_BYTES)
		return 0;
	r = known_code_add(k, s->addr, pushed, stub_rule(0));
	if (r == 0)
		r = known_code_add(k, pushed, s->addr + HEAD_BYTES, stub_rule(PUSHED_BYTES));
	if (r == 0)
		r = known_code_add(k, s->addr + HEAD_BYTES, end, stub_rule(0));
	return r;
}

int plt_code_find(const struct elf_image *img, struct known_code *k)
{
	static const char *const names[] = { ".plt", ".iplt" };
	int r = 0;

	if (elf_image_machine(img) != EM_AARCH64)
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && r == 0; i++) {
		const struct elf_section *s = elf_image_section(img, names[i]);

		if (s)
			r = add_table(k, img, s);
	}
	return r;
}
