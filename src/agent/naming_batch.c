/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/naming_batch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "agent/source.h"
#include "base/array.h"
#include "base/clock.h"
#include "elf/elf_image.h"

/* When somebody wants to see the end, all sources together may take so long, and then each this. */
#define HURRY_NS (NS_PER_S / 2)
#define HURRY_EACH_NS (5 * NS_PER_MS)

void naming_batch_clear(struct naming_batch *b)
{
	free(TAKE(b->answers));
	free(TAKE(b->frames));
	strtab_done(&b->strings);
	b->strings = (struct strtab){ 0 };
	b->nr_frames = b->cap_frames = 0;
}

bool naming_is_over(const struct naming_env *env)
{
	return atomic_load_explicit(&env->is_over, memory_order_relaxed) ||
	       (env->cancel && atomic_load_explicit(env->cancel, memory_order_relaxed));
}

static const struct profile_mapping *mapping_of(const struct naming_part *part)
{
	return part->has_mapping ? &part->mapping : NULL;
}

/* The source's address for a location's: link-time for files, as it is otherwise. -ENOENT: the file
 * has no code there. */
static int source_address(const struct source *s, const struct profile_mapping *m, uint64_t address,
			  uint64_t *ret_addr)
{
	if (m && s->image)
		return elf_image_vaddr_of(s->image, address - m->start + m->file_offset, ret_addr);
	*ret_addr = address;
	return 0;
}

static enum naming_failure failure_of(const struct source *s, const struct profile_mapping *m)
{
	bool is_raw = symbolizer_is_raw(s->symbolizer);

	if (s->is_replaced)
		return NAMING_NO_ROOM;
	if (!m)
		return NAMING_NO_MAPPING;
	switch (m->kind) {
	case PROFILE_MAPPING_KERNEL:
		return is_raw ? NAMING_NO_KERNEL_LIST : NAMING_NO_KERNEL_SYMBOL;
	case PROFILE_MAPPING_JIT:
		return NAMING_NO_JIT_MAP;
	case PROFILE_MAPPING_FILE:
	case PROFILE_MAPPING_VDSO:
		break;
	}
	return is_raw ? NAMING_NO_FILE : NAMING_NO_SYMBOL;
}

static int keep_frame(struct naming_batch *b, const struct symbol_frame *f)
{
	struct naming_frame to = { .line = f->line, .start_line = f->start_line };
	int r = strtab_intern(&b->strings, f->name, &to.name);

	if (r == 0)
		r = strtab_intern(&b->strings, f->system_name, &to.system_name);
	if (r == 0 && f->filename)
		r = strtab_intern(&b->strings, f->filename, &to.filename);
	if (r == 0)
		b->frames[b->nr_frames++] = to;
	return r;
}

int naming_batch_keep(struct naming_batch *b, const struct symbol_result *res,
		      struct naming_answer *to)
{
	uint32_t nr = res->nr_frames < PROFILE_MAX_LINES ? res->nr_frames : PROFILE_MAX_LINES;
	uint32_t first = b->nr_frames;
	int r = ARRAY_RESERVE(b->frames, b->cap_frames, (size_t)first + nr, PROFILE_MAX_THINGS);

	for (uint32_t i = 0; i < nr && r == 0; i++)
		r = keep_frame(b, &res->frames[i]);
	if (r < 0) {
		b->nr_frames = first;
		return r;
	}
	to->first_frame = first;
	to->nr_frames = nr;
	to->is_named = res->is_named;
	to->is_raw = res->is_raw;
	return 0;
}

static int resolve(struct symbolizer *s, uint64_t addr, uint64_t version, struct symbol_result *res)
{
	if (version && s->ops->resolve_version)
		return s->ops->resolve_version(s, addr, version, res);
	return s->ops->resolve(s, addr, res);
}

static int keep_raw(struct naming_batch *b, uint64_t address, struct naming_answer *to)
{
	char text[sizeof("0x") + 16];
	struct symbol_frame frame = { .name = text, .system_name = text };
	struct symbol_result res = { .frames = &frame, .nr_frames = 1, .is_raw = true };

	(void)snprintf(text, sizeof(text), "0x%" PRIx64, address);
	to->failure = NAMING_NO_SYMBOL;
	return naming_batch_keep(b, &res, to);
}

static int ask(struct naming_batch *b, const struct source *s, const struct profile_mapping *m,
	       const struct naming_item *item, struct naming_answer *to)
{
	struct symbol_result res;
	uint64_t addr;
	int r;

	if (!s->symbolizer)
		return -ENOMEM;
	if (source_address(s, m, item->address, &addr) < 0)
		return keep_raw(b, item->address, to);
	r = resolve(s->symbolizer, addr, item->version, &res);
	if (r == 0)
		r = naming_batch_keep(b, &res, to);
	if (r < 0)
		return r;
	if (!res.is_named)
		to->failure = res.is_reused ? NAMING_REUSED : failure_of(s, m);
	return 0;
}

