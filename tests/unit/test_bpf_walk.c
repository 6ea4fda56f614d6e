/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's walker, compiled for the host, on stacks and rules that are laid out by hand. */
#define PA_WALK_X86 1
#include <string.h>

#include "bpf/walk.h"
#include "tap.h"

#define STACK_BASE 0x7ffc00000000ull
#define STACK_WORDS 16384

/* Code without a rule, and one address for each rule that is tried. */
#define NO_RULE_PC 0x400000ull
#define RULES_PC 0x500000ull
#define GAP_PC 0x480000ull
#define MAX_RULES 8
/* Code without a rule whose instructions can be read. */
#define CODE_PC 0x600000ull

static __u8 code[PA_CODE_PAGE_BYTES]; /* all of a mapping */
static __u64 stack[STACK_WORDS];
static pa_rule rules[MAX_RULES]; /* of RULES_PC + 16 * i */
static __u32 rule_stop;          /* instead of a rule, when not 0 */
static __u64 asked_pc;
static bool is_fp_only;  /* tables are not used */
static bool is_gap_code; /* CODE_PC is a file's that has a table */

static int pa_walk_read(struct pa_walk *w, void *to, __u32 size, __u64 addr)
{
	if (size <= sizeof(code) && addr - CODE_PC <= sizeof(code) - size) {
		memcpy(to, code + (addr - CODE_PC), size);
		return 0;
	}
	if (size > sizeof(stack) || addr - STACK_BASE > sizeof(stack) - size)
		return -1;
	memcpy(to, (const char *)stack + (addr - STACK_BASE), size);
	return 0;
}

static __u32 code_kind = PA_CODE_TABLE; /* of CODE_PC */

static __u32 pa_walk_code_kind(struct pa_walk *w, __u64 addr)
{
	return addr - CODE_PC < sizeof(code) ? code_kind : PA_CODE_NONE;
}

static __u32 pa_walk_rule(struct pa_walk *w, __u64 pc, pa_rule *rule)
{
	asked_pc = pc;
	*rule = PA_RULE_WORD_NONE;
	if (is_fp_only)
		*rule = PA_RULE_WORD_FP;
	if (pc == GAP_PC || (is_gap_code && pc - CODE_PC < sizeof(code)))
		*rule = PA_RULE_WORD_GAP;
	if (pc >= RULES_PC && pc < RULES_PC + 16 * MAX_RULES)
		*rule = rules[(pc - RULES_PC) / 16];
	return rule_stop;
}

static pa_rule make_rule(enum pa_cfa cfa, __u64 reg, __s64 off, enum pa_fp fp, enum pa_ra ra,
			 __s64 slot)
{
	__u64 cfa_bits = (__u64)off & ((1ull << PA_RULE_CFA_BITS) - 1);

	return (pa_rule)cfa | reg << PA_RULE_REG_SHIFT | cfa_bits << PA_RULE_CFA_SHIFT |
	       (pa_rule)fp << PA_RULE_FP_SHIFT | (pa_rule)ra << PA_RULE_RA_SHIFT |
	       (__u64)(slot / 8) << PA_RULE_SLOT_SHIFT;
}

static struct pa_walk start(__u64 pc, __u64 sp, __u64 fp)
{
	return (struct pa_walk){ .pc = pc,
				 .sp = sp,
				 .fp = fp,
				 .nr = 1,
				 .is_exact = 1,
				 .has_fp = 1,
				 .has_regs = 1,
				 .has_lr = 1 };
}

/* A chain of n frame records, 32 bytes apart; the outermost one ends in the given frame pointer and
 * return address. */
static struct pa_walk chain(int n, __u64 last_fp, __u64 last_pc)
{
	for (int i = 0; i < n; i++) {
		stack[4 * i] = i + 1 < n ? STACK_BASE + 32 * (__u64)(i + 1) : last_fp;
		stack[4 * i + 1] = i + 1 < n ? 0x401000 + (__u64)i : last_pc;
	}
	return start(NO_RULE_PC, STACK_BASE, STACK_BASE);
}

