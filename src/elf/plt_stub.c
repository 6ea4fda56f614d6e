/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/plt_stub.h"

#include <elf.h>

#include "base/cursor.h"

#define X86_ENDBR64 "\xf3\x0f\x1e\xfa"
#define X86_MOV_R11D "\x41\xbb" /* mold passes the stub's number to the resolver in r11 */
#define X86_BND "\xf2"
#define X86_JMP_RIP "\xff\x25"
#define X86_PUSH 0x68
#define X86_SHORT_BYTES 8u
#define X86_LONG_BYTES 16u

#define ARM64_LDR_X17_X16 0xf9400211u
#define ARM64_LDR_MASK 0xffc003ffu
#define ARM64_BR_X17 0xd61f0220u
#define ARM64_SHORT_BYTES 16u
#define ARM64_LONG_BYTES 24u /* with a landing pad, or a signed pointer */
#define ARM64_PAGE_BYTES 4096u

static bool skip(struct cursor *c, const char *insn, size_t n)
{
	if (cursor_left(c) < n || memcmp(c->at, insn, n) != 0)
		return false;
	c->at += n;
	return true;
}

/* jmp *slot(%rip), followed, if binding is lazy, by a push of the stub's number. */
static bool decode_x86(const uint8_t *bytes, size_t n, uint64_t addr, struct plt_stub *stub)
{
	struct cursor c = cursor_of(bytes, n);
	bool is_long = skip(&c, X86_ENDBR64, 4);

	if (skip(&c, X86_MOV_R11D, 2)) {
		is_long = true;
		(void)cursor_u32(&c);
	}
	(void)skip(&c, X86_BND, 1);
	if (!skip(&c, X86_JMP_RIP, 2))
		return false;
	stub->slot = (uint64_t)(int64_t)cursor_s32(&c);
	stub->slot += addr + (uint64_t)(c.at - bytes);
	is_long = is_long || (cursor_left(&c) && *c.at == X86_PUSH);
	stub->bytes = is_long ? X86_LONG_BYTES : X86_SHORT_BYTES;
	return !c.bad;
}

static uint64_t adrp_page(uint32_t insn, uint64_t pc)
{
	uint64_t pages = (insn >> 29 & 3) | (insn >> 5 & 0x7ffff) << 2;

	if (pages >> 20)
		pages -= 1u << 21; /* signed, 21 bits */
	return (pc / ARM64_PAGE_BYTES + pages) * ARM64_PAGE_BYTES;
}

/* adrp x16, page; ldr x17, [x16, #offset]; add x16, x16, #offset; optionally an authentication; br
 * x17 */
static bool decode_arm64(const uint8_t *bytes, size_t n, uint64_t addr, struct plt_stub *stub)
{
	struct cursor c = cursor_of(bytes, n);
	uint32_t first = cursor_u32(&c), adrp = first, ldr, fourth;

	if (first == PLT_ARM64_BTI_C) {
		adrp = cursor_u32(&c);
		addr += sizeof(first);
	}
	ldr = cursor_u32(&c);
	if (first != PLT_ARM64_BTI_C)
		(void)cursor_u32(&c);
	fourth = cursor_u32(&c);
	if (c.bad || (adrp & PLT_ARM64_ADRP_MASK) != PLT_ARM64_ADRP_X16 ||
	    (ldr & ARM64_LDR_MASK) != ARM64_LDR_X17_X16)
		return false;
	stub->slot = adrp_page(adrp, addr) + (ldr >> 10 & 0xfff) * sizeof(uint64_t);
	stub->bytes = fourth == ARM64_BR_X17 ? ARM64_SHORT_BYTES : ARM64_LONG_BYTES;
	return true;
}

bool plt_stub_decode(uint16_t machine, const void *bytes, size_t n, uint64_t addr,
		     struct plt_stub *ret_stub)
{
	struct plt_stub stub;

	if (machine == EM_X86_64 ? !decode_x86(bytes, n, addr, &stub)
				 : machine != EM_AARCH64 || !decode_arm64(bytes, n, addr, &stub))
		return false;
	if (stub.bytes > n)
		stub.bytes = (uint32_t)n;
	*ret_stub = stub;
	return true;
}
