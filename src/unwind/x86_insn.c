/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/x86_insn.h"

#include <errno.h>
#include <stdbool.h>

#include "base/cursor.h"

/* What follows an opcode: a bit each. */
enum {
	MODRM = 1, /* the ModRM byte, and what that needs */
	IMM8 = 2,
	IMM16 = 4,
	IMM32 = 8, /* 16 bits with an operand size prefix, which compilers do not emit */
	BAD = 16,
	IMM_WIDE = 32,  /* 64 bits with REX.W */
	MOFFS = 64,     /* an address */
	IMM_TEST = 128, /* an immediate, for two of eight operations, by the reg field of ModRM */
	REL32 = 256,    /* 32 bits whatever the prefixes are */
};

struct decoder {
	struct cursor c;
	uint8_t rex;
	bool has_16;    /* the operand size prefix */
	bool has_32;    /* the address size prefix */
	uint8_t map;    /* 1: one-byte opcode, 2: after 0f, 3: after 0f 38, 4: after 0f 3a */
	bool is_vector; /* VEX or EVEX: writes no general register that matters */
	uint8_t opcode;
	bool has_modrm;
	uint8_t mod, reg, rm; /* reg and rm with their REX bits */
	bool has_base_only;   /* a memory operand is *(base + disp) */
	uint8_t base;
	int64_t disp, imm;
};

/* Ranges in opcode order; a row per 16 opcodes would hide the similarities. */
struct range {
	uint8_t first, last;
	uint16_t what;
};

static uint16_t look_up(const struct range *ranges, size_t nr, uint8_t opcode, uint16_t otherwise)
{
	for (size_t i = 0; i < nr; i++)
		if (opcode >= ranges[i].first && opcode <= ranges[i].last)
			return ranges[i].what;
	return otherwise;
}

static uint16_t layout_1(uint8_t op)
{
	static const struct range ranges[] = {
		{ 0x50, 0x5f, 0 },
		{ 0x60, 0x62, BAD },
		{ 0x63, 0x63, MODRM },
		{ 0x68, 0x68, IMM32 },
		{ 0x69, 0x69, MODRM | IMM32 },
		{ 0x6a, 0x6a, IMM8 },
		{ 0x6b, 0x6b, MODRM | IMM8 },
		{ 0x6c, 0x6f, 0 },
		{ 0x70, 0x7f, IMM8 },
		{ 0x80, 0x80, MODRM | IMM8 },
		{ 0x81, 0x81, MODRM | IMM32 },
		{ 0x82, 0x82, BAD },
		{ 0x83, 0x83, MODRM | IMM8 },
		{ 0x84, 0x8f, MODRM },
		{ 0x9a, 0x9a, BAD },
		{ 0x90, 0x9f, 0 },
		{ 0xa0, 0xa3, MOFFS },
		{ 0xa8, 0xa8, IMM8 },
		{ 0xa9, 0xa9, IMM32 },
		{ 0xa4, 0xaf, 0 },
		{ 0xb0, 0xb7, IMM8 },
		{ 0xb8, 0xbf, IMM_WIDE },
		{ 0xc0, 0xc1, MODRM | IMM8 },
		{ 0xc2, 0xc2, IMM16 },
		{ 0xc3, 0xc3, 0 },
		{ 0xc4, 0xc5, BAD },
		{ 0xc6, 0xc6, MODRM | IMM8 },
		{ 0xc7, 0xc7, MODRM | IMM32 },
		{ 0xc8, 0xc8, IMM16 | IMM8 },
		{ 0xc9, 0xc9, 0 },
		{ 0xca, 0xca, IMM16 },
		{ 0xcd, 0xcd, IMM8 },
		{ 0xce, 0xce, BAD },
		{ 0xcb, 0xcf, 0 },
		{ 0xd4, 0xd6, BAD },
		{ 0xd7, 0xd7, 0 },
		{ 0xd0, 0xdf, MODRM },
		{ 0xe0, 0xe7, IMM8 },
		{ 0xe8, 0xe9, REL32 },
		{ 0xea, 0xea, BAD },
		{ 0xeb, 0xeb, IMM8 },
		{ 0xec, 0xf5, 0 },
		{ 0xf6, 0xf6, MODRM | IMM8 | IMM_TEST },
		{ 0xf7, 0xf7, MODRM | IMM32 | IMM_TEST },
		{ 0xf8, 0xfd, 0 },
		{ 0xfe, 0xff, MODRM },
	};

	if (op >= 0x40)
		return look_up(ranges, sizeof(ranges) / sizeof(ranges[0]), op, BAD);
	if ((op & 7) < 4) /* the arithmetic operations, eight times the same pattern */
		return MODRM;
	if ((op & 7) == 4)
		return IMM8;
	return (op & 7) == 5 ? IMM32 : BAD;
}

