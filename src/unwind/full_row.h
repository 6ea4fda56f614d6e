/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that the file says about one pc: the rules of the CFA and of every general register, straight
 * from the bytes. For finishing a walk in user space, where all registers are at hand and the rules
 * that a row cannot hold can be carried out.
 */
#ifndef UNWIND_FULL_ROW_H
#define UNWIND_FULL_ROW_H

#include "unwind/cfi_vm.h"

struct cfi;

struct cfi_full_row {
	uint64_t start, end;         /* link-time addresses that it holds for */
	uint64_t fde_start, fde_end; /* the function's */
	struct cfi_rule cfa;         /* CFI_CFA or CFI_VAL_EXPR; CFI_UNSET: the file has none */
	uint8_t nr_regs;
	uint8_t ra_reg; /* column of the return address */
	bool is_signal;
	bool is_pad;                        /* what holds behind this landing pad */
	bool ra_signed;                     /* AArch64: the return address carries a PAC */
	struct cfi_rule regs[CFI_MAX_REGS]; /* by DWARF number; expressions are borrowed from cfi */
};

/* -ENOENT: no FDE covers pc; -EBADMSG: it is damaged; -ENOMEM. */
int cfi_rules_at(const struct cfi *cfi, uint64_t pc, struct cfi_full_row *ret_row);

#endif
