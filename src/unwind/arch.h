/* SPDX-License-Identifier: Apache-2.0 */
/* Architecture-specific facts for compiling CFI. */
#ifndef UNWIND_ARCH_H
#define UNWIND_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi_state;
struct elf_image;

#define CFI_MAX_REGS 33 /* AArch64: x0-x30, sp, and a column for the return address */
#define UNWIND_NO_REG 0xff

struct unwind_arch {
	uint16_t machine;   /* EM_* */
	uint8_t nr_regs;    /* DWARF registers below this number are tracked */
	uint8_t sp, fp;     /* DWARF numbers */
	uint8_t lr;         /* holds the return address until it is saved; UNWIND_NO_REG: none */
	uint8_t pc;         /* a column, not a real register */
	bool has_pac;       /* opcode 0x2d toggles whether the return address is signed */
	uint64_t code_mask; /* of a signed return address: the bits that are the address */

	/* Positions of the interrupted registers in the kernel's signal frame, in bytes above sp,
	 * by DWARF number. */
	uint16_t signal_offsets[CFI_MAX_REGS];

	/* True if a frame that the file marks as a signal frame was created by the kernel, so that
	 * the walker may read it by the kernel's layout. start: link-time address of the FDE. */
	bool (*is_kernel_signal_frame)(const struct cfi_state *state, const struct elf_image *img,
				       uint64_t start);
};

extern const struct unwind_arch unwind_arch_x86;
extern const struct unwind_arch unwind_arch_arm64;

/* NULL: not supported. */
const struct unwind_arch *unwind_arch_of(uint16_t machine);

#endif
