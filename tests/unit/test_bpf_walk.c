/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's walker, compiled for the host, on stacks and rules that are laid out by hand. */
#define PA_WALK_X86 1
#include <string.h>

#include "bpf/walk_plain.h"
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
static bool is_fp_only;   /* tables are not used */
static bool is_gap_code;  /* CODE_PC is a file's that has a table */
static pa_rule code_rule; /* of CODE_PC, when not 0 */

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
	w->cached_next++;
	*rule = PA_RULE_WORD_NONE;
	if (is_fp_only)
		*rule = PA_RULE_WORD_FP;
	if (pc == GAP_PC || (is_gap_code && pc - CODE_PC < sizeof(code)))
		*rule = PA_RULE_WORD_GAP;
	if (code_rule && pc - CODE_PC < sizeof(code))
		*rule = code_rule;
	if (pc >= RULES_PC && pc < RULES_PC + 16 * MAX_RULES)
		*rule = rules[(pc - RULES_PC) / 16];
	return rule_stop;
}

/* The walk is inlined wherever it is called: once here, which compiles in seconds. */
static __attribute__((noinline)) int walk_step(struct pa_walk *w)
{
	return pa_walk_frame(w);
}

/* The rules at hand: all but every n-th that is asked for. */
struct pa_rule_cache {
	__u32 missing;
};

static int pa_walk_rule_at(const struct pa_walk *w, struct pa_rule_cache *at_hand, __u32 at,
			   __u64 pc, pa_rule *rule)
{
	struct pa_walk asking = *w;

	return (!at_hand->missing || at % at_hand->missing) && pa_walk_rule(&asking, pc, rule) == 0;
}

static __attribute__((noinline)) __u32 walk_plain(struct pa_walk *w, struct pa_rule_cache *at_hand,
						  __u64 *pcs, __u32 at, __u32 room)
{
	return pa_walk_may_be_plain(w) ? pa_walk_plain_frames(w, at_hand, pcs, at, room) : 0;
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

	while (walk_step(w))
		steps++;
	return steps;
}

static void test_follows_the_chain(void)
{
	struct pa_walk w = chain(5, 0, 0x401234);

	ok(walk(&w) == 5, "fp: five frame records give five callers");
	ok(w.pc == 0x401234, "fp: the last caller is the outermost return address");
	ok(w.stop == PA_STOP_FP_END, "fp: a zero frame pointer ends the walk, but not with END");
	ok(w.nr == 6, "fp: the sampled frame is counted");
}

static void test_ends(void)
{
	struct pa_walk w;

	w = chain(3, STACK_BASE - 4096, 0x401234);
	ok(walk(&w) == 3 && w.stop == PA_STOP_FP_END,
	   "fp: a frame pointer below the stack pointer ends the walk");
	w = chain(3, STACK_BASE + 99, 0x401234);
	ok(walk(&w) == 3 && w.stop == PA_STOP_FP_END,
	   "fp: an unaligned frame pointer ends the walk");
	w = chain(3, 0, 0);
	ok(walk(&w) == 2 && w.stop == PA_STOP_FP_END,
	   "fp: a return address that is not an address ends the walk");
	w = chain(3, 0, 0xffffffff81000000ull);
	ok(walk(&w) == 2 && w.stop == PA_STOP_FP_END,
	   "fp: a return address in the kernel's half ends the walk");
	w = chain(3, STACK_BASE + sizeof(stack), 0x401234);
	ok(walk(&w) == 3 && w.stop == PA_STOP_STACK_FAULT,
	   "fp: an unreadable frame record ends the walk with STACK_FAULT");
	w = chain(1, STACK_BASE, 0x401234);
	ok(walk(&w) == 1 && w.stop == PA_STOP_FP_END,
	   "fp: a frame record that points to itself is not followed");
	w = chain(1000, 0, 0x401234);
	ok(walk(&w) == PA_MAX_USER_FRAMES - 1 && w.stop == PA_STOP_TOO_DEEP,
	   "fp: a thousand frames end the walk with TOO_DEEP");
}

static void test_rule_is_looked_up_before_the_return(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE, 0);

	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, 8, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	stack[0] = RULES_PC + 16;
	ok(walk_step(&w) && asked_pc == RULES_PC, "rule: the sampled pc is looked up as it is");
	rules[0] = make_rule(PA_CFA_END, 0, 0, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	ok(!walk_step(&w) && asked_pc == RULES_PC + 15 && w.stop == PA_STOP_END,
	   "rule: a return address is looked up at the byte before it");
}

static void test_sp_and_fp(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE, STACK_BASE + 512);

	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, 64, PA_FP_AT_CFA, PA_RA_CFA_MINUS_8, -16);
	stack[7] = 0x401111;
	stack[6] = STACK_BASE + 1024;
	ok(walk_step(&w) && w.pc == 0x401111 && w.sp == STACK_BASE + 64 &&
		   w.fp == STACK_BASE + 1024,
	   "rule: CFA from sp, return address below it, frame pointer from its slot");
	w = start(RULES_PC, STACK_BASE, STACK_BASE + 512);
	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_FP, 16, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	stack[65] = 0x402222;
	ok(walk_step(&w) && w.pc == 0x402222 && w.sp == STACK_BASE + 528 &&
		   w.fp == STACK_BASE + 512,
	   "rule: CFA from fp, fp unchanged");
	w = start(RULES_PC, STACK_BASE, STACK_BASE + 512);
	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, 8, PA_FP_LOST, PA_RA_CFA_MINUS_8, 0);
	stack[0] = NO_RULE_PC;
	ok(walk_step(&w) && !walk_step(&w) && w.stop == PA_STOP_FP_END,
	   "rule: a lost frame pointer is not used");
}

