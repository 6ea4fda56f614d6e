/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree is never built completely. All stacks start in one list; a branch is a range of that
 * list, and each step inwards sorts the range by the next function: memory depends on the number of
 * stacks, not of frames, and branches too small for a row are not visited again.
 */
#include "digest/hot_paths.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "digest/functions.h"
#include "digest/sums.h"

#define MIN_SHARE_OF 100 /* the smallest share of a row: one part in this many */
#define FOLD_SHARE 0.95  /* share of the branch's first row */
#define NO_FUNCTION UINT32_MAX
#define NO_BRANCH UINT32_MAX
#define MAX_CANDIDATES ((HOT_PATHS_MAX_BRANCHES + 1) * MIN_SHARE_OF)

/* The position in a stack, between the outermost frame and the leaf. */
struct walker {
	uint32_t stack;
	uint32_t frames_left; /* the next frame is the one before */
	/* in the frame after that one: functions inlined there, outermost first */
	uint32_t lines_left;
	uint32_t next; /* the function of the next step; NO_FUNCTION: it is at the leaf */
};

/* A range of walkers[]. */
struct stretch {
	uint32_t first, nr;
};

/* A callee while its caller is processed. */
struct callee {
	uint32_t function;
	int64_t value;
	struct stretch walkers;
};

struct branch {
	uint32_t caller; /* number of another branch, NO_BRANCH */
	uint32_t depth;
	struct callee entry; /* its first function */
	bool is_row;         /* otherwise it is a candidate */
	uint32_t nr_rows;
	struct hot_path rows[HOT_PATHS_MAX_FOLDED];
};

struct tree {
	const struct functions *f;
	const struct profile *p;
	int64_t *values;                    /* owned: of each stack */
	struct walker *walkers, *reordered; /* owned: as many as there are stacks with a value */
	uint32_t nr_walkers;
	int64_t min_value;

	/* owned; by function, all 0 except while a branch is processed */
	int64_t *sums;
	uint32_t *callee_numbers; /* plus 1 */
	struct callee *callees;   /* owned */
	uint32_t nr_callees, cap_callees;

	struct branch *branches; /* owned */
	uint32_t nr_branches, cap_branches;
	uint32_t nr_rows;
};

static void tree_done(struct tree *t)
{
	free(t->values);
	free(t->walkers);
	free(t->reordered);
	free(t->sums);
	free(t->callee_numbers);
	free(t->callees);
	free(t->branches);
}

/* ---- walkers ---- */

static uint32_t next_function(const struct tree *t, const struct walker *w)
{
	const uint32_t *frames = t->p->frames + t->p->stacks[w->stack].first;

	if (w->lines_left)
		return functions_at(t->f, frames[w->frames_left], w->lines_left - 1);
	if (!w->frames_left)
		return NO_FUNCTION;
	return functions_at(t->f, frames[w->frames_left - 1],
			    functions_nr_at(t->f, frames[w->frames_left - 1]) - 1);
}

static struct walker walker_new(const struct tree *t, uint32_t stack)
{
	struct walker w = { .stack = stack, .frames_left = t->p->stacks[stack].nr };

	w.next = next_function(t, &w);
	return w;
}

/* Steps into the next function, and through direct recursion. */
static void walker_step(const struct tree *t, struct walker *w)
{
	const uint32_t *frames = t->p->frames + t->p->stacks[w->stack].first;
	uint32_t function = w->next;

	while (w->next == function) {
		if (!w->lines_left)
			w->lines_left = functions_nr_at(t->f, frames[--w->frames_left]);
		w->lines_left--;
		w->next = next_function(t, w);
	}
}

static int tree_init(struct tree *t)
{
	size_t nr = (size_t)t->p->nr_stacks + 1;
	int64_t total = 0;

	t->values = calloc(nr, sizeof(*t->values));
	t->walkers = calloc(nr, sizeof(*t->walkers));
	t->reordered = calloc(nr, sizeof(*t->reordered));
	t->sums = calloc(t->f->nr, sizeof(*t->sums));
	t->callee_numbers = calloc(t->f->nr, sizeof(*t->callee_numbers));
	if (!t->values || !t->walkers || !t->reordered || !t->sums || !t->callee_numbers)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->p->nr_samples; i++) {
		int64_t *v = &t->values[t->p->samples[i].stack];

		*v = add_saturated(*v, profile_value(t->p, i, t->f->type));
	}
	for (uint32_t i = 0; i < t->p->nr_stacks; i++) {
		if (t->values[i] <= 0)
			continue;
		t->walkers[t->nr_walkers++] = walker_new(t, i);
		total = add_saturated(total, t->values[i]);
	}
	t->min_value = total / MIN_SHARE_OF + (total % MIN_SHARE_OF != 0);
	return 0;
}

