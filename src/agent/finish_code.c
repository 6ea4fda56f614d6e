/* SPDX-License-Identifier: Apache-2.0 */
/* Code that no table describes, followed to where it returns. */
#include <elf.h>
#include <errno.h>

#include "agent/finish_internal.h"
#include "agent/live_code.h"
#include "unwind/x86_exit.h"

/* Of code without a file what its process has now, unless it runs another program by now. A stack
 * may be executable: what is not in the copy of it is not to be had. */
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

/* What the code at pc shows; the same for every stack. */
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

/* In a gap of a table, which is what somebody wrote by hand, fp may be anything. */
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

static bool is_usable(struct finish *f, const struct finish_frame *frame, const struct x86_exit *e)
{
	if (e->rule == PA_RULE_WORD_NONE ||
	    (frame->is_sp_low && PA_RULE_CFA_REG(e->rule) == PA_REG_X86_SP) ||
	    !finish_agrees(f, frame, e->rule))
		return false;
	if (e->by == X86_BY_FRAME)
		return !is_gap(f, frame->pc - !frame->is_exact);
	if (e->by == X86_BY_ENTRY)
		return frame->is_exact && is_called(f, frame, e->rule);
	return e->by != X86_BY_MOVE || frame->is_exact;
}

#define MAX_CALL_WORDS 64u  /* of a frame: where its return address is looked for */
#define MAX_CALL_FOLLOWS 8u /* in a walk */

/* The word at `off` is a return address behind a direct call: whether the function that was called comes
 * to pc, and has so much on the stack then. */
static bool is_from_call(struct finish *f, const struct finish_frame *frame, uint64_t off,
			 pa_rule *ret_rule)
{
	struct x86_code code = { read_code, f };
	uint64_t word, target;

	if (finish_read(f, frame->sp + off, &word, sizeof(word)) < 0 ||
	    !finish_call_before(f, word, &target) || !target || f->nr_calls++ >= MAX_CALL_FOLLOWS)
		return false;
	return x86_exit_of_call(&code, target, frame->pc, ret_rule) == 0 &&
	       PA_RULE_CFA_OFF(*ret_rule) == (int64_t)(off + sizeof(word));
}

/* By the begin of the function, where its end is not to be found. */
static bool learn_from_call(struct finish *f, const struct finish_frame *frame, pa_rule *ret_rule)
{
	struct x86_exit e = { .by = X86_BY_RETURN };
	struct live_query q = query_of(f);

	if (frame->is_sp_low || frame->sp % sizeof(uint64_t))
		return false;
	for (uint64_t i = 0; i < MAX_CALL_WORDS && f->nr_calls < MAX_CALL_FOLLOWS; i++) {
		if (!is_from_call(f, frame, i * sizeof(uint64_t), &e.rule))
			continue;
		if (f->u->live)
			live_code_keep(f->u->live, &q, frame->pc, &e);
		*ret_rule = e.rule;
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
