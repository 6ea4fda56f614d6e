/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the kernel's walker again in user space: on a copy of the stack, with all available tables.
 * */
#include <errno.h>

#include "bpf/walk.h"
#include "stacks/finish_internal.h"

/* A walk may continue in the rest of the stack, above what was copied. If it gets farther away than
 * this, it has gone wrong. */
#define REST_MAX_BYTES (64u << 20)

static bool is_in_rest(const struct stack_copy *s, uint64_t addr)
{
	const struct pa_stack_page *last = s->nr_pages ? s->pages[s->nr_pages - 1] : NULL;

	return last && addr - (last->addr + last->size) < REST_MAX_BYTES;
}

static const struct pa_stack_page *page_of(const struct stack_copy *s, uint64_t addr)
{
	for (uint32_t i = 0; i < s->nr_pages; i++)
		if (addr - s->pages[i]->addr < s->pages[i]->size)
			return s->pages[i];
	return NULL;
}

/* The code at the sampled pc was sent with the registers. */
static bool read_code(const struct pa_stack_regs *r, uint64_t addr, void *to, size_t size)
{
	uint64_t offset = addr - (r->pc - PA_CODE_BYTES / 2);

	if (offset > PA_CODE_BYTES || size > PA_CODE_BYTES - offset)
		return false;
	memcpy(to, r->code + offset, size);
	return true;
}

/* Code of files does not change. */
long finish_read_file(const struct finish *f, const struct mapping *m, uint64_t addr, void *to,
		      size_t n)
{
	int fd = filestore_get(f->u->files.store, m->file)->fd;

	return fd < 0 ? -EBADF : pread(fd, to, n, (off_t)(m->offset + (addr - m->start)));
}

int finish_read(struct finish *f, uint64_t addr, void *to, size_t size)
{
	char *at = to;

	if (read_code(&f->stack->regs, addr, to, size))
		return 0;
	while (size) {
		const struct pa_stack_page *p = page_of(f->stack, addr);
		uint64_t offset = p ? addr - p->addr : 0;
		size_t n = p ? p->size - offset : 0;

		if (!p && finish_read_code(f, addr, at, size) == (long)size)
			return 0;
		if (!p) {
			f->is_past_copy = is_in_rest(f->stack, addr);
			return -EFAULT;
		}
		if (n > size)
			n = size;
		memcpy(at, p->bytes + offset, n);
		at += n;
		addr += n;
		size -= n;
	}
	return 0;
}

uint32_t finish_find(struct finish *f, uint64_t pc, struct finish_code *ret_code)
{
	struct unwind_files *files = &f->u->files;
	const struct mapping *m = process_mapping(f->process, pc, f->time_ns);
	const struct unwind_file *file;
	uint64_t bias;

	if (!m)
		return PA_STOP_NO_MAPPING;
	*ret_code = (struct finish_code){ .mapping = m, .word = PA_RULE_WORD_NONE };
	if (!unwind_files_ask(files, m)) {
		f->waits = true;
		f->missing = unwind_files_number(m);
		return PA_STOP_NO_TABLE;
	}
	if (m->kind == MAPPING_ANON && unwinder_keeps_records(f->u, f->process, f->time_ns))
		ret_code->word = PA_RULE_WORD_RECORDS;
	file = unwind_files_get(files, m);
	if (file && file->state == UNWIND_READY && unwind_file_bias(file, m, &bias) == 0) {
		ret_code->addr = pc - bias;
		ret_code->word = shared_table_rule(&files->tables, file->table, pc - bias);
		if (ret_code->word == PA_RULE_WORD_NONE)
			ret_code->word = PA_RULE_WORD_GAP;
	}
	return 0;
}

static inline int pa_walk_read(struct pa_walk *w, void *to, __u32 size, __u64 addr)
{
	return finish_read(w->env, addr, to, size);
}

static inline __u32 pa_walk_rule(struct pa_walk *w, __u64 pc, pa_rule *rule)
{
	struct finish_code code;
	uint32_t stop = finish_find(w->env, pc, &code);

	if (stop)
		return stop;
	*rule = code.word;
	if (pa_walk_may_learn(w, pc, code.word))
		(void)finish_learn(w->env,
				   &(struct finish_frame){ w->pc, w->sp, w->fp, w->has_fp,
							   w->is_sp_low, w->is_exact },
				   rule);
	return 0;
}

static inline __u32 pa_walk_code_kind(struct pa_walk *w, __u64 addr)
{
	const struct finish *f = w->env;
	const struct mapping *m = process_mapping(f->process, addr, f->time_ns);
	const struct unwind_file *file = m ? unwind_files_get(&f->u->files, m) : NULL;

	if (!m)
		return PA_CODE_NONE;
	return file && file->state != UNWIND_NONE ? PA_CODE_TABLE : PA_CODE_BARE;
}

enum pa_record_place finish_record_at(struct finish *f, uint64_t pc)
{
	struct pa_walk w = { .pc = pc, .env = f };

	return (enum pa_record_place)pa_record_at(&w);
}

bool finish_can_return_to(struct finish *f, uint64_t pc)
{
	struct pa_walk w = { .env = f };

	return pa_can_return_to(&w, pc);
}

bool unwinder_is_called(struct unwinder *u, const struct process *p, uint64_t pc, uint64_t time_ns)
{
	static const struct stack_copy nothing;
	struct finish f = { .u = u, .process = p, .time_ns = time_ns, .stack = &nothing };

	return finish_can_return_to(&f, pc);
}

