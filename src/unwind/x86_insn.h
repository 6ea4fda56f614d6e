/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes x86-64 instructions as far as needed to find a caller: length, effect on the stack
 * pointer and the frame pointer, and control flow (Intel SDM, volume 2, appendix A).
 */
#ifndef UNWIND_X86_INSN_H
#define UNWIND_X86_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define X86_INSN_MAX_BYTES 15u
#define X86_REG_SP 4 /* instruction encoding numbers */
#define X86_REG_FP 5
#define X86_REG_NONE 16

enum x86_op {
	X86_OTHER,      /* does not change sp; fp may hold data from then on */
	X86_PUSH,       /* reg */
	X86_POP,        /* reg */
	X86_ADD_SP,     /* sp += value */
	X86_SP_FROM_FP, /* sp = fp + value */
	X86_FP_FROM_SP, /* fp = sp + value */
	X86_FP_AT_SP,   /* fp = *(sp + value) */
	X86_FP_AT_FP,   /* fp = *(fp + value) */
	X86_STORE_FP,   /* *(sp + value) = fp */
	X86_LOAD,       /* reg = *(sp + value), for a register other than fp */
	X86_LEAVE,      /* sp = fp, pop fp */
	X86_SP_LOST,    /* sp becomes unknown */
	X86_CALL,       /* value: offset from the next instruction */
	X86_CALL_INDIRECT,
	X86_JMP,    /* value as for a call */
	X86_JMP_IF, /* value as for a call */
	X86_JMP_INDIRECT,
	X86_RET,  /* value: bytes of arguments that it removes */
	X86_HALT, /* hlt */
	X86_TRAP, /* int3, ud2 */
};

struct x86_insn {
	enum x86_op op;
	uint8_t size;     /* bytes */
	uint8_t reg;      /* X86_REG_NONE: no register */
	bool is_below_fp; /* it accesses memory of a frame, *(fp - n * 8) */
	uint16_t written; /* registers that it may write, by number; possibly more */
	int64_t value;
};

/* Decodes the instruction at the start of n bytes. 0, or -EBADMSG: it does not end within them, or
 * is invalid. */
int x86_insn_decode(const uint8_t *code, size_t n, struct x86_insn *ret_insn);

#endif
