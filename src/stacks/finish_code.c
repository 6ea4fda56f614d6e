/* SPDX-License-Identifier: Apache-2.0 */
/* Follows code without a table to where it returns. */
#include <elf.h>
#include <errno.h>

#include "base/hash.h"
#include "stacks/finish_internal.h"
#include "stacks/live_code.h"
#include "unwind/x86_exit.h"

/* Code without a file is read from the live process, unless that runs another program by now. A
 * stack may be executable: code on it that is not in the copy is unavailable. */
static long read_live(struct finish *f, const struct mapping *m, uint64_t addr, void *to, size_t n)
{
	pid_t pid = process_pid(f->process);
	struct live_query q = { pid, process_program(f->process, f->time_ns), f->time_ns };

	if (!f->u->live || m->kind != MAPPING_ANON || process_is_over(f->process) ||
	    f->stack->regs.sp - m->start < m->end - m->start ||
	    tracker_find(f->u->tracker, pid, UINT64_MAX) != f->process ||
	    process_program(f->process, UINT64_MAX) != q.program)
		return -ENOENT;
	return live_code_read(f->u->live, &q, addr, to, n);
}

long finish_read_code(struct finish *f, uint64_t addr, void *to, size_t n)
{
	const struct mapping *m = process_mapping(f->process, addr, f->time_ns);

	if (!m)
		return -EFAULT;
	if (n > m->end - addr)
		n = m->end - addr;
	if (m->kind == MAPPING_FILE)
		return finish_read_file(f, m, addr, to, n);
	return read_live(f, m, addr, to, n);
}

#if defined(__x86_64__)
static long read_code(void *ctx, uint64_t addr, void *to, size_t n)
{
	return finish_read_code(ctx, addr, to, n);
}

static struct live_query query_of(const struct finish *f)
{
	return (struct live_query){ process_pid(f->process),
				    process_program(f->process, f->time_ns), f->time_ns };
}

/* The rule derived from the code at pc, which is the same for every stack. */
static struct x86_exit exit_of_code(struct finish *f, uint64_t pc)
{
	struct live_query q = query_of(f);
	struct x86_code code = { read_code, f };
	struct x86_exit e;

	if (f->u->live && live_code_find(f->u->live, &q, pc, &e))
		return e;
	if (x86_exit_find(&code, pc, &e) < 0)
		e = (struct x86_exit){ .rule = PA_RULE_WORD_NONE };
	if (f->u->live)
		live_code_keep(f->u->live, &q, pc, &e);
	return e;
}

/* True in a gap of a table, that is in hand-written assembly, where fp may hold anything. */
static bool is_gap(const struct finish *f, uint64_t pc)
{
	const struct mapping *m = process_mapping(f->process, pc, f->time_ns);
	const struct unwind_file *file = m ? unwind_files_get(&f->u->files, m) : NULL;

	return file && file->state != UNWIND_NONE;
}

static bool is_called(struct finish *f, const struct finish_frame *frame, pa_rule rule)
{
	uint64_t pc, target;

	return finish_read(f, frame->sp + (uint64_t)PA_RULE_CFA_OFF(rule) - sizeof(pc), &pc,
			   sizeof(pc)) == 0 &&
	       finish_call_before(f, pc, &target);
}

static bool keeps_records(const struct finish *f)
{
	return unwinder_keeps_records(f->u, f->process, f->time_ns);
}

static bool is_usable(struct finish *f, const struct finish_frame *frame, const struct x86_exit *e)
{
	if (e->rule == PA_RULE_WORD_NONE || (e->calls_without_record && keeps_records(f)) ||
	    (frame->is_sp_low && PA_RULE_CFA_REG(e->rule) == PA_REG_X86_SP) ||
	    !finish_agrees(f, frame, e->rule))
		return false;
	if (e->by == X86_BY_FRAME)
		return !is_gap(f, frame->pc - !frame->is_exact);
	if (e->by == X86_BY_ENTRY)
		return frame->is_exact && is_called(f, frame, e->rule);
	return e->by != X86_BY_MOVE || frame->is_exact;
}

