/* SPDX-License-Identifier: Apache-2.0 */
/* From the state of the CFI machine to the one-word rule of bpf/rows.h. */
#ifndef UNWIND_RULE_H
#define UNWIND_RULE_H

#include "bpf/rows.h"
#include "unwind/cfi_vm.h"

struct cfi_cie;

/*
 * The rule for a state with the slots of rows. What a word cannot hold is PA_RULE_WORD_USER; a frame
 * pointer that it cannot hold is PA_FP_LOST. is_kernel_signal: the file calls it a signal frame and
 * it is one of the kernel's.
 */
pa_rule rule_pack(const struct unwind_arch *arch, const struct cfi_cie *cie,
		  const struct cfi_state *state, bool is_kernel_signal);

#endif
