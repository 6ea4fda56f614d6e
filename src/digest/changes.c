/* SPDX-License-Identifier: Apache-2.0 */
#include "digest/changes.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/idtable.h"
#include "base/path.h"
#include "digest/functions.h"
#include "digest/sums.h"

/* The identity by which functions of two profiles are compared. */
struct change_key {
	/* borrowed from a profile; file and source: without directories; source: "" where a file is known */
	const char *name, *file, *source;
	bool is_unnamed;
};

struct matching {
	const struct functions *base, *now;
	struct change_key *keys; /* owned, like the list: one per change */
	struct change *list;
	uint32_t nr, cap, cap_keys;
	struct idtable index;
};

static void matching_done(struct matching *m)
{
	free(m->keys);
	free(m->list);
	idtable_done(&m->index);
}

static struct change_key key_of(const struct functions *f, uint32_t number)
{
	const char *source = functions_source(f, number);

	return (struct change_key){ functions_name(f, number), path_name(functions_file(f, number)),
				    source ? path_name(source) : "",
				    functions_is_unnamed(f, number) };
}

static bool key_eq(const void *owner, uint32_t id, const void *key)
{
	const struct change_key *a = &((const struct matching *)owner)->keys[id], *b = key;

	return a->is_unnamed == b->is_unnamed && !strcmp(a->name, b->name) &&
	       !strcmp(a->file, b->file) && !strcmp(a->source, b->source);
}

static uint64_t key_hash(const struct matching *m, const struct change_key *k)
{
	uint64_t seed = m->base->p->hash_seed;
	uint64_t h = hash_bytes_seeded(seed, k->name, strlen(k->name));

	h = hash_mix(h, hash_bytes_seeded(seed, k->file, strlen(k->file)));
	return hash_mix(h, hash_bytes_seeded(seed, k->source, strlen(k->source)));
}

/* The number of the change that a function belongs to. */
static int change_intern(struct matching *m, const struct functions *f, uint32_t number,
			 uint32_t *ret_change)
{
	struct change_key k = key_of(f, number);
	uint64_t h = key_hash(m, &k);
	int r;

	if (idtable_find(&m->index, h, key_eq, m, &k, ret_change))
		return 0;
	r = ARRAY_RESERVE(m->list, m->cap, m->nr + 1, PROFILE_MAX_THINGS);
	if (r == 0)
		r = ARRAY_RESERVE(m->keys, m->cap_keys, m->nr + 1, PROFILE_MAX_THINGS);
	if (r == 0)
		r = idtable_reserve(&m->index);
	if (r < 0)
		return r;
	idtable_insert(&m->index, h, m->nr);
	m->keys[m->nr] = k;
	m->list[m->nr] =
		(struct change){ { .function = PROFILE_NONE }, { .function = PROFILE_NONE } };
	*ret_change = m->nr++;
	return 0;
}

/* The counting of one profile. */
struct side_count {
	struct matching *m;
	const struct functions *f;
	uint32_t *change_of; /* owned: by function, plus 1; 0: not looked for yet */
	uint32_t *seen_in;   /* owned: by change, the last sample that contained it, plus 1 */
	uint32_t cap_seen;
	int64_t sum;
};

static struct change_side *side_of(const struct side_count *s, uint32_t change)
{
	struct change *c = &s->m->list[change];

	return s->f == s->m->base ? &c->base : &c->now;
}

static int change_find(struct side_count *s, uint32_t function, uint32_t *ret_change)
{
	uint32_t cap = s->cap_seen;
	int r;

	if (s->change_of[function]) {
		*ret_change = s->change_of[function] - 1;
		return 0;
	}
	r = change_intern(s->m, s->f, function, ret_change);
	if (r == 0)
		r = ARRAY_RESERVE(s->seen_in, s->cap_seen, s->m->nr, PROFILE_MAX_THINGS);
	if (r < 0)
		return r;
	memset(s->seen_in + cap, 0, (s->cap_seen - cap) * sizeof(*s->seen_in));
	s->change_of[function] = *ret_change + 1;
	if (side_of(s, *ret_change)->function == PROFILE_NONE)
		side_of(s, *ret_change)->function = function;
	return 0;
}

