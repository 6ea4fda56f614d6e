/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The complete CFI for one pc: the rules of the CFA and of every general register, straight from
 * the bytes. Used to finish a walk in user space, where all registers are available and rules that
 * do not fit into a row can be evaluated.
 */
#ifndef UNWIND_FULL_ROW_H
#define UNWIND_FULL_ROW_H

#include "unwind/cfi_vm.h"

struct cfi;

struct cfi_full_row {
	uint64_t start, end;         /* link-time range in which it applies */
	uint64_t fde_start, fde_end; /* range of the function */
	/* CFI_CFA or CFI_VAL_EXPR; CFI_UNSET: the file has no CFI here */
	struct cfi_rule cfa;
	uint8_t nr_regs;
	uint8_t ra_reg; /* column of the return address */
	bool is_signal;
	bool is_pad;                        /* the rules are those after this landing pad */
	bool ra_signed;                     /* AArch64: the return address carries a PAC */
	struct cfi_rule regs[CFI_MAX_REGS]; /* by DWARF number; expressions are borrowed from cfi */
};

/* -ENOENT: no FDE covers pc; -EBADMSG: malformed; -ENOMEM. */
int cfi_rules_at(const struct cfi *cfi, uint64_t pc, struct cfi_full_row *ret_row);

#endif
