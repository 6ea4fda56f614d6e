/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the state of the CFI machine to the one-word rule of bpf/rows.h. */
#ifndef UNWIND_RULE_H
#define UNWIND_RULE_H

#include "bpf/rows.h"
#include "unwind/cfi_vm.h"

struct cfi_cie;
struct elf_image;

/* True if a value fits into a signed field of a word. */
static inline bool rule_fits(int64_t v, unsigned int bits)
{
	return (uint64_t)v + (1ull << (bits - 1)) < 1ull << bits;
}

static inline pa_rule rule_field(int64_t v, unsigned int shift, unsigned int bits)
{
	return ((pa_rule)v & ((1ull << bits) - 1)) << shift;
}

/*
 * Bytes between the CFA and the caller's sp; nearly always 0. On AArch64 the stub of a lazily bound
 * call pushes 16 bytes, with the return address in the upper half; the loader's code after it
 * (glibc's _dl_runtime_resolve) says where that is, but does not count the bytes. A return address
 * above the CFA reveals it.
 */
int64_t cfi_uncounted_bytes(const struct unwind_arch *arch, const struct cfi_rule *cfa,
			    const struct cfi_rule *ra);

/*
 * Such code begins with a landing pad (bti c, or a nop instead), whose own row does not even say
 * where the return address is: it looks like the row of a called function. It is recognized by a
 * second row one instruction later, with a return address above a CFA that has not moved: then the
 * second row applies to both.
 */
#define CFI_PAD_BYTES 4
bool cfi_is_behind_pad(const struct unwind_arch *arch, const struct cfi_rule *cfa,
		       const struct cfi_rule *ra);

/* Context for the rows of one FDE. */
struct rule_packer {
	const struct unwind_arch *arch; /* borrowed during use, like the next two */
	const struct cfi_cie *cie;
	const struct elf_image *img; /* NULL: none */
	uint64_t fde_start;
	pa_rule rest; /* the last rule without its offset, if it was register + offset; otherwise 0 */
};

/* The rule for a state with row slots. What does not fit into a word is PA_RULE_WORD_USER; a frame
 * pointer that does not fit is PA_FP_LOST. */
pa_rule rule_pack(struct rule_packer *p, const struct cfi_state *state);

/* As rule_pack(), if at most `changed` (enum cfi_changed) differs from the previous state. */
static inline pa_rule rule_pack_next(struct rule_packer *p, const struct cfi_state *state,
				     uint8_t changed)
{
	if (changed != CFI_CHANGED_OFFSET || !p->rest)
		return rule_pack(p, state);
	return p->rest | (pa_rule)state->cfa.off << PA_RULE_CFA_SHIFT;
}

#endif
