/* SPDX-License-Identifier: Apache-2.0 */
#include "digest/top.h"

#include <errno.h>

#include "digest/functions.h"
#include "digest/stack_kinds.h"
#include "digest/sums.h"

#define EVERYWHERE_SHARE 0.95 /* share of the stacks of a kind */
#define MOST 0.5              /* share of its total in such kinds */
/* a function with a higher share of self time is of interest itself */
#define OWN_SHARE 0.05

struct tally {
	const struct functions *f;
	const struct profile *p;
	struct stack_kinds kinds;
	struct top_function *tops; /* owned, one per function */
	uint32_t *seen_in;         /* owned: the last sample that contained it, plus 1; 0: none */
	/* owned: the part of its total in kinds in which nearly all stacks have it */
	int64_t *in_every;

	/* For the kind of stacks that is being counted: */
	int64_t *in_kind; /* owned: total of each function */
	uint32_t *met;    /* owned: functions that occur in it */
	uint8_t *is_met;  /* owned */
	uint32_t nr_met;
};

static void tally_done(struct tally *t)
{
	stack_kinds_done(&t->kinds);
	free(t->tops);
	free(t->seen_in);
	free(t->in_every);
	free(t->in_kind);
	free(t->met);
	free(t->is_met);
}

static int tally_init(struct tally *t)
{
	t->tops = calloc(t->f->nr, sizeof(*t->tops));
	t->seen_in = calloc(t->f->nr, sizeof(*t->seen_in));
	t->in_every = calloc(t->f->nr, sizeof(*t->in_every));
	t->in_kind = calloc(t->f->nr, sizeof(*t->in_kind));
	t->met = calloc(t->f->nr, sizeof(*t->met));
	t->is_met = calloc(t->f->nr, sizeof(*t->is_met));
	if (!t->tops || !t->seen_in || !t->in_every || !t->in_kind || !t->met || !t->is_met)
		return -ENOMEM;
	return stack_kinds_init(&t->kinds, t->f);
}

static void count_function(struct tally *t, uint32_t f, uint32_t sample, int64_t value)
{
	if (t->seen_in[f] == sample + 1)
		return;
	t->seen_in[f] = sample + 1;
	t->in_kind[f] = add_saturated(t->in_kind[f], value);
	if (!t->is_met[f])
		t->met[t->nr_met++] = f;
	t->is_met[f] = 1;
}

static void count_sample(struct tally *t, uint32_t sample)
{
	const struct profile_span *s = &t->p->stacks[t->p->samples[sample].stack];
	int64_t value = profile_value(t->p, sample, t->f->type);

	for (uint32_t i = 0; i < s->nr; i++) {
		uint32_t location = t->p->frames[s->first + i];
		uint32_t nr = functions_nr_at(t->f, location);

		for (uint32_t k = 0; k < nr; k++) {
			uint32_t f = functions_at(t->f, location, k);

			/* in an inline chain, the innermost function was running */
			if (i == 0 && k == 0)
				t->tops[f].self = add_saturated(t->tops[f].self, value);
			count_function(t, f, sample, value);
		}
	}
}

static bool is_more_than(int64_t part, double share, int64_t whole)
{
	return (double)part > share * (double)whole;
}

/* Called when all stacks of a kind have been counted. */
static void settle_kind(struct tally *t, int64_t value)
{
	for (uint32_t i = 0; i < t->nr_met; i++) {
		uint32_t f = t->met[i];

		t->tops[f].total = add_saturated(t->tops[f].total, t->in_kind[f]);
		if (is_more_than(t->in_kind[f], EVERYWHERE_SHARE, value))
			t->in_every[f] = add_saturated(t->in_every[f], t->in_kind[f]);
		t->in_kind[f] = 0;
		t->is_met[f] = 0;
	}
	t->nr_met = 0;
}

static void count_samples(struct tally *t)
{
	const struct stack_kinds *k = &t->kinds;

	for (uint32_t i = 0; i < t->p->nr_samples; i++) {
		uint32_t kind = k->of_sample[k->samples[i]];

		count_sample(t, k->samples[i]);
		if (i + 1 == t->p->nr_samples || k->of_sample[k->samples[i + 1]] != kind)
			settle_kind(t, k->values[kind]);
	}
}

/* Moves the functions with samples to the front; returns how many. */
static uint32_t keep_seen(struct tally *t)
{
	uint32_t nr = 0;

	for (uint32_t f = 0; f < t->f->nr; f++) {
		if (!t->seen_in[f])
			continue;
		t->tops[nr] = t->tops[f];
		t->tops[nr].function = f;
		t->tops[nr].is_everywhere =
			is_more_than(t->in_every[f], MOST, t->tops[nr].total) &&
			!is_more_than(t->tops[nr].self, OWN_SHARE, t->tops[nr].total) &&
			!functions_is_python(t->f, f);
		nr++;
	}
	return nr;
}

static int by_self(const void *left, const void *right, void *functions)
{
	const struct top_function *a = left, *b = right;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return functions_compare(functions, a->function, b->function);
}

static int by_total(const void *left, const void *right, void *functions)
{
	const struct top_function *a = left, *b = right;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return by_self(left, right, functions);
}

static void sort_functions(const struct functions *f, struct top_function *tops, uint32_t nr,
			   int (*compare)(const void *, const void *, void *))
{
	qsort_r(tops, nr, sizeof(*tops), compare, (void *)(uintptr_t)f);
}

int digest_top(const struct functions *f, struct top_function **ret_functions, uint32_t *ret_nr)
{
	_cleanup_(tally_done) struct tally t = { .f = f, .p = f->p };
	int r = tally_init(&t);

	if (r < 0)
		return r;
	count_samples(&t);
	*ret_nr = keep_seen(&t);
	sort_functions(f, t.tops, *ret_nr, by_self);
	*ret_functions = TAKE(t.tops);
	return 0;
}

uint32_t digest_top_by_total(const struct functions *f, struct top_function *functions, uint32_t nr,
			     uint32_t max)
{
	uint32_t nr_everywhere = 0, nr_others = 0, nr_kept = 0;

	sort_functions(f, functions, nr, by_total);
	for (uint32_t i = 0; i < nr; i++)
		if ((functions[i].is_everywhere ? nr_everywhere++ : nr_others++) < max)
			functions[nr_kept++] = functions[i];
	return nr_kept;
}