static uint16_t layout_2(uint8_t op)
{
	static const struct range ranges[] = {
		{ 0x04, 0x04, BAD },
		{ 0x05, 0x09, 0 },
		{ 0x0a, 0x0a, BAD },
		{ 0x0b, 0x0b, 0 },
		{ 0x0c, 0x0c, BAD },
		{ 0x0e, 0x0e, 0 },
		{ 0x0f, 0x0f, MODRM | IMM8 },
		{ 0x24, 0x27, BAD },
		{ 0x30, 0x37, 0 },
		{ 0x38, 0x3f, BAD },
		{ 0x70, 0x73, MODRM | IMM8 },
		{ 0x77, 0x77, 0 },
		{ 0x80, 0x8f, REL32 },
		{ 0xa0, 0xa2, 0 },
		{ 0xa4, 0xa4, MODRM | IMM8 },
		{ 0xa6, 0xa7, BAD },
		{ 0xa8, 0xaa, 0 },
		{ 0xac, 0xac, MODRM | IMM8 },
		{ 0xba, 0xba, MODRM | IMM8 },
		{ 0xc2, 0xc2, MODRM | IMM8 },
		{ 0xc4, 0xc6, MODRM | IMM8 },
		{ 0xc8, 0xcf, 0 },
	};

	return look_up(ranges, sizeof(ranges) / sizeof(ranges[0]), op, MODRM);
}

static uint16_t layout(const struct decoder *d)
{
	if (d->map == 1)
		return layout_1(d->opcode);
	if (d->map == 2)
		return layout_2(d->opcode);
	return d->map == 4 ? MODRM | IMM8 : MODRM;
}

/* True if the byte was a prefix. A REX prefix counts only right before the opcode. */
static bool take_prefix(struct decoder *d, uint8_t b)
{
	if ((b & 0xf0) == 0x40) {
		d->rex = b;
		return true;
	}
	if (b == 0x66)
		d->has_16 = true;
	else if (b == 0x67)
		d->has_32 = true;
	else if (b != 0xf0 && b != 0xf2 && b != 0xf3 && b != 0x2e && b != 0x36 && b != 0x3e &&
		 b != 0x26 && b != 0x64 && b != 0x65)
		return false;
	d->rex = 0;
	return true;
}

/* 8f is either a pop, whose ModRM reg field is 0, or AMD's XOP. */
static bool is_xop(const struct decoder *d, uint8_t b)
{
	return b == 0x8f && !d->c.bad && cursor_left(&d->c) && (d->c.at[0] & 0x1f) >= 8;
}

/* Decodes VEX in both lengths, XOP and EVEX, which contain the opcode map. */
static bool take_vector(struct decoder *d, uint8_t b)
{
	uint8_t map = 1;

	if (b != 0xc4 && b != 0xc5 && b != 0x62 && !is_xop(d, b))
		return false;
	d->is_vector = true;
	if (b == 0xc5) {
		(void)cursor_u8(&d->c);
	} else {
		map = cursor_u8(&d->c) & (b == 0x62 ? 0x07 : 0x1f);
		(void)cursor_u8(&d->c);
		if (b == 0x62)
			(void)cursor_u8(&d->c);
	}
	if (map == 10)
		d->c.bad = true; /* XOP with four immediate bytes, which is obsolete */
	d->map = map == 1 ? 2 : map == 3 || map == 8 ? 4 : 3; /* all other maps have no immediate */
	d->opcode = cursor_u8(&d->c);
	return true;
}

static void take_opcode(struct decoder *d)
{
	uint8_t b = cursor_u8(&d->c);

	while (!d->c.bad && take_prefix(d, b))
		b = cursor_u8(&d->c);
	if (take_vector(d, b))
		return;
	d->map = 1;
	d->opcode = b;
	if (b != 0x0f)
		return;
	d->map = 2;
	d->opcode = cursor_u8(&d->c);
	if (d->opcode != 0x38 && d->opcode != 0x3a)
		return;
	d->map = d->opcode == 0x38 ? 3 : 4;
	d->opcode = cursor_u8(&d->c);
}

static int64_t take_s8(struct cursor *c)
{
	uint8_t byte = cursor_u8(c);

	return byte < 0x80 ? byte : (int64_t)byte - 0x100;
}

