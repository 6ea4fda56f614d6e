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
	   "instructions that add to sp");
	ok(IS("\x48\x89\xec", X86_SP_FROM_FP, 0) && IS("\x48\x8d\x65\xd8", X86_SP_FROM_FP, -40) &&
		   IS("\x48\x8b\xec", X86_FP_FROM_SP, 0) && IS("\xc9", X86_LEAVE, 0),
	   "moves between sp and fp");
	ok(IS("\x48\x8b\x6c\x24\x08", X86_FP_AT_SP, 8) && IS("\x48\x8b\x6d\x00", X86_FP_AT_FP, 0),
	   "loads of fp");
	ok(IS("\x48\x8b\x44\x24\x08", X86_LOAD, 8) && IS("\x8b\x44\x24\x08", X86_OTHER, 0),
	   "loads of other registers");
	ok(IS("\x48\x89\x6c\x24\x08", X86_STORE_FP, 8) && IS("\x48\x89\x6d\x08", X86_OTHER, 0),
	   "stores of fp");
	ok(IS("\x48\x83\xe4\xf0", X86_SP_LOST, 0) && IS("\x48\x29\xc4", X86_SP_LOST, 0) &&
		   IS("\x48\x94", X86_SP_LOST, 0) && IS("\x5c", X86_SP_LOST, 0),
	   "instructions that lose sp");
	ok(IS("\x48\x83\xfc\x10", X86_OTHER, 0) && IS("\x49\x83\xc4\x10", X86_OTHER, 0) &&
		   IS("\x48\x89\x04\x24", X86_OTHER, 0),
	   "instructions that only read sp, or use another register");
}

static void test_other_insns(void)
{
	struct x86_insn i;

	ok(IS("\xc2\x18\x00", X86_RET, 24) && IS("\xf3\xc3", X86_RET, 0) &&
		   IS("\xe8\xfb\xff\xff\xff", X86_CALL, -5) &&
		   IS("\xff\x15\0\0\0\0", X86_CALL_INDIRECT, 0) &&
		   IS("\x66\x66\x48\xe8\x01\0\0\0", X86_CALL, 1) && IS("\xeb\xfe", X86_JMP, -2) &&
		   IS("\x0f\x84\x10\0\0\0", X86_JMP_IF, 16) && IS("\xf4", X86_HALT, 0),
	   "control flow");
	ok(IS("\xc5\xf8\x77", X86_OTHER, 0) && IS("\xc4\xe3\x7d\x39\xc1\x01", X86_OTHER, 0) &&
		   IS("\x62\xf1\x7c\x48\x10\x44\x24\x01", X86_OTHER, 0) &&
		   IS("\x48\xb8\1\2\3\4\5\6\7\x8", X86_OTHER, 0) &&
		   IS("\xf7\x05\0\0\0\0\1\0\0\0", X86_OTHER, 0) && IS("\xf7\xd8", X86_OTHER, 0),
	   "other instructions by their size");
	ok(x86_insn_decode((const uint8_t *)"\x48\x81\xc4\x80", 4, &i) < 0 &&
		   x86_insn_decode((const uint8_t *)"", 0, &i) < 0 &&
		   x86_insn_decode((const uint8_t *)"\x06\0\0\0", 4, &i) < 0,
	   "truncated instructions are refused");
}

static struct x86_exit found;

/* The rule at an offset of the code: the CFA by that register, and where fp is kept below it; 0: it is
 * unchanged. */
static bool exits(uint64_t at, unsigned int reg, int64_t cfa, int64_t fp)
{
	pa_rule rule;

	if (x86_exit_find(&reader, BASE + at, &found) < 0)
		return false;
	rule = found.rule;
	return PA_RULE_CFA_KIND(rule) == PA_CFA_REG && PA_RULE_CFA_REG(rule) == reg &&
	       PA_RULE_CFA_OFF(rule) == cfa && PA_RULE_RA_KIND(rule) == PA_RA_CFA_MINUS_8 &&
	       PA_RULE_FP_KIND(rule) == (fp ? PA_FP_AT_CFA : PA_FP_SAME) &&
	       PA_RULE_SLOT(rule) == fp;
}

