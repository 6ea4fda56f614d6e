/* SPDX-License-Identifier: Apache-2.0 */
/* AArch64: DWARF for the Arm 64-bit Architecture (aadwarf64), 4.1. */
#include <elf.h>
#include <string.h>

#include "bpf/rows.h"
#include "elf/elf_image.h"
#include "unwind/arch.h"

#define PC_COLUMN 32
#define NR_REGS (PC_COLUMN + 1) /* x0-x30, sp, pc */

/* mov x8, #139 (rt_sigreturn); svc #0 */
static const uint8_t sigreturn[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };

/*
 * The CFI of the vDSO's trampoline leads to the frame record above the signal frame and misses the
 * interrupted pc. Unwinders recognize the trampoline by its two instructions, which the kernel
 * keeps for them (arch/arm64/kernel/vdso/sigreturn.S). The FDE begins at a nop before them.
 */
static bool is_kernel_signal_frame(const struct cfi_state *state, const struct elf_image *img,
				   uint64_t start)
{
	uint8_t code[4 + sizeof(sigreturn)];
	uint64_t offset;

	if (!img || elf_image_offset_of(img, start, &offset) < 0 ||
	    elf_image_read(img, offset, code, sizeof(code)) < 0)
		return false;
	return memcmp(code, sigreturn, sizeof(sigreturn)) == 0 ||
	       memcmp(code + 4, sigreturn, sizeof(sigreturn)) == 0;
}

/* regs[31], sp and pc of struct sigcontext are adjacent, like their DWARF numbers. */
#define AT(i) (PA_SIGNAL_ARM64_REGS + 8 * (i))
#define AT4(i) AT(i), AT(i + 1), AT(i + 2), AT(i + 3)
_Static_assert(AT(PA_REG_ARM64_SP) == PA_SIGNAL_ARM64_SP && AT(PC_COLUMN) == PA_SIGNAL_ARM64_PC,
	       "as the walker has them");

const struct unwind_arch unwind_arch_arm64 = {
	.machine = EM_AARCH64,
	.nr_regs = NR_REGS,
	.sp = PA_REG_ARM64_SP,
	.fp = PA_REG_ARM64_FP,
	.lr = PA_REG_ARM64_LR,
	.pc = PC_COLUMN,
	.signal_offsets = { AT4(0), AT4(4), AT4(8), AT4(12), AT4(16), AT4(20), AT4(24), AT4(28),
			    AT(PC_COLUMN) },
	.has_pac = true,
	.code_mask = (1ull << 48) - 1,
	.is_kernel_signal_frame = is_kernel_signal_frame,
};
_Static_assert(NR_REGS <= CFI_MAX_REGS, "slots are indexed by register");
