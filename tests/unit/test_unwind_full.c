/* SPDX-License-Identifier: Apache-2.0 */
/* The walk with all registers, on stacks that are laid out by hand and rules that are made. */
#include "cfi_maker.h"

#include "unwind/full_walk.h"

#define STACK 0x7ffc00000000ull
#define STACK_WORDS 1024
#define RBX 3
#define RBP 6
#define RSP 7
#define NO_RULE_PC 0x300000u

static struct cfi_maker m;
static uint64_t stack[STACK_WORDS];
static struct compiled code;
static uint64_t asked_pc;
static pa_rule word; /* instead of the table's, when not 0 */

static int read_stack(void *ctx, uint64_t addr, void *to, size_t size)
{
	if (addr < STACK || addr + size > STACK + sizeof(stack))
		return -1;
	memcpy(to, (const char *)stack + (addr - STACK), size);
	return 0;
}

static uint32_t find_rule(void *ctx, uint64_t pc, pa_rule *ret_word, struct cfi_full_row *ret_row)
{
	asked_pc = pc;
	if (pc < CODE && pc != NO_RULE_PC && pc != NO_RULE_PC - 1)
		return PA_STOP_NO_MAPPING;
	*ret_word = word ? word : rule_at(&code, pc);
	if (*ret_word != PA_RULE_WORD_NONE)
		(void)cfi_rules_at(code.cfi, pc, ret_row);
	return 0;
}

static enum pa_record_place place; /* of the record, as the code shows */

static enum pa_record_place record_at(void *ctx, uint64_t pc)
{
	return place;
}

static bool is_behind_call = true; /* whatever a frame pointer returns to */

static bool can_return_to(void *ctx, uint64_t pc)
{
	return is_behind_call;
}

static const struct full_walk_source source = { read_stack, find_rule, record_at, can_return_to };

/* At a frame with all registers known, sp where the test wants it. */
static struct full_walk start(uint64_t pc, uint64_t sp)
{
	uint64_t regs[32] = { 0 };
	struct full_walk w;

	for (unsigned int i = 0; i < 32; i++)
		regs[i] = 0x1000 + i;
	regs[m.arch->sp] = sp;
	full_walk_init(&w, m.arch, pc, regs, 32);
	w.source = &source;
	memset(stack, 0, sizeof(stack));
	return w;
}

static void set(struct full_walk *w, unsigned int reg, uint64_t v)
{
	w->regs.v[reg] = v;
}

/* Function i is at CODE + 0x100 * i. */
static void begin_x86(void)
{
	compiled_done(&code);
	cfi_begin(&m);
	cfi_cie_x86(&m);
}

static void function(unsigned int i, const char *program, size_t n)
{
	cfi_fde(&m, CODE + 0x100 * i, 0x100, program, n);
}

static uint64_t in(unsigned int i)
{
	return CODE + 0x100 * i + 0x10;
}

static bool is_at(const struct full_walk *w, uint64_t pc, uint64_t sp)
{
	return w->at.pc == pc && w->regs.v[m.arch->sp] == sp;
}

/* As the loader's code that binds a call: the CFA is in rbx, which two callees have saved. */
static void test_saved_register(void)
{
	struct full_walk w;

	begin_x86();
	function(0, BYTES("\x0e\x20\x83\x03")); /* cfa=rsp+32, rbx at cfa-24 */
	function(1, BYTES("\x0c\x03\x10"));     /* cfa=rbx+16 */
	function(2, BYTES("\x07\x10"));         /* no caller */
	code = cfi_compile(&m);
	w = start(in(0), STACK);
	stack[1] = STACK + 0x100;
	stack[3] = in(1);
	stack[0x108 / 8] = in(2);
	ok(full_walk_frame(&w) && is_at(&w, in(1), STACK + 32) && w.regs.v[RBX] == STACK + 0x100,
	   "a saved register is known in the caller");
	ok(asked_pc == in(0) && !w.at.is_exact, "the first pc is looked up as it is");
	ok(full_walk_frame(&w) && is_at(&w, in(2), STACK + 0x110),
	   "the first frame leads to its caller");
	ok(asked_pc == in(1) - 1, "a return address is looked up at the byte before it");
	ok(!full_walk_frame(&w) && w.at.stop == PA_STOP_END && w.at.nr == 3,
	   "the walk reaches the outermost frame");
}