static bool is_silent(uint64_t at)
{
	return x86_exit_find(&reader, BASE + at, &found) < 0;
}

static void test_exits(void)
{
	/* push %rbp; sub $0x20,%rsp; call; add $0x20,%rsp; pop %rbp; ret */
	USE("\x55\x48\x83\xec\x20\xe8\0\0\0\0\x48\x83\xc4\x20\x5d\xc3");
	ok(exits(0, PA_REG_X86_SP, 8, 0) && exits(1, PA_REG_X86_SP, 16, -16) &&
		   exits(5, PA_REG_X86_SP, 48, -16) && exits(10, PA_REG_X86_SP, 48, -16) &&
		   exits(14, PA_REG_X86_SP, 16, -16) && exits(15, PA_REG_X86_SP, 8, 0),
	   "exit: a frame without a record, at any pc");
	/* push %rbp; mov %rsp,%rbp; push %rbx; call; mov -8(%rbp),%rbx; leave; ret */
	USE("\x55\x48\x89\xe5\x53\xe8\0\0\0\0\x48\x8b\x5d\xf8\xc9\xc3");
	ok(exits(0, PA_REG_X86_SP, 8, 0) && exits(1, PA_REG_X86_SP, 16, -16) &&
		   exits(4, PA_REG_X86_FP, 16, -16) && exits(10, PA_REG_X86_FP, 16, -16) &&
		   exits(15, PA_REG_X86_SP, 8, 0),
	   "exit: a frame with a record");
	/* lea -0x10(%rbp),%rsp; pop %rbx; pop %r12; pop %rbp; ret */
	USE("\x48\x8d\x65\xf0\x5b\x41\x5c\x5d\xc3");
	ok(exits(0, PA_REG_X86_FP, 16, -16), "exit: a realigned stack");
	/* cmovb %rbx,%rsp; push %rax; pop %rax; mov %rbp,%rsp; clc; pop %rbp; ret */
	USE("\x48\x0f\x42\xe3\x50\x58\x48\x8b\xe5\xf8\x5d\xc3");
	ok(exits(0, PA_REG_X86_FP, 16, -16), "exit: a stack of variable size");
	/* pop %rbp; jmp +5; int3; (other): push %rbp; pop %rbp; ret */
	USE("\x5d\xeb\x01\xcc\x55\x5d\xc3");
	ok(exits(0, PA_REG_X86_SP, 16, -16), "exit: fp saved twice");
}

/* mov %rbp,%rsp; pop %rbp; pop %r10; lea (%rsp,%rcx,8),%rsp; push %r10; ret */
static void test_record_of_v8(void)
{
	USE("\x48\x8b\xe5\x5d\x41\x5a\x48\x8d\x24\xcc\x41\x52\xc3");
	ok(exits(0, PA_REG_X86_FP, 16, -16),
	   "record: a path that removes a frame record, whatever follows");
	ok(is_silent(4), "record: nothing is known after its removal");
}

static void test_ways(void)
{
	/* jne +2; ud2; add $8,%rsp; ret */
	USE("\x75\x02\x0f\x0b\x48\x83\xc4\x08\xc3");
	ok(exits(0, PA_REG_X86_SP, 16, 0), "exit: one path ends in a trap, the other returns");
	/* top: nop; jne out; jmp top; out: ret */
	USE("\x90\x75\x02\xeb\xfb\xc3");
	ok(exits(0, PA_REG_X86_SP, 8, 0), "exit: a loop is left by its branch");
	USE("\xeb\xfe");
	ok(is_silent(0), "exit: an endless loop gives no rule");
	USE("\xff\xe0");
	ok(is_silent(0), "exit: an indirect jump gives no rule");
	USE("\x48\x83\xe4\xf0\xc3");
	ok(is_silent(0), "exit: code that aligns sp gives no rule");
	USE("\x48\x89\xc4\x55\x5d\xc3");
	ok(is_silent(0), "exit: a return from another stack gives no rule");
	USE("\x53\xc3");
	ok(is_silent(0), "exit: a return to what was just pushed gives no rule");
	USE("\x48\x83\xc4\x04\xc3");
	ok(is_silent(0), "exit: an unaligned return address gives no rule");
	USE("\x90\x90");
	ok(is_silent(0), "exit: code that ends gives no rule");
	USE("\x06");
	ok(is_silent(0) && is_silent(7), "exit: invalid code gives no rule");
}

