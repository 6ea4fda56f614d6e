/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/unwind_files.h"

#include <errno.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "debugfiles/debug_search.h"

#define FIRST_CPU_NS (10 * NS_PER_S) /* CPU time for compiling, at any rate */
#define CPU_SHARE 4                  /* afterwards the time of one CPU, divided by this */

int unwind_files_init(struct unwind_files *u, const struct unwind_files_config *cfg)
{
	int r;

	*u = (struct unwind_files){ .store = cfg->store,
				    .log = cfg->log,
				    .began_ns = clock_mono_ns() };
	r = shared_tables_init(&u->tables, cfg->tables, cfg->max_bytes);
	if (r == 0)
		r = table_worker_new(cfg->is_inline, cfg->cancel, &u->worker);
	if (r < 0)
		shared_tables_done(&u->tables);
	return r;
}

static void lose_table(struct unwind_files *u, struct unwind_file *f)
{
	shared_tables_let_go(&u->tables, f->table);
	f->table = NULL;
	f->state = UNWIND_NOT_ASKED;
}

static void unwind_file_done(struct unwind_files *u, struct unwind_file *f)
{
	lose_table(u, f);
	compiled_file_done(&f->made);
}

static void forget_table(struct unwind_files *u, uint32_t number)
{
	struct unwind_file *f = number < u->nr ? u->files[number] : NULL;

	if (!f)
		return;
	unwind_file_done(u, f);
	free(f);
	u->files[number] = NULL;
}

void unwind_files_done(struct unwind_files *u)
{
	table_worker_free(u->worker);
	for (uint32_t i = 0; i < u->nr; i++)
		forget_table(u, i);
	unwind_file_done(u, &u->vdso);
	for (uint32_t i = 0; i < NR_TRAMPOLINES; i++)
		unwind_file_done(u, &u->trampolines[i]);
	free(u->files);
	shared_tables_done(&u->tables);
	*u = (struct unwind_files){ 0 };
}

uint32_t unwind_files_number(const struct mapping *m)
{
	if (m->kind == MAPPING_KNOWN)
		return UNWIND_TRAMPOLINE(m->file);
	return m->kind == MAPPING_VDSO ? UNWIND_VDSO : m->file;
}

/* NULL if never requested. */
static struct unwind_file *by_number(const struct unwind_files *u, uint32_t number)
{
	if (number == UNWIND_VDSO)
		return (struct unwind_file *)(uintptr_t)&u->vdso;
	if (number >= UNWIND_TRAMPOLINE(NR_TRAMPOLINES - 1))
		return (struct unwind_file *)(uintptr_t)&u->trampolines[UNWIND_VDSO - 1 - number];
	return number < u->nr ? u->files[number] : NULL;
}

static bool is_known(const struct unwind_file *f)
{
	return !f || f->state == UNWIND_READY || f->state == UNWIND_NONE;
}

static int copy_made(struct unwind_file *to, const struct unwind_file *from)
{
	struct compiled_file made = from->made;

	made.loads = calloc((size_t)made.nr_loads + 1, sizeof(*made.loads));
	if (!made.loads)
		return -ENOMEM;
	if (made.nr_loads)
		memcpy(made.loads, from->made.loads, made.nr_loads * sizeof(*made.loads));
	compiled_file_done(&to->made);
	to->made = made;
	return 0;
}

/* Uses the result for another path of the same content, if it applies here, too. */
static bool borrow_table(struct unwind_files *u, uint32_t number, uint32_t content)
{
	struct unwind_file *f = u->files[number];
	uint32_t common = content < u->nr && u->files[content] ? u->files[content]->common : 0;
	const struct unwind_file *from = common ? u->files[common - 1] : NULL;

	if (!from || from == f || !is_known(from) || copy_made(f, from) < 0)
		return false;
	f->table = shared_tables_hold(from->table);
	f->state = from->state;
	f->was_compiled = true;
	return true;
}