static int walk(struct pa_walk *w)
{
	int steps = 0;

	while (pa_walk_frame(w))
		steps++;
	return steps;
}

static void test_follows_the_chain(void)
{
	struct pa_walk w = chain(5, 0, 0x401234);

	ok(walk(&w) == 5, "five records give five callers");
	ok(w.pc == 0x401234, "the last one is the outermost return address");
	ok(w.stop == PA_STOP_FP_END, "a zero frame pointer ends the chain, and END is not claimed");
	ok(w.nr == 6, "the sampled frame counts");
}

static void test_ends(void)
{
	struct pa_walk w;

	w = chain(3, STACK_BASE - 4096, 0x401234);
	ok(walk(&w) == 3 && w.stop == PA_STOP_FP_END,
	   "a frame pointer below the stack pointer ends it");
	w = chain(3, STACK_BASE + 99, 0x401234);
	ok(walk(&w) == 3 && w.stop == PA_STOP_FP_END, "so does one that is not aligned");
	w = chain(3, 0, 0);
	ok(walk(&w) == 2 && w.stop == PA_STOP_FP_END,
	   "so does a return address that is no address");
	w = chain(3, 0, 0xffffffff81000000ull);
	ok(walk(&w) == 2 && w.stop == PA_STOP_FP_END, "so does one in the kernel's half");
	w = chain(3, STACK_BASE + sizeof(stack), 0x401234);
	ok(walk(&w) == 3 && w.stop == PA_STOP_STACK_FAULT, "an unreadable record is named as such");
	w = chain(1, STACK_BASE, 0x401234);
	ok(walk(&w) == 1 && w.stop == PA_STOP_FP_END,
	   "a record that points to itself is not followed");
	w = chain(1000, 0, 0x401234);
	ok(walk(&w) == PA_MAX_USER_FRAMES - 1 && w.stop == PA_STOP_TOO_DEEP,
	   "a thousand frames end at the limit, which is said");
}

static void test_rule_is_looked_up_before_the_return(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE, 0);

	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, 8, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	stack[0] = RULES_PC + 16;
	ok(pa_walk_frame(&w) && asked_pc == RULES_PC, "the sampled pc is looked up as it is");
	rules[0] = make_rule(PA_CFA_END, 0, 0, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	ok(!pa_walk_frame(&w) && asked_pc == RULES_PC + 15 && w.stop == PA_STOP_END,
	   "a return address is looked up one before it: the call may be a function's last byte");
}

static void test_sp_and_fp(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE, STACK_BASE + 512);

	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, 64, PA_FP_AT_CFA, PA_RA_CFA_MINUS_8, -16);
	stack[7] = 0x401111;
	stack[6] = STACK_BASE + 1024;
	ok(pa_walk_frame(&w) && w.pc == 0x401111 && w.sp == STACK_BASE + 64 &&
		   w.fp == STACK_BASE + 1024,
	   "CFA from sp, the return address below it, the frame pointer from its slot");
	w = start(RULES_PC, STACK_BASE, STACK_BASE + 512);
	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_FP, 16, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	stack[65] = 0x402222;
	ok(pa_walk_frame(&w) && w.pc == 0x402222 && w.sp == STACK_BASE + 528 &&
		   w.fp == STACK_BASE + 512,
	   "CFA from fp, fp unchanged");
	w = start(RULES_PC, STACK_BASE, STACK_BASE + 512);
	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, 8, PA_FP_LOST, PA_RA_CFA_MINUS_8, 0);
	stack[0] = NO_RULE_PC;
	ok(pa_walk_frame(&w) && !pa_walk_frame(&w) && w.stop == PA_STOP_FP_END,
	   "a frame pointer that is lost is not used");
}

