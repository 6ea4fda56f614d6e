/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The unwind table of a binary, as user space writes it and the walker reads it: rows that map pcs
 * to rules, a directory of the rows, and a dictionary of rules that all binaries share. Every pc
 * has a result: a rule, "no rule", or "finish in user space".
 *
 * The lookup of link-time address pc in a table that begins at base (a multiple of PA_BLOCK_SIZE):
 *
 *	block = blocks[(pc - base) >> PA_BLOCK_SHIFT]       past the last block: no rule
 *	block.nr == 0                                       no rule in the whole block
 *	the last of rows[block.first … + block.nr) whose .pc <= (pc & 0xffff)
 *	rules[row.rule]
 *
 * Why that is enough. A row holds the low 16 bits of its address, so rows can be compared only
 * inside a page of 64 KiB; each page therefore begins with a row of its own at its first byte,
 * which repeats the rule that was in force (unless nothing in the page has a rule). A block lists
 * the rows that apply to its 4 KiB: the last row at or before its first byte, then the rows inside
 * it. The first of them lies in the same page, so its .pc is never above the key and the search
 * always finds a row. Addresses of rows are distinct: a block has a row at its first byte and up to
 * 4,095 others, or up to 4,095 and the one before it. So nr <= 4,096, and 12 halvings leave one
 * row. A page has at most 65,536 rows and begins where its first block (or the table) begins.
 */
#ifndef BPF_ROWS_H
#define BPF_ROWS_H

#include "abi.h"

#define PA_PAGE_SHIFT 16
#define PA_PAGE_MAX_ROWS 65536
#define PA_BLOCK_SHIFT 12
#define PA_BLOCK_SIZE (1u << PA_BLOCK_SHIFT)
#define PA_BLOCK_MAX_ROWS 4096
#define PA_BISECT_STEPS 12

struct pa_row {
	__u16 pc;   /* low bits of the link-time address where the rule begins to apply */
	__u16 rule; /* index into the dictionary */
};
_Static_assert(sizeof(struct pa_row) == 4, "changed: bump PA_ABI_VERSION");

struct pa_block {
	__u32 first; /* index of a row of the table */
	__u32 nr;
};
_Static_assert(sizeof(struct pa_block) == 8, "changed: bump PA_ABI_VERSION");

/* The dictionary: 64-bit rules by number. Two numbers are fixed. */
#define PA_RULE_ID_NONE 0
#define PA_RULE_ID_USER 1
#define PA_MAX_RULES 65535 /* 0xffff is not a rule number */

/*
 * A rule in one word, so that equal rules are equal words: each meaning has one form, and fields
 * without a meaning are 0.
 *
 *	bits  0- 2  cfa kind         enum pa_cfa
 *	bit   3     after a call     only in a cached rule: PA_RULE_AFTER_CALL
 *	bits  4- 8  cfa register     DWARF number
 *	bits  9-34  cfa offset       signed, bytes: +-32 MiB. DEREF: 18 bits of offset inside the
 *	                             brackets, then 8 bits of what is added outside
 *	bits 35-36  fp kind          enum pa_fp
 *	bits 37-39  ra kind          enum pa_ra
 *	bit  40     signed           the return address carries a PAC: strip it (AArch64)
 *	bit  41     signal           the caller was interrupted: its pc is exact
 *	bits 42-63  slot             signed, units of 8 bytes: +-16 MiB; BOTH: 11 bits for fp, 11 for ra
 */
typedef __u64 pa_rule;

/* The CFA: the value that the stack pointer has in the caller. */
enum pa_cfa {
	PA_CFA_NONE = 0,   /* no rule here; the whole word is 0 */
	PA_CFA_USER = 1,   /* there is a rule, but only user space can evaluate it */
	PA_CFA_REG = 2,    /* register + offset; other registers than sp and fp are known
			    * only in the sampled frame and in one that a signal interrupted */
	PA_CFA_DEREF = 3,  /* *(register + offset) + add */
	PA_CFA_PLT = 4,    /* sp + 8, and 8 more where (pc & 15) >= offset */
	PA_CFA_SIGNAL = 5, /* all registers are in the kernel's signal frame at sp */
	PA_CFA_END = 6,    /* the outermost frame: there is no caller */
	PA_CFA_SWITCH = 7, /* the caller is on another stack: enum pa_switch */
};

