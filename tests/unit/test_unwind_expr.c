/* SPDX-License-Identifier: Apache-2.0 */
/* Each operation of the expressions of call frame information, and each way in which one fails. */
#include "unwind/expr_eval.h"

#include <errno.h>
#include <string.h>

#include "tap.h"

#define BYTES(s) (s), sizeof(s) - 1
#define MEMORY 0x7f0000ull

static const uint8_t memory[] = { 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xff };

static int read_memory(void *ctx, uint64_t addr, void *to, size_t size)
{
	if (addr < MEMORY || addr + size > MEMORY + sizeof(memory))
		return -1;
	memcpy(to, memory + (addr - MEMORY), size);
	return 0;
}

static int eval(const char *expr, size_t n, const uint64_t *cfa, uint64_t *ret)
{
	struct frame_regs regs = { .known = 1u << 7 | 1u << 3 | 1u << 16 };
	struct expr_frame frame = { &regs, read_memory, NULL };

	regs.v[3] = MEMORY;
	regs.v[7] = 1000;
	regs.v[16] = 0x401234;
	return expr_eval((const uint8_t *)expr, n, &frame, cfa, ret);
}

static bool gives(const char *expr, size_t n, uint64_t value)
{
	uint64_t v;

	return eval(expr, n, NULL, &v) == 0 && v == value;
}

static bool fails(const char *expr, size_t n, int error)
{
	uint64_t v;

	return eval(expr, n, NULL, &v) == error;
}

static void test_constants(void)
{
	ok(gives(BYTES("\x30"), 0) && gives(BYTES("\x4f"), 31), "literals");
	ok(gives(BYTES("\x08\xff"), 255) && gives(BYTES("\x09\xff"), UINT64_MAX),
	   "constants of one byte");
	ok(gives(BYTES("\x0a\xfe\xff"), 65534) && gives(BYTES("\x0b\xfe\xff"), -2ull),
	   "constants of two bytes");
	ok(gives(BYTES("\x0c\xfe\xff\xff\xff"), 0xfffffffe) &&
		   gives(BYTES("\x0d\xfe\xff\xff\xff"), -2ull),
	   "constants of four bytes");
	ok(gives(BYTES("\x0e\x01\0\0\0\0\0\0\x80"), 1ull << 63 | 1) &&
		   gives(BYTES("\x0f\xff\xff\xff\xff\xff\xff\xff\xff"), UINT64_MAX),
	   "constants of eight bytes");
	ok(gives(BYTES("\x10\x80\x01"), 128) && gives(BYTES("\x11\x7f"), UINT64_MAX),
	   "constants of any length");
}

static void test_registers_and_memory(void)
{
	uint64_t cfa = 4096, v;

	ok(gives(BYTES("\x77\x08"), 1008) && gives(BYTES("\x77\x78"), 992), "register + offset");
	ok(gives(BYTES("\x92\x10\x00"), 0x401234), "registers by number, including the pc");
	ok(fails(BYTES("\x75\x00"), -ENODATA) && fails(BYTES("\x92\x28\x00"), -ENODATA),
	   "an unknown or missing register");
	ok(gives(BYTES("\x73\x00\x06"), 0x1122334455667788), "memory");
	ok(gives(BYTES("\x73\x08\x94\x01"), 255) && gives(BYTES("\x73\x00\x94\x02"), 0x7788),
	   "memory of less than a word");
	ok(fails(BYTES("\x73\x08\x06"), -EFAULT), "unreadable memory");
	ok(fails(BYTES("\x73\x00\x94\x00"), -EBADMSG) && fails(BYTES("\x73\x00\x94\x09"), -EBADMSG),
	   "impossible sizes of memory");
	ok(eval(BYTES("\x23\x08"), &cfa, &v) == 0 && v == 4104,
	   "the CFA is on the stack at the start");
	ok(eval(BYTES(""), &cfa, &v) == 0 && v == 4096, "the CFA stays on the stack");
}