static bool exits_by(uint64_t at, enum x86_exit_by by, unsigned int reg, int64_t cfa, int64_t fp)
{
	return exits(at, reg, cfa, fp) && found.by == by;
}

static void test_entries(void)
{
	/* test %eax,%eax; je +2; jmp *%rcx; push %rbp; mov %rsp,%rbp; call; int3 */
	USE("\x85\xc0\x74\x02\xff\xe1\x55\x48\x89\xe5\xe8\0\0\0\0\xcc");
	ok(exits_by(0, X86_BY_ENTRY, PA_REG_X86_SP, 8, 0) &&
		   exits_by(6, X86_BY_ENTRY, PA_REG_X86_SP, 8, 0) && is_silent(4) && is_silent(7),
	   "entry: code that pushes a frame record was just called");
	/* sub $8,%rsp; mov %rbp,(%rsp); mov %rsp,%rbp; int3 */
	USE("\x48\x83\xec\x08\x48\x89\x2c\x24\x48\x89\xe5\xcc");
	ok(exits_by(0, X86_BY_ENTRY, PA_REG_X86_SP, 8, 0), "entry: in other encodings");
	/* pop %rax; lea -8(%rsp,%rcx,8),%r14; push $0; push %rax; push %rbp; mov %rsp,%rbp; int3 */
	USE("\x58\x4c\x8d\x74\xcc\xf8\x6a\0\x50\x55\x48\x89\xe5\xcc");
	ok(exits_by(0, X86_BY_MOVE, PA_REG_X86_SP, 8, 0), "entry: with room made below it");
	/* pop %rax; mov %rcx,%rax; push $0; push %rax; push %rbp; mov %rsp,%rbp; int3 */
	USE("\x58\x48\x89\xc8\x6a\0\x50\x55\x48\x89\xe5\xcc");
	ok(is_silent(0), "entry: a second record gives no rule");
	/* mov (%rsp),%rax; and $-16,%rsp; push %rax; jmp *%r11 */
	USE("\x48\x8b\x04\x24\x48\x83\xe4\xf0\x50\x41\xff\xe3");
	ok(exits_by(0, X86_BY_MOVE, PA_REG_X86_SP, 8, 0) && is_silent(4),
	   "entry: an aligned stack and a jump");
	/* mov (%rsp),%rax; push %rax; jmp *%r11 */
	USE("\x48\x8b\x04\x24\x50\x41\xff\xe3");
	ok(is_silent(0), "entry: a copied word may belong to an interpreter");
	/* call; push %rbp; mov %rsp,%rbp; int3 */
	USE("\xe8\0\0\0\0\x55\x48\x89\xe5\xcc");
	ok(is_silent(0), "entry: after a call may be another function");
	/* push $1; push %rbp; mov %rsp,%rbp; int3 */
	USE("\x6a\x01\x55\x48\x89\xe5\xcc");
	ok(is_silent(0), "entry: a record of something else gives no rule");
}

