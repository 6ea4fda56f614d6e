/* SPDX-License-Identifier: Apache-2.0 */
/* Code that nothing describes: its instructions, and how it returns. */
#include <string.h>

#include "tap.h"
#include "unwind/x86_exit.h"
#include "unwind/x86_insn.h"

#define BASE 0x400000ull

static const uint8_t *code;
static size_t nr_code;

static long read_code(void *ctx, uint64_t addr, void *to, size_t n)
{
	(void)ctx;
	if (addr - BASE >= nr_code)
		return -1;
	if (n > nr_code - (addr - BASE))
		n = nr_code - (size_t)(addr - BASE);
	memcpy(to, code + (addr - BASE), n);
	return (long)n;
}

static const struct x86_code reader = { read_code, NULL };

#define USE(bytes) (code = (const uint8_t *)(bytes), nr_code = sizeof(bytes) - 1)

static bool is_insn(const char *bytes, size_t n, enum x86_op op, int64_t value)
{
	struct x86_insn i;

	return x86_insn_decode((const uint8_t *)bytes, n, &i) == 0 && i.size == n && i.op == op &&
	       i.value == value;
}
#define IS(bytes, op, value) is_insn(bytes, sizeof(bytes) - 1, op, value)

static void test_stack_insns(void)
{
	ok(IS("\x48\x83\xec\x28", X86_ADD_SP, -0x28) &&
		   IS("\x48\x81\xc4\x80\0\0\0", X86_ADD_SP, 128) &&
		   IS("\x48\x8d\x64\x24\x10", X86_ADD_SP, 16),
	   "what adds to sp");
	ok(IS("\x48\x89\xec", X86_SP_FROM_FP, 0) && IS("\x48\x8d\x65\xd8", X86_SP_FROM_FP, -40) &&
		   IS("\x48\x8b\xec", X86_FP_FROM_SP, 0) && IS("\xc9", X86_LEAVE, 0),
	   "what goes between sp and fp");
	ok(IS("\x48\x8b\x6c\x24\x08", X86_FP_AT_SP, 8) && IS("\x48\x8b\x6d\x00", X86_FP_AT_FP, 0),
	   "what loads fp");
	ok(IS("\x48\x83\xe4\xf0", X86_SP_LOST, 0) && IS("\x48\x29\xc4", X86_SP_LOST, 0) &&
		   IS("\x48\x94", X86_SP_LOST, 0) && IS("\x5c", X86_SP_LOST, 0),
	   "what nobody can follow");
	ok(IS("\x48\x83\xfc\x10", X86_OTHER, 0) && IS("\x49\x83\xc4\x10", X86_OTHER, 0) &&
		   IS("\x48\x89\x04\x24", X86_OTHER, 0),
	   "what only reads sp, or is another register");
}

static void test_other_insns(void)
{
	struct x86_insn i;

	ok(IS("\xc2\x18\x00", X86_RET, 24) && IS("\xf3\xc3", X86_RET, 0) &&
		   IS("\xe8\xfb\xff\xff\xff", X86_CALL, -5) &&
		   IS("\xff\x15\0\0\0\0", X86_CALL_INDIRECT, 0) &&
		   IS("\x66\x66\x48\xe8\x01\0\0\0", X86_CALL, 1) && IS("\xeb\xfe", X86_JMP, -2) &&
		   IS("\x0f\x84\x10\0\0\0", X86_JMP_IF, 16) && IS("\xf4", X86_HALT, 0),
	   "where control goes on");
	ok(IS("\xc5\xf8\x77", X86_OTHER, 0) && IS("\xc4\xe3\x7d\x39\xc1\x01", X86_OTHER, 0) &&
		   IS("\x62\xf1\x7c\x48\x10\x44\x24\x01", X86_OTHER, 0) &&
		   IS("\x48\xb8\1\2\3\4\5\6\7\x8", X86_OTHER, 0) &&
		   IS("\xf7\x05\0\0\0\0\1\0\0\0", X86_OTHER, 0) && IS("\xf7\xd8", X86_OTHER, 0),
	   "others by their size");
	ok(x86_insn_decode((const uint8_t *)"\x48\x81\xc4\x80", 4, &i) < 0 &&
		   x86_insn_decode((const uint8_t *)"", 0, &i) < 0 &&
		   x86_insn_decode((const uint8_t *)"\x06\0\0\0", 4, &i) < 0,
	   "no more than there is");
}

/* The rule at an offset of the code: the CFA by that register, and where fp is kept below it; 0: it is
 * unchanged. */
static bool exits(uint64_t at, unsigned int reg, int64_t cfa, int64_t fp)
{
	pa_rule rule;

	if (x86_exit_rule(&reader, BASE + at, &rule) < 0)
		return false;
	return PA_RULE_CFA_KIND(rule) == PA_CFA_REG && PA_RULE_CFA_REG(rule) == reg &&
	       PA_RULE_CFA_OFF(rule) == cfa && PA_RULE_RA_KIND(rule) == PA_RA_CFA_MINUS_8 &&
	       PA_RULE_FP_KIND(rule) == (fp ? PA_FP_AT_CFA : PA_FP_SAME) &&
	       PA_RULE_SLOT(rule) == fp;
}

static bool is_silent(uint64_t at)
{
	pa_rule rule;

	return x86_exit_rule(&reader, BASE + at, &rule) < 0;
}