/* What the source cannot name for want of memory is raw; what even so finds no room has no answer. */
static int ask_somehow(struct naming_batch *b, struct source *s, const struct profile_mapping *m,
		       const struct naming_item *item, struct naming_answer *to)
{
	int r = ask(b, s, m, item, to);

	if (!source_is_about_size(r))
		return r;
	if (s->symbolizer)
		source_replace(s, r);
	r = ask(b, s, m, item, to);
	return source_is_about_size(r) ? 0 : r;
}

static int ask_part(const struct naming_env *env, struct naming_batch *b, struct source *s,
		    struct naming_part *part, struct naming_answer *answers)
{
	int r = 0;

	for (uint32_t i = 0; i < part->nr_items && r == 0; i++)
		r = naming_is_over(env)
			    ? -ECANCELED
			    : ask_somehow(b, s, mapping_of(part), &part->items[i], &answers[i]);
	part->note.why = s->symbolizer ? s->symbolizer->missing_why : SOURCE_NO_MEMORY;
	part->note.cure = s->symbolizer ? s->symbolizer->missing_cure : NULL;
	return r;
}

static bool is_fallback(const struct source *s, const struct profile_mapping *m)
{
	bool is_raw = !s->symbolizer || symbolizer_is_raw(s->symbolizer);

	return s->is_fallback || s->is_replaced || (m && m->kind != PROFILE_MAPPING_JIT && is_raw);
}

static int ask_all(const struct naming_env *env, struct naming_batch *b, struct source *s)
{
	struct naming_answer *answers = b->answers;
	int r = 0;

	for (uint32_t i = 0; i < b->nr_parts && r == 0; i++) {
		r = ask_part(env, b, s, &b->parts[i], answers);
		answers += b->parts[i].nr_items;
	}
	return r;
}

static int make_room(struct naming_batch *b)
{
	b->answers = calloc(b->nr_items, sizeof(*b->answers));
	return b->answers ? strtab_init(&b->strings) : -ENOMEM;
}

static void give_up(struct naming_batch *b)
{
	naming_batch_clear(b);
	for (uint32_t i = 0; i < b->nr_parts; i++)
		b->parts[i].note.why = SOURCE_NO_MEMORY;
	b->is_fallback = true;
}

bool naming_is_wished(const void *wish)
{
	const struct naming_wish *w = wish;
	const atomic_bool *hurry = w->env->c->cfg.hurry;
	atomic_ullong *since = (atomic_ullong *)(uintptr_t)&w->env->hurried_ns;
	unsigned long long began = 0, now;

	if (naming_is_over(w->env))
		return true;
	if (!hurry || !atomic_load_explicit(hurry, memory_order_relaxed))
		return false;
	now = clock_mono_ns();
	if (atomic_compare_exchange_strong(since, &began, now))
		began = now;
	return now - began > HURRY_NS && now - w->began_ns > HURRY_EACH_NS;
}

static void charge_owner(struct naming_env *env, const struct source *s, uint64_t cpu_ns)
{
	uint64_t lines_ns = s->lines_cpu_ns < cpu_ns ? s->lines_cpu_ns : cpu_ns;

	naming_owners_charge(&env->owners, NAMING_LINES, s->root, s->user, lines_ns);
	naming_owners_charge(&env->owners, NAMING_SYMBOLS, s->root, s->user, cpu_ns - lines_ns);
}

static int open_and_ask(struct naming_env *env, struct naming_batch *b)
{
	const struct profile_mapping *m = mapping_of(&b->parts[0]);
	struct naming_wish wish = { env, clock_mono_ns() };
	struct cancel cancel = { naming_is_wished, &wish };
	uint64_t began_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct source s = SOURCE_NONE;
	int r;

	s.budget = &env->budget;
	s.cancel = &cancel;
	s.owners = &env->owners;
	r = source_open(env->c, m, &s);
	if (r == -ECANCELED && !naming_is_over(env))
		r = source_open_raw(&s, "reading what tells its names was interrupted", NULL);
	if (r == 0)
		r = ask_all(env, b, &s);
	b->is_fallback = is_fallback(&s, m);
	b->lines_why = s.symbolizer ? s.symbolizer->lines_why : NULL;
	b->limit_why = s.symbolizer ? s.symbolizer->limit_why : NULL;
	if (s.is_foreign)
		charge_owner(env, &s, clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_cpu_ns);
	b->jit_counts = s.jit_counts;
	b->waited_ns = s.waited_ns;
	source_done(&s);
	return r;
}

void naming_batch_run(struct naming_env *env, struct naming_batch *b)
{
	uint64_t began_ns = clock_mono_ns();

	if (naming_is_over(env))
		b->result = -ECANCELED;
	else if (make_room(b) < 0)
		give_up(b);
	else
		b->result = open_and_ask(env, b);
	b->took_ns = clock_mono_ns() - began_ns - b->waited_ns;
}