#define MAX_CALL_WORDS 64u   /* words of a frame that are searched for its return address */
#define MAX_CALL_FOLLOWS 16u /* per walk, without cached ones */

/* The rule for pc in a function that was called at `start`; cached by both, because most candidate
 * words are not callers, and come up again in the next walk. */
static pa_rule rule_of_call(struct finish *f, uint64_t start, uint64_t pc)
{
	struct x86_exit e = { .rule = PA_RULE_WORD_NONE, .by = X86_BY_RETURN };
	uint64_t both = hash_mix(start, pc) | 1ull << 63;
	struct live_query q = query_of(f);
	struct x86_code code = { read_code, f };

	if (f->u->live && live_code_find(f->u->live, &q, both, &e))
		return e.rule;
	if (f->nr_calls++ >= MAX_CALL_FOLLOWS)
		return PA_RULE_WORD_NONE;
	if (x86_exit_of_call(&code, start, pc, &e.rule) < 0)
		e.rule = PA_RULE_WORD_NONE;
	if (f->u->live)
		live_code_keep(f->u->live, &q, both, &e);
	return e.rule;
}

bool finish_is_from_call(struct finish *f, const struct finish_frame *frame, uint64_t addr,
			 pa_rule *ret_rule)
{
	uint64_t word, target, cfa;
	pa_rule rule;

	if (finish_read(f, addr, &word, sizeof(word)) < 0 ||
	    !finish_call_before(f, word, &target) || !target)
		return false;
	rule = rule_of_call(f, target, frame->pc);
	if (rule == PA_RULE_WORD_NONE ||
	    (frame->is_sp_low && PA_RULE_CFA_REG(rule) == PA_REG_X86_SP) ||
	    !finish_cfa(f, frame, rule, &cfa) || cfa != addr + sizeof(word))
		return false;
	*ret_rule = rule;
	return true;
}

void finish_keep_rule(struct finish *f, uint64_t pc, pa_rule rule)
{
	struct x86_exit e = { rule, X86_BY_RETURN };
	struct live_query q = query_of(f);

	if (f->u->live)
		live_code_keep(f->u->live, &q, pc, &e);
}

/* Tries the start of the function, if its end cannot be found. */
static bool learn_from_call(struct finish *f, const struct finish_frame *frame, pa_rule *ret_rule)
{
	if (frame->sp % sizeof(uint64_t))
		return false;
	for (uint64_t i = 0; i < MAX_CALL_WORDS && f->nr_calls < MAX_CALL_FOLLOWS; i++) {
		if (!finish_is_from_call(f, frame, frame->sp + i * sizeof(uint64_t), ret_rule))
			continue;
		finish_keep_rule(f, frame->pc, *ret_rule);
		return true;
	}
	return false;
}

bool finish_learn(struct finish *f, const struct finish_frame *frame, pa_rule *ret_rule)
{
	struct x86_exit e = exit_of_code(f, frame->pc);

	if (!is_usable(f, frame, &e))
		return learn_from_call(f, frame, ret_rule);
	f->is_sp_low = e.by != X86_BY_RETURN;
	*ret_rule = e.rule;
	return true;
}

bool finish_is_end(struct unwinder *u, const struct process *p, uint64_t time_ns, uint64_t pc)
{
	static const struct stack_copy nothing;
	struct finish f = { .u = u, .process = p, .time_ns = time_ns, .stack = &nothing };
	struct x86_code code = { read_code, &f };

	return x86_exit_is_none(&code, pc & ~PA_PC_EXACT);
}
#else
bool finish_learn(struct finish *f, const struct finish_frame *frame, pa_rule *ret_rule)
{
	(void)f, (void)frame, (void)ret_rule;
	return false;
}

bool finish_is_end(struct unwinder *u, const struct process *p, uint64_t time_ns, uint64_t pc)
{
	(void)u, (void)p, (void)time_ns, (void)pc;
	return false;
}
#endif