/* Hand-written code keeps the CFA in r9 across a call of its own. */
static void test_scratch_register(void)
{
	struct full_walk w;

	begin_x86();
	function(0, BYTES(""));
	function(1, BYTES("\x0c\x09\x08"));
	code = cfi_compile(&m);
	w = start(in(0), STACK);
	set(&w, 9, STACK + 0x200);
	stack[0] = in(1);
	stack[0x200 / 8] = in(0);
	ok(full_walk_frame(&w) && full_walk_frame(&w) && is_at(&w, in(0), STACK + 0x208),
	   "a register without a rule is unchanged");
}

static void test_unknown_register(void)
{
	struct full_walk w;

	begin_x86();
	function(0, BYTES("\x07\x03"));
	function(1, BYTES("\x0c\x03\x10"));
	function(2, BYTES("\x83\x80\x80\x01")); /* rbx at cfa - 128 KiB: not to be had */
	code = cfi_compile(&m);
	w = start(in(0), STACK);
	stack[0] = in(1);
	ok(full_walk_frame(&w) && !full_walk_frame(&w) && w.at.stop == PA_STOP_HARD_RULE,
	   "a needed register that is undefined ends the walk");
	w = start(in(2), STACK);
	w.at.is_exact = true;
	stack[0] = in(1);
	ok(full_walk_frame(&w) && !full_walk_frame(&w) && w.at.stop == PA_STOP_HARD_RULE,
	   "a needed register that cannot be read ends the walk");
}

static void test_red_zone(void)
{
	struct full_walk w;

	begin_x86();
	function(0, BYTES("\x83\x03")); /* rbx at cfa-24, cfa=rsp+8 */
	code = cfi_compile(&m);
	w = start(in(0), STACK + 64);
	stack[6] = 77;
	stack[8] = in(0);
	stack[7] = 99;
	stack[9] = in(0);
	ok(full_walk_frame(&w) && w.regs.v[RBX] == 77,
	   "a slot below sp is valid before the first call");
	ok(full_walk_frame(&w) && w.regs.v[RBX] == 77, "a slot below sp is invalid after it");
}

/* Behind `pop rbp` of a function that has realigned its stack: r10 is the CFA, and the rules that
 * are relative to rbp speak of the caller's. */
static void test_restored_by_expression(void)
{
	struct full_walk w;

	begin_x86();
	function(0, BYTES("\x0c\x0a\x00\x10\x03\x02\x76\x78\x10\x06\x02\x76\x00"));
	code = cfi_compile(&m);
	w = start(in(0), STACK);
	set(&w, 10, STACK + 0x100);
	set(&w, RBP, STACK + 0x80);
	stack[0x80 / 8] = 1;
	stack[0x78 / 8] = 2;
	stack[0xf8 / 8] = in(0);
	ok(full_walk_frame(&w) && w.regs.v[RBP] == 1 && w.regs.v[RBX] == 2,
	   "a slot inside the frame is valid");
	w = start(in(0), STACK);
	set(&w, 10, STACK + 0x100);
	set(&w, RBP, STACK + 0x180);
	stack[0xf8 / 8] = in(0);
	ok(full_walk_frame(&w) && w.regs.v[RBP] == STACK + 0x180 && w.regs.v[RBX] == 0x1000 + RBX,
	   "a slot outside the frame counts as restored");
}

static void test_kinds(void)
{
	struct full_walk w;

	begin_x86();
	/* rbx = cfa - 16; rdx in rcx; rsi = 5; rsp at cfa - 24. */
	function(0, BYTES("\x14\x03\x02\x09\x01\x02\x16\x04\x01\x35\x87\x03\x0e\x40"));
	code = cfi_compile(&m);
	w = start(in(0), STACK);
	stack[7] = in(0);
	stack[5] = STACK + 0x300;
	ok(full_walk_frame(&w) && w.regs.v[RBX] == STACK + 48 && w.regs.v[1] == 0x1002 &&
		   w.regs.v[4] == 5 && w.regs.v[RSP] == STACK + 0x300,
	   "val_offset, register, val_expression, and an sp that is not the CFA");
	ok(w.regs.v[16] == in(0), "the pc's column is the caller's pc");
}

