/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's walker once more, in user space: on a copy of the stack, with every table there is. */
#include <errno.h>

#include "agent/unwinder_internal.h"
#include "bpf/walk.h"

struct finish {
	struct unwinder *u;
	const struct process *process;
	uint64_t time_ns;
	const struct stack_copy *stack;
	bool waits; /* for the table of `missing` */
	uint32_t missing;
};

static const struct pa_stack_page *page_of(const struct stack_copy *s, uint64_t addr)
{
	for (uint32_t i = 0; i < s->nr_pages; i++)
		if (addr - s->pages[i]->addr < s->pages[i]->size)
			return s->pages[i];
	return NULL;
}

/* A read may reach over the end of a page into the next. */
static inline int pa_walk_read(struct pa_walk *w, void *to, __u32 size, __u64 addr)
{
	const struct finish *f = w->env;
	char *at = to;

	while (size) {
		const struct pa_stack_page *p = page_of(f->stack, addr);
		uint64_t offset = p ? addr - p->addr : 0;
		uint32_t n = p ? (uint32_t)(p->size - offset) : 0;

		if (!p)
			return -1;
		if (n > size)
			n = size;
		memcpy(at, p->bytes + offset, n);
		at += n;
		addr += n;
		size -= n;
	}
	return 0;
}

static inline __u32 pa_walk_rule(struct pa_walk *w, __u64 pc, pa_rule *rule)
{
	struct finish *f = w->env;
	struct unwind_files *files = &f->u->files;
	const struct mapping *m = process_mapping(f->process, pc, f->time_ns);
	const struct unwind_file *file;
	uint64_t bias;

	if (!m)
		return PA_STOP_NO_MAPPING;
	*rule = PA_RULE_WORD_NONE;
	if (!unwind_files_ask(files, m)) {
		f->waits = true;
		f->missing = unwind_files_number(m);
		return PA_STOP_NO_TABLE;
	}
	file = unwind_files_get(files, m);
	if (file && file->state == UNWIND_READY && unwind_file_bias(file, m, &bias) == 0)
		*rule = unwind_file_rule(files, file, pc - bias);
	return 0;
}

static void begin(struct pa_walk *w, struct finish *f)
{
	const struct pa_stack_regs *r = &f->stack->regs;

	*w = (struct pa_walk){ .pc = r->pc,
			       .sp = r->sp,
			       .fp = r->regs[PA_REG_FP],
			       .lr = r->lr,
			       .nr = 1,
			       .is_exact = 1,
			       .has_fp = 1,
			       .has_regs = 1,
			       .has_lr = 1,
			       .env = f };
	memcpy(w->regs, r->regs, sizeof(w->regs));
}

int unwinder_finish(struct unwinder *u, const struct process *p, uint64_t time_ns,
		    const struct stack_copy *stack, struct finished_walk *ret_walk)
{
	struct finish f = { .u = u, .process = p, .time_ns = time_ns, .stack = stack };
	struct pa_walk w;

	begin(&w, &f);
	ret_walk->pcs[0] = w.pc | PA_PC_EXACT;
	while (pa_walk_frame(&w)) {
		ret_walk->pcs[w.nr - 1] = w.pc | (w.is_exact ? PA_PC_EXACT : 0);
		if (w.is_interrupted)
			ret_walk->pcs[w.nr - 2] |= PA_PC_EXACT;
	}
	ret_walk->nr = w.nr;
	ret_walk->stop = (uint8_t)w.stop;
	ret_walk->missing = f.missing;
	if (f.waits && !stack->must_end)
		return -EAGAIN;
	u->stats.nr_finished++;
	return 0;
}
