/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind_files.h"

#include <errno.h>

#include "agent/debug_search.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"

/* How far below the limit dropping goes: each time that something is dropped, every process is
 * looked at. */
#define TRIM_TO(max) ((max) / 8 * 7)
#define KERNEL_BONUS_NS NS_PER_S
/* All files of a machine have a tenth of the rules that there is room for: where that is not enough,
 * somebody makes them up. Only what is not in use has to go for another one's rules, or all would
 * go in turns. */
#define RULES_IDLE_NS (10 * NS_PER_S)

int unwind_files_init(struct unwind_files *u, const struct unwind_files_config *cfg)
{
	int r;

	*u = (struct unwind_files){ .store = cfg->store,
				    .tables = cfg->tables,
				    .log = cfg->log,
				    .max_bytes = cfg->max_bytes };
	r = shared_rules_init(&u->rules, cfg->tables);
	if (r == 0)
		r = table_worker_new(cfg->is_inline, &u->worker);
	if (r < 0)
		shared_rules_done(&u->rules);
	return r;
}

static void unwind_file_done(struct unwind_file *f)
{
	compiled_file_done(&f->made);
	free(f->rules.ids);
}

void unwind_files_done(struct unwind_files *u)
{
	table_worker_free(u->worker);
	for (uint32_t i = 0; i < u->nr; i++)
		unwind_file_done(&u->files[i]);
	unwind_file_done(&u->vdso);
	for (uint32_t i = 0; i < NR_TRAMPOLINES; i++)
		unwind_file_done(&u->trampolines[i]);
	free(u->files);
	shared_rules_done(&u->rules);
	*u = (struct unwind_files){ 0 };
}

uint32_t unwind_files_number(const struct mapping *m)
{
	if (m->kind == MAPPING_TRAMPOLINE)
		return UNWIND_TRAMPOLINE(m->file);
	return m->kind == MAPPING_VDSO ? UNWIND_VDSO : m->file;
}

/* NULL: nothing was ever asked about it. */
static struct unwind_file *by_number(const struct unwind_files *u, uint32_t number)
{
	if (number == UNWIND_VDSO)
		return (struct unwind_file *)(uintptr_t)&u->vdso;
	if (number >= UNWIND_TRAMPOLINE(NR_TRAMPOLINES - 1))
		return (struct unwind_file *)(uintptr_t)&u->trampolines[UNWIND_VDSO - 1 - number];
	return number < u->nr ? &u->files[number] : NULL;
}

struct unwind_file *unwind_files_get(struct unwind_files *u, const struct mapping *m)
{
	if (m->kind == MAPPING_VDSO)
		return &u->vdso;
	if (m->kind == MAPPING_TRAMPOLINE)
		return &u->trampolines[m->file];
	if (m->kind != MAPPING_FILE)
		return NULL;
	if (ARRAY_RESERVE(u->files, u->cap, m->file + 1, UINT32_MAX) < 0)
		return NULL;
	while (u->nr <= m->file)
		u->files[u->nr++] = (struct unwind_file){ 0 };
	return &u->files[m->file];
}

static bool is_known(const struct unwind_file *f)
{
	return !f || f->state == UNWIND_READY || f->state == UNWIND_NONE;
}

bool unwind_files_is_awaited(const struct unwind_files *u, uint32_t number)
{
	const struct unwind_file *f = by_number(u, number);

	return f && (f->state == UNWIND_ASKED || f->state == UNWIND_COMPILING);
}

bool unwind_files_ask(struct unwind_files *u, const struct mapping *m)
{
	struct unwind_file *f = unwind_files_get(u, m);

	if (is_known(f))
		return true;
	if (f->state == UNWIND_NOT_ASKED) {
		f->state = UNWIND_ASKED;
		f->nr_waiting = 0;
		u->nr_asked++;
	}
	f->nr_waiting += f->nr_waiting < UINT32_MAX;
	return false;
}

void unwind_files_use(struct unwind_files *u, const struct mapping *m, uint64_t time_ns)
{
	struct unwind_file *f = m->kind == MAPPING_FILE && m->file < u->nr ? &u->files[m->file]
									   : NULL;

	if (f && f->used_ns < time_ns)
		f->used_ns = time_ns;
}

/* ---- the worker ---- */

/* The one that most walks wait for. */
static uint32_t next_asked(const struct unwind_files *u)
{
	uint32_t best = UNWIND_VDSO;
	uint32_t nr_waiting = u->vdso.state == UNWIND_ASKED ? u->vdso.nr_waiting : 0;

	for (uint32_t i = 0; i < u->nr; i++) {
		if (u->files[i].state != UNWIND_ASKED || u->files[i].nr_waiting <= nr_waiting)
			continue;
		best = i;
		nr_waiting = u->files[i].nr_waiting;
	}
	for (uint32_t i = 0; i < NR_TRAMPOLINES; i++)
		if (u->trampolines[i].state == UNWIND_ASKED)
			return UNWIND_TRAMPOLINE(i);
	return best;
}

