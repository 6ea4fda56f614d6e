/* SPDX-License-Identifier: Apache-2.0 */
#include "digest/stack_kinds.h"

#include <errno.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/idtable.h"
#include "digest/functions.h"
#include "digest/labels.h"
#include "digest/sums.h"

#define FEW_EVENTS 20
#define NO_ROOT UINT32_MAX /* the stack is truncated, or empty */

struct kind {
	uint32_t comm, root; /* a string and a function: its identity */
	int64_t count, value;
	uint32_t number; /* in the result */
	uint32_t nr_samples;
};

struct kind_list {
	const struct functions *f;
	const struct profile *p;
	uint32_t comm_key, truncated_key;
	struct kind *kinds; /* owned */
	uint32_t nr, cap;
	struct idtable index;
};

static void kind_list_done(struct kind_list *l)
{
	free(l->kinds);
	idtable_done(&l->index);
}

static bool kind_eq(const void *owner, uint32_t id, const void *key)
{
	const struct kind *a = &((const struct kind_list *)owner)->kinds[id], *b = key;

	return a->comm == b->comm && a->root == b->root;
}

static uint32_t outermost_function(const struct functions *f, const struct profile_span *stack)
{
	uint32_t location;

	if (!stack->nr)
		return NO_ROOT;
	location = f->p->frames[stack->first + stack->nr - 1];
	return functions_at(f, location, functions_nr_at(f, location) - 1);
}

static int kind_of(struct kind_list *l, const struct profile_sample *s, uint32_t *ret_id)
{
	bool is_truncated = label_text(l->p, s->labels, l->truncated_key) != 0;
	struct kind k = {
		.comm = label_text(l->p, s->labels, l->comm_key),
		.root = is_truncated ? NO_ROOT : outermost_function(l->f, &l->p->stacks[s->stack]),
	};
	uint64_t h = hash_mix(hash_mix(l->p->hash_seed, k.comm), k.root);
	int r;

	if (idtable_find(&l->index, h, kind_eq, l, &k, ret_id))
		return 0;
	r = ARRAY_RESERVE(l->kinds, l->cap, l->nr + 1, PROFILE_MAX_THINGS);
	if (r == 0)
		r = idtable_reserve(&l->index);
	if (r < 0)
		return r;
	idtable_insert(&l->index, h, l->nr);
	l->kinds[l->nr] = k;
	*ret_id = l->nr++;
	return 0;
}

static int find_kinds(struct kind_list *l, uint32_t *of_sample)
{
	for (uint32_t i = 0; i < l->p->nr_samples; i++) {
		int r = kind_of(l, &l->p->samples[i], &of_sample[i]);
		struct kind *k;

		if (r < 0)
			return r;
		k = &l->kinds[of_sample[i]];
		k->nr_samples++;
		k->count = add_saturated(k->count, profile_count(l->p, i));
		k->value = add_saturated(k->value, profile_value(l->p, i, l->f->type));
	}
	return 0;
}

/* Number 0 is for all kinds with few samples. */
static void number_kinds(struct kind_list *l, struct stack_kinds *to)
{
	to->nr = 1;
	for (uint32_t i = 0; i < l->nr; i++) {
		struct kind *k = &l->kinds[i];

		k->number = k->count < FEW_EVENTS ? 0 : to->nr++;
		to->values[k->number] = add_saturated(to->values[k->number], k->value);
	}
}

/* Groups samples by kind. */
static int sort_samples(const struct kind_list *l, struct stack_kinds *to)
{
	uint32_t *ends = calloc((size_t)to->nr + 1, sizeof(*ends));

	if (!ends)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->nr; i++)
		ends[l->kinds[i].number + 1] += l->kinds[i].nr_samples;
	for (uint32_t i = 0; i < to->nr; i++)
		ends[i + 1] += ends[i];
	for (uint32_t i = 0; i < l->p->nr_samples; i++) {
		to->of_sample[i] = l->kinds[to->of_sample[i]].number;
		/* filled downwards, from the end of each kind */
		to->samples[ends[to->of_sample[i]]++] = i;
	}
	free(ends);
	return 0;
}

int stack_kinds_init(struct stack_kinds *k, const struct functions *f)
{
	_cleanup_(kind_list_done) struct kind_list l = { .f = f,
							 .p = f->p,
							 .comm_key = label_key(f->p, "comm"),
							 .truncated_key =
								 label_key(f->p, "truncated") };
	size_t nr = (size_t)f->p->nr_samples + 1;
	int r;

	*k = (struct stack_kinds){ .of_sample = calloc(nr, sizeof(*k->of_sample)),
				   .samples = calloc(nr, sizeof(*k->samples)) };
	r = k->of_sample && k->samples ? find_kinds(&l, k->of_sample) : -ENOMEM;
	if (r == 0) {
		k->values = calloc((size_t)l.nr + 1, sizeof(*k->values));
		r = k->values ? 0 : -ENOMEM;
	}
	if (r == 0) {
		number_kinds(&l, k);
		r = sort_samples(&l, k);
	}
	if (r < 0)
		stack_kinds_done(k);
	return r;
}

void stack_kinds_done(struct stack_kinds *k)
{
	free(k->of_sample);
	free(k->samples);
	free(k->values);
	*k = (struct stack_kinds){ 0 };
}