static void test_red_zone(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE + 64, 0x1234);

	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, 8, PA_FP_AT_CFA, PA_RA_CFA_MINUS_8, -24);
	stack[6] = 0x5678;
	stack[8] = RULES_PC + 8;
	ok(walk_step(&w) && w.fp == 0x5678,
	   "rule: a slot below sp is valid at the sampled pc (red zone)");
	stack[7] = 0x9999;
	stack[9] = NO_RULE_PC;
	ok(walk_step(&w) && w.fp == 0x5678, "rule: a slot below sp is invalid at a return address");
}

static void test_other_registers(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE, 0);

	w.regs[10] = STACK_BASE + 128;
	rules[0] = make_rule(PA_CFA_REG, 10, 0, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	stack[15] = RULES_PC + 1;
	ok(walk_step(&w) && w.sp == STACK_BASE + 128,
	   "rule: r10 as CFA is known in the sampled frame");
	ok(!walk_step(&w) && w.stop == PA_STOP_HARD_RULE,
	   "rule: r10 as CFA is unknown in a caller");
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
	ok(walk_step(&w) && w.sp == STACK_BASE + 400 && w.pc == 0x403333 && w.fp == 0xabcdef00,
	   "rule: the CFA is read from memory");
	/* As behind the `leave` of such a function: r10 has the CFA, fp is the caller's again. */
	rules[0] = make_rule(PA_CFA_REG, 10, 0, PA_FP_AT_FP, PA_RA_CFA_MINUS_8, 0);
	w = start(RULES_PC, STACK_BASE, STACK_BASE + 512);
	w.regs[10] = STACK_BASE + 400;
	ok(walk_step(&w) && w.pc == 0x403333 && w.fp == STACK_BASE + 512,
	   "rule: a frame pointer slot in another frame counts as restored");
	w = start(RULES_PC, STACK_BASE, 42);
	w.regs[10] = STACK_BASE + 400;
	ok(walk_step(&w) && w.pc == 0x403333 && w.fp == 42,
	   "rule: a frame pointer slot in another frame is not even read");
}