static void test_expression_cfa(void)
{
	struct full_walk w;

	begin_x86();
	function(0, BYTES("\x0f\x0a\x77\x08\x06\x38\x1e\x77\x00\x22\x23\x08"));
	code = cfi_compile(&m);
	w = start(in(0), STACK);
	stack[1] = 4; /* words between */
	stack[4] = in(0);
	ok(rule_at(&code, in(0)) == PA_RULE_WORD_USER && full_walk_frame(&w) &&
		   is_at(&w, in(0), STACK + 40),
	   "a multiplication, which fits into no row, is evaluated");
}

static void test_signal(void)
{
	static const struct unwind_arch *const arches[] = { &unwind_arch_x86, &unwind_arch_arm64 };

	word = PA_CFA_SIGNAL | PA_RULE_SIGNAL;
	for (size_t k = 0; k < 2; k++) {
		const struct unwind_arch *arch = arches[k];
		unsigned int nr_wrong = 0;
		struct full_walk w;

		m.arch = arch;
		w = start(in(0), STACK);
		for (unsigned int i = 0; i < arch->nr_regs; i++)
			stack[arch->signal_offsets[i] / 8] = 0x5000 + i;
		must(full_walk_frame(&w));
		for (unsigned int i = 0; i < arch->nr_regs; i++)
			nr_wrong += w.regs.v[i] != 0x5000 + i || !(w.regs.known >> i & 1);
		ok(nr_wrong == 0 && w.at.pc == 0x5000u + arch->pc && w.at.is_exact &&
			   w.at.is_interrupted,
		   "machine %u: a signal frame has all registers", arch->machine);
	}
	word = 0;
}

static void test_frame_pointers(void)
{
	struct full_walk w;

	begin_x86();
	function(0, BYTES("\x0c\x03\x10"));
	code = cfi_compile(&m);
	w = start(NO_RULE_PC, STACK);
	set(&w, RBP, STACK + 64);
	stack[8] = STACK + 128;
	stack[9] = in(0);
	ok(full_walk_frame(&w) && is_at(&w, in(0), STACK + 80) && w.regs.v[RBP] == STACK + 128,
	   "no rule: the frame pointer is used");
	ok(!full_walk_frame(&w) && w.at.stop == PA_STOP_HARD_RULE,
	   "no rule: other registers are unknown in the caller");
	w = start(NO_RULE_PC, STACK + 128);
	set(&w, RBP, STACK + 64);
	ok(!full_walk_frame(&w) && w.at.stop == PA_STOP_FP_END,
	   "no rule: a frame pointer below sp is refused");
}

/* Whether the frame pointer of a frame in a gap, or without any table, is believed. */
static bool goes_by_fp(pa_rule of_pc, bool is_exact)
{
	struct full_walk w = start(NO_RULE_PC, STACK);
	bool goes;

	set(&w, RBP, STACK + 64);
	stack[9] = in(0);
	w.at.is_exact = is_exact;
	word = of_pc;
	goes = full_walk_frame(&w) && is_at(&w, in(0), STACK + 80);
	word = 0;
	return goes || w.at.stop != PA_STOP_FP_END;
}

static void test_doubt(void)
{
	begin_x86();
	function(0, BYTES(""));
	code = cfi_compile(&m);
	place = PA_RECORD_AT_FP;
	ok(goes_by_fp(PA_RULE_WORD_GAP, true) && goes_by_fp(PA_RULE_WORD_GAP, false),
	   "gap: a frame pointer whose return address follows a call is accepted");
	is_behind_call = false;
	ok(!goes_by_fp(PA_RULE_WORD_GAP, true), "gap: another frame pointer is refused");
	ok(!goes_by_fp(PA_RULE_WORD_GAP, false), "gap: it is refused for a caller, too");
	ok(goes_by_fp(0, true) && goes_by_fp(0, false),
	   "no table: the frame pointer is accepted without a call");
	is_behind_call = true;
}