/*
 * How the other stack is found; stored in the field of the CFA register. The CFA offset is the size
 * of the frame on that stack, which has the caller's frame pointer below the return address if it
 * is big enough. All ways but FP are Go's; see walk_switch.h.
 */
enum pa_switch {
	PA_SWITCH_FP = 0,        /* by the frame pointer */
	PA_SWITCH_LOST = 1,      /* it cannot be found */
	PA_SWITCH_MCALL = 2,     /* to the goroutine on top of the stack, which was left for good */
	PA_SWITCH_MORESTACK = 3, /* to the current goroutine, which was left for good */
	PA_SWITCH_SYSTEM = 4,    /* to the current goroutine, whose function will be returned to */
	PA_SWITCH_C = 5,         /* to the goroutine at sp + slot; its stack depth is right below */
	PA_SWITCH_CALLBACK = 6,  /* to the thread's own stack, whose C code called Go */
};

/*
 * Where the caller's frame pointer is. A slot below sp is in the red zone of x86-64, and valid only
 * if the pc is exact: the register was just popped, or a leaf has saved it there. At a return
 * address the call has overwritten the slot, and the register is unchanged.
 */
enum pa_fp {
	PA_FP_SAME = 0,
	PA_FP_AT_CFA = 1, /* at CFA + slot */
	PA_FP_AT_FP = 2,  /* at fp + slot */
	PA_FP_LOST = 3,   /* unknown; the walk continues until a rule needs it */
};

/* The return address. */
enum pa_ra {
	PA_RA_CFA_MINUS_8 = 0,
	PA_RA_AFTER_FP = 1, /* 8 bytes above the slot of the frame pointer (fp kind AT_CFA) */
	PA_RA_AT_CFA = 2,   /* at CFA + slot; the frame pointer is not saved */
	PA_RA_BOTH = 3,     /* both at CFA + a slot of 11 bits; fp kind AT_CFA */
	PA_RA_LR = 4,       /* still in the link register */
	PA_RA_REG = 5,      /* in the register with the number `slot`; known like a CFA register */
};

#define PA_RULE_CFA_BITS 26
#define PA_RULE_DEREF_BITS 18
#define PA_RULE_ADD_BITS 8
#define PA_RULE_SLOT_BITS 22
#define PA_RULE_HALF_BITS 11

#define PA_RULE_REG_SHIFT 4
#define PA_RULE_CFA_SHIFT 9
#define PA_RULE_ADD_SHIFT (PA_RULE_CFA_SHIFT + PA_RULE_DEREF_BITS)
#define PA_RULE_FP_SHIFT 35
#define PA_RULE_RA_SHIFT 37
#define PA_RULE_SIGNED (1ull << 40)
#define PA_RULE_SIGNAL (1ull << 41)
#define PA_RULE_SLOT_SHIFT 42
#define PA_RULE_HALF_SHIFT (PA_RULE_SLOT_SHIFT + PA_RULE_HALF_BITS)
_Static_assert(PA_RULE_SLOT_SHIFT + PA_RULE_SLOT_BITS == 64, "a rule is one word");
_Static_assert(PA_RULE_CFA_SHIFT + PA_RULE_CFA_BITS == PA_RULE_FP_SHIFT, "fields must touch");
_Static_assert(PA_RULE_DEREF_BITS + PA_RULE_ADD_BITS == PA_RULE_CFA_BITS, "both must fit");

#define PA_RULE_WORD_NONE ((pa_rule)PA_CFA_NONE)
#define PA_RULE_WORD_USER ((pa_rule)PA_CFA_USER)
/* The result of a lookup if the file has rules, but none for this pc. Not stored in tables. */
#define PA_RULE_WORD_GAP (PA_RULE_WORD_NONE | 1ull << 63)
/* The result of a lookup if tables are not used: only frame pointers are followed, unconfirmed. */
#define PA_RULE_WORD_FP (PA_RULE_WORD_NONE | 1ull << 62)
/* The result of a lookup in generated code whose runtime was started with frame pointers: every
 * caller has a frame record. The running function may have no record yet, or none any more. */