static void test_arithmetic(void)
{
	ok(gives(BYTES("\x37\x33\x22"), 10) && gives(BYTES("\x37\x33\x1c"), 4), "plus, minus");
	ok(gives(BYTES("\x37\x33\x1e"), 21), "mul, as in OpenSSL");
	ok(gives(BYTES("\x11\x79\x32\x1b"), -3ull), "div is signed: -7 / 2");
	ok(gives(BYTES("\x0e\0\0\0\0\0\0\0\x80\x09\xff\x1b"), 1ull << 63), "div never traps");
	ok(gives(BYTES("\x37\x33\x1d"), 1) && fails(BYTES("\x37\x30\x1d"), -EBADMSG), "mod");
	ok(fails(BYTES("\x37\x30\x1b"), -EBADMSG), "division by 0 is refused");
	ok(gives(BYTES("\x3c\x3a\x1a"), 8) && gives(BYTES("\x3c\x3a\x21"), 14) &&
		   gives(BYTES("\x3c\x3a\x27"), 6),
	   "and, or, xor");
	ok(gives(BYTES("\x31\x34\x24"), 16) && gives(BYTES("\x31\x08\x40\x24"), 0), "shl");
	ok(gives(BYTES("\x09\xf8\x31\x25"), UINT64_MAX / 2 - 3) &&
		   gives(BYTES("\x31\x08\x40\x25"), 0),
	   "shr");
	ok(gives(BYTES("\x09\xf8\x31\x26"), -4ull) &&
		   gives(BYTES("\x09\xf8\x08\x40\x26"), UINT64_MAX),
	   "shra");
	ok(gives(BYTES("\x09\xf8\x19"), 8) && gives(BYTES("\x38\x19"), 8) &&
		   gives(BYTES("\x38\x1f"), -8ull) && gives(BYTES("\x38\x20"), ~8ull),
	   "abs, neg, not");
	ok(gives(BYTES("\x38\x23\x80\x01"), 136), "plus_uconst");
}

static void test_comparisons(void)
{
	ok(gives(BYTES("\x09\xff\x31\x2d"), 1) && gives(BYTES("\x09\xff\x31\x2b"), 0),
	   "comparisons are signed: -1 < 1");
	ok(gives(BYTES("\x31\x31\x29"), 1) && gives(BYTES("\x31\x31\x2e"), 0), "eq, ne");
	ok(gives(BYTES("\x31\x31\x2a"), 1) && gives(BYTES("\x31\x31\x2c"), 1), "ge, le");
	ok(gives(BYTES("\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"), 1008) &&
		   gives(BYTES("\x77\x08\x80\x00\x3f\x1a\x34\x2a\x33\x24\x22"), 1016),
	   "the PLT form, before the stub's push and after it");
}

static void test_stack(void)
{
	ok(gives(BYTES("\x31\x32\x13"), 1) && gives(BYTES("\x35\x12\x22"), 10), "drop, dup");
	ok(gives(BYTES("\x31\x32\x14"), 1) && gives(BYTES("\x31\x32\x15\x01"), 1), "over, pick");
	ok(gives(BYTES("\x31\x32\x16"), 1) && gives(BYTES("\x31\x32\x16\x1c"), 1), "swap");
	/* 1 2 3 becomes 3 1 2: (3 - 1) * … is told apart by shifting. */
	ok(gives(BYTES("\x31\x32\x33\x17"), 2) && gives(BYTES("\x31\x32\x33\x17\x13"), 1) &&
		   gives(BYTES("\x31\x32\x33\x17\x13\x13"), 3),
	   "rot");
	ok(fails(BYTES(""), -EBADMSG) && fails(BYTES("\x31\x22"), -EBADMSG) &&
		   fails(BYTES("\x31\x15\x01"), -EBADMSG) && fails(BYTES("\x31\x16"), -EBADMSG) &&
		   fails(BYTES("\x31\x32\x17"), -EBADMSG),
	   "too few values on the stack");
	ok(fails(BYTES("\x31\x12\x2f\xfc\xff"), -EBADMSG), "too many values on the stack");
}

static void test_flow(void)
{
	ok(gives(BYTES("\x31\x2f\x01\x00\x32\x96"), 1), "skip");
	ok(gives(BYTES("\x35\x31\x28\x01\x00\x36"), 5) &&
		   gives(BYTES("\x35\x30\x28\x01\x00\x36"), 6),
	   "bra");
	ok(gives(BYTES("\x31\x2f\x00\x00"), 1), "a jump to the end");
	ok(fails(BYTES("\x31\x2f\x01\x00"), -EBADMSG) && fails(BYTES("\x31\x2f\xfb\xff"), -EBADMSG),
	   "a jump after the end or before the start is refused");
	ok(fails(BYTES("\x31\x2f\xfd\xff"), -E2BIG), "a loop of jumps is abandoned");
}

static void test_damage(void)
{
	ok(fails(BYTES("\x0e\x01"), -EBADMSG) && fails(BYTES("\x77\x80"), -EBADMSG) &&
		   fails(BYTES("\x31\x2f\x01"), -EBADMSG),
	   "a truncated operand is refused");
	ok(fails(BYTES("\x03\0\0\0\0\0\0\0\0"), -EBADMSG) && fails(BYTES("\x9c"), -EBADMSG) &&
		   fails(BYTES("\x50"), -EBADMSG) && fails(BYTES("\xff"), -EBADMSG),
	   "operations that are not allowed in CFI are refused");
}

int main(void)
{
	test_constants();
	test_registers_and_memory();
	test_arithmetic();
	test_comparisons();
	test_stack();
	test_flow();
	test_damage();
	return tap_done();
}
