/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/shared_tables.h"

#include <errno.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"

#define MAX_TABLES (1u << 20)
/* How far below the limit eviction goes, since every eviction examines every process. */
#define TRIM_TO(max) ((max) / 8 * 7)
#define KERNEL_BONUS_NS NS_PER_S
/* All files of a machine together have a tenth of the rules that fit: if there is no room, someone
 * generates rules. Only unused tables are evicted to make room for rules; otherwise all tables
 * would be evicted in turns. */
#define RULES_IDLE_NS (10 * NS_PER_S)

int shared_tables_init(struct shared_tables *s, struct tables *kernel, size_t max_bytes)
{
	*s = (struct shared_tables){ .kernel = kernel, .max_bytes = max_bytes };
	return shared_rules_init(&s->rules, kernel);
}

void shared_tables_done(struct shared_tables *s)
{
	free(s->all);
	shared_rules_done(&s->rules);
	*s = (struct shared_tables){ 0 };
}

static struct shared_table *table_free(struct shared_table *t)
{
	if (!t)
		return NULL;
	unwind_table_free(t->table);
	free(t->rules.ids);
	free(t);
	return NULL;
}
DEFINE_CLEANUP(struct shared_table *, table_free)

/* Removes the table from the list. It exists until no file uses it. */
static void drop_table(struct shared_tables *s, struct shared_table *t)
{
	uint32_t at = 0;

	while (s->all[at] != t)
		at++;
	s->all[at] = s->all[--s->nr];
	shared_rules_leave(&s->rules, &t->rules, t->is_in_kernel ? &t->slot : NULL);
	t->table = unwind_table_free(t->table);
	s->bytes -= t->bytes;
	t->is_gone = true;
}

struct shared_table *shared_tables_hold(struct shared_table *t)
{
	if (t)
		t->nr_files++;
	return t;
}

void shared_tables_let_go(struct shared_tables *s, struct shared_table *t)
{
	if (!t || --t->nr_files)
		return;
	if (!t->is_gone)
		drop_table(s, t);
	table_free(t);
}

/* ---- adding ---- */

static size_t rows_bytes(const struct unwind_table *t)
{
	return t->nr_rows * sizeof(*t->rows);
}

static size_t blocks_bytes(const struct unwind_table *t)
{
	return t->nr_blocks * sizeof(*t->blocks);
}

static uint64_t hash_of(const struct unwind_table *t)
{
	uint64_t h = hash_mix(hash_bytes(t->rows, rows_bytes(t)), t->base);

	return hash_mix(hash_bytes(t->blocks, blocks_bytes(t)), h);
}

static struct table_data data_of(const struct unwind_table *t)
{
	return (struct table_data){ t->rows, t->nr_rows, t->blocks, t->nr_blocks };
}

/* Compares the contents: equal rules have equal numbers by now. */
static bool is_equal(const struct shared_tables *s, const struct shared_table *there,
		     const struct unwind_table *t)
{
	struct table_data d = data_of(t);
	const struct unwind_table *o = there->table;

	if (there->base != t->base)
		return false;
	if (there->is_in_kernel)
		return tables_has(s->kernel, &there->slot, &d);
	return o->nr_rows == t->nr_rows && o->nr_blocks == t->nr_blocks &&
	       memcmp(o->rows, t->rows, rows_bytes(t)) == 0 &&
	       memcmp(o->blocks, t->blocks, blocks_bytes(t)) == 0;
}

/* A table that lacks rules equals no other, because the other may have them. */
static struct shared_table *find_equal(const struct shared_tables *s, const struct shared_table *t)
{
	if (t->rules.nr_refused)
		return NULL;
	for (uint32_t i = 0; i < s->nr; i++)
		if (s->all[i]->hash == t->hash && !s->all[i]->rules.nr_refused &&
		    is_equal(s, s->all[i], t->table))
			return s->all[i];
	return NULL;
}

static void count_rows(struct shared_tables *s, const struct shared_table *t)
{
	s->bytes += t->bytes;
	if (s->bytes > s->stats.peak_bytes)
		s->stats.peak_bytes = s->bytes;
	s->stats.nr_short += t->rules.nr_refused > 0;
	s->needs_rules = s->needs_rules || t->rules.nr_refused;
}

