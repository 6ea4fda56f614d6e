/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's walker once more, in user space: on a copy of the stack, with every table there is. */
#include <errno.h>

#include "agent/finish_internal.h"
#include "bpf/walk.h"

/* Above what was copied a walk may look for the rest of the stack; farther away, it is lost. */
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

/* The code at the sampled pc comes along with the registers. */
static bool read_code(const struct pa_stack_regs *r, uint64_t addr, void *to, size_t size)
{
	uint64_t offset = addr - (r->pc - PA_CODE_BYTES / 2);

	if (offset > PA_CODE_BYTES || size > PA_CODE_BYTES - offset)
		return false;
	memcpy(to, r->code + offset, size);
	return true;
}

/* Code of files stays what it is there. */
static bool read_file(const struct finish *f, uint64_t addr, void *to, size_t size)
{
	const struct mapping *m = process_mapping(f->process, addr, f->time_ns);
	int fd;

	if (!m || m->kind != MAPPING_FILE || size > m->end - addr)
		return false;
	fd = filestore_get(f->u->files.store, m->file)->fd;
	return fd >= 0 &&
	       pread(fd, to, size, (off_t)(m->offset + (addr - m->start))) == (ssize_t)size;
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

		if (!p && read_file(f, addr, at, size))
			return 0;
		if (!p) {
			f->is_cut = is_in_rest(f->stack, addr);
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

	if (!stop)
		*rule = code.word;
	return stop;
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

static void begin(struct pa_walk *w, struct finish *f)
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
			       .env = f };
	memcpy(w->regs, r->regs, sizeof(w->regs));
}

static void finish_light(struct finish *f, struct finished_walk *ret_walk)
{
	struct pa_walk w;

	begin(&w, f);
	ret_walk->pcs[0] = w.pc | PA_PC_EXACT;
	while (pa_walk_frame(&w)) {
		ret_walk->pcs[w.nr - 1] = w.pc | (w.is_exact ? PA_PC_EXACT : 0);
		if (w.is_interrupted)
			ret_walk->pcs[w.nr - 2] |= PA_PC_EXACT;
	}
	ret_walk->nr = w.nr;
	ret_walk->stop = (uint8_t)w.stop;
}

/* Registers that a walk has let go of cannot be had later: with all of them it begins anew. */
int unwinder_finish(struct unwinder *u, const struct process *p, uint64_t time_ns,
		    const struct stack_copy *stack, struct finished_walk *ret_walk)
{
	struct finish f = { .u = u, .process = p, .time_ns = time_ns, .stack = stack };

	finish_light(&f, ret_walk);
	if (ret_walk->stop == PA_STOP_HARD_RULE)
		finish_full(&f, ret_walk);
	if (ret_walk->stop == PA_STOP_STACK_FAULT && f.is_cut)
		ret_walk->stop = stack->stop;
	ret_walk->missing = f.missing;
	if (f.waits && !stack->must_end)
		return -EAGAIN;
	return 0;
}