static int count_function_in(struct side_count *s, uint32_t function, uint32_t sample, bool is_leaf)
{
	int64_t value = profile_value(s->f->p, sample, s->f->type);
	struct change_side *side;
	uint32_t change;
	int r = change_find(s, function, &change);

	if (r < 0)
		return r;
	side = side_of(s, change);
	if (is_leaf)
		side->self = add_saturated(side->self, value);
	if (s->seen_in[change] != sample + 1)
		side->total = add_saturated(side->total, value);
	s->seen_in[change] = sample + 1;
	return 0;
}

static int count_stack_of(struct side_count *s, uint32_t sample)
{
	const struct profile *p = s->f->p;
	const struct profile_span *stack = &p->stacks[p->samples[sample].stack];
	int r = 0;

	s->sum = add_saturated(s->sum, profile_value(p, sample, s->f->type));
	for (uint32_t i = 0; i < stack->nr; i++) {
		uint32_t location = p->frames[stack->first + i];
		uint32_t nr = functions_nr_at(s->f, location);

		for (uint32_t k = 0; k < nr && r == 0; k++)
			r = count_function_in(s, functions_at(s->f, location, k), sample,
					      i == 0 && k == 0);
	}
	return r;
}

static int count_side(struct matching *m, const struct functions *f, int64_t *ret_sum)
{
	struct side_count s = { .m = m,
				.f = f,
				.change_of = calloc((size_t)f->nr + 1, sizeof(*s.change_of)) };
	int r = s.change_of ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < f->p->nr_samples && r == 0; i++)
		r = count_stack_of(&s, i);
	free(s.change_of);
	free(s.seen_in);
	*ret_sum = s.sum;
	return r;
}

static double share_of(int64_t part, int64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

double changes_of_self(const struct changes *all, const struct change *c)
{
	return share_of(c->now.self, all->now_sum) - share_of(c->base.self, all->base_sum);
}

double changes_of_total(const struct changes *all, const struct change *c)
{
	return share_of(c->now.total, all->now_sum) - share_of(c->base.total, all->base_sum);
}

static int by_amount(double a, double b)
{
	return fabs(a) > fabs(b) ? -1 : fabs(a) < fabs(b);
}

struct change_order {
	const struct matching *m;
	const struct changes *all;
};

static struct change_key key_of_change(const struct matching *m, const struct change *c)
{
	return c->now.function != PROFILE_NONE ? key_of(m->now, c->now.function)
					       : key_of(m->base, c->base.function);
}

static int by_change(const void *left, const void *right, void *ctx)
{
	const struct change_order *o = ctx;
	struct change_key a, b;
	int d = by_amount(changes_of_self(o->all, left), changes_of_self(o->all, right));

	if (d == 0)
		d = by_amount(changes_of_total(o->all, left), changes_of_total(o->all, right));
	if (d)
		return d;
	a = key_of_change(o->m, left);
	b = key_of_change(o->m, right);
	d = strcmp(a.name, b.name);
	if (d == 0)
		d = strcmp(a.file, b.file);
	return d ? d : strcmp(a.source, b.source);
}

int digest_changes(const struct functions *base, const struct functions *now,
		   struct changes *ret_changes)
{
	_cleanup_(matching_done) struct matching m = { .base = base, .now = now };
	struct changes all = { 0 };
	struct change_order order = { &m, &all };
	int r = count_side(&m, base, &all.base_sum);

	if (r == 0)
		r = count_side(&m, now, &all.now_sum);
	if (r < 0)
		return r;
	if (m.nr)
		qsort_r(m.list, m.nr, sizeof(*m.list), by_change, &order);
	all.nr = m.nr;
	all.list = TAKE(m.list);
	*ret_changes = all;
	return 0;
}
