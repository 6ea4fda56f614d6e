/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the caller of code that does not show how it returns, because it never does: main() with an
 * endless loop, a caller of exit(), a thread's first function. Every caller has left a return
 * address above sp, so the words there are examined, and a word is accepted if it is shown to be
 * the caller's:
 *
 * - It follows a call of a function that leads to the pc, and lies where that function's code has
 * put its return address. - It is the first plausible return address, so that no caller is skipped;
 * and the function it returns to is still active: it begins the stack, or its own return address
 * shows that it was called, and so on.
 */
#include "stacks/finish_internal.h"
#include "unwind/x86_insn.h"

#if defined(__x86_64__)
#define MAX_WORDS 1024u
#define MAX_ADDRESSES 16u   /* candidate words per frame */
#define MAX_CODE_READS 128u /* words that point to code: the bytes before each are read */
#define MAX_CALLERS 8u

static bool read_word(struct finish *f, uint64_t addr, uint64_t *ret_word)
{
	return finish_read(f, addr, ret_word, sizeof(*ret_word)) == 0;
}

static bool is_root(struct finish *f, uint64_t pc)
{
	return unwinder_is_root(f->u, f->process, pc, f->time_ns);
}

#define STUB_MAX_INSNS 3u /* endbr64, the push of lazy binding, jmp */

/* True if the function only jumps on to another, like a PLT stub. */
static bool is_stub(struct finish *f, uint64_t pc)
{
	uint8_t code[STUB_MAX_INSNS * 16];
	long n = finish_read_code(f, pc, code, sizeof(code)), at = 0;
	struct x86_insn i;

	for (unsigned int nr = 0; nr < STUB_MAX_INSNS && at < n; nr++) {
		if (x86_insn_decode(code + at, (size_t)(n - at), &i) < 0)
			return false;
		if (i.op == X86_JMP_INDIRECT)
			return true;
		at += i.size;
	}
	return false;
}

/* True if the call before pc went to a known function, so that its callees are known. */
static bool is_known_call(struct finish *f, uint64_t pc)
{
	uint64_t target;

	return finish_call_before(f, pc, &target) && target && !is_stub(f, target);
}

/* True if its table says that it has no caller. (A return address of 0 would say so too, but stale
 * stack contents are full of zeros.) */
static bool is_declared_end(struct finish *f, uint64_t pc)
{
	struct finish_code code;

	return finish_find(f, pc - 1, &code) == 0 && PA_RULE_CFA_KIND(code.word) == PA_CFA_END;
}

/* True if the function that pc returns to, with this sp, is active. Stale stack contents may look
 * like a stack, but not to its end: where the real stack begins, the return address is that of
 * another call. So each caller has to show its call, up to the one that begins the stack. */
static bool is_running(struct finish *f, uint64_t pc, uint64_t sp)
{
	struct finish_frame frame = { .pc = pc, .sp = sp }, caller = frame;
	bool is_shown = true;
	pa_rule rule;

	for (unsigned int i = 0; i < MAX_CALLERS; i++) {
		uint32_t stop;

		if (is_root(f, frame.pc))
			return true;
		if (!finish_step(f, &caller, &stop))
			return stop == PA_STOP_END && is_declared_end(f, frame.pc);
		if (!is_shown)
			return false;
		is_shown = finish_is_from_call(f, &frame, caller.sp - sizeof(uint64_t), &rule);
		frame = caller;
		if (!is_shown && is_known_call(f, frame.pc))
			return false; /* it has called another function */
	}
	return false;
}

static bool scan_words(struct finish *f, const struct finish_frame *frame,
		       struct finish_caller *ret_caller)
{
	uint64_t from = (frame->sp + 7) & ~7ull, word;
	unsigned int nr_found = 0, nr_read = 0;

	for (uint64_t at = from; at < from + MAX_WORDS * sizeof(word); at += sizeof(word)) {
		if (!read_word(f, at, &word) || nr_found == MAX_ADDRESSES ||
		    nr_read == MAX_CODE_READS)
			return false;
		if (!finish_is_code(f, word - 1))
			continue;
		nr_read++;
		if (!finish_can_return_to(f, word))
			continue;
		if (finish_is_from_call(f, frame, at, &ret_caller->rule))
			return true;
		if (!nr_found++ && is_running(f, word, at + sizeof(word))) {
			*ret_caller = (struct finish_caller){ PA_RULE_WORD_NONE, word,
							      at + sizeof(word) };
			return true;
		}
	}
	return false;
}

static bool is_record(struct finish *f, const struct finish_frame *frame, pa_rule *ret_rule)
{
	return frame->has_fp && frame->fp >= frame->sp &&
	       finish_is_from_call(f, frame, frame->fp + sizeof(uint64_t), ret_rule);
}

bool finish_scan(struct finish *f, const struct finish_frame *frame,
		 struct finish_caller *ret_caller)
{
	if (is_root(f, frame->pc))
		return false;
	if (!is_record(f, frame, &ret_caller->rule) && !scan_words(f, frame, ret_caller))
		return false;
	if (ret_caller->rule != PA_RULE_WORD_NONE)
		finish_keep_rule(f, frame->pc, ret_caller->rule);
	return true;
}
#else
bool finish_scan(struct finish *f, const struct finish_frame *frame,
		 struct finish_caller *ret_caller)
{
	(void)f, (void)frame, (void)ret_caller;
	return false;
}
#endif