static void take_modrm(struct decoder *d)
{
	uint8_t b = cursor_u8(&d->c), sib = 0, low = b & 7;

	d->has_modrm = true;
	d->mod = b >> 6;
	d->reg = (uint8_t)((b >> 3 & 7) | (d->rex & 4) << 1);
	d->rm = (uint8_t)(low | (d->rex & 1) << 3);
	if (d->mod == 3)
		return;
	d->base = d->rm;
	d->has_base_only = !(d->mod == 0 && low == 5);
	if (low == 4) {
		sib = cursor_u8(&d->c);
		d->base = (uint8_t)((sib & 7) | (d->rex & 1) << 3);
		d->has_base_only = (sib & 0x38) == 0x20 && !(d->rex & 2) &&
				   !(d->mod == 0 && (sib & 7) == 5);
	}
	if (d->mod == 1)
		d->disp = take_s8(&d->c);
	else if (d->mod == 2 || low == 5 || (low == 4 && (sib & 7) == 5))
		d->disp = cursor_s32(&d->c);
}

static void take_immediate(struct decoder *d, uint16_t what)
{
	if (what & IMM_TEST && (d->reg & 7) > 1)
		return;
	if (what & MOFFS)
		(void)cursor_take(&d->c, d->has_32 ? 4 : 8);
	if (what & IMM_WIDE && d->rex & 8)
		(void)cursor_take(&d->c, 8);
	else if (what & (IMM32 | IMM_WIDE))
		d->imm = d->has_16 && !(d->rex & 8) ? (int16_t)cursor_u16(&d->c)
						    : cursor_s32(&d->c);
	if (what & REL32)
		d->imm = cursor_s32(&d->c);
	if (what & IMM16)
		d->imm = cursor_u16(&d->c);
	if (what & IMM8)
		d->imm = take_s8(&d->c);
}

static struct x86_insn plain(enum x86_op op, int64_t value)
{
	return (struct x86_insn){ .op = op, .reg = X86_REG_NONE, .value = value };
}

/* A register other than sp and fp. */
static struct x86_insn of_load(const struct decoder *d, uint8_t to)
{
	if (d->mod == 3 || !(d->rex & 8) || !d->has_base_only || d->base != X86_REG_SP)
		return plain(X86_OTHER, 0);
	return (struct x86_insn){ .op = X86_LOAD, .reg = to, .value = d->disp };
}

/* A whole register is loaded from another one or from memory. For fp only a restore counts: code
 * that uses it for data restores the caller's value before it returns. */
static struct x86_insn of_move(const struct decoder *d, uint8_t to, uint8_t from)
{
	if (to == X86_REG_SP && d->mod == 3 && from == X86_REG_FP)
		return plain(X86_SP_FROM_FP, 0);
	if (to == X86_REG_SP)
		return plain(X86_SP_LOST, 0);
	if (to != X86_REG_FP)
		return of_load(d, to);
	if (d->mod == 3)
		return plain(from == X86_REG_SP ? X86_FP_FROM_SP : X86_OTHER, 0);
	if (d->has_base_only && (d->base == X86_REG_SP || d->base == X86_REG_FP))
		return plain(d->base == X86_REG_SP ? X86_FP_AT_SP : X86_FP_AT_FP, d->disp);
	return plain(X86_OTHER, 0);
}

static struct x86_insn of_lea(const struct decoder *d)
{
	bool is_sp = d->has_base_only && d->base == X86_REG_SP;
	bool is_fp = d->has_base_only && d->base == X86_REG_FP;

	if (d->reg == X86_REG_SP && (is_sp || is_fp))
		return plain(is_sp ? X86_ADD_SP : X86_SP_FROM_FP, d->disp);
	if (d->reg == X86_REG_SP)
		return plain(X86_SP_LOST, 0);
	return plain(d->reg == X86_REG_FP && is_sp ? X86_FP_FROM_SP : X86_OTHER, d->disp);
}

/* An operation with an immediate operand. */
static struct x86_insn of_immediate(const struct decoder *d)
{
	uint8_t operation = d->reg & 7;

	if (d->mod != 3 || d->rm != X86_REG_SP || operation == 7) /* a comparison */
		return plain(X86_OTHER, 0);
	if (d->rex & 8 && (operation == 0 || operation == 5))
		return plain(X86_ADD_SP, operation == 0 ? d->imm : -d->imm);
	return plain(X86_SP_LOST, 0);
}

static struct x86_insn of_ff(const struct decoder *d)
{
	static const enum x86_op ops[8] = { X86_OTHER,         X86_OTHER,        X86_CALL_INDIRECT,
					    X86_CALL_INDIRECT, X86_JMP_INDIRECT, X86_JMP_INDIRECT,
					    X86_PUSH,          X86_TRAP };

