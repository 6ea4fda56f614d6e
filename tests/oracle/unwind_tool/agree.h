/* SPDX-License-Identifier: Apache-2.0 */
/* Whether our rule and libdw's say the same, by carrying both out. */
#ifndef ORACLE_UNWIND_TOOL_AGREE_H
#define ORACLE_UNWIND_TOOL_AGREE_H

#include "bpf/rows.h"
#include "oracle/unwind_tool/oracle.h"
#include "unwind/full_row.h"

/* X(NAME, "what it is called in the output"): the first is plain agreement, the last the opposite;
 * between them, what we mean to say otherwise. */
#define AGREEMENTS                                                                                 \
	X(SAME, "rows agree")                                                                      \
	X(END, "rows end the stack, where the return address is undefined")                        \
	X(FP_LOST, "rows leave a frame pointer to user space")                                     \
	X(USER, "rows are left to user space")                                                     \
	X(SIGNAL, "rows know the kernel's signal frame by its code")                               \
	X(COLUMN, "rows keep the return address in its column, which libdw gives up")              \
	X(UNCOUNTED, "rows count what a stub has pushed, which the loader's own do not")           \
	X(PAD, "rows of a landing pad count it as well")                                           \
	X(NO_CFA, "rows keep half of a CFA across an expression, which libdw does not")            \
	X(DIFFER, "disagreements")

enum agreement {
#define X(name, text) AGREE_##name,
	AGREEMENTS
#undef X
		NR_AGREEMENTS
};

/* Our rule at pc against libdw's. */
enum agreement agree_rule(const struct unwind_arch *arch, const struct oracle_row *row,
			  pa_rule rule, uint64_t pc);

/* All registers of a full row against libdw's; false: one differs. */
bool agree_full_row(const struct unwind_arch *arch, const struct oracle_row *row,
		    const struct cfi_full_row *full, uint64_t pc);

/* Whether what libdw says of the CFA depends on the pc inside the row. */
bool is_pc_relative(const struct oracle_row *row);

#endif