/* ---- one step inwards ---- */

static int by_value(const void *left, const void *right, void *functions)
{
	const struct callee *a = left, *b = right;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return functions_compare(functions, a->function, b->function);
}

static int callee_add(struct tree *t, uint32_t function)
{
	int r = ARRAY_RESERVE(t->callees, t->cap_callees, t->nr_callees + 1, PROFILE_MAX_THINGS);

	if (r < 0)
		return r;
	t->callees[t->nr_callees++] = (struct callee){ .function = function };
	return 0;
}

/* Sums values by next function; *ret_self: of stacks that end here. */
static int callees_sum(struct tree *t, const struct stretch *s, int64_t *ret_self)
{
	t->nr_callees = 0;
	*ret_self = 0;
	for (uint32_t i = 0; i < s->nr; i++) {
		const struct walker *w = &t->walkers[s->first + i];
		uint32_t f = w->next;
		int r = 0;

		if (f == NO_FUNCTION) {
			*ret_self = add_saturated(*ret_self, t->values[w->stack]);
			continue;
		}
		if (!t->sums[f]) /* values are positive */
			r = callee_add(t, f);
		if (r < 0)
			return r;
		t->sums[f] = add_saturated(t->sums[f], t->values[w->stack]);
	}
	return 0;
}

/* Keeps the callees that deserve a row, the largest first. */
static void callees_choose(struct tree *t)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < t->nr_callees; i++) {
		struct callee c = t->callees[i];

		c.value = t->sums[c.function];
		t->sums[c.function] = 0;
		if (c.value >= t->min_value)
			t->callees[nr++] = c;
	}
	t->nr_callees = nr;
	if (nr)
		qsort_r(t->callees, nr, sizeof(*t->callees), by_value, (void *)(uintptr_t)t->f);
	for (uint32_t i = 0; i < nr; i++)
		t->callee_numbers[t->callees[i].function] = i + 1;
}

/* Groups the walkers by callee and steps them into it. Those without a callee go to the end and are
 * no longer used. */
static void callees_divide(struct tree *t, const struct stretch *s)
{
	uint32_t at = s->first;

	for (uint32_t i = 0; i < s->nr; i++) {
		uint32_t f = t->walkers[s->first + i].next;

		if (f != NO_FUNCTION && t->callee_numbers[f])
			t->callees[t->callee_numbers[f] - 1].walkers.nr++;
	}
	for (uint32_t i = 0; i < t->nr_callees; i++) {
		t->callees[i].walkers.first = at;
		at += t->callees[i].walkers.nr;
		t->callees[i].walkers.nr = 0;
	}
	for (uint32_t i = 0; i < s->nr; i++) {
		struct walker w = t->walkers[s->first + i];
		uint32_t f = w.next;
		struct stretch *to;

		if (f == NO_FUNCTION || !t->callee_numbers[f])
			continue;
		to = &t->callees[t->callee_numbers[f] - 1].walkers;
		walker_step(t, &w);
		t->reordered[to->first + to->nr++] = w;
	}
	memcpy(t->walkers + s->first, t->reordered + s->first,
	       (at - s->first) * sizeof(*t->walkers));
	for (uint32_t i = 0; i < t->nr_callees; i++)
		t->callee_numbers[t->callees[i].function] = 0;
}

static int callees_find(struct tree *t, const struct stretch *s, int64_t *ret_self)
{
	int r = callees_sum(t, s, ret_self);

	if (r < 0)
		return r;
	callees_choose(t);
	callees_divide(t, s);
	return 0;
}

/* ---- branches ---- */

/* Each callee becomes a branch that may get rows. */
static int branches_add(struct tree *t, uint32_t caller, uint32_t depth)
{
	int r = ARRAY_RESERVE(t->branches, t->cap_branches, (size_t)t->nr_branches + t->nr_callees,
			      MAX_CANDIDATES);

	for (uint32_t i = 0; i < t->nr_callees && r == 0; i++) {
		struct branch *b = &t->branches[t->nr_branches++];

		memset(b, 0, sizeof(*b));
		b->caller = caller;
		b->depth = depth;
		b->entry = t->callees[i];
	}
	return r;
}

static struct hot_path *last_row(struct branch *b)
{
	return &b->rows[b->nr_rows - 1];
}