	if ((d->reg & 7) < 2 && d->mod == 3 && d->rm == X86_REG_SP)
		return plain(X86_SP_LOST, 0);
	return plain(ops[d->reg & 7], 0);
}

static struct x86_insn of_stack(const struct decoder *d)
{
	enum x86_op op = (d->opcode & 0xf8) == 0x50 ? X86_PUSH : X86_POP;
	uint8_t reg = (uint8_t)((d->opcode & 7) | (d->rex & 1) << 3);

	if (d->has_16 || (op == X86_POP && reg == X86_REG_SP))
		return plain(X86_SP_LOST, 0);
	return (struct x86_insn){ .op = op, .reg = reg };
}

/* The operand that an instruction of the first map writes. */
enum written { WRITES_NONE, WRITES_REG, WRITES_RM, WRITES_BOTH };

static enum written written_1(uint8_t op)
{
	static const struct range ranges[] = {
		{ 0x63, 0x63, WRITES_REG },  { 0x69, 0x69, WRITES_REG }, { 0x6b, 0x6b, WRITES_REG },
		{ 0x87, 0x87, WRITES_BOTH }, { 0xc1, 0xc1, WRITES_RM },  { 0xc7, 0xc7, WRITES_RM },
		{ 0xd1, 0xd1, WRITES_RM },   { 0xd3, 0xd3, WRITES_RM },
	};

	if (op < 0x38 && (op & 5) == 1) /* arithmetic on whole registers; not comparisons */
		return op & 2 ? WRITES_REG : WRITES_RM;
	return (enum written)look_up(ranges, sizeof(ranges) / sizeof(ranges[0]), op, WRITES_NONE);
}

/* cmov, and instructions that widen, multiply or count bits */
static enum written written_2(uint8_t op)
{
	static const struct range ranges[] = {
		{ 0x40, 0x4f, WRITES_REG }, { 0xaf, 0xaf, WRITES_REG },  { 0xb6, 0xb8, WRITES_REG },
		{ 0xbc, 0xbf, WRITES_REG }, { 0xc1, 0xc1, WRITES_BOTH },
	};

	return (enum written)look_up(ranges, sizeof(ranges) / sizeof(ranges[0]), op, WRITES_NONE);
}

/* Writes other than those that the next functions handle. */
static bool writes_sp(const struct decoder *d)
{
	enum written which = d->map == 1 ? written_1(d->opcode) : written_2(d->opcode);

	if (d->is_vector || d->map > 2)
		return false;
	if (d->map == 1 &&
	    (d->opcode == 0x94 || d->opcode == 0xbc)) /* its register is in the opcode */
		return !(d->rex & 1);
	return (which & WRITES_REG && d->reg == X86_REG_SP) ||
	       (which & WRITES_RM && d->mod == 3 && d->rm == X86_REG_SP);
}

static bool is_fp_to_stack(const struct decoder *d)
{
	return d->reg == X86_REG_FP && d->rex & 8 && d->has_base_only && d->base == X86_REG_SP;
}

static struct x86_insn of_map_1(const struct decoder *d)
{
	uint8_t op = d->opcode;

	if ((op & 0xf0) == 0x50)
		return of_stack(d);
	if (op == 0x89 && d->mod == 3)
		return of_move(d, d->rm, d->reg);
	if (op == 0x89)
		return is_fp_to_stack(d) ? plain(X86_STORE_FP, d->disp) : plain(X86_OTHER, 0);
	if ((op & 0xf0) == 0x70 || (op >= 0xe0 && op <= 0xe3))
		return plain(X86_JMP_IF, d->imm);
	switch (op) {
	case 0x68:
	case 0x6a:
	case 0x9c:
		return plain(d->has_16 ? X86_SP_LOST : X86_PUSH, 0);
	case 0x9d:
		return plain(d->has_16 ? X86_SP_LOST : X86_POP, 0);
	case 0x81:
	case 0x83:
		return of_immediate(d);
	case 0x8b:
		return of_move(d, d->reg, d->rm);
	case 0x8d:
		return of_lea(d);
	case 0x8f:
		return plain(d->mod == 3 && d->rm == X86_REG_SP ? X86_SP_LOST : X86_POP, 0);
	case 0xc2:
	case 0xc3:
		return plain(X86_RET, d->imm);
	case 0xc8:
		return plain(X86_SP_LOST, 0);
	case 0xc9:
		return plain(X86_LEAVE, 0);
	case 0xca:
	case 0xcb:
	case 0xcf:
	case 0xf1:
	case 0xcc:
		return plain(X86_TRAP, 0);
	case 0xe8:
		return plain(X86_CALL, d->imm);
	case 0xe9:
	case 0xeb:
		return plain(X86_JMP, d->imm);
	case 0xf4:
		return plain(X86_HALT, 0);
	case 0xff:
		return of_ff(d);
	default:
		return plain(X86_OTHER, 0);
	}
}