#define PA_RULE_WORD_RECORDS (PA_RULE_WORD_NONE | 1ull << 61)

/* Added to a table's rule when it is cached: a call was seen before this return address. */
#define PA_RULE_AFTER_CALL (1ull << 3)
_Static_assert(PA_CFA_SWITCH < PA_RULE_AFTER_CALL, "fields must not overlap");

#define PA_RULE_CFA_KIND(w) ((__u32)((w)&7))
#define PA_RULE_CFA_REG(w) ((__u32)((w) >> PA_RULE_REG_SHIFT & 31))
#define PA_RULE_FP_KIND(w) ((__u32)((w) >> PA_RULE_FP_SHIFT & 3))
#define PA_RULE_RA_KIND(w) ((__u32)((w) >> PA_RULE_RA_SHIFT & 7))

/* A signed field of `bits` bits at `shift`. Right shifts are arithmetic in both compilers. */
#define PA_RULE_FIELD(w, shift, bits) ((__s64)((w) << (64 - (shift) - (bits))) >> (64 - (bits)))

#define PA_RULE_CFA_OFF(w) PA_RULE_FIELD(w, PA_RULE_CFA_SHIFT, PA_RULE_CFA_BITS)
#define PA_RULE_DEREF_OFF(w) PA_RULE_FIELD(w, PA_RULE_CFA_SHIFT, PA_RULE_DEREF_BITS)
#define PA_RULE_DEREF_ADD(w) PA_RULE_FIELD(w, PA_RULE_ADD_SHIFT, PA_RULE_ADD_BITS)

#define PA_RULE_SWITCH_WAY(w) PA_RULE_CFA_REG(w)
#define PA_RULE_SWITCH_HAS_FP(w) (PA_RULE_CFA_OFF(w) > 8)

/* In bytes; the number of the register for PA_RA_REG is PA_RULE_RA_REG(). */
#define PA_RULE_SLOT(w) (PA_RULE_FIELD(w, PA_RULE_SLOT_SHIFT, PA_RULE_SLOT_BITS) * 8)
#define PA_RULE_BOTH_FP(w) (PA_RULE_FIELD(w, PA_RULE_SLOT_SHIFT, PA_RULE_HALF_BITS) * 8)
#define PA_RULE_BOTH_RA(w) (PA_RULE_FIELD(w, PA_RULE_HALF_SHIFT, PA_RULE_HALF_BITS) * 8)
#define PA_RULE_RA_REG(w) ((__u32)((w) >> PA_RULE_SLOT_SHIFT & 31))

/* DWARF numbers of the registers that the walker tracks. */
#define PA_REG_X86_FP 6
#define PA_REG_X86_SP 7
#define PA_REG_ARM64_FP 29
#define PA_REG_ARM64_LR 30
#define PA_REG_ARM64_SP 31

/*
 * PA_CFA_SIGNAL: where rt_sigreturn() finds the interrupted registers, in bytes above sp. x86-64:
 * struct rt_sigframe without its return address, which the handler has taken off by then, so sp
 * points at uc; uc.uc_mcontext is at 40 in it. AArch64: struct rt_sigframe is siginfo (128 bytes),
 * then ucontext with uc_mcontext at 176, whose regs[] follow fault_address.
 */
#define PA_SIGNAL_X86_FP 120
#define PA_SIGNAL_X86_SP 160
#define PA_SIGNAL_X86_PC 168
#define PA_SIGNAL_ARM64_REGS (128 + 176 + 8)
#define PA_SIGNAL_ARM64_FP (PA_SIGNAL_ARM64_REGS + 29 * 8)
#define PA_SIGNAL_ARM64_LR (PA_SIGNAL_ARM64_REGS + 30 * 8)
#define PA_SIGNAL_ARM64_SP (PA_SIGNAL_ARM64_REGS + 31 * 8)
#define PA_SIGNAL_ARM64_PC (PA_SIGNAL_ARM64_REGS + 32 * 8)

#endif
