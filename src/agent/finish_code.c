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

/* What the code at pc shows; the same for every stack. */
static pa_rule rule_of_code(struct finish *f, uint64_t pc)
{
	struct live_query q = { process_pid(f->process), process_program(f->process, f->time_ns),
				f->time_ns };
	struct x86_code code = { read_code, f };
	pa_rule rule = PA_RULE_WORD_NONE;

	if (f->u->live && live_code_find(f->u->live, &q, pc, &rule))
		return rule;
	if (x86_exit_rule(&code, pc, &rule) < 0)
		rule = PA_RULE_WORD_NONE;
	if (f->u->live)
		live_code_keep(f->u->live, &q, pc, rule);
	return rule;
}

bool finish_learn(struct finish *f, const struct finish_frame *frame, pa_rule *ret_rule)
{
	pa_rule rule = rule_of_code(f, frame->pc);

	if (rule == PA_RULE_WORD_NONE ||
	    (frame->is_sp_low && PA_RULE_CFA_REG(rule) == PA_REG_X86_SP) ||
	    !finish_agrees(f, frame, rule))
		return false;
	*ret_rule = rule;
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