static struct x86_insn classify(const struct decoder *d)
{
	if (writes_sp(d))
		return plain(X86_SP_LOST, 0);
	if (d->is_vector || d->map > 2)
		return plain(X86_OTHER, 0);
	if (d->map == 1)
		return of_map_1(d);
	if ((d->opcode & 0xf0) == 0x80)
		return plain(X86_JMP_IF, d->imm);
	return plain(d->opcode == 0x0b ? X86_TRAP : X86_OTHER, 0);
}

#define BIT(reg) ((uint16_t)(1u << (reg)))
#define ALL 0xffffu

/* Instructions whose operands do not follow the opcode. */
static uint16_t written_by_opcode(const struct decoder *d)
{
	static const struct range ranges[] = {
		{ 0x50, 0x57, 0 }, { 0x68, 0x68, 0 }, { 0x6a, 0x6a, 0 },
		{ 0x70, 0x7f, 0 }, { 0x9c, 0x9c, 0 }, { 0xa8, 0xa9, 0 },
		{ 0xe0, 0xeb, 0 }, { 0xf5, 0xf5, 0 }, { 0xf8, 0xfd, 0 },
	};
	uint8_t op = d->opcode;

	if (d->map != 1)
		return d->map == 2 && (op & 0xf0) == 0x80 ? 0 : ALL;
	if ((op & 0xf8) == 0x58 || (op & 0xf0) == 0xb0)
		return BIT((op & 7) | (d->rex & 1) << 3);
	if (op == 0x90 && !(d->rex & 1))
		return 0;
	return look_up(ranges, sizeof(ranges) / sizeof(ranges[0]), op, ALL);
}

/* True if the reg field of ModRM is part of the opcode. */
static bool is_group(const struct decoder *d)
{
	static const struct range ranges[] = {
		{ 0x80, 0x83, true }, { 0x8f, 0x8f, true }, { 0xc0, 0xc1, true },
		{ 0xc6, 0xc7, true }, { 0xd0, 0xd3, true }, { 0xf6, 0xf7, true },
		{ 0xfe, 0xff, true },
	};

	return d->map == 1 && look_up(ranges, sizeof(ranges) / sizeof(ranges[0]), d->opcode, false);
}

/* Any register operand, unless it is known to be only stored. */
static uint16_t may_write(const struct decoder *d)
{
	uint16_t rm = d->mod == 3 ? BIT(d->rm) : 0;

	if (d->is_vector)
		return ALL;
	if (!d->has_modrm)
		return written_by_opcode(d);
	if (d->map == 2 && (d->opcode & 0xf8) == 0x18)
		return 0; /* nop, endbr64, prefetch */
	if (d->map == 1 && (d->opcode == 0x88 || d->opcode == 0x89))
		return rm;
	if (!is_group(d))
		rm |= BIT(d->reg);
	if ((d->map == 1 && (d->opcode & 0xfe) == 0xf6) || /* mul, div; cmpxchg: rax and rdx */
	    (d->map == 2 && ((d->opcode & 0xfe) == 0xb0 || d->opcode == 0xc7)))
		rm |= BIT(0) | BIT(2);
	return rm;
}

/* True if memory below fp is accessed. lea does not access memory; unaligned offsets are excluded,
 * since fp may be a tagged pointer to data. */
static bool is_below_fp(const struct decoder *d)
{
	return d->has_modrm && !d->is_vector && d->mod != 3 && d->has_base_only &&
	       d->base == X86_REG_FP && d->disp < 0 && d->disp % 8 == 0 &&
	       !(d->map == 1 && d->opcode == 0x8d);
}

int x86_insn_decode(const uint8_t *code, size_t n, struct x86_insn *ret_insn)
{
	size_t max = n < X86_INSN_MAX_BYTES ? n : X86_INSN_MAX_BYTES;
	struct decoder d = { .c = cursor_of(code, max) };
	uint16_t what;

	take_opcode(&d);
	what = layout(&d);
	if (d.c.bad || what & BAD)
		return -EBADMSG;
	if (what & MODRM)
		take_modrm(&d);
	take_immediate(&d, what);
	if (d.c.bad)
		return -EBADMSG;
	*ret_insn = classify(&d);
	ret_insn->written = may_write(&d);
	ret_insn->is_below_fp = is_below_fp(&d);
	ret_insn->size = (uint8_t)(max - cursor_left(&d.c));
	return 0;
}