/* The row to drop: from the middle on the first that is of no script, whose functions say most. */
static uint32_t row_least(const struct tree *t, const struct branch *b)
{
	for (uint32_t i = HOT_PATHS_MAX_FOLDED / 2; i + 1 < b->nr_rows; i++)
		if (!functions_source(t->f, b->rows[i].function))
			return i;
	return HOT_PATHS_MAX_FOLDED / 2;
}

/* A branch that is too long loses a row from its middle; its samples are added to the rest of the
 * row before it. */
static void row_drop(const struct tree *t, struct branch *b)
{
	uint32_t at = row_least(t, b);
	struct hot_path *dropped = &b->rows[at];

	dropped[-1].rest += dropped->self + dropped->rest;
	dropped[1].nr_skipped += dropped->nr_skipped + 1;
	memmove(dropped, dropped + 1, (b->nr_rows - at - 1) * sizeof(*dropped));
	b->nr_rows--;
}

static void row_add(struct tree *t, struct branch *b, const struct callee *c)
{
	if (b->nr_rows == HOT_PATHS_MAX_FOLDED)
		row_drop(t, b);
	else
		t->nr_rows++;
	b->rows[b->nr_rows] = (struct hot_path){ .function = c->function,
						 .depth = b->depth,
						 .continues = b->nr_rows > 0,
						 .value = c->value };
	b->nr_rows++;
}

/* Follows a branch to where it divides or ends. */
static int branch_follow(struct tree *t, uint32_t number)
{
	struct branch *b = &t->branches[number];
	struct callee at = b->entry;
	double enough = FOLD_SHARE * (double)at.value;

	for (;;) {
		int r;

		row_add(t, b, &at);
		r = callees_find(t, &at.walkers, &last_row(b)->self);
		if (r < 0)
			return r;
		last_row(b)->rest = last_row(b)->value - last_row(b)->self;
		if (!t->nr_callees || (double)t->callees[0].value < enough)
			break;
		at = t->callees[0];
		last_row(b)->rest -= at.value;
	}
	return b->depth + 1 < HOT_PATHS_MAX_DEPTH ? branches_add(t, number, b->depth + 1) : 0;
}

/* The largest branch that is not a row yet; NO_BRANCH if none is left. */
static uint32_t branch_choose(const struct tree *t)
{
	uint32_t best = NO_BRANCH;

	for (uint32_t i = 0; i < t->nr_branches; i++)
		if (!t->branches[i].is_row &&
		    (best == NO_BRANCH || by_value(&t->branches[i].entry, &t->branches[best].entry,
						   (void *)(uintptr_t)t->f) < 0))
			best = i;
	return best;
}

static int branches_grow(struct tree *t)
{
	struct stretch all = { 0, t->nr_walkers };
	int64_t without_frames;
	int r = callees_find(t, &all, &without_frames);

	if (r == 0)
		r = branches_add(t, NO_BRANCH, 0);
	for (uint32_t i = 0; i < HOT_PATHS_MAX_BRANCHES && r == 0; i++) {
		uint32_t b = branch_choose(t);

		if (b == NO_BRANCH)
			break;
		t->branches[b].is_row = true;
		if (t->branches[b].caller != NO_BRANCH)
			last_row(&t->branches[t->branches[b].caller])->rest -=
				t->branches[b].entry.value;
		r = branch_follow(t, b);
	}
	return r;
}

/* Branches of one caller are already in their order. Recurses at most HOT_PATHS_MAX_DEPTH deep. */
static void rows_collect(const struct tree *t, uint32_t caller, struct hot_path *to, uint32_t *nr)
{
	for (uint32_t i = 0; i < t->nr_branches; i++) {
		const struct branch *b = &t->branches[i];

		if (!b->is_row || b->caller != caller)
			continue;
		memcpy(to + *nr, b->rows, b->nr_rows * sizeof(*to));
		*nr += b->nr_rows;
		rows_collect(t, i, to, nr);
	}
}

int digest_hot_paths(const struct functions *f, struct hot_path **ret_paths, uint32_t *ret_nr)
{
	_cleanup_(tree_done) struct tree t = { .f = f, .p = f->p };
	struct hot_path *paths;
	int r = tree_init(&t);

	if (r == 0)
		r = branches_grow(&t);
	if (r < 0)
		return r;
	paths = calloc((size_t)t.nr_rows + 1, sizeof(*paths));
	if (!paths)
		return -ENOMEM;
	*ret_nr = 0;
	rows_collect(&t, NO_BRANCH, paths, ret_nr);
	*ret_paths = paths;
	return 0;
}
