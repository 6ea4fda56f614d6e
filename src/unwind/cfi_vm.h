/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter of call frame instructions (DWARF 5, 6.4.2). It stops at every row. It tracks
 * either the few registers that rows need, or all of them. It does not evaluate expressions.
 */
#ifndef UNWIND_CFI_VM_H
#define UNWIND_CFI_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cursor.h"
#include "unwind/arch.h"

#define CFI_MAX_REMEMBER 16 /* nested remember_state; compilers use one */

enum cfi_kind {
	CFI_UNSET = 0,  /* no rule: unchanged */
	CFI_SAME,       /* unchanged */
	CFI_UNDEFINED,  /* cannot be recovered */
	CFI_OFFSET,     /* at CFA + off */
	CFI_VAL_OFFSET, /* is CFA + off */
	CFI_REGISTER,   /* in register reg */
	CFI_EXPR,       /* at the address computed by expr */
	CFI_VAL_EXPR,   /* is the value computed by expr */
	CFI_CFA,        /* of the CFA only: register reg + off; its CFI_VAL_EXPR is an expression */
};

struct cfi_rule {
	uint8_t kind; /* enum cfi_kind */
	uint16_t reg;
	uint32_t expr_len;
	union {
		int64_t off;
		const uint8_t *expr; /* borrowed from the section's bytes */
	};
};
_Static_assert(sizeof(struct cfi_rule) == 16, "copied for every FDE");

/* The registers that rows need: the slots when not all registers are tracked. */
enum { CFI_SLOT_FP, CFI_SLOT_RA, CFI_SLOT_SP, CFI_NR_ROW_SLOTS };
#define CFI_NO_SLOT 0xff

/* What has changed since the previous row, for callers that need only that. */
enum cfi_changed {
	/* the offset of a CFA that is not an expression, which is now below 128 */
	CFI_CHANGED_OFFSET = 1,
	CFI_CHANGED_REST = 2,
};

struct cfi_state {
	struct cfi_rule cfa;
	/* offset of the last CFI_CFA while the CFA is an expression; its register is in cfa */
	int64_t cfa_off;
	bool ra_signed;
	struct cfi_rule slots[CFI_MAX_REGS];
};

/* Maps a DWARF register to its slot. */
struct cfi_slots {
	uint8_t nr;
	uint8_t of[CFI_MAX_REGS];
};

/* The parameters of a CIE that opcodes need. */
struct cfi_scale {
	uint32_t code; /* code alignment factor */
	int64_t data;  /* data alignment factor */
	uint8_t address_encoding;
};

/* Returns the operand of DW_CFA_set_loc: an address in the section's own encoding. */
typedef int (*cfi_address_fn)(const void *ctx, struct cursor *c, uint8_t encoding,
			      uint64_t *ret_addr);

/* State saved by DW_CFA_remember_state. */
struct cfi_memory {
	uint64_t nr_rest; /* nr_rest of the machine at that time */
	struct cfi_state state;
};

struct cfi_vm {
	struct cursor c;
	const struct unwind_arch *arch; /* borrowed until the run ends, like the next two */
	const struct cfi_slots *slots;
	const struct cfi_scale *scale;
	const struct cfi_state *initial; /* after the CIE's instructions; NULL: this is the CIE */
	cfi_address_fn read_address;
	const void *read_ctx;
	uint64_t next;      /* start of the next row */
	uint8_t changed;    /* enum cfi_changed, accumulated until the caller clears it */
	unsigned int depth; /* of remembered states */
	uint64_t nr_rest;   /* how often anything but a small CFA offset has changed */
	struct cfi_state state;
	struct cfi_memory remembered[CFI_MAX_REMEMBER];
};

static inline void cfi_state_copy(struct cfi_state *to, const struct cfi_state *from, size_t nr)
{
	/* Rows have few slots, and a constant size copies fastest. */
	if (nr == CFI_NR_ROW_SLOTS)
		memcpy(to, from, offsetof(struct cfi_state, slots[CFI_NR_ROW_SLOTS]));
	else
		memcpy(to, from, sizeof(*to));
}

/* The parts of cfi_vm_run(): a fast path for the few instructions that make up nearly all of a
 * file, up to any other; and the slow path for that one. */
#define CFI_VM_OTHER 2
int cfi_vm_run_common(struct cfi_vm *vm);
int cfi_vm_run_other(struct cfi_vm *vm);

/*
 * Runs up to the next row. 1: vm->state is the row that ends at vm->next; 0: the instructions have
 * ended, vm->state is the last row. -EBADMSG: an unknown, truncated or invalid instruction.
 */
static inline int cfi_vm_run(struct cfi_vm *vm)
{
	int r;

	do {
		r = cfi_vm_run_common(vm);
		if (r != CFI_VM_OTHER)
			return r;
		r = cfi_vm_run_other(vm);
	} while (r == 0);
	return r;
}

#endif
