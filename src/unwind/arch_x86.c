/* SPDX-License-Identifier: Apache-2.0 */
/* x86-64: System V ABI, AMD64 supplement, figure 3.36 (DWARF register numbers). */
#include <elf.h>

#include "bpf/rows.h"
#include "unwind/arch.h"
#include "unwind/cfi_expr.h"
#include "unwind/cfi_vm.h"

#define PC_COLUMN 16

/* True if the register is saved at sp + off. */
static bool is_at_sp(const struct cfi_rule *rule, int64_t off)
{
	struct cfi_sym sym;

	return rule->kind == CFI_EXPR &&
	       cfi_expr_reduce(rule->expr, rule->expr_len, PC_COLUMN, true, &sym) &&
	       sym.kind == CFI_SYM_REG && sym.reg == PA_REG_X86_SP && sym.off == off;
}

/* libc's trampoline describes the kernel's layout by CFI expressions. */
static bool is_kernel_signal_frame(const struct cfi_state *state, const struct elf_image *img,
				   uint64_t start)
{
	const struct cfi_rule *cfa = &state->cfa;
	struct cfi_sym sym;

	return cfa->kind == CFI_VAL_EXPR &&
	       cfi_expr_reduce(cfa->expr, cfa->expr_len, PC_COLUMN, false, &sym) &&
	       sym.kind == CFI_SYM_DEREF && sym.reg == PA_REG_X86_SP &&
	       sym.off == PA_SIGNAL_X86_SP && sym.add == 0 &&
	       is_at_sp(&state->slots[CFI_SLOT_FP], PA_SIGNAL_X86_FP) &&
	       is_at_sp(&state->slots[CFI_SLOT_SP], PA_SIGNAL_X86_SP) &&
	       is_at_sp(&state->slots[CFI_SLOT_RA], PA_SIGNAL_X86_PC);
}

/* gregs[] of the ucontext, in the kernel's order (struct sigcontext). */
#define GREG(i) (40 + 8 * (i))
_Static_assert(GREG(10) == PA_SIGNAL_X86_FP && GREG(15) == PA_SIGNAL_X86_SP, "rbp and rsp");

const struct unwind_arch unwind_arch_x86 = {
	.machine = EM_X86_64,
	.nr_regs = PC_COLUMN + 1,
	.sp = PA_REG_X86_SP,
	.fp = PA_REG_X86_FP,
	.lr = UNWIND_NO_REG,
	.code_mask = UINT64_MAX,
	.pc = PC_COLUMN,
	.signal_offsets = {
		[0] = GREG(13), [1] = GREG(12), [2] = GREG(14), [3] = GREG(11), /* rax rdx rcx rbx */
		[4] = GREG(9),	[5] = GREG(8),	[6] = PA_SIGNAL_X86_FP, [7] = PA_SIGNAL_X86_SP,
		[8] = GREG(0),	[9] = GREG(1),	[10] = GREG(2),	[11] = GREG(3), /* r8 … */
		[12] = GREG(4), [13] = GREG(5), [14] = GREG(6), [15] = GREG(7),
		[PC_COLUMN] = PA_SIGNAL_X86_PC,
	},
	.is_kernel_signal_frame = is_kernel_signal_frame,
};