static int give(struct unwind_files *u, uint32_t number)
{
	const struct file *file = number < u->nr ? filestore_get(u->store, number) : NULL;
	struct debug_query where = { 0 };

	if (file)
		where = debug_search_query(u->store, file);
	return table_worker_give(u->worker, number, file, &where);
}

void unwind_files_give(struct unwind_files *u)
{
	while (u->nr_asked) {
		uint32_t number = next_asked(u);
		int r = give(u, number);

		if (r == -EAGAIN)
			return;
		by_number(u, number)->state = r < 0 ? UNWIND_NONE : UNWIND_COMPILING;
		u->nr_asked--;
		u->nr_news += r < 0;
	}
}

/* Its rules into the dictionary, which may have no room for some of them. */
static void keep_rules(struct unwind_files *u, struct unwind_file *f, struct table_job *job)
{
	struct unwind_table *t = job->made.table;

	if (!t)
		return;
	if (shared_rules_enter(&u->rules, t, job->dict.rules, job->dict.nr, &f->rules) < 0) {
		job->made.table = unwind_table_free(t);
		job->has_failed = true;
		return;
	}
	u->stats.nr_short += f->rules.nr_refused > 0;
	u->needs_rules = u->needs_rules || f->rules.nr_refused;
}

static size_t table_bytes(const struct unwind_table *t)
{
	return t->nr_rows * sizeof(*t->rows) + t->nr_blocks * sizeof(*t->blocks);
}

static void tell(const struct unwind_files *u, const struct table_job *job)
{
	const struct file *file = job->file < u->nr ? filestore_get(u->store, job->file) : NULL;
	const struct unwind_table *t = job->made.table;

	log_debug(u->log, "unwind: '%s': %u rows%s%s",
		  file                       ? file->path
		  : job->file == UNWIND_VDSO ? "[vdso]"
					     : "[trampolines]",
		  t ? t->nr_rows : 0, t ? "" : ", using frame pointers",
		  job->made.was_changed ? ": it was changed" : "");
}

static void accept(struct unwind_files *u, struct table_job *job)
{
	struct unwind_file *f = by_number(u, job->file);

	keep_rules(u, f, job);
	tell(u, job);
	compiled_file_done(&f->made);
	f->made = job->made;
	job->made = (struct compiled_file){ 0 };
	f->state = f->made.table ? UNWIND_READY : job->has_failed ? UNWIND_NOT_ASKED : UNWIND_NONE;
	f->used_ns = clock_mono_ns();
	f->was_refused = false;
	if (f->made.table) {
		f->base = f->made.table->base;
		f->bytes = table_bytes(f->made.table);
		u->bytes += f->bytes;
	}
	if (u->bytes > u->stats.peak_bytes)
		u->stats.peak_bytes = u->bytes;
	u->stats.nr_recompiled += f->was_compiled;
	u->stats.nr_compiled += !f->was_compiled;
	f->was_compiled = true;
	u->nr_news++;
}

void unwind_files_take(struct unwind_files *u)
{
	struct table_job job;

	while (table_worker_take(u->worker, &job)) {
		accept(u, &job);
		table_job_done(&job);
	}
}

bool unwind_files_wait(struct unwind_files *u)
{
	bool is_there;

	unwind_files_give(u);
	is_there = table_worker_wait(u->worker);
	unwind_files_take(u);
	return is_there;
}

/* ---- the kernel's copy ---- */

/* The rows live once: here until they are in the kernel, where we can read them too. */
bool unwind_files_send(struct unwind_files *u, struct unwind_file *f)
{
	const struct unwind_table *t = f->made.table;
	struct table_data d;

	if (f->is_in_kernel || !u->tables)
		return f->is_in_kernel;
	d = (struct table_data){ t->rows, t->nr_rows, t->blocks, t->nr_blocks };
	f->is_in_kernel = tables_add(u->tables, &d, &f->slot) == 0;
	if (f->is_in_kernel) {
		f->made.table = unwind_table_free(f->made.table);
		return true;
	}
	u->needs_room = true;
	u->stats.nr_refused += !f->was_refused;
	f->was_refused = true;
	return false;
}

/* Where there is not room for all that is in use, some stay in the kernel: there a table serves every
 * walk, and what takes its place has to wait until it is free. */
static uint64_t worth(const struct unwind_file *f)
{
	return f->used_ns + (f->is_in_kernel ? KERNEL_BONUS_NS : 0);
}

static struct unwind_file *least_used(struct unwind_files *u)
{
	struct unwind_file *least = NULL;

	for (uint32_t i = 0; i < u->nr; i++)
		if (u->files[i].bytes && (!least || worth(&u->files[i]) < worth(least)))
			least = &u->files[i];
	return least;
}

/* What else is known of the file stays: it is little, and old walks may ask for it. Whether every
 * list that names the table must be replaced. */
