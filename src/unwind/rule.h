/* SPDX-License-Identifier: Apache-2.0 */
/* From the state of the CFI machine to the one-word rule of bpf/rows.h. */
#ifndef UNWIND_RULE_H
#define UNWIND_RULE_H

#include "bpf/rows.h"
#include "unwind/cfi_vm.h"

struct cfi_cie;
struct elf_image;

/*
 * Bytes between the CFA and the caller's sp; 0 nearly always. The stub of a lazily bound call pushes
 * 16 bytes on AArch64, the return address the upper ones; the loader's code behind it (glibc's
 * _dl_runtime_resolve) says where that is, but does not count the bytes. A return address above the
 * CFA gives it away.
 */
int64_t cfi_uncounted_bytes(const struct unwind_arch *arch, const struct cfi_rule *cfa,
			    const struct cfi_rule *ra);

/*
 * Such code begins with a landing pad (bti c, or a nop in its place), whose own row does not even say
 * where the return address is: it looks like that of a function that was called. A second row right
 * behind one instruction, with a return address above a CFA that has not moved, gives that away: then
 * the second row holds for both.
 */
#define CFI_PAD_BYTES 4
bool cfi_is_behind_pad(const struct unwind_arch *arch, const struct cfi_rule *cfa,
		       const struct cfi_rule *ra);

/* For the rows of one FDE. */
struct rule_packer {
	const struct unwind_arch *arch; /* borrowed while it is used, as the next two */
	const struct cfi_cie *cie;
	const struct elf_image *img; /* NULL: none */
	uint64_t fde_start;
	pa_rule rest; /* the last rule less its offset, if it was register + offset; else 0 */
};

/* The rule for a state with the slots of rows. What a word cannot hold is PA_RULE_WORD_USER; a frame
 * pointer that it cannot hold is PA_FP_LOST. */
pa_rule rule_pack(struct rule_packer *p, const struct cfi_state *state);

/* The same, when no more than `changed` (enum cfi_changed) differs from the state before. */
static inline pa_rule rule_pack_next(struct rule_packer *p, const struct cfi_state *state,
				     uint8_t changed)
{
	if (changed != CFI_CHANGED_OFFSET || !p->rest)
		return rule_pack(p, state);
	return p->rest | (pa_rule)state->cfa.off << PA_RULE_CFA_SHIFT;
}

#endif