/* Where a function without a rule begins or returns. */
static void test_code(void)
{
	struct full_walk w;

	begin_x86();
	function(0, BYTES("\x0c\x03\x10"));
	code = cfi_compile(&m);
	place = PA_RECORD_NONE;
	w = start(NO_RULE_PC, STACK);
	set(&w, RBP, STACK + 64);
	set(&w, RBX, STACK + 32);
	stack[0] = in(0);
	stack[5] = in(0);
	ok(full_walk_frame(&w) && is_at(&w, in(0), STACK + 8) && w.regs.v[RBP] == STACK + 64,
	   "no record: the return address is at sp");
	ok(full_walk_frame(&w) && is_at(&w, in(0), STACK + 48),
	   "no record: other registers are unchanged");
	w = start(NO_RULE_PC, STACK);
	w.at.is_exact = false;
	set(&w, RBP, STACK + 64);
	stack[9] = in(0);
	ok(full_walk_frame(&w) && is_at(&w, in(0), STACK + 80),
	   "a caller always has its frame record");
	place = PA_RECORD_AT_SP;
	w = start(NO_RULE_PC, STACK);
	set(&w, RBP, STACK + 64);
	set(&w, RBX, STACK + 32);
	stack[0] = STACK + 64;
	stack[1] = in(0);
	stack[5] = in(0);
	ok(full_walk_frame(&w) && is_at(&w, in(0), STACK + 16) && w.regs.v[RBP] == STACK + 64,
	   "a frame record that was just pushed is at sp");
	ok(full_walk_frame(&w) && is_at(&w, in(0), STACK + 48),
	   "after the push no other register has changed");
	place = PA_RECORD_NONE;
	m.arch = &unwind_arch_arm64;
	w = start(NO_RULE_PC, STACK);
	set(&w, 30, in(0) | 0x7bull << 56);
	ok(full_walk_frame(&w) && is_at(&w, in(0), STACK) && !(w.regs.known >> 30 & 1),
	   "the return address is in lr, once");
	place = PA_RECORD_AT_FP;
}

static void test_link_register(void)
{
	struct full_walk w;

	compiled_done(&code);
	cfi_begin(&m);
	cfi_cie_arm64(&m);
	function(0, BYTES(""));
	function(1, BYTES("\x0e\x20\x9e\x01\x2d")); /* cfa=sp+32, lr at cfa-8, signed */
	code = cfi_compile(&m);
	w = start(in(0), STACK);
	set(&w, 30, in(1));
	stack[3] = in(0) | 0x7bull << 56;
	ok(full_walk_frame(&w) && is_at(&w, in(1), STACK), "a leaf returns by lr, without a frame");
	ok(full_walk_frame(&w) && is_at(&w, in(0), STACK + 32),
	   "the signature of the return address is removed");
	ok(!full_walk_frame(&w) && w.at.stop == PA_STOP_HARD_RULE, "a caller's lr is overwritten");

	compiled_done(&code);
	cfi_begin(&m);
	cfi_cie_arm64(&m);
	function(0, BYTES(""));
	function(1, BYTES("\x09\x1e\x0f")); /* return address in x15 */
	code = cfi_compile(&m);
	w = start(in(0), STACK);
	set(&w, 30, in(1));
	set(&w, 15, in(0));
	ok(full_walk_frame(&w) && !full_walk_frame(&w) && w.at.stop == PA_STOP_BAD_FRAME,
	   "only the leaf may be without a frame");
}

/* Behind a stub that has pushed 16 bytes, which the loader's rules do not count. */
static void test_uncounted(void)
{
	struct full_walk w;

	compiled_done(&code);
	cfi_begin(&m);
	cfi_cie_arm64(&m);
	function(0, BYTES("\x0e\x20\x11\x1e\x7f"));
	code = cfi_compile(&m);
	w = start(in(0), STACK);
	stack[5] = in(0);
	ok(full_walk_frame(&w) && is_at(&w, in(0), STACK + 48), "sp is above the return address");

	compiled_done(&code);
	cfi_begin(&m);
	cfi_cie_arm64(&m);
	function(0, BYTES("\x44\x11\x1e\x7f"));
	code = cfi_compile(&m);
	w = start(CODE, STACK);
	stack[1] = in(0);
	ok(full_walk_frame(&w) && is_at(&w, in(0), STACK + 16),
	   "sp is above the return address at the landing pad, too");
}