static bool drop_table(struct unwind_files *u, struct unwind_file *f)
{
	bool was_in_kernel = f->is_in_kernel;
	uint64_t ticket = was_in_kernel ? tables_retire(u->tables, &f->slot) : 0;

	shared_rules_leave(&u->rules, &f->rules, was_in_kernel ? &ticket : NULL);
	f->made.table = unwind_table_free(f->made.table);
	u->bytes -= f->bytes;
	f->bytes = 0;
	f->is_in_kernel = false;
	f->state = UNWIND_NOT_ASKED;
	u->nr_news++;
	return was_in_kernel;
}

static bool evict(struct unwind_files *u, struct unwind_file *f)
{
	u->stats.nr_evicted++;
	return drop_table(u, f);
}

static bool trim_bytes(struct unwind_files *u)
{
	struct unwind_file *f;
	bool was_in_kernel = false;
	size_t max = u->max_bytes;

	/* What was dropped a moment ago is not free yet: to drop more would not help. */
	if (u->needs_room && !(u->tables && tables_has_retired(u->tables)))
		max = u->bytes - 1;
	u->needs_room = false;
	if (u->bytes <= max)
		return false;
	max = max < u->max_bytes ? TRIM_TO(max) : TRIM_TO(u->max_bytes);
	while (u->bytes > max && (f = least_used(u)))
		was_in_kernel |= evict(u, f);
	return was_in_kernel;
}

/* ---- the dictionary's room ---- */

/* Tables that could have all of their rules by now are dropped: the next walk asks for them anew. */
static bool drop_short(struct unwind_files *u)
{
	uint32_t room = rule_dict_room(&u->rules.dict);
	bool was_in_kernel = false;

	u->needs_rules = false;
	for (uint32_t i = 0; i < u->nr; i++) {
		struct unwind_file *f = &u->files[i];

		if (!f->rules.nr_refused)
			continue;
		if (f->rules.nr_refused > room) {
			u->needs_rules = true;
			continue;
		}
		room -= f->rules.nr_refused;
		was_in_kernel |= drop_table(u, f);
	}
	return was_in_kernel;
}

static bool drop_idle(struct unwind_files *u)
{
	uint64_t now = clock_mono_ns();
	bool was_in_kernel = false;

	for (uint32_t i = 0; i < u->nr; i++) {
		struct unwind_file *f = &u->files[i];

		if (f->bytes && now > f->used_ns && now - f->used_ns >= RULES_IDLE_NS)
			was_in_kernel |= evict(u, f);
	}
	return was_in_kernel;
}

static bool trim_rules(struct unwind_files *u)
{
	bool was_in_kernel;

	if (!u->needs_rules)
		return false;
	was_in_kernel = drop_short(u);
	if (u->needs_rules)
		was_in_kernel |= drop_idle(u);
	return was_in_kernel;
}

bool unwind_files_trim(struct unwind_files *u)
{
	bool was_in_kernel = trim_rules(u);

	return trim_bytes(u) || was_in_kernel;
}

bool unwind_files_age(struct unwind_files *u)
{
	bool has_room = u->tables && tables_age(u->tables);

	shared_rules_age(&u->rules);
	return has_room;
}

/* ---- questions ---- */

pa_rule unwind_file_rule(const struct unwind_files *u, const struct unwind_file *f, uint64_t addr)
{
	uint32_t id;

	if (f->is_in_kernel)
		id = tables_find(u->tables, &f->slot, f->base, addr);
	else
		id = unwind_table_find_id(f->made.table, addr);
	return u->rules.dict.rules[id];
}

bool unwind_file_is_root(const struct unwind_file *f, const struct mapping *m, uint64_t addr)
{
	uint64_t bias;

	if (unwind_file_bias(f, m, &bias) < 0)
		return false;
	for (uint32_t i = 0; i < f->made.nr_roots; i++)
		if (addr - bias >= f->made.roots[i].start && addr - bias < f->made.roots[i].end)
			return true;
	return false;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Bytes of a segment that the mapping shows. */
static uint64_t shown_bytes(const struct mapping *m, const struct elf_segment *s)
{
	uint64_t size = m->end - m->start, skipped;

	if (s->offset >= m->offset) {
		skipped = smaller(s->offset - m->offset, size);
		return smaller(s->filesz, size - skipped);
	}
	skipped = smaller(m->offset - s->offset, s->filesz);
	return smaller(s->filesz - skipped, size);
}

/* By the segment that the mapping shows most of: pages before and behind it may come along. */
int unwind_file_bias(const struct unwind_file *f, const struct mapping *m, uint64_t *ret_bias)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < f->made.nr_loads; i++) {
		const struct elf_segment *s = &f->made.loads[i];
		uint64_t shown = shown_bytes(m, s);

		if (shown <= most)
			continue;
		most = shown;
		*ret_bias = m->start - m->offset + s->offset - s->vaddr;
	}
	return most ? 0 : -ENOENT;
}