static void test_red_zone(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE + 64, 0x1234);

	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, 8, PA_FP_AT_CFA, PA_RA_CFA_MINUS_8, -24);
	stack[6] = 0x5678;
	stack[8] = RULES_PC + 8;
	ok(pa_walk_frame(&w) && w.fp == 0x5678, "below sp is the red zone, good at the sampled pc");
	stack[7] = 0x9999;
	stack[9] = NO_RULE_PC;
	ok(pa_walk_frame(&w) && w.fp == 0x5678, "and overwritten at a return address");
}

static void test_other_registers(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE, 0);

	w.regs[10] = STACK_BASE + 128;
	rules[0] = make_rule(PA_CFA_REG, 10, 0, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	stack[15] = RULES_PC + 1;
	ok(pa_walk_frame(&w) && w.sp == STACK_BASE + 128, "r10 holds the CFA at the sampled frame");
	ok(!pa_walk_frame(&w) && w.stop == PA_STOP_HARD_RULE, "and is not known in a caller");
}

static void test_deref(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE, STACK_BASE + 256);

	/* *(fp - 8) + 0, as in a function that realigns its stack. */
	rules[0] = PA_CFA_DEREF | (pa_rule)PA_REG_X86_FP << PA_RULE_REG_SHIFT |
		   (pa_rule)((__u64)-8 & ((1u << PA_RULE_DEREF_BITS) - 1)) << PA_RULE_CFA_SHIFT |
		   (pa_rule)PA_FP_AT_FP << PA_RULE_FP_SHIFT;
	stack[31] = STACK_BASE + 400;
	stack[32] = 0xabcdef00;
	stack[49] = 0x403333;
	ok(pa_walk_frame(&w) && w.sp == STACK_BASE + 400 && w.pc == 0x403333 && w.fp == 0xabcdef00,
	   "the CFA read from memory");
	/* As behind the `leave` of such a function: r10 has the CFA, fp is the caller's again. */
	rules[0] = make_rule(PA_CFA_REG, 10, 0, PA_FP_AT_FP, PA_RA_CFA_MINUS_8, 0);
	w = start(RULES_PC, STACK_BASE, STACK_BASE + 512);
	w.regs[10] = STACK_BASE + 400;
	ok(pa_walk_frame(&w) && w.pc == 0x403333 && w.fp == STACK_BASE + 512,
	   "a slot of the frame pointer in another's frame: it has been restored");
	w = start(RULES_PC, STACK_BASE, 42);
	w.regs[10] = STACK_BASE + 400;
	ok(pa_walk_frame(&w) && w.pc == 0x403333 && w.fp == 42, "also where nothing is readable");
}