/* Known code has a word, but no row. */
static void test_word_alone(void)
{
	struct full_walk w;

	begin_x86();
	function(0, BYTES(""));
	code = cfi_compile(&m);
	word = rule_reg(RSP, 32) | rule_fp_at_cfa(-16);
	w = start(CODE + 0x800, STACK);
	stack[2] = 42;
	stack[3] = in(0);
	ok(full_walk_frame(&w) && is_at(&w, in(0), STACK + 32) && w.regs.v[RBP] == 42 &&
		   w.regs.v[RBX] == 0x1000 + RBX,
	   "a word without a row is evaluated, other registers are unchanged");
	word = PA_CFA_DEREF | RSP << PA_RULE_REG_SHIFT;
	w = start(CODE + 0x800, STACK);
	ok(!full_walk_frame(&w) && w.at.stop == PA_STOP_HARD_RULE,
	   "a word without a row must be a simple one");
	m.arch = &unwind_arch_arm64;
	word = rule_reg(31, 16) | rule_ra(PA_RA_LR);
	w = start(CODE + 0x800, STACK);
	set(&w, 30, CODE + 0x900);
	ok(full_walk_frame(&w) && is_at(&w, CODE + 0x900, STACK + 16),
	   "a word without a row may use the link register");
	ok(!full_walk_frame(&w) && w.at.stop == PA_STOP_HARD_RULE, "once");
	word = 0;
}

static void test_bad_frames(void)
{
	struct full_walk w;

	begin_x86();
	function(0, BYTES("\x0e\x00"));
	function(1, BYTES("\x0e\x80\x80\x04"));
	function(2, BYTES("\x08\x10"));
	function(3, BYTES("\x0f\x01\x9c"));
	code = cfi_compile(&m);
	w = start(in(0), STACK + 8);
	stack[0] = in(0);
	ok(!full_walk_frame(&w) && w.at.stop == PA_STOP_BAD_FRAME,
	   "a frame must lie above the last one");
	w = start(in(1), STACK);
	ok(!full_walk_frame(&w) && w.at.stop == PA_STOP_STACK_FAULT, "a frame must be readable");
	w = start(in(2), STACK);
	ok(!full_walk_frame(&w) && w.at.stop == PA_STOP_HARD_RULE,
	   "an unaligned return address ends the walk");
	w = start(in(3), STACK);
	ok(!full_walk_frame(&w) && w.at.stop == PA_STOP_HARD_RULE, "an invalid CFA ends the walk");
	w = start(0x2000, STACK);
	ok(!full_walk_frame(&w) && w.at.stop == PA_STOP_NO_MAPPING, "unknown code ends the walk");
}

static void test_depth(void)
{
	struct full_walk w;

	begin_x86();
	function(0, BYTES("\x87\x02")); /* a stack pointer that stays: a circle */
	code = cfi_compile(&m);
	w = start(in(0), STACK + 8);
	stack[1] = in(0);
	stack[0] = STACK + 8;
	while (full_walk_frame(&w))
		;
	ok(w.at.stop == PA_STOP_TOO_DEEP && w.at.nr == PA_MAX_USER_FRAMES,
	   "a loop ends at the frame limit");
}

int main(void)
{
	cfi_begin(&m);
	test_saved_register();
	test_scratch_register();
	test_unknown_register();
	test_red_zone();
	test_restored_by_expression();
	test_kinds();
	test_expression_cfa();
	test_signal();
	test_frame_pointers();
	test_code();
	test_doubt();
	test_link_register();
	test_uncounted();
	test_word_alone();
	test_bad_frames();
	test_depth();
	compiled_done(&code);
	return tap_done();
}