static void test_frames(void)
{
	/* sub $16,%r15; mov -0xc0(%rbp),%rsp; jmp -2 */
	USE("\x49\x83\xef\x10\x48\x8b\xa5\x40\xff\xff\xff\xeb\xfe");
	ok(exits_by(0, X86_BY_FRAME, PA_REG_X86_FP, 16, -16),
	   "frame: code that uses memory below fp has a record");
	/* mov %rdi,%rbp; mov -8(%rbp),%rax; jmp -2 */
	USE("\x48\x89\xfd\x48\x8b\x45\xf8\xeb\xfe");
	ok(is_silent(0), "frame: not if fp was set to something else");
	USE("\x48\x8b\x45\xff\xeb\xfe");
	ok(is_silent(0), "frame: not with a tagged pointer");
	USE("\x48\x8b\x45\x08\xeb\xfe");
	ok(is_silent(0), "frame: not with memory above fp");
	USE("\x48\x8b\x45\xf8\xc3");
	ok(exits_by(0, X86_BY_RETURN, PA_REG_X86_SP, 8, 0), "frame: a return is preferred");
	USE("\xe8\0\0\0\0\xc3");
	ok(exits(0, PA_REG_X86_SP, 8, 0) && found.calls_without_record &&
		   exits(5, PA_REG_X86_SP, 8, 0) && !found.calls_without_record,
	   "a call on a path without a record is noted");
	/* push %rbp; mov %rsp,%rbp; call; pop %rbp; ret */
	USE("\x55\x48\x89\xe5\xe8\0\0\0\0\x5d\xc3");
	ok(exits(0, PA_REG_X86_SP, 8, 0) && !found.calls_without_record,
	   "a call on a path with a record is not");
}

/* Where the return address is at an offset of a function that begins at 0. */
static bool leads(uint64_t at, int64_t cfa, int64_t fp)
{
	pa_rule rule;

	return x86_exit_of_call(&reader, BASE, BASE + at, &rule) == 0 &&
	       PA_RULE_CFA_REG(rule) == PA_REG_X86_SP && PA_RULE_CFA_OFF(rule) == cfa &&
	       PA_RULE_SLOT(rule) == fp;
}

static void test_calls(void)
{
	/* push %rbx; sub $16,%rsp; mov %rbp,8(%rsp); jne +2; jmp *%rax; jmp -2 */
	USE("\x53\x48\x83\xec\x10\x48\x89\x6c\x24\x08\x75\x02\xff\xe0\xeb\xfe");
	ok(leads(0, 8, 0) && leads(1, 16, 0) && leads(5, 32, 0) && leads(10, 32, -24) &&
		   leads(12, 32, -24) && leads(14, 32, -24),
	   "called: what a function has on the stack, from its start on");
	ok(!leads(11, 0, 0), "called: not inside an instruction");
	/* mov %rdi,%rbp; jmp -2 */
	USE("\x48\x89\xfd\xeb\xfe");
	ok(leads(0, 8, 0) && !leads(3, 8, 0), "called: a lost frame pointer is not found");
	/* ret; nop */
	USE("\xc3\x90");
	ok(!leads(1, 8, 0), "called: not if no path leads there");
	/* and $-16,%rsp; nop */
	USE("\x48\x83\xe4\xf0\x90");
	ok(!leads(4, 8, 0), "called: not if the alignment is unknown");
}

/* The same by its record. */
static bool leads_by_record(uint64_t at)
{
	pa_rule rule;

	return x86_exit_of_call(&reader, BASE, BASE + at, &rule) == 0 &&
	       PA_RULE_CFA_REG(rule) == PA_REG_X86_FP && PA_RULE_CFA_OFF(rule) == 16 &&
	       PA_RULE_SLOT(rule) == -16;
}

static void test_long_calls(void)
{
	/* push %rbp; mov %rsp,%rbp; push %rbx; and $-32,%rsp; sub %rax,%rsp; call *%rbx */
	USE("\x55\x48\x89\xe5\x53\x48\x83\xe4\xe0\x48\x29\xc4\xff\xd3");
	ok(leads_by_record(14), "called: by its record if sp is lost");
	/* push %rbp; call next; next: push %rbp; call *%rbx */
	USE("\x55\xe8\0\0\0\0\x55\xff\xd3");
	ok(!leads(9, 24, -16), "called: not into a function that it calls");
	/* sub $8,%rsp; jmp *%rax; call *%rbx; jmp -4; call *%rbx */
	USE("\x48\x83\xec\x08\xff\xe0\xff\xd3\xeb\xfc\xff\xd3");
	ok(leads(8, 16, 0) && leads(12, 16, 0), "called: the cases of a switch follow it");
	/* jmp *%rax; call *%rbx */
	USE("\xff\xe0\xff\xd3");
	ok(!leads(4, 8, 0), "called: after a jump without a frame comes another function");
}