static void test_plt(void)
{
	struct pa_walk w = start(RULES_PC + 10, STACK_BASE, 0);

	rules[0] = make_rule(PA_CFA_PLT, 0, 11, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	stack[0] = 0x404444;
	stack[1] = 0x405555;
	ok(pa_walk_frame(&w) && w.pc == 0x404444 && w.sp == STACK_BASE + 8, "before a stub's push");
	w = start(RULES_PC + 11, STACK_BASE, 0);
	ok(pa_walk_frame(&w) && w.pc == 0x405555 && w.sp == STACK_BASE + 16, "after it");
}

static void test_signal(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE, 0);

	rules[0] = make_rule(PA_CFA_SIGNAL, 0, 0, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	memset(stack, 0, sizeof(stack));
	stack[PA_SIGNAL_X86_PC / 8] = RULES_PC + 32;
	stack[PA_SIGNAL_X86_SP / 8] = STACK_BASE + 2048;
	stack[PA_SIGNAL_X86_FP / 8] = STACK_BASE + 4096;
	ok(pa_walk_frame(&w) && w.pc == RULES_PC + 32 && w.sp == STACK_BASE + 2048 &&
		   w.fp == STACK_BASE + 4096 && w.is_interrupted,
	   "what a signal interrupted");
	rules[2] = make_rule(PA_CFA_END, 0, 0, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	ok(!pa_walk_frame(&w) && asked_pc == RULES_PC + 32 && w.stop == PA_STOP_END,
	   "is looked up where it stands");
}

static void test_switch(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE + 1024, STACK_BASE + 64);

	rules[0] = make_rule(PA_CFA_SWITCH, 0, 0, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	stack[8] = STACK_BASE + 128;
	stack[9] = NO_RULE_PC + 5;
	stack[16] = 0;
	stack[17] = NO_RULE_PC;
	ok(pa_walk_frame(&w) && w.pc == NO_RULE_PC + 5 && w.sp == STACK_BASE + 80 &&
		   w.fp == STACK_BASE + 128 && !w.is_exact,
	   "the frame pointer leads to another stack, though it lies below");
	ok(pa_walk_frame(&w) && w.sp == STACK_BASE + 144, "where the order counts again");
	w = start(RULES_PC, STACK_BASE, STACK_BASE + 4);
	ok(!pa_walk_frame(&w) && w.stop == PA_STOP_FP_END, "it has to be aligned");
	w = start(RULES_PC, STACK_BASE, 0);
	ok(!pa_walk_frame(&w) && w.stop == PA_STOP_FP_END, "and an address");
	w = start(RULES_PC, STACK_BASE, STACK_BASE);
	stack[0] = STACK_BASE;
	stack[1] = RULES_PC + 1;
	ok(walk(&w) == PA_MAX_USER_FRAMES - 1 && w.stop == PA_STOP_TOO_DEEP,
	   "a circle ends at the limit");
}

static void test_stops(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE + 64, 0);

	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, -32, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	stack[3] = NO_RULE_PC;
	ok(!pa_walk_frame(&w) && w.stop == PA_STOP_BAD_FRAME, "a CFA below sp is no frame");
	rules[0] = PA_RULE_WORD_USER;
	ok(!pa_walk_frame(&w) && w.stop == PA_STOP_HARD_RULE, "a rule for user space says so");
	rule_stop = PA_STOP_NO_TABLE;
	ok(!pa_walk_frame(&w) && w.stop == PA_STOP_NO_TABLE, "a missing table says so");
	rule_stop = 0;
	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, 1 << 20, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	ok(!pa_walk_frame(&w) && w.stop == PA_STOP_STACK_FAULT, "an unreadable frame says so");
}

/* The frame of a caller that keeps its own record; below it what the function has on the stack. */
static struct pa_walk stands_at(__u64 pc)
{
	memset(stack, 0, sizeof(stack));
	stack[16] = STACK_BASE + 256;
	stack[17] = 0x401111; /* the caller's caller */
	return start(pc, STACK_BASE, STACK_BASE + 128);
}

/* Whether a walk from there finds the return address at sp + off, and the caller's own record. */
static bool finds_caller(__u64 pc, __u64 off)
{
	struct pa_walk w = stands_at(pc);

	stack[off / 8] = 0x402222;
	if (off)
		stack[off / 8 - 1] = STACK_BASE + 128;
	return pa_walk_frame(&w) && w.pc == 0x402222 && w.fp == STACK_BASE + 128 &&
	       w.sp == STACK_BASE + off + 8 && !w.is_exact;
}

/* Whether a walk from there goes by frame pointer. */
static bool goes_by_fp(__u64 pc)
{
	struct pa_walk w = stands_at(pc);

	return pa_walk_frame(&w) && w.pc == 0x401111 && w.fp == STACK_BASE + 256;
}

static void put_code(const void *bytes, size_t n)
{
	memset(code, 0x90, sizeof(code));
	memcpy(code, bytes, n);
}

static void test_first_and_last_instructions(void)
{
	/* endbr64; push %rbp; mov %rsp,%rbp; nop; pop %rbp; ret; then the other encodings */
	put_code("\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x90\x5d\xc3\x55\x48\x8b\xec\xc2\x10\x00"
		 "\xf3\xc3",
		 20);
	ok(finds_caller(CODE_PC, 0), "at a function's entry the return address is at sp");
	ok(finds_caller(CODE_PC + 4, 0), "so it is before the push of the frame pointer");
	ok(finds_caller(CODE_PC + 5, 8), "and one word above it behind the push");
	ok(goes_by_fp(CODE_PC + 8), "then the frame pointer leads to it");
	ok(goes_by_fp(CODE_PC + 9), "until it is popped");
	ok(finds_caller(CODE_PC + 10, 0), "at a return the return address is at sp");
	ok(finds_caller(CODE_PC + 11, 0) && finds_caller(CODE_PC + 12, 8) &&
		   finds_caller(CODE_PC + 15, 0) && finds_caller(CODE_PC + 18, 0),
	   "in every encoding");
}

/* Whether the frame pointer is believed that says that a function returns to there. */
static bool returns_to(const void *bytes, size_t n, __u64 at)
{
	struct pa_walk w = stands_at(GAP_PC);

	put_code(bytes, n);
	stack[128 / 8 + 1] = CODE_PC + at;
	if (pa_walk_frame(&w))
		return w.pc == CODE_PC + at;
	ok(w.stop == PA_STOP_FP_END, "the chain of frame pointers is at its end");
	return false;
}

static void test_returns(void)
{
	struct pa_walk w;

	ok(returns_to("\xe8\x10\x00\x00\x00", 5, 5), "behind a call");
	ok(returns_to("\xff\xd0", 2, 2) && returns_to("\x41\xff\xd4", 3, 3) &&
		   returns_to("\xff\x50\x08", 3, 3) && returns_to("\xff\x54\x24\x08", 4, 4) &&
		   returns_to("\xff\x15\x01\x02\x03\x04", 6, 6) &&
		   returns_to("\xff\x94\xc8\x01\x02\x03\x04", 7, 7),
	   "or an indirect one, in every length");
	ok(returns_to("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9, 0) == true,
	   "at the edge of what can be read nothing speaks against it");
	ok(returns_to("\x90\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 10, 1) &&
		   returns_to("\x90\xb8\x0f\x00\x00\x00\x0f\x05", 8, 1),
	   "where a signal handler returns to");
	ok(returns_to("\x90\xe8\x10\x00\x00\x00\x90", 7, 1), "where a goroutine returns to");
	ok(returns_to("\xff\x13", 2, 2) && returns_to("\xff\x14\x25\x01\x02\x03\x04", 7, 7) &&
		   returns_to("\xff\x14\xc8", 3, 3) && returns_to("\xff\x90\x01\x02\x03\x04", 6, 6),
	   "whatever its operand is");
	ok(!returns_to("\xff\x15\x01\x02\x03\x04\xf4", 7, 7) && !returns_to("\xff\xd0\xf4", 3, 3) &&
		   !returns_to("\xff\x50\x08\xf4", 4, 4),
	   "not one instruction later");
	ok(!returns_to("\xff\xe0", 2, 2), "not behind a jump");
	ok(!returns_to("\x55\x48\x89\xe5", 4, 4), "nor behind anything else");
	ok(!returns_to("\0\0\0\0\0\0\0\0\x55", 9, 8), "nor behind filling");
	ok(goes_by_fp(GAP_PC), "what cannot be read is believed");
	put_code("\xff\xe0", 2);
	w = stands_at(GAP_PC + 1);
	w.is_exact = 0;
	stack[128 / 8 + 1] = CODE_PC + 2;
	ok(!pa_walk_frame(&w) && w.stop == PA_STOP_FP_END,
	   "nor is it of whoever called from a gap");
	w = stands_at(NO_RULE_PC);
	stack[128 / 8 + 1] = CODE_PC + 2;
	ok(pa_walk_frame(&w) && w.pc == CODE_PC + 2,
	   "code without any table may be called by other means");
}

/* Whether a walk by frame pointer believes that nothing was skipped, with that word below the record. */
static bool skips_nothing(__u64 word)
{
	struct pa_walk w = stands_at(NO_RULE_PC);
	int r;

	stack[9] = word;
	r = pa_walk_frame(&w);
	if (!r)
		ok(w.stop == PA_STOP_NO_RECORD && w.nr == 1 && w.is_bare,
		   "the walk ends for want of a record");
	return r && w.pc == 0x401111;
}

static void test_skipped_frames(void)
{
	struct pa_walk w;

	/* call +0x10 (to a function without a record); call *%rax; jmp *%rax; call +0x20 (to one with) */
	put_code("\xe8\x10\x00\x00\x00\xff\xd0\xff\xe0\xe8\x20\x00\x00\x00", 14);
	memcpy(code + 14 + 0x20, "\xf3\x0f\x1e\xfa\x55\x48\x89\xe5", 8);
	ok(skips_nothing(0) && skips_nothing(42) && skips_nothing(STACK_BASE) &&
		   skips_nothing(0xffffffff81000000ull),
	   "data below a record is no frame");
	ok(!skips_nothing(CODE_PC + 5), "a return address is");
	ok(!skips_nothing(CODE_PC + 7), "so is one behind an indirect call");
	ok(skips_nothing(CODE_PC + 9), "an address of code that is behind no call is not");
	ok(skips_nothing(CODE_PC + 14),
	   "nor one that is left over from a function that keeps a record: it would be here");
	put_code("\xe8\xfb\xff\xef\xff", 5); /* call RULES_PC */
	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, 8, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	ok(skips_nothing(CODE_PC + 5),
	   "nor one from a function that has a rule: this one has none");
	rules[0] = make_rule(PA_CFA_PLT, 0, 11, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	ok(!skips_nothing(CODE_PC + 5), "but a stub may lead here");
	put_code("\xe8\x10\x00\x00\x00\xff\xd0\xff\xe0\xe8\x20\x00\x00\x00", 14);
	memcpy(code + 14 + 0x20, "\xf3\x0f\x1e\xfa\x55\x48\x89\xe5", 8);
	code_kind = PA_CODE_BARE;
	ok(!skips_nothing(CODE_PC + 9), "in code without a table it is: an interpreter's");
	ok(skips_nothing(CODE_PC + 14), "what a call shows counts there as well");
	code_kind = PA_CODE_TABLE;
	w = stands_at(CODE_PC + 5);
	w.is_exact = 0;
	stack[9] = CODE_PC + 5;
	ok(pa_walk_frame(&w) && w.pc == 0x401111,
	   "a frame's own return address, left there, is none");
}

static void test_where_frames_are_looked_for(void)
{
	struct pa_walk w;

	put_code("\xe8\x10\x00\x00\x00", 5);
	w = stands_at(NO_RULE_PC);
	w.sp = STACK_BASE + 80;
	stack[9] = CODE_PC + 5;
	ok(pa_walk_frame(&w), "below sp is nobody's frame");
	w = stands_at(NO_RULE_PC);
	stack[18] = CODE_PC + 5;
	ok(pa_walk_frame(&w), "above the record are those of callers");
	w = stands_at(GAP_PC + 1);
	w.is_exact = 0;
	stack[15] = CODE_PC + 5;
	ok(!pa_walk_frame(&w) && w.stop == PA_STOP_NO_RECORD, "of a caller in a gap as well");
	w = start(NO_RULE_PC, STACK_BASE, STACK_BASE + 8 * (PA_MAX_LOOKED_WORDS + 1));
	ok(!pa_walk_frame(&w) && w.stop == PA_STOP_NO_RECORD,
	   "too many words to look at: nothing is claimed");
	is_fp_only = true;
	w = stands_at(NO_RULE_PC);
	stack[9] = CODE_PC + 5;
	ok(pa_walk_frame(&w) && w.pc == 0x401111, "by frame pointers alone nothing is looked at");
	is_fp_only = false;
}

/* Who begins a stack: a return address that is none, or one that nobody called from. */
static void test_outermost_frames(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE, STACK_BASE + 512);

	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, 8, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	stack[0] = 0;
	ok(!pa_walk_frame(&w) && w.stop == PA_STOP_END,
	   "a return address 0, by a rule, is the end");
	w = start(RULES_PC, STACK_BASE, STACK_BASE + 512);
	stack[0] = 1;
	ok(!pa_walk_frame(&w) && w.stop == PA_STOP_FP_END, "no other that is no address");
	put_code("\x90\x90\x90\x90\x48\x89\xdc", 7);
	is_gap_code = true;
	w = stands_at(CODE_PC + 4);
	w.is_exact = 0;
	ok(!pa_walk_frame(&w) && w.stop == PA_STOP_FP_END,
	   "where nobody has called from, the frame pointer is not the caller's");
	is_gap_code = false;
}

/* Where there is nothing beside the page that can be read. */
static void test_edges_of_a_mapping(void)
{
	put_code("\x55\x48\x89\xe5", 4);
	code[sizeof(code) - 1] = 0xc3;
	ok(finds_caller(CODE_PC, 0) && finds_caller(CODE_PC + 1, 8),
	   "a function that begins with its mapping");
	ok(finds_caller(CODE_PC + sizeof(code) - 1, 0), "a function that ends with its mapping");
	put_code("\x48\x89\xe5", 3);
	ok(goes_by_fp(CODE_PC), "nothing is made up before its first byte");
	memcpy(code + sizeof(code) - 3, "\x48\x89\xe5", 3);
	ok(goes_by_fp(CODE_PC + sizeof(code) - 3), "nor behind the last one");
}

static void test_other_instructions(void)
{
	struct pa_walk w;

	put_code("\xf3\x0f\x1e\xfa\x53\xff\x25\x01\x02\x03\x04\xf2\xff\x25\x01\x02\x03\x04", 18);
	ok(finds_caller(CODE_PC, 0), "a landing pad begins a function, whatever follows");
	ok(finds_caller(CODE_PC + 5, 0) && finds_caller(CODE_PC + 11, 0),
	   "a stub that jumps on has no frame");
	put_code("\x55\x53\x48\x89\xe5\x90\x48\x89\xe5", 9);
	ok(goes_by_fp(CODE_PC), "a push of rbp that does not begin a record says nothing");
	ok(goes_by_fp(CODE_PC + 2) && goes_by_fp(CODE_PC + 6),
	   "nor does a move without a push before it");
	put_code("\x41\x55\x48\x89\xe5", 5);
	ok(goes_by_fp(CODE_PC + 2), "nor one behind the push of another register");
	put_code("\x48\x89\xe5", 3);
	ok(goes_by_fp(CODE_PC), "nor one whose push cannot be read");
	ok(goes_by_fp(NO_RULE_PC), "nor code that cannot be read");
	put_code("\xc3", 1);
	w = stands_at(CODE_PC);
	w.is_exact = 0;
	ok(pa_walk_frame(&w) && w.pc == 0x401111, "what a call returns to has its record");
	w = start(CODE_PC, STACK_BASE + sizeof(stack), STACK_BASE);
	ok(!pa_walk_frame(&w) && w.stop == PA_STOP_STACK_FAULT, "an unreadable stack says so");
}

int main(void)
{
	test_first_and_last_instructions();
	test_edges_of_a_mapping();
	test_returns();
	test_other_instructions();
	test_skipped_frames();
	test_where_frames_are_looked_for();
	test_outermost_frames();
	test_follows_the_chain();
	test_ends();
	test_rule_is_looked_up_before_the_return();
	test_sp_and_fp();
	test_red_zone();
	test_other_registers();
	test_deref();
	test_plt();
	test_signal();
	test_switch();
	test_stops();
	return tap_done();
}
