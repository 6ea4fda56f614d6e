/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/top.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/idtable.h"
#include "profile/profile.h"

struct tally {
	const struct profile *p;
	struct top_function *by_function; /* owned, one per function of the model */
	uint32_t *seen_in;                /* owned: last sample that had it, plus 1; 0: none */
	uint32_t *same_as;                /* owned: the first function that readers take for it */
	struct idtable firsts;
};

static void tally_done(struct tally *t)
{
	free(t->by_function);
	free(t->seen_in);
	free(t->same_as);
	idtable_done(&t->firsts);
}

/*
 * A function of the model has one source file. That of a line may be another one than its function's,
 * which makes two functions of the model of one; and a file that is mapped twice has two of each.
 * Generated code is told apart by where its source begins: names say little ("(anonymous)"), and
 * system names say which compiler tier it is ("JS:*f", "JS:^f").
 */
struct identity {
	uint32_t name, path;
	uint32_t system_name;        /* of files */
	uint32_t source, start_line; /* of generated code */
};

static struct identity identity_of(const struct profile *p, uint32_t function)
{
	const struct profile_function *f = &p->functions[function];
	const struct profile_mapping *m = f->mapping < p->nr_mappings ? &p->mappings[f->mapping]
								      : NULL;

	bool is_generated = m && m->kind == PROFILE_MAPPING_JIT;

	return (struct identity){
		.name = f->name,
		.path = m ? m->path : 0,
		.system_name = is_generated ? 0 : f->system_name,
		.source = is_generated ? f->filename : 0,
		.start_line = is_generated ? f->start_line : 0,
	};
}

static bool is_same(const void *owner, uint32_t id, const void *key)
{
	struct identity a = identity_of(owner, id);

	return memcmp(&a, key, sizeof(a)) == 0;
}

static int find_same(struct tally *t)
{
	for (uint32_t f = 0; f < t->p->nr_functions; f++) {
		struct identity id = identity_of(t->p, f);
		uint64_t h = hash_bytes(&id, sizeof(id));
		int r = 0;

		t->same_as[f] = f;
		if (idtable_find(&t->firsts, h, is_same, t->p, &id, &t->same_as[f]))
			continue;
		r = idtable_reserve(&t->firsts);
		if (r < 0)
			return r;
		idtable_insert(&t->firsts, h, f);
	}
	return 0;
}

/* Sums of counts do not overflow in a true profile; in a broken one they stop at the end. */
static int64_t add_saturated(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static void count_location(struct tally *t, uint32_t location, uint32_t sample, bool is_leaf)
{
	const struct profile_location *l = &t->p->locations[location];
	int64_t value = t->p->samples[sample].values[0];

	for (uint32_t i = 0; i < l->nr_lines; i++) {
		uint32_t f = t->same_as[t->p->lines[l->first_line + i].function];
		struct top_function *top = &t->by_function[f];

		if (is_leaf && i == 0) /* of an inlined chain, the innermost is what ran */
			top->self = add_saturated(top->self, value);
		if (t->seen_in[f] == sample + 1)
			continue;
		t->seen_in[f] = sample + 1;
		top->total = add_saturated(top->total, value);
	}
}

static void count_sample(struct tally *t, uint32_t sample)
{
	const struct profile_span *s = &t->p->stacks[t->p->samples[sample].stack];

	for (uint32_t i = 0; i < s->nr; i++)
		count_location(t, t->p->frames[s->first + i], sample, i == 0);
}

/* Moves those that were seen to the front; returns how many. */
static uint32_t keep_seen(struct tally *t)
{
	uint32_t nr = 0;

	for (uint32_t f = 0; f < t->p->nr_functions; f++) {
		if (!t->seen_in[f])
			continue;
		t->by_function[nr] = t->by_function[f];
		t->by_function[nr++].function = f;
	}
	return nr;
}

static int compare(const void *left, const void *right, void *ctx)
{
	const struct top_function *a = left, *b = right;
	const struct profile *p = ((const struct tally *)ctx)->p;
	int c;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	c = strcmp(profile_str(p, p->functions[a->function].name),
		   profile_str(p, p->functions[b->function].name));
	if (c)
		return c;
	return a->function < b->function ? -1 : a->function > b->function;
}

int profile_top(const struct profile *p, struct top_function **ret_functions, uint32_t *ret_nr)
{
	_cleanup_(tally_done) struct tally t = { .p = p };
	uint32_t nr;
	int r;

	/* One more than there are: an empty model gives an array too, not NULL. */
	t.by_function = calloc((size_t)p->nr_functions + 1, sizeof(*t.by_function));
	t.seen_in = calloc((size_t)p->nr_functions + 1, sizeof(*t.seen_in));
	t.same_as = calloc((size_t)p->nr_functions + 1, sizeof(*t.same_as));
	r = t.by_function && t.seen_in && t.same_as ? find_same(&t) : -ENOMEM;
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < p->nr_samples; i++)
		count_sample(&t, i);
	nr = keep_seen(&t);
	qsort_r(t.by_function, nr, sizeof(*t.by_function), compare, &t);
	*ret_functions = TAKE(t.by_function);
	*ret_nr = nr;
	return 0;
}