static void test_exits(void)
{
	/* push %rbp; sub $0x20,%rsp; call; add $0x20,%rsp; pop %rbp; ret */
	USE("\x55\x48\x83\xec\x20\xe8\0\0\0\0\x48\x83\xc4\x20\x5d\xc3");
	ok(exits(0, PA_REG_X86_SP, 8, 0) && exits(1, PA_REG_X86_SP, 16, -16) &&
		   exits(5, PA_REG_X86_SP, 48, -16) && exits(10, PA_REG_X86_SP, 48, -16) &&
		   exits(14, PA_REG_X86_SP, 16, -16) && exits(15, PA_REG_X86_SP, 8, 0),
	   "a frame without a record, wherever its code stands");
	/* push %rbp; mov %rsp,%rbp; push %rbx; call; mov -8(%rbp),%rbx; leave; ret */
	USE("\x55\x48\x89\xe5\x53\xe8\0\0\0\0\x48\x8b\x5d\xf8\xc9\xc3");
	ok(exits(0, PA_REG_X86_SP, 8, 0) && exits(1, PA_REG_X86_SP, 16, -16) &&
		   exits(4, PA_REG_X86_FP, 16, -16) && exits(10, PA_REG_X86_FP, 16, -16) &&
		   exits(15, PA_REG_X86_SP, 8, 0),
	   "one with a record");
	/* lea -0x10(%rbp),%rsp; pop %rbx; pop %r12; pop %rbp; ret */
	USE("\x48\x8d\x65\xf0\x5b\x41\x5c\x5d\xc3");
	ok(exits(0, PA_REG_X86_FP, 16, -16), "one of a realigned stack");
	/* pop %rbp; jmp +5; int3; (other): push %rbp; pop %rbp; ret */
	USE("\x5d\xeb\x01\xcc\x55\x5d\xc3");
	ok(exits(0, PA_REG_X86_SP, 16, -16), "a call in its place: fp is kept twice");
}

/* mov %rbp,%rsp; pop %rbp; pop %r10; lea (%rsp,%rcx,8),%rsp; push %r10; ret */
static void test_record_of_v8(void)
{
	USE("\x48\x8b\xe5\x5d\x41\x5a\x48\x8d\x24\xcc\x41\x52\xc3");
	ok(exits(0, PA_REG_X86_FP, 16, -16), "a record that is taken off, whatever follows");
	ok(is_silent(4), "which says nothing when it is gone");
}

static void test_ways(void)
{
	/* jne +2; ud2; add $8,%rsp; ret */
	USE("\x75\x02\x0f\x0b\x48\x83\xc4\x08\xc3");
	ok(exits(0, PA_REG_X86_SP, 16, 0), "one way ends in a trap, the other returns");
	/* top: nop; jne out; jmp top; out: ret */
	USE("\x90\x75\x02\xeb\xfb\xc3");
	ok(exits(0, PA_REG_X86_SP, 8, 0), "a loop is left by its branch");
	USE("\xeb\xfe");
	ok(is_silent(0), "a loop that nobody leaves says nothing");
	USE("\xff\xe0");
	ok(is_silent(0), "nor does a jump to what is not known");
	USE("\x48\x83\xe4\xf0\xc3");
	ok(is_silent(0), "nor code that aligns sp");
	USE("\x53\xc3");
	ok(is_silent(0), "nor a return to what was just pushed");
	USE("\x48\x83\xc4\x04\xc3");
	ok(is_silent(0), "nor one to what is not aligned");
	USE("\x90\x90");
	ok(is_silent(0), "nor code that ends");
	USE("\x06");
	ok(is_silent(0) && is_silent(7), "nor what is no code");
}

static void test_arguments(void)
{
	pa_rule rule;

	USE("\x5d\xc2\x18\x00");
	ok(x86_exit_rule(&reader, BASE, &rule) == 0 && PA_RULE_CFA_OFF(rule) == 16 + 24 &&
		   PA_RULE_RA_KIND(rule) == PA_RA_BOTH && PA_RULE_BOTH_RA(rule) == -32 &&
		   PA_RULE_BOTH_FP(rule) == -40,
	   "a return that takes arguments off");
	USE("\xc2\x18\x00");
	ok(x86_exit_rule(&reader, BASE, &rule) == 0 && PA_RULE_CFA_OFF(rule) == 8 + 24 &&
		   PA_RULE_RA_KIND(rule) == PA_RA_AT_CFA && PA_RULE_SLOT(rule) == -32,
	   "and leaves the frame pointer alone");
}

static void test_ends(void)
{
	/* musl's __clone: xor %ebp,%ebp; pop %rdi; call *%r9; mov %eax,%edi; xor; mov $60,%al; syscall; hlt */
	USE("\x31\xed\x5f\x41\xff\xd1\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\xf4");
	ok(x86_exit_is_none(&reader, BASE + 6) && x86_exit_is_none(&reader, BASE),
	   "behind what ends a thread is a hlt");
	/* test %rdi,%rdi; je +5; call; mov %rax,%rdi; call; hlt */
	USE("\x48\x85\xff\x74\x05\xe8\0\0\0\0\x48\x89\xc7\xe8\0\0\0\0\xf4");
	ok(x86_exit_is_none(&reader, BASE), "or a fiber");
	USE("\x89\xc7\xc3\xf4");
	ok(!x86_exit_is_none(&reader, BASE), "not behind a return");
	USE("\xeb\x01\xf4\xf4");
	ok(!x86_exit_is_none(&reader, BASE), "nor behind a jump");
	USE("\x90\x90");
	ok(!x86_exit_is_none(&reader, BASE), "nor where code ends");
}

int main(void)
{
	test_stack_insns();
	test_other_insns();
	test_exits();
	test_record_of_v8();
	test_ways();
	test_arguments();
	test_ends();
	return tap_done();
}