static void test_first_function(void)
{
	/* musl's: xor %rbp,%rbp; mov %rsp,%rdi; call over; nopl; over: ret */
	USE("\x48\x31\xed\x48\x89\xe7\xe8\x03\0\0\0\x0f\x1f\0\xc3");
	ok(x86_first_end(&reader, BASE, 256) == BASE + 14,
	   "program entry: ends where the function that it calls begins");
	/* call *%rax; hlt; nop */
	USE("\xff\xd0\xf4\x90");
	ok(x86_first_end(&reader, BASE, 256) == BASE + 3 &&
		   x86_first_end(&reader, BASE, 2) == BASE + 2,
	   "program entry: ends at a hlt, or at the limit");
	USE("\xe8\0\x01\0\0\x90\x90\x90");
	ok(x86_first_end(&reader, BASE, 3) == BASE + 3, "program entry: also within a call");
}

static void test_arguments(void)
{
	pa_rule rule;

	USE("\x5d\xc2\x18\x00");
	ok(x86_exit_find(&reader, BASE, &found) == 0 && (rule = found.rule, true) &&
		   PA_RULE_CFA_OFF(rule) == 16 + 24 && PA_RULE_RA_KIND(rule) == PA_RA_BOTH &&
		   PA_RULE_BOTH_RA(rule) == -32 && PA_RULE_BOTH_FP(rule) == -40,
	   "a return that removes arguments");
	USE("\xc2\x18\x00");
	ok(x86_exit_find(&reader, BASE, &found) == 0 && (rule = found.rule, true) &&
		   PA_RULE_CFA_OFF(rule) == 8 + 24 && PA_RULE_RA_KIND(rule) == PA_RA_AT_CFA &&
		   PA_RULE_SLOT(rule) == -32,
	   "a return that leaves the frame pointer unchanged");
}

static void test_ends(void)
{
	/* musl's __clone: xor %ebp,%ebp; pop %rdi; call *%r9; mov %eax,%edi; xor; mov $60,%al; syscall; hlt */
	USE("\x31\xed\x5f\x41\xff\xd1\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\xf4");
	ok(x86_exit_is_none(&reader, BASE + 6) && x86_exit_is_none(&reader, BASE),
	   "hlt: after the end of a thread");
	/* test %rdi,%rdi; je +5; call; mov %rax,%rdi; call; hlt */
	USE("\x48\x85\xff\x74\x05\xe8\0\0\0\0\x48\x89\xc7\xe8\0\0\0\0\xf4");
	ok(x86_exit_is_none(&reader, BASE), "hlt: after the end of a fiber");
	USE("\x89\xc7\xc3\xf4");
	ok(!x86_exit_is_none(&reader, BASE), "hlt: not after a return");
	USE("\xeb\x01\xf4\xf4");
	ok(!x86_exit_is_none(&reader, BASE), "hlt: not after a jump");
	/* test %eax,%eax; jne +1; hlt; mov %eax,%edi; ret */
	USE("\x85\xc0\x75\x01\xf4\x89\xc7\xc3");
	ok(!x86_exit_is_none(&reader, BASE), "hlt: not one that a jump skips, an assertion");
	USE("\x90\x90");
	ok(!x86_exit_is_none(&reader, BASE), "hlt: not where the code ends");
}

int main(void)
{
	test_stack_insns();
	test_other_insns();
	test_exits();
	test_record_of_v8();
	test_ways();
	test_entries();
	test_frames();
	test_calls();
	test_long_calls();
	test_first_function();
	test_arguments();
	test_ends();
	return tap_done();
}
