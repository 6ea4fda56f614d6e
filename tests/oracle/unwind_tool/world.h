/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Made-up registers and memory in which two answers to "how is this frame unwound?" are carried out
 * and compared. Memory is a hash of the address, so that different addresses give different values.
 */
#ifndef ORACLE_UNWIND_TOOL_WORLD_H
#define ORACLE_UNWIND_TOOL_WORLD_H

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "bpf/rows.h"
#include "unwind/full_row.h"

struct world {
	uint64_t seed;
	uint64_t pc;
	uint64_t regs[CFI_MAX_REGS];
};

enum value_state {
	VALUE_KNOWN,
	VALUE_UNDEFINED,
	VALUE_NOT_SAID, /* unchanged, or undefined for registers that calls overwrite */
	VALUE_BEYOND,   /* this evaluator does not know the operation */
};

struct value {
	enum value_state state;
	uint64_t v;
};

/* What a rule makes of the three registers that it follows. */
struct outcome {
	struct value cfa, fp, ra;
};

void world_init(struct world *w, const struct unwind_arch *arch, uint64_t seed, uint64_t pc);
uint64_t world_read(const struct world *w, uint64_t addr);

/* The ops of a CFA, or of a register (cfa: its result). */
struct value world_ops(const struct world *w, const Dwarf_Op *ops, size_t nr, uint64_t cfa,
		       bool is_location);

/* The rules of a full row, by the evaluator that walks use. reg: DWARF number. */
struct value world_full_cfa(const struct world *w, const struct cfi_full_row *row);
struct value world_full_reg(const struct world *w, const struct cfi_full_row *row, unsigned int reg,
			    uint64_t cfa);

/* One of our rules: not NONE, USER or END. */
struct outcome world_rule(const struct world *w, const struct unwind_arch *arch, pa_rule rule);

#endif