/* NULL if out of memory. */
static struct unwind_file *add_file(struct unwind_files *u, uint32_t number)
{
	if (ARRAY_RESERVE(u->files, u->cap, number + 1, UINT32_MAX) < 0)
		return NULL;
	while (u->nr <= number)
		u->files[u->nr++] = NULL;
	if (!u->files[number])
		u->files[number] = calloc(1, sizeof(*u->files[0]));
	return u->files[number];
}

static struct unwind_file *get_file(struct unwind_files *u, const struct mapping *m)
{
	struct unwind_file *f = add_file(u, m->file);

	if (f && f->state == UNWIND_NOT_ASKED && borrow_table(u, m->file, m->content))
		u->nr_news++;
	return f;
}

struct unwind_file *unwind_files_get(struct unwind_files *u, const struct mapping *m)
{
	if (m->kind == MAPPING_VDSO)
		return &u->vdso;
	if (m->kind == MAPPING_KNOWN)
		return &u->trampolines[m->file];
	return m->kind == MAPPING_FILE ? get_file(u, m) : NULL;
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
	struct unwind_file *f = m->kind == MAPPING_FILE ? by_number(u, m->file) : NULL;

	if (f && f->table && f->table->used_ns < time_ns)
		f->table->used_ns = time_ns;
}

/* ---- the worker ---- */

/* The file that most walks wait for. */
static uint32_t next_asked(const struct unwind_files *u)
{
	uint32_t best = UNWIND_VDSO;
	uint32_t nr_waiting = u->vdso.state == UNWIND_ASKED ? u->vdso.nr_waiting : 0;

	for (uint32_t i = 0; i < u->nr; i++) {
		const struct unwind_file *f = u->files[i];

		if (!f || f->state != UNWIND_ASKED || f->nr_waiting <= nr_waiting)
			continue;
		best = i;
		nr_waiting = f->nr_waiting;
	}
	for (uint32_t i = 0; i < NR_TRAMPOLINES; i++)
		if (u->trampolines[i].state == UNWIND_ASKED)
			return UNWIND_TRAMPOLINE(i);
	return best;
}

static int give_to_worker(struct unwind_files *u, uint32_t number)
{
	const struct file *file = number < u->nr ? filestore_get(u->store, number) : NULL;
	struct debug_query where = DEBUG_QUERY_NONE;

	if (file)
		where = debug_search_query(u->store, file);
	return table_worker_give(u->worker, number, file, &where);
}

/* Limits compiling to the first seconds, and then to a share of a CPU, because targets can supply
 * any number of new files. Files that were not requested yet wait. */
static bool may_compile(const struct unwind_files *u)
{
	uint64_t elapsed_ns = clock_mono_ns() - u->began_ns;

	return unwind_files_cpu_ns(u) < FIRST_CPU_NS + elapsed_ns / CPU_SHARE;
}

void unwind_files_give(struct unwind_files *u)
{
	while (u->nr_asked && may_compile(u)) {
		uint32_t number = next_asked(u);
		int r;

		if (number < u->nr &&
		    borrow_table(u, number, filestore_get(u->store, number)->content)) {
			u->nr_asked--;
			u->nr_news++;
			continue;
		}
		r = give_to_worker(u, number);
		if (r == -EAGAIN)
			return;
		by_number(u, number)->state = r < 0 ? UNWIND_NONE : UNWIND_COMPILING;
		u->nr_asked--;
		u->nr_news += r < 0;
	}
}

static void log_compiled(const struct unwind_files *u, const struct table_job *job)
{
	const struct file *file = job->file < u->nr ? filestore_get(u->store, job->file) : NULL;
	const struct unwind_table *t = job->made.table;

	if (file && (job->made.end == WORK_OVER_BYTES || job->made.end == WORK_OVER_TIME))
		log_warn(u->log, "unwind: '%s': its unwind table costs more than the limits allow",
			 file->path);
	log_debug(u->log, "unwind: '%s': %u rows%s%s",
		  file                       ? file->path
		  : job->file == UNWIND_VDSO ? "[vdso]"
					     : "[trampolines]",
		  t ? t->nr_rows : 0, t ? "" : ", using frame pointers",
		  job->made.was_changed ? ": it was changed" : "");
}