static void test_plt(void)
{
	struct pa_walk w = start(RULES_PC + 10, STACK_BASE, 0);

	rules[0] = make_rule(PA_CFA_PLT, 0, 11, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	stack[0] = 0x404444;
	stack[1] = 0x405555;
	ok(walk_step(&w) && w.pc == 0x404444 && w.sp == STACK_BASE + 8,
	   "rule: PLT stub before its push");
	w = start(RULES_PC + 11, STACK_BASE, 0);
	ok(walk_step(&w) && w.pc == 0x405555 && w.sp == STACK_BASE + 16,
	   "rule: PLT stub after its push");
}

static void test_signal(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE, 0);

	rules[0] = make_rule(PA_CFA_SIGNAL, 0, 0, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	memset(stack, 0, sizeof(stack));
	stack[PA_SIGNAL_X86_PC / 8] = RULES_PC + 32;
	stack[PA_SIGNAL_X86_SP / 8] = STACK_BASE + 2048;
	stack[PA_SIGNAL_X86_FP / 8] = STACK_BASE + 4096;
	ok(walk_step(&w) && w.pc == RULES_PC + 32 && w.sp == STACK_BASE + 2048 &&
		   w.fp == STACK_BASE + 4096 && w.is_interrupted,
	   "rule: the frame interrupted by a signal is found");
	rules[2] = make_rule(PA_CFA_END, 0, 0, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	ok(!walk_step(&w) && asked_pc == RULES_PC + 32 && w.stop == PA_STOP_END,
	   "rule: the pc interrupted by a signal is looked up as it is");
}

static void test_switch(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE + 1024, STACK_BASE + 64);

	rules[0] = make_rule(PA_CFA_SWITCH, 0, 0, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	stack[8] = STACK_BASE + 128;
	stack[9] = NO_RULE_PC + 5;
	stack[16] = 0;
	stack[17] = NO_RULE_PC;
	ok(walk_step(&w) && w.pc == NO_RULE_PC + 5 && w.sp == STACK_BASE + 80 &&
		   w.fp == STACK_BASE + 128 && !w.is_exact,
	   "switch: the frame pointer leads to another stack, which may lie below");
	ok(walk_step(&w) && w.sp == STACK_BASE + 144,
	   "switch: on the new stack frames must lie above each other again");
	w = start(RULES_PC, STACK_BASE, STACK_BASE + 4);
	ok(!walk_step(&w) && w.stop == PA_STOP_FP_END, "switch: the new stack must be aligned");
	w = start(RULES_PC, STACK_BASE, 0);
	ok(!walk_step(&w) && w.stop == PA_STOP_FP_END,
	   "switch: the new stack must be a user address");
	w = start(RULES_PC, STACK_BASE, STACK_BASE);
	stack[0] = STACK_BASE;
	stack[1] = RULES_PC + 1;
	ok(walk(&w) == PA_MAX_USER_FRAMES - 1 && w.stop == PA_STOP_TOO_DEEP,
	   "switch: a loop of stacks ends at the frame limit");
}

/* A walk at a function that switched stacks; what its frame on the other stack has: 8 bytes, the
 * frame pointer in them, below the return address. */
static struct pa_walk start_switched(enum pa_switch way, __s64 slot)
{
	rules[0] = make_rule(PA_CFA_SWITCH, way, 16, PA_FP_SAME, PA_RA_CFA_MINUS_8, slot);
	memset(stack, 0, sizeof(stack));
	stack[100] = STACK_BASE + 1000;
	stack[101] = NO_RULE_PC + 5;
	return start(RULES_PC, STACK_BASE + 512, STACK_BASE + 4096);
}

static void return_to(struct pa_walk *w)
{
	w->pc = RULES_PC + 1;
	w->is_exact = 0;
}

#define OTHER_FRAME (STACK_BASE + 800)
#define GOROUTINE (STACK_BASE + 2048)

static bool is_at_caller(const struct pa_walk *w)
{
	return w->pc == NO_RULE_PC + 5 && w->sp == OTHER_FRAME + 16 && w->fp == STACK_BASE + 1000 &&
	       !w->is_exact;
}

static void test_go_left_for_good(void)
{
	struct pa_walk w = start_switched(PA_SWITCH_MORESTACK, 0);

	ok(!walk_step(&w) && w.stop == PA_STOP_STACK_SWITCH,
	   "Go: nothing is claimed behind morestack without the goroutine");
	w.go = (struct pa_go){ .m = 1 };
	ok(!walk_step(&w) && w.stop == PA_STOP_END,
	   "Go: a thread that works for no goroutine any more has no caller");
	w.go = (struct pa_go){ 1, GOROUTINE, 0, NO_RULE_PC + 5, OTHER_FRAME + 16, STACK_BASE + 1000,
			       0 };
	ok(walk_step(&w) && is_at_caller(&w), "Go: morestack was called by the goroutine");
	w = start_switched(PA_SWITCH_MORESTACK, 0);
	w.go = (struct pa_go){ 1, GOROUTINE, 0, 0, 0, 0, 0 };
	ok(!walk_step(&w) && w.stop == PA_STOP_STACK_SWITCH,
	   "Go: nor behind it while the goroutine changes");
	w = start_switched(PA_SWITCH_MCALL, 0);
	w.go = (struct pa_go){ 1, GOROUTINE, 0, NO_RULE_PC + 5, OTHER_FRAME + 16, STACK_BASE + 1000,
			       0 };
	ok(!walk_step(&w) && w.stop == PA_STOP_STACK_SWITCH,
	   "Go: mcall was not called by another goroutine than its argument");
	stack[64] = GOROUTINE;
	ok(walk_step(&w) && is_at_caller(&w), "Go: mcall was called by its argument");
}

static void test_go_systemstack(void)
{
	struct pa_walk w = start_switched(PA_SWITCH_SYSTEM, 0);

	return_to(&w);
	ok(!walk_step(&w) && w.stop == PA_STOP_STACK_SWITCH,
	   "Go: nothing is claimed behind systemstack without the goroutine");
	w.go = (struct pa_go){ .m = 1, .g = GOROUTINE, .sp = OTHER_FRAME };
	ok(walk_step(&w) && is_at_caller(&w), "Go: systemstack was called by the goroutine");
	w = start_switched(PA_SWITCH_LOST, 0);
	ok(!walk_step(&w) && w.stop == PA_STOP_STACK_SWITCH,
	   "Go: nothing leads behind other switches");
}

static void test_go_calls_c(void)
{
	struct pa_walk w = start_switched(PA_SWITCH_C, 48);

	return_to(&w);
	stack[64 + 6] = GOROUTINE;
	stack[64 + 5] = 3000 - 800;
	stack[256 + 1] = STACK_BASE + 3000;
	ok(walk_step(&w) && is_at_caller(&w),
	   "Go: C was called at that depth of the goroutine's stack, wherever it is by now");
	w = start_switched(PA_SWITCH_C, 48);
	return_to(&w);
	stack[64 + 5] = OTHER_FRAME;
	ok(walk_step(&w) && is_at_caller(&w), "Go: C was called on the same stack");
	w = start_switched(PA_SWITCH_C, 48);
	return_to(&w);
	w.go = (struct pa_go){ .m = 1, .g = 16, .end = STACK_BASE + 3000 };
	stack[64 + 6] = 16;
	stack[64 + 5] = 3000 - 800;
	ok(walk_step(&w) && is_at_caller(&w), "Go: the end of a copied stack was sent along");
	w = start_switched(PA_SWITCH_C, 48);
	w.fp = OTHER_FRAME;
	ok(walk_step(&w) && is_at_caller(&w), "Go: the frame pointer leads there, too");
	w = start_switched(PA_SWITCH_C, 48);
	rules[0] = make_rule(PA_CFA_SWITCH, PA_SWITCH_C, 8, PA_FP_SAME, PA_RA_CFA_MINUS_8, 48);
	ok(!walk_step(&w) && w.stop == PA_STOP_STACK_SWITCH, "Go: if it is the function's own");
}

/* The inner callback's frame holds where the outer one left the stack. */
static void test_c_calls_go(void)
{
	struct pa_walk w = start_switched(PA_SWITCH_CALLBACK, 0);

	w.go = (struct pa_go){ .m = 1, .own_sp = OTHER_FRAME };
	ok(!walk_step(&w) && w.stop == PA_STOP_STACK_SWITCH,
	   "Go: nothing is claimed behind a callback that may not have switched yet");
	w = start_switched(PA_SWITCH_CALLBACK, 0);
	return_to(&w);
	ok(!walk_step(&w) && w.stop == PA_STOP_STACK_SWITCH,
	   "Go: nothing is claimed behind a callback without the thread's own stack");
	w.go = (struct pa_go){ .m = 1, .own_sp = OTHER_FRAME };
	ok(walk_step(&w) && is_at_caller(&w) && w.own_sp == OTHER_FRAME,
	   "Go: a callback was called from the thread's own stack");
	stack[100] = STACK_BASE + 1600;
	stack[201] = NO_RULE_PC + 9;
	return_to(&w);
	w.window_at = 0;
	ok(walk_step(&w) && w.pc == NO_RULE_PC + 9 && w.sp == STACK_BASE + 1616,
	   "Go: one within another, from where that stack was left before");
}

static void test_stops(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE + 64, 0);

	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, -32, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	stack[3] = NO_RULE_PC;
	ok(!walk_step(&w) && w.stop == PA_STOP_BAD_FRAME,
	   "rule: a CFA below sp ends the walk with BAD_FRAME");
	rules[0] = PA_RULE_WORD_USER;
	ok(!walk_step(&w) && w.stop == PA_STOP_HARD_RULE,
	   "rule: a rule for user space ends the walk with HARD_RULE");
	rule_stop = PA_STOP_NO_TABLE;
	ok(!walk_step(&w) && w.stop == PA_STOP_NO_TABLE,
	   "rule: a missing table ends the walk with NO_TABLE");
	rule_stop = 0;
	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, 1 << 20, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	ok(!walk_step(&w) && w.stop == PA_STOP_STACK_FAULT,
	   "rule: an unreadable frame ends the walk with STACK_FAULT");
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
	return walk_step(&w) && w.pc == 0x402222 && w.fp == STACK_BASE + 128 &&
	       w.sp == STACK_BASE + off + 8 && !w.is_exact;
}

/* Whether a walk from there goes by frame pointer. */
static bool goes_by_fp(__u64 pc)
{
	struct pa_walk w = stands_at(pc);

	return walk_step(&w) && w.pc == 0x401111 && w.fp == STACK_BASE + 256;
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
	ok(finds_caller(CODE_PC, 0), "entry: at a function's entry the return address is at sp");
	ok(finds_caller(CODE_PC + 4, 0),
	   "entry: before the push of the frame pointer the return address is at sp");
	ok(finds_caller(CODE_PC + 5, 8),
	   "entry: after the push the return address is one word above sp");
	ok(goes_by_fp(CODE_PC + 8),
	   "entry: after the move the frame pointer leads to the return address");
	ok(goes_by_fp(CODE_PC + 9),
	   "exit: until the pop the frame pointer leads to the return address");
	ok(finds_caller(CODE_PC + 10, 0),
	   "exit: at a return instruction the return address is at sp");
	ok(finds_caller(CODE_PC + 11, 0) && finds_caller(CODE_PC + 12, 8) &&
		   finds_caller(CODE_PC + 15, 0) && finds_caller(CODE_PC + 18, 0),
	   "exit: a return instruction is recognized in every encoding");
}

/* Whether the frame pointer is believed that says that a function returns to there. */
static bool returns_to(const void *bytes, size_t n, __u64 at)
{
	struct pa_walk w = stands_at(GAP_PC);

	put_code(bytes, n);
	stack[128 / 8 + 1] = CODE_PC + at;
	if (walk_step(&w))
		return w.pc == CODE_PC + at;
	ok(w.stop == PA_STOP_FP_END, "entry: the chain of frame pointers is at its end");
	return false;
}

static void test_returns(void)
{
	struct pa_walk w;

	ok(returns_to("\xe8\x10\x00\x00\x00", 5, 5), "return address: after a direct call");
	ok(returns_to("\xff\xd0", 2, 2) && returns_to("\x41\xff\xd4", 3, 3) &&
		   returns_to("\xff\x50\x08", 3, 3) && returns_to("\xff\x54\x24\x08", 4, 4) &&
		   returns_to("\xff\x15\x01\x02\x03\x04", 6, 6) &&
		   returns_to("\xff\x94\xc8\x01\x02\x03\x04", 7, 7),
	   "return address: after an indirect call of every length");
	ok(returns_to("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9, 0) == true,
	   "return address: at the edge of readable code it is accepted");
	ok(returns_to("\x90\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 10, 1) &&
		   returns_to("\x90\xb8\x0f\x00\x00\x00\x0f\x05", 8, 1),
	   "return address: the code that a signal handler returns to");
	ok(returns_to("\x90\xe8\x10\x00\x00\x00\x90", 7, 1),
	   "return address: the code that a goroutine returns to");
	ok(returns_to("\xff\x13", 2, 2) && returns_to("\xff\x14\x25\x01\x02\x03\x04", 7, 7) &&
		   returns_to("\xff\x14\xc8", 3, 3) && returns_to("\xff\x90\x01\x02\x03\x04", 6, 6),
	   "return address: after an indirect call with any operand");
	ok(!returns_to("\xff\x15\x01\x02\x03\x04\xf4", 7, 7) && !returns_to("\xff\xd0\xf4", 3, 3) &&
		   !returns_to("\xff\x50\x08\xf4", 4, 4),
	   "return address: not one instruction after a call");
	ok(!returns_to("\xff\xe0", 2, 2), "return address: not after a jump");
	ok(!returns_to("\x55\x48\x89\xe5", 4, 4),
	   "return address: not after any other instruction");
	ok(!returns_to("\0\0\0\0\0\0\0\0\x55", 9, 8), "return address: not after padding");
	ok(goes_by_fp(GAP_PC), "return address: unreadable code is accepted");
	put_code("\xff\xe0", 2);
	w = stands_at(GAP_PC + 1);
	w.is_exact = 0;
	stack[128 / 8 + 1] = CODE_PC + 2;
	ok(!walk_step(&w) && w.stop == PA_STOP_FP_END,
	   "walk: a return address into a gap is not trusted as a frame pointer's owner");
	w = stands_at(NO_RULE_PC);
	stack[128 / 8 + 1] = CODE_PC + 2;
	ok(walk_step(&w) && w.pc == CODE_PC + 2,
	   "walk: code without any table may be entered without a call");
}

/* Whether a walk by frame pointer believes that nothing was skipped, with that word below the record. */
static bool skips_nothing(__u64 word)
{
	struct pa_walk w = stands_at(NO_RULE_PC);
	int r;

	stack[9] = word;
	r = walk_step(&w);
	if (!r)
		ok(w.stop == PA_STOP_NO_RECORD && w.nr == 1 && w.is_bare,
		   "walk: code without a frame record ends the walk with NO_RECORD");
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
	   "skipped callers: data below a frame record is not a skipped caller");
	ok(!skips_nothing(CODE_PC + 5),
	   "skipped callers: a return address below a frame record is one");
	ok(!skips_nothing(CODE_PC + 7),
	   "skipped callers: a return address after an indirect call is one");
	ok(skips_nothing(CODE_PC + 9),
	   "skipped callers: a code address that does not follow a call is not one");
	ok(skips_nothing(CODE_PC + 14),
	   "skipped callers: a return address left by a function with a frame record is not one");
	put_code("\xe8\xfb\xff\xef\xff", 5); /* call RULES_PC */
	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, 8, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	ok(skips_nothing(CODE_PC + 5),
	   "skipped callers: a return address left by a function with a rule is not one");
	rules[0] = make_rule(PA_CFA_PLT, 0, 11, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	ok(!skips_nothing(CODE_PC + 5),
	   "skipped callers: a return address after a call through a stub is one");
	put_code("\xe8\x10\x00\x00\x00\xff\xd0\xff\xe0\xe8\x20\x00\x00\x00", 14);
	memcpy(code + 14 + 0x20, "\xf3\x0f\x1e\xfa\x55\x48\x89\xe5", 8);
	code_kind = PA_CODE_BARE;
	ok(!skips_nothing(CODE_PC + 9),
	   "skipped callers: in code without a table a return address is one");
	ok(skips_nothing(CODE_PC + 14),
	   "skipped callers: in code without a table it must follow a call");
	code_kind = PA_CODE_TABLE;
	w = stands_at(CODE_PC + 5);
	w.is_exact = 0;
	stack[9] = CODE_PC + 5;
	ok(walk_step(&w) && w.pc == 0x401111,
	   "skipped callers: the frame's own stale return address is not one");
}

static void test_where_frames_are_looked_for(void)
{
	struct pa_walk w;

	put_code("\xe8\x10\x00\x00\x00", 5);
	w = stands_at(NO_RULE_PC);
	w.sp = STACK_BASE + 80;
	stack[9] = CODE_PC + 5;
	ok(walk_step(&w), "skipped callers: words below sp are not examined");
	w = stands_at(NO_RULE_PC);
	stack[18] = CODE_PC + 5;
	ok(walk_step(&w), "skipped callers: words above the frame record are not examined");
	w = stands_at(GAP_PC + 1);
	w.is_exact = 0;
	stack[15] = CODE_PC + 5;
	ok(!walk_step(&w) && w.stop == PA_STOP_NO_RECORD,
	   "skipped callers: they are also detected for a caller in a gap");
	w = start(NO_RULE_PC, STACK_BASE, STACK_BASE + 8 * (PA_MAX_LOOKED_WORDS + 1));
	ok(!walk_step(&w) && w.stop == PA_STOP_NO_RECORD,
	   "skipped callers: too many words end the walk");
	is_fp_only = true;
	w = stands_at(NO_RULE_PC);
	stack[9] = CODE_PC + 5;
	ok(walk_step(&w) && w.pc == 0x401111,
	   "skipped callers: with frame pointers only, words are not examined");
	is_fp_only = false;
}

/* Who begins a stack: a return address that is none, or one that nobody called from. */
static void test_outermost_frames(void)
{
	struct pa_walk w = start(RULES_PC, STACK_BASE, STACK_BASE + 512);

	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, 8, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	stack[0] = 0;
	ok(!walk_step(&w) && w.stop == PA_STOP_END,
	   "rule: a return address of 0 ends the walk with END");
	w = start(RULES_PC, STACK_BASE, STACK_BASE + 512);
	stack[0] = 1;
	ok(!walk_step(&w) && w.stop == PA_STOP_FP_END,
	   "rule: another invalid return address does not end it with END");
	put_code("\x90\x90\x90\x90\x48\x89\xdc", 7);
	is_gap_code = true;
	w = stands_at(CODE_PC + 4);
	w.is_exact = 0;
	w.nr = 2;
	ok(!walk_step(&w) && w.stop == PA_STOP_FP_END,
	   "walk: at code that cannot have been called, the frame pointer is not the caller's");
	w = stands_at(CODE_PC + 4);
	w.is_exact = 0;
	ok(walk_step(&w) && w.pc == 0x401111,
	   "walk: a system call in a gap is left by the frame pointer, although nothing called");
	is_gap_code = false;
}

/* The pc of a sampled system call is where the kernel returns to, which may be aligned like the start
 * of a function: so it is in write() of Debian 12's C library. */
static void test_aligned_return_of_system_call(void)
{
	struct pa_walk w = start(CODE_PC + PA_FUNCTION_ALIGN, STACK_BASE, STACK_BASE + 512);

	put_code("\x90\x90\x90\x90\x90\x90\x90\x90\x90\xb8\x01\0\0\0\x0f\x05\xc3", 17);
	code_rule = make_rule(PA_CFA_REG, PA_REG_X86_SP, 8, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	stack[0] = 0x401111;
	w.is_exact = 0;
	ok(walk_step(&w) && w.pc == 0x401111,
	   "walk: a sampled system call that returns to an aligned address has a caller");
	w = start(CODE_PC + PA_FUNCTION_ALIGN, STACK_BASE, STACK_BASE + 512);
	w.is_exact = 0;
	w.nr = 2;
	ok(!walk_step(&w) && w.stop == PA_STOP_FP_END,
	   "walk: a return to an aligned address without a call before it begins a stack");
	code_rule = 0;
}

/* Where there is nothing beside the page that can be read. */
static void test_edges_of_a_mapping(void)
{
	put_code("\x55\x48\x89\xe5", 4);
	code[sizeof(code) - 1] = 0xc3;
	ok(finds_caller(CODE_PC, 0) && finds_caller(CODE_PC + 1, 8),
	   "entry: a function at the start of its mapping");
	ok(finds_caller(CODE_PC + sizeof(code) - 1, 0),
	   "exit: a function at the end of its mapping");
	put_code("\x48\x89\xe5", 3);
	ok(goes_by_fp(CODE_PC), "entry: nothing is assumed about bytes before a mapping");
	memcpy(code + sizeof(code) - 3, "\x48\x89\xe5", 3);
	ok(goes_by_fp(CODE_PC + sizeof(code) - 3),
	   "exit: nothing is assumed about bytes after a mapping");
}

static void test_other_instructions(void)
{
	struct pa_walk w;

	put_code("\xf3\x0f\x1e\xfa\x53\xff\x25\x01\x02\x03\x04\xf2\xff\x25\x01\x02\x03\x04", 18);
	ok(finds_caller(CODE_PC, 0), "entry: a landing pad begins a function, whatever follows");
	ok(finds_caller(CODE_PC + 5, 0) && finds_caller(CODE_PC + 11, 0),
	   "entry: a stub that jumps on has no frame");
	put_code("\x55\x53\x48\x89\xe5\x90\x48\x89\xe5", 9);
	ok(goes_by_fp(CODE_PC), "entry: a push of rbp without a following move says nothing");
	ok(goes_by_fp(CODE_PC + 2) && goes_by_fp(CODE_PC + 6),
	   "entry: a move without a preceding push says nothing");
	put_code("\x41\x55\x48\x89\xe5", 5);
	ok(goes_by_fp(CODE_PC + 2), "entry: a move after a push of another register says nothing");
	put_code("\x48\x89\xe5", 3);
	ok(goes_by_fp(CODE_PC), "entry: a move whose push is unreadable says nothing");
	ok(goes_by_fp(NO_RULE_PC), "entry: unreadable code says nothing");
	put_code("\xc3", 1);
	w = stands_at(CODE_PC);
	w.is_exact = 0;
	ok(walk_step(&w) && w.pc == 0x401111, "entry: a caller always has its frame record");
	w = start(CODE_PC, STACK_BASE + sizeof(stack), STACK_BASE);
	ok(!walk_step(&w) && w.stop == PA_STOP_STACK_FAULT,
	   "entry: an unreadable stack ends the walk with STACK_FAULT");
}

/* A caller whose frame is 64 bytes: the return address on top, the frame pointer below that. */
static struct pa_walk plain_caller(void)
{
	struct pa_walk w = start(RULES_PC + 1, STACK_BASE, 42);

	memset(stack, 0, sizeof(stack));
	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, 64, PA_FP_AT_CFA, PA_RA_CFA_MINUS_8, -16);
	stack[6] = STACK_BASE + 1024;
	stack[7] = NO_RULE_PC + 1;
	w.is_exact = 0;
	pa_walk_fill_window(&w, STACK_BASE + PA_KEPT_BYTES);
	return w;
}

static __u32 plain_frames(struct pa_walk *w, __u32 room)
{
	struct pa_rule_cache at_hand = { 0 };
	__u64 pcs[PA_WORD_SLOTS];

	return walk_plain(w, &at_hand, pcs, 0, room);
}

static bool is_untouched(struct pa_walk *w)
{
	return !plain_frames(w, 8) && w->pc == RULES_PC + 1 && w->sp == STACK_BASE && w->fp == 42 &&
	       w->nr == 1;
}

static void test_plain_frame(void)
{
	struct pa_walk w = plain_caller();

	ok(plain_frames(&w, 8) == 1 && w.pc == NO_RULE_PC + 1 && w.sp == STACK_BASE + 64 &&
		   w.fp == STACK_BASE + 1024 && w.nr == 2 && !w.has_regs && !w.has_lr,
	   "plain: a caller with a plain rule is left, and one without is not");
	w = plain_caller();
	ok(!plain_frames(&w, 0) && w.nr == 1, "plain: nothing is written where there is no room");
	w = plain_caller();
	w.nr = PA_MAX_USER_FRAMES;
	ok(!plain_frames(&w, 8), "plain: the frame limit holds");
	w = plain_caller();
	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, 8, PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	for (__u32 i = 0; i < PA_WINDOW_BYTES / 8; i++)
		w.window[i] = RULES_PC + 1;
	w.window_at = STACK_BASE - PA_KEPT_BYTES;
	ok(plain_frames(&w, 1024) == PA_PLAIN_FRAMES,
	   "plain: that many frames are left at once, and no more");
}

/* A chain of frames that are as big as that, up to the top of the stack; returns how many are left at once. */
static __u32 plain_frames_of(__u64 bytes)
{
	struct pa_walk w = plain_caller();
	__u32 nr, all = 0;

	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, (__s64)bytes, PA_FP_SAME, PA_RA_CFA_MINUS_8,
			     0);
	for (__u64 at = bytes; at <= sizeof(stack); at += bytes)
		stack[at / 8 - 1] = RULES_PC + 1;
	w.window_at = 0;
	pa_walk_fill_window(&w, STACK_BASE + PA_KEPT_BYTES);
	while ((nr = plain_frames(&w, PA_WORD_SLOTS)) != 0)
		all += nr;
	return all;
}

static void test_windows(void)
{
	struct pa_walk w = start(NO_RULE_PC, STACK_BASE, STACK_BASE);
	__u64 top = STACK_BASE + sizeof(stack);

	pa_walk_fill_window(&w, STACK_BASE + PA_KEPT_BYTES);
	ok(w.window_at == STACK_BASE && w.window_bytes == PA_FIRST_WINDOW_BYTES,
	   "window: the first one is small");
	pa_walk_fill_window(&w, STACK_BASE + PA_FIRST_WINDOW_BYTES);
	ok(w.window_at == STACK_BASE && w.window_bytes == PA_FIRST_WINDOW_BYTES,
	   "window: nothing is read again");
	pa_walk_fill_window(&w, STACK_BASE + PA_FIRST_WINDOW_BYTES + 8);
	ok(w.window_at == STACK_BASE + PA_FIRST_WINDOW_BYTES + 8 - PA_KEPT_BYTES &&
		   w.window_bytes == 2 * PA_FIRST_WINDOW_BYTES,
	   "window: the next one is twice as big");
	for (int i = 0; i < 4; i++)
		pa_walk_fill_window(&w, w.window_at + 2 * PA_WINDOW_BYTES);
	ok(w.window_bytes == PA_WINDOW_BYTES, "window: there is a biggest one");
	pa_walk_fill_window(&w, top - 128);
	ok(w.window_at == top - 128 - PA_KEPT_BYTES && w.window_bytes == 128 + PA_KEPT_BYTES,
	   "window: near the end of the stack, the rest of the page is read");
	pa_walk_fill_window(&w, top + PA_KEPT_BYTES);
	ok(!w.window_at, "window: behind the end of the stack there is none");
	pa_walk_fill_window(&w, STACK_BASE + PA_KEPT_BYTES);
	ok(w.window_at == STACK_BASE, "window: one that could not be read is not the last");
	ok(plain_frames_of(64) == PA_MAX_USER_FRAMES - 1 &&
		   plain_frames_of(1136) == sizeof(stack) / 1136 &&
		   plain_frames_of(2 * PA_WINDOW_BYTES) == sizeof(stack) / (2 * PA_WINDOW_BYTES),
	   "plain: frames of any size are left, up to the end of the stack");
}

static void test_what_is_not_plain(void)
{
	struct pa_walk w = plain_caller();

	w.is_exact = 1;
	ok(is_untouched(&w), "plain: the sampled frame is not");
	w = plain_caller();
	w.has_fp = 0;
	ok(is_untouched(&w), "plain: a frame whose frame pointer is unknown is not");
	w = plain_caller();
	w.window_at = 0;
	ok(is_untouched(&w), "plain: without a window no frame is");
	w = plain_caller();
	rules[0] = make_rule(PA_CFA_REG, PA_REG_X86_SP, sizeof(stack) + PA_KEPT_BYTES + 8,
			     PA_FP_SAME, PA_RA_CFA_MINUS_8, 0);
	ok(is_untouched(&w), "plain: a return address that cannot be read is not");
	w = plain_caller();
	stack[7] = w.window[7] = 0xffffffff81000000ull;
	ok(is_untouched(&w), "plain: a return address in the kernel's half is not");
	w = plain_caller();
	w.pc = RULES_PC + 16;
	ok(!plain_frames(&w, 8),
	   "plain: an aligned return address is not, as long as no call was seen");
	rules[0] |= PA_RULE_AFTER_CALL;
	ok(plain_frames(&w, 8) == 1, "plain: an aligned return address after a call is");
}

#define RANDOM_STACKS 2000
#define RANDOM_WORDS 1024 /* of each */

static bool one_in(int n)
{
	return rand() % n == 0;
}

/* Mostly plain ones, that differ from each other in every field. */
static pa_rule random_rule(void)
{
	enum pa_fp fp = one_in(40) ? PA_FP_LOST : one_in(20) ? PA_FP_AT_FP : (enum pa_fp)one_in(2);
	__u64 reg = one_in(40) ? 10 : one_in(5) ? PA_REG_X86_FP : PA_REG_X86_SP;
	__s64 off = 8 * (rand() % 20) + one_in(40), slot = -8 * (rand() % 24);
	pa_rule rule = make_rule(one_in(40) ? PA_CFA_DEREF : PA_CFA_REG, reg, off, fp,
				 one_in(40) ? PA_RA_AT_CFA : PA_RA_CFA_MINUS_8, slot);

	if (one_in(40))
		rule |= PA_RULE_SIGNAL;
	return rule | (one_in(2) ? PA_RULE_AFTER_CALL : 0);
}

/* Mostly return addresses, some frame pointers, now and then anything. */
static __u64 random_word(void)
{
	if (one_in(64))
		return (__u64)rand() << (rand() % 33);
	if (one_in(16))
		return STACK_BASE + 8 * (__u64)(rand() % RANDOM_WORDS);
	return RULES_PC + (__u64)(rand() % (16 * MAX_RULES));
}

struct found {
	struct pa_walk end;
	__u64 pcs[PA_WORD_SLOTS];
	__u32 nr_plain;
};

/* As the kernel does: a frame by pa_walk_frame(), then as many as are plain. */
static void walk_both(struct pa_walk w, struct pa_rule_cache *at_hand, struct found *ret)
{
	*ret = (struct found){ .pcs = { w.pc } };
	while (walk_step(&w)) {
		ret->pcs[w.nr - 1] = w.pc;
		if (at_hand)
			ret->nr_plain +=
				walk_plain(&w, at_hand, ret->pcs, w.nr, PA_WORD_SLOTS - w.nr);
	}
	ret->end = w;
}

static bool are_same_walks(const struct found *a, const struct found *b)
{
	return a->end.nr == b->end.nr && a->end.stop == b->end.stop && a->end.sp == b->end.sp &&
	       a->end.fp == b->end.fp && a->end.has_fp == b->end.has_fp &&
	       memcmp(a->pcs, b->pcs, sizeof(a->pcs)) == 0;
}

static void test_plain_and_single_frames_agree(void)
{
	static struct found single, both;
	__u32 nr_plain = 0, nr_frames = 0, nr_different = 0;
	struct pa_walk w;

	srand(1);
	for (int round = 0; round < RANDOM_STACKS; round++) {
		struct pa_rule_cache at_hand = { .missing = round % 2 ? 9 : 0 };

		for (int i = 0; i < MAX_RULES; i++)
			rules[i] = random_rule();
		for (int i = 0; i < RANDOM_WORDS; i++)
			stack[i] = random_word();
		w = start(RULES_PC + (__u64)(rand() % 128), STACK_BASE + 128,
			  STACK_BASE + 8 * (__u64)(rand() % 512));
		walk_both(w, NULL, &single);
		walk_both(w, &at_hand, &both);
		nr_different += !are_same_walks(&single, &both);
		nr_plain += both.nr_plain;
		nr_frames += both.end.nr;
	}
	ok(nr_plain > 4000 && nr_frames > nr_plain + 4000,
	   "plain: %u of %u frames of random stacks are", nr_plain, nr_frames);
	ok(!nr_different, "plain: %u of %d random stacks differ from those of single frames",
	   nr_different, RANDOM_STACKS);
}

int main(void)
{
	test_plain_frame();
	test_windows();
	test_what_is_not_plain();
	test_plain_and_single_frames_agree();
	test_first_and_last_instructions();
	test_edges_of_a_mapping();
	test_returns();
	test_other_instructions();
	test_skipped_frames();
	test_where_frames_are_looked_for();
	test_outermost_frames();
	test_aligned_return_of_system_call();
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
	test_go_left_for_good();
	test_go_systemstack();
	test_go_calls_c();
	test_c_calls_go();
	test_stops();
	return tap_done();
}