int shared_tables_add(struct shared_tables *s, struct unwind_table *table,
		      const struct rule_dict *dict, struct shared_table **ret_table)
{
	_cleanup_(table_freep) struct shared_table *t = calloc(1, sizeof(*t));
	struct shared_table *equal;
	int r;

	if (!t) {
		unwind_table_free(table);
		return -ENOMEM;
	}
	t->table = table;
	r = ARRAY_RESERVE(s->all, s->cap, s->nr + 1, MAX_TABLES);
	if (r == 0)
		r = shared_rules_enter(&s->rules, table, dict->rules, &t->rules);
	if (r < 0)
		return r;
	t->base = table->base;
	t->bytes = rows_bytes(table) + blocks_bytes(table);
	t->hash = hash_of(table);
	equal = find_equal(s, t);
	if (equal) {
		shared_rules_leave(&s->rules, &t->rules, NULL);
		s->stats.nr_shared++;
	} else {
		count_rows(s, t);
		s->all[s->nr++] = equal = TAKE(t);
	}
	equal->nr_files++;
	equal->used_ns = clock_mono_ns();
	*ret_table = equal;
	return 0;
}

/* ---- copy in the kernel ---- */

/* The rows are stored once: here until they are in the kernel, where user space can read them,
 * too. */
bool shared_tables_send(struct shared_tables *s, struct shared_table *t)
{
	struct table_data d;
	int r;

	if (t->is_in_kernel || t->is_too_big || !s->kernel)
		return t->is_in_kernel;
	d = data_of(t->table);
	r = tables_add(s->kernel, &d, &t->slot);
	t->is_in_kernel = r == 0;
	if (t->is_in_kernel) {
		t->table = unwind_table_free(t->table);
		return true;
	}
	t->is_too_big = r == -E2BIG;
	s->needs_room = s->needs_room || !t->is_too_big;
	s->stats.nr_refused += !t->was_refused;
	t->was_refused = true;
	return false;
}

pa_rule shared_table_rule(const struct shared_tables *s, const struct shared_table *t,
			  uint64_t addr)
{
	uint32_t id;

	if (t->is_in_kernel)
		id = tables_find(s->kernel, &t->slot, t->base, addr);
	else
		id = unwind_table_find_id(t->table, addr);
	return s->rules.dict.rules[id];
}

/* ---- eviction ---- */

/* If there is no room for all tables in use, some stay in the kernel: there a table serves every
 * walk, and a replacement has to wait until its room is free. */
static uint64_t worth(const struct shared_table *t)
{
	return t->used_ns + (t->is_in_kernel ? KERNEL_BONUS_NS : 0);
}

static struct shared_table *least_used(const struct shared_tables *s)
{
	struct shared_table *least = NULL;

	for (uint32_t i = 0; i < s->nr; i++)
		if (!s->all[i]->is_fixed && (!least || worth(s->all[i]) < worth(least)))
			least = s->all[i];
	return least;
}

/* The result of evicting. */
struct trimmed {
	uint32_t nr;
	bool is_named;
};

static void drop_one(struct shared_tables *s, struct shared_table *t, struct trimmed *to)
{
	to->nr++;
	to->is_named = to->is_named || t->is_in_kernel;
	drop_table(s, t);
}

static void evict_table(struct shared_tables *s, struct shared_table *t, struct trimmed *to)
{
	s->stats.nr_evicted++;
	drop_one(s, t, to);
}

static void trim_bytes(struct shared_tables *s, struct trimmed *to)
{
	struct shared_table *t;
	size_t max = s->max_bytes;

	/* Tables evicted just before are not free yet: evicting more would not help. */
	if (s->needs_room && !(s->kernel && tables_has_retired(s->kernel)))
		max = s->bytes - 1;
	s->needs_room = false;
	if (s->bytes <= max)
		return;
	max = max < s->max_bytes ? TRIM_TO(max) : TRIM_TO(s->max_bytes);
	while (s->bytes > max && (t = least_used(s)))
		evict_table(s, t, to);
}

/* Evicts tables that could get all of their rules by now: the next walk requests them again. */
static void drop_short(struct shared_tables *s, struct trimmed *to)
{
	uint32_t room = rule_dict_room(&s->rules.dict);

	s->needs_rules = false;
	for (uint32_t i = s->nr; i-- > 0;) {
		struct shared_table *t = s->all[i];

		if (t->is_fixed || !t->rules.nr_refused)
			continue;
		if (t->rules.nr_refused > room) {
			s->needs_rules = true;
			continue;
		}
		room -= t->rules.nr_refused;
		drop_one(s, t, to);
	}
}

static void drop_idle(struct shared_tables *s, struct trimmed *to)
{
	uint64_t now = clock_mono_ns();

	for (uint32_t i = s->nr; i-- > 0;) {
		struct shared_table *t = s->all[i];

		if (!t->is_fixed && now > t->used_ns && now - t->used_ns >= RULES_IDLE_NS)
			evict_table(s, t, to);
	}
}

bool shared_tables_trim(struct shared_tables *s, bool *ret_is_named)
{
	struct trimmed went = { 0 };

	if (s->needs_rules)
		drop_short(s, &went);
	if (s->needs_rules)
		drop_idle(s, &went);
	trim_bytes(s, &went);
	*ret_is_named = went.is_named;
	return went.nr > 0;
}
