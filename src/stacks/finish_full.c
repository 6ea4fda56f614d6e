/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a copied stack with all registers, for which the kernel's walker has no room. */
#include <elf.h>
#include <errno.h>

#include "stacks/finish_internal.h"
#include "stacks/full_files.h"
#include "unwind/full_row.h"
#include "unwind/full_walk.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#error "no such architecture"
#endif

static int read_stack(void *ctx, uint64_t addr, void *to, size_t size)
{
	return finish_read(ctx, addr, to, size);
}

static uint32_t find_rule(void *ctx, uint64_t pc, pa_rule *ret_word, struct cfi_full_row *ret_row)
{
	struct finish *f = ctx;
	struct finish_code code;
	uint32_t stop = finish_find(f, pc, &code);
	uint32_t kind;
	int r;

	if (stop)
		return stop;
	*ret_word = code.word;
	kind = PA_RULE_CFA_KIND(code.word);
	if (kind == PA_CFA_NONE || kind == PA_CFA_END || kind == PA_CFA_SIGNAL ||
	    kind == PA_CFA_SWITCH)
		return 0;
	r = full_files_rules_at(f->u->full, code.mapping, code.addr, ret_row);
	if (r == -ENOENT)
		ret_row->nr_regs = 0; /* the word has another source, or the file is gone */
	return r < 0 && r != -ENOENT ? PA_STOP_HARD_RULE : 0;
}

static enum pa_record_place record_at(void *ctx, uint64_t pc)
{
	return finish_record_at(ctx, pc);
}

static bool can_return_to(void *ctx, uint64_t pc)
{
	return finish_can_return_to(ctx, pc);
}

static bool learn_rule(void *ctx, const struct full_walk *w, pa_rule *ret_word)
{
	return finish_learn(ctx,
			    &(struct finish_frame){ w->at.pc, w->at.sp, w->at.fp, w->at.has_fp,
						    w->at.is_sp_low, w->at.is_exact },
			    ret_word);
}

static bool may_skip(void *ctx, uint64_t sp, uint64_t fp)
{
	return finish_may_skip(ctx, sp, fp);
}

static bool next_frame(struct full_walk *w, struct finish *f)
{
	f->is_sp_low = false;
	if (!full_walk_frame(w))
		return false;
	w->at.is_sp_low |= f->is_sp_low;
	return true;
}

void finish_full(struct finish *f, struct finished_walk *ret_walk)
{
	static const struct full_walk_source source = { read_stack,    find_rule,  record_at,
							can_return_to, learn_rule, may_skip };
	const struct pa_stack_regs *r = &f->stack->regs;
	struct full_walk w;

	full_walk_init(&w, unwind_arch_of(MACHINE), r->pc, (const uint64_t *)r->regs,
		       sizeof(r->regs) / sizeof(r->regs[0]));
	w.at.is_exact = !f->stack->is_in_syscall;
	w.at.go = r->go;
	w.source = &source;
	w.ctx = f;
	ret_walk->pcs[0] = w.at.pc | PA_PC_EXACT;
	while (next_frame(&w, f)) {
		ret_walk->pcs[w.at.nr - 1] = w.at.pc | (w.at.is_exact ? PA_PC_EXACT : 0);
		if (w.at.is_interrupted)
			ret_walk->pcs[w.at.nr - 2] |= PA_PC_EXACT;
	}
	ret_walk->nr = w.at.nr;
	ret_walk->stop = (uint8_t)w.at.stop;
}