/* A result from the file alone applies to all paths of the content. */
static void share_table(struct unwind_files *u, uint32_t number)
{
	const struct unwind_file *f = u->files[number];
	struct unwind_file *first;

	if (!is_known(f) || f->made.needs_another || f->made.was_changed)
		return;
	first = add_file(u, filestore_get(u->store, number)->content);
	if (first)
		first->common = number + 1;
}

static void count_dropped(struct unwind_dropped *to, const struct unwind_stats *from)
{
	to->nr_bad += from->nr_bad;
	to->nr_outside += from->nr_outside;
	to->nr_user += from->nr_user;
	to->nr_refused += from->nr_refused;
}

/* Accepts a result. What else is known of the file stays when its table is evicted: it is small,
 * and old walks may need it. */
static void accept_job(struct unwind_files *u, struct table_job *job)
{
	struct unwind_file *f = by_number(u, job->file);
	struct unwind_table *table = TAKE(job->made.table);

	if (table && !f->was_compiled)
		count_dropped(&u->dropped, &table->stats);
	compiled_file_done(&f->made);
	f->made = job->made;
	job->made = (struct compiled_file){ 0 };
	if (table && shared_tables_add(&u->tables, table, &job->dict, &f->table) < 0)
		job->has_failed = true;
	if (f->table)
		f->table->is_fixed = f->table->is_fixed || job->file >= u->nr;
	f->state = f->table ? UNWIND_READY : job->has_failed ? UNWIND_NOT_ASKED : UNWIND_NONE;
	u->nr_recompiled += f->was_compiled;
	u->nr_compiled += !f->was_compiled;
	f->was_compiled = true;
	u->nr_news++;
	if (job->file < u->nr)
		share_table(u, job->file);
}

void unwind_files_take(struct unwind_files *u)
{
	struct table_job job;

	while (table_worker_take(u->worker, &job)) {
		log_compiled(u, &job);
		accept_job(u, &job);
		table_job_done(&job);
	}
}

uint64_t unwind_files_cpu_ns(const struct unwind_files *u)
{
	return table_worker_cpu_ns(u->worker);
}

enum work_end unwind_files_end(const struct unwind_files *u, uint32_t number)
{
	return number < u->nr && u->files[number] ? u->files[number]->made.end : WORK_GOES_ON;
}

bool unwind_files_wait(struct unwind_files *u, uint64_t max_cpu_ns)
{
	bool is_there;

	unwind_files_give(u);
	is_there = table_worker_wait(u->worker, max_cpu_ns);
	unwind_files_take(u);
	return is_there;
}

/* The number will be another file's: from now on no other path of the content may use its
 * result. */
static void unshare_table(struct unwind_files *u, uint32_t number)
{
	uint32_t content = filestore_get(u->store, number)->content;
	struct unwind_file *first = content < u->nr ? u->files[content] : NULL;

	if (first && first->common == number + 1)
		first->common = 0;
}

bool unwind_files_forget(struct unwind_files *u, uint32_t number)
{
	if (unwind_files_is_awaited(u, number))
		return false;
	unshare_table(u, number);
	forget_table(u, number);
	return true;
}

bool unwind_files_trim(struct unwind_files *u)
{
	bool is_named;

	if (!shared_tables_trim(&u->tables, &is_named))
		return false;
	for (uint32_t i = 0; i < u->nr; i++) {
		struct unwind_file *f = u->files[i];

		if (f && f->table && f->table->is_gone)
			lose_table(u, f);
	}
	u->nr_news++;
	return is_named;
}

struct unwind_files_stats unwind_files_stats(const struct unwind_files *u)
{
	return (struct unwind_files_stats){ u->nr_compiled, u->nr_recompiled, u->tables.stats,
					    u->dropped };
}

/* ---- queries ---- */

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

/* Bytes of a segment that the mapping contains. */
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

/* By the segment that most of the mapping belongs to: the mapping may include pages before and
 * after it. */
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