bool finish_may_skip(struct finish *f, uint64_t sp, uint64_t fp)
{
	struct pa_walk w = { .sp = sp, .fp = fp, .has_fp = 1, .nr_looked = f->nr_looked, .env = f };
	bool may = pa_walk_may_skip(&w);

	f->nr_looked = w.nr_looked;
	return may;
}

bool finish_agrees(struct finish *f, const struct finish_frame *frame, pa_rule rule)
{
	struct pa_walk w = { .sp = frame->sp, .fp = frame->fp, .has_fp = frame->has_fp, .env = f };

	return pa_walk_agrees(&w, rule);
}

#if defined(__x86_64__)
bool finish_call_before(struct finish *f, uint64_t pc, uint64_t *ret_target)
{
	struct pa_walk w = { .env = f };
	uint64_t before;

	if (!pa_is_user_addr(pc) || pa_walk_code_kind(&w, pc - 1) == PA_CODE_NONE)
		return false;
	before = pa_code_before(&w, pc);
	*ret_target = (before >> 24 & 0xff) == PA_X86_CALL
			      ? pc + (uint64_t)(int64_t)(int32_t)(before >> 32)
			      : 0;
	return pa_is_behind_call(before);
}
#endif

bool finish_is_code(struct finish *f, uint64_t addr)
{
	return process_mapping(f->process, addr, f->time_ns) != NULL;
}

bool finish_cfa(struct finish *f, const struct finish_frame *frame, pa_rule rule, uint64_t *ret_cfa)
{
	struct pa_walk w = {
		.pc = frame->pc, .sp = frame->sp, .fp = frame->fp, .has_fp = frame->has_fp, .env = f
	};
	__u64 cfa = 0;
	bool has = pa_walk_cfa(&w, rule, &cfa) == 0;

	*ret_cfa = cfa;
	return has;
}

static bool next_frame(struct pa_walk *w, struct finish *f)
{
	f->is_sp_low = false;
	if (!pa_walk_frame(w))
		return false;
	w->is_sp_low |= f->is_sp_low;
	return true;
}

bool finish_step(struct finish *f, struct finish_frame *frame, uint32_t *ret_stop)
{
	struct pa_walk w = { .pc = frame->pc,
			     .sp = frame->sp,
			     .fp = frame->fp,
			     .nr = 1,
			     .has_fp = frame->has_fp,
			     .is_sp_low = frame->is_sp_low,
			     .env = f };
	bool has = next_frame(&w, f);

	*ret_stop = w.stop;
	*frame = (struct finish_frame){ w.pc, w.sp, w.fp, w.has_fp, w.is_sp_low, w.is_exact };
	return has;
}

/* If no rule says how to continue, the stack contents may. */
static bool continue_by_scan(struct finish *f, struct pa_walk *w)
{
	struct finish_frame frame = { w->pc, w->sp, w->fp, w->has_fp, w->is_sp_low, w->is_exact };
	struct finish_caller caller;

	if (!w->is_bare || (w->stop != PA_STOP_FP_END && w->stop != PA_STOP_NO_RECORD) ||
	    !finish_scan(f, &frame, &caller))
		return false;
	if (caller.rule != PA_RULE_WORD_NONE)
		return pa_walk_by_rule(w, caller.rule);
	w->has_fp = 0;
	return pa_walk_enter(w, caller.pc, caller.sp, 0, 0);
}

static void begin_light(struct pa_walk *w, struct finish *f)
{
	const struct pa_stack_regs *r = &f->stack->regs;

	*w = (struct pa_walk){ .pc = r->pc,
			       .sp = r->sp,
			       .fp = r->regs[PA_REG_FP],
			       .lr = r->lr,
			       .nr = 1,
			       .is_exact = !f->stack->is_in_syscall,
			       .has_fp = 1,
			       .has_regs = 1,
			       .has_lr = 1,
			       .go = r->go,
			       .env = f };
	memcpy(w->regs, r->regs, sizeof(w->regs));
}

static void finish_light(struct finish *f, struct finished_walk *ret_walk)
{
	struct pa_walk w;

	begin_light(&w, f);
	ret_walk->pcs[0] = w.pc | PA_PC_EXACT;
	while (next_frame(&w, f) || continue_by_scan(f, &w)) {
		ret_walk->pcs[w.nr - 1] = w.pc | (w.is_exact ? PA_PC_EXACT : 0);
		if (w.is_interrupted)
			ret_walk->pcs[w.nr - 2] |= PA_PC_EXACT;
	}
	ret_walk->nr = w.nr;
	ret_walk->stop = (uint8_t)w.stop;
}

/* Registers that a walk has dropped cannot be recovered: the walk with all registers starts
 * again. */
int unwinder_finish(struct unwinder *u, const struct process *p, uint64_t time_ns,
		    const struct stack_copy *stack, struct finished_walk *ret_walk)
{
	struct finish f = { .u = u, .process = p, .time_ns = time_ns, .stack = stack };

	finish_light(&f, ret_walk);
	if (ret_walk->stop == PA_STOP_HARD_RULE)
		finish_full(&f, ret_walk);
	if (ret_walk->stop == PA_STOP_STACK_FAULT && f.is_past_copy)
		ret_walk->stop = stack->stop;
	ret_walk->missing = f.missing;
	if (f.waits && !stack->must_end)
		return -EAGAIN;
	return 0;
}
