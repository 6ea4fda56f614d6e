/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that lies in a file, but is not the file's to name: V8 has its builtins in the library that it
 * is part of, without symbols, and lists them in the perf map like code that it made. What files
 * could not name is looked up where a process that has a map or a dump has it mapped.
 *
 * Such a list is a claim of the user who wrote it, and names samples of his alone, and of processes
 * in the same root. A location that stacks of several users share is split.
 */
#include <errno.h>

#include "agent/naming_batch.h"
#include "base/array.h"
#include "base/clock.h"
#include "symbolize/symbolizer.h"

#define MAX_CLAIMS PROFILE_MAX_THINGS
#define MAX_PLACES (1u << 20)
#define MAX_TELLERS 1024 /* each holds a descriptor */
#define NO_PLACE UINT32_MAX

/* A process whose list is asked, once, for all that it is about. */
struct teller {
	uint32_t process;
	struct jit_told told; /* its map is owned */
};

/* A user's list about the file behind a mapping. */
struct place {
	uint32_t mapping;
	uint32_t teller;
	struct jit_place at;
};

/* A location without a name as one user's stacks show it. */
struct claim {
	uint32_t location;
	uint32_t user;
	uint32_t place; /* who tells his name for it */
	struct naming_answer answer;
	uint32_t to; /* the location in his stacks from now on */
};

struct naming_told {
	struct naming_env *env;
	struct profile *p;
	struct place *places; /* owned; by mapping */
	uint32_t nr_places, cap_places;
	struct teller *tellers; /* owned */
	uint32_t nr_tellers, cap_tellers;
	struct claim *claims; /* owned; by location, then by user */
	uint32_t nr_claims, cap_claims;
	struct naming_batch found;       /* names of the answers */
	struct naming_outcome *outcomes; /* owned; env's */
};

struct naming_told *naming_told_free(struct naming_told *t)
{
	if (!t)
		return NULL;
	for (uint32_t i = 0; i < t->nr_tellers; i++)
		closep(&t->tellers[i].told.map_fd);
	free(t->tellers);
	free(t->places);
	free(t->claims);
	free(t->outcomes);
	naming_batch_clear(&t->found);
	free(t);
	return NULL;
}

/* ---- who tells ---- */

/* The first process of a user counts. */
static bool has_place(const struct naming_told *t, uint32_t mapping, uint32_t user)
{
	for (uint32_t i = t->nr_places; i > 0 && t->places[i - 1].mapping == mapping; i--)
		if (t->places[i - 1].at.user == user)
			return true;
	return false;
}

/* -E2BIG: there are too many. */
static int find_teller(struct naming_told *t, uint32_t process, uint32_t *ret_teller)
{
	int r;

	for (uint32_t i = 0; i < t->nr_tellers; i++)
		if (t->tellers[i].process == process) {
			*ret_teller = i;
			return 0;
		}
	r = ARRAY_RESERVE(t->tellers, t->cap_tellers, t->nr_tellers + 1, MAX_TELLERS);
	if (r < 0)
		return r;
	*ret_teller = t->nr_tellers;
	t->tellers[t->nr_tellers++] =
		(struct teller){ .process = process,
				 .told = jit_files_told_by(t->env->c->jit, process) };
	return 0;
}

static int add_place(struct naming_told *t, uint32_t mapping, const struct jit_place *at)
{
	struct place place = { .mapping = mapping, .at = *at };
	int r = ARRAY_RESERVE(t->places, t->cap_places, t->nr_places + 1, MAX_PLACES);

	if (r == 0)
		r = find_teller(t, at->process, &place.teller);
	if (r == 0)
		t->places[t->nr_places++] = place;
	return r == -E2BIG ? 0 : r; /* costs names */
}

static int find_places(struct naming_told *t, uint32_t mapping)
{
	const struct profile_mapping *m = &t->p->mappings[mapping];
	struct jit_place place;
	uint32_t at = 0;
	int r = 0;

	while (r == 0 && jit_files_next_place(t->env->c->jit, &at, (uint32_t)m->owner,
					      m->file_offset, m->limit - m->start, &place)) {
		if (naming_is_over(t->env))
			return -ECANCELED;
		if (!has_place(t, mapping, place.user))
			r = add_place(t, mapping, &place);
	}
	return r;
}

static int find_all_places(struct naming_told *t)
{
	struct naming_wish wish = { t->env, clock_mono_ns() };
	struct cancel cancel = { naming_is_wished, &wish };
	int r = jit_files_index_places(t->env->c->jit, &cancel);

	for (uint32_t i = 0; i < t->p->nr_mappings && r == 0; i++) {
		if (cancel_is_asked(&cancel))
			return -ECANCELED;
		if (t->p->mappings[i].kind == PROFILE_MAPPING_FILE)
			r = find_places(t, i);
	}
	return r;
}

static int by_mapping(const void *a, const void *b)
{
	uint32_t x = ((const struct place *)a)->mapping, y = ((const struct place *)b)->mapping;

	return x < y ? -1 : x > y;
}

/* A user's place in a mapping; NO_PLACE. */
static uint32_t find_place(const struct naming_told *t, uint32_t mapping, uint32_t user)
{
	struct place key = { .mapping = mapping };
	const struct place *found = bsearch(&key, t->places, t->nr_places, sizeof(key), by_mapping);
	uint32_t i = found ? (uint32_t)(found - t->places) : 0;

	if (!found)
		return NO_PLACE;
	while (i > 0 && t->places[i - 1].mapping == mapping)
		i--;
	for (; i < t->nr_places && t->places[i].mapping == mapping; i++)
		if (t->places[i].at.user == user)
			return i;
	return NO_PLACE;
}

/* ---- what is asked for ---- */

static int by_location_and_user(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->location != y->location)
		return x->location < y->location ? -1 : 1;
	return x->user < y->user ? -1 : x->user > y->user;
}

static bool is_wanted(const struct naming_told *t, uint32_t location)
{
	const struct profile_location *l = &t->p->locations[location];
	struct place key = { .mapping = l->mapping };

	return !t->env->outcomes[location].is_named && l->mapping != PROFILE_NONE &&
	       bsearch(&key, t->places, t->nr_places, sizeof(key), by_mapping);
}

static int add_claim(struct naming_told *t, uint32_t location, uint32_t user)
{
	int r = ARRAY_RESERVE(t->claims, t->cap_claims, t->nr_claims + 1, MAX_CLAIMS);

	if (r == 0)
		t->claims[t->nr_claims++] = (struct claim){
			.location = location,
			.user = user,
			.place = find_place(t, t->p->locations[location].mapping, user),
			.to = location
		};
	return r;
}

static void sort_claims(struct naming_told *t)
{
	uint32_t nr = 0;

	qsort(t->claims, t->nr_claims, sizeof(*t->claims), by_location_and_user);
	for (uint32_t i = 0; i < t->nr_claims; i++)
		if (!nr || by_location_and_user(&t->claims[nr - 1], &t->claims[i]) != 0)
			t->claims[nr++] = t->claims[i];
	t->nr_claims = nr;
}

static int gather_claims(struct naming_told *t)
{
	const struct profile *p = t->p;
	int r = 0;

	for (uint32_t i = 0; i < p->nr_stacks && r == 0; i++)
		for (uint32_t k = 0; k < p->stacks[i].nr && r == 0; k++) {
			uint32_t location = p->frames[p->stacks[i].first + k];

			if (is_wanted(t, location))
				r = add_claim(t, location, p->stack_users[i]);
		}
	if (r == 0 && t->nr_claims)
		sort_claims(t);
	return r;
}

/* ---- asking ---- */

static uint32_t teller_of(const struct naming_told *t, uint32_t claim)
{
	uint32_t place = t->claims[claim].place;

	return place == NO_PLACE ? MAX_TELLERS : t->places[place].teller;
}

static int by_teller(const void *pa, const void *pb, void *ctx)
{
	uint32_t a = teller_of(ctx, *(const uint32_t *)pa),
		 b = teller_of(ctx, *(const uint32_t *)pb);

	return a < b ? -1 : a > b;
}

/* As the process that tells sees it. */
static uint64_t told_address(const struct naming_told *t, const struct claim *c)
{
	const struct place *place = &t->places[c->place];

	return t->p->locations[c->location].address - t->p->mappings[place->mapping].start +
	       place->at.start;
}

static int take_answers(struct naming_told *t, const uint32_t *claims, uint32_t nr,
			struct symbolizer *s)
{
	int r = 0;

	for (uint32_t i = 0; i < nr && r == 0; i++) {
		struct claim *c = &t->claims[claims[i]];
		struct symbol_result res;

		r = s->ops->resolve(s, told_address(t, c), &res);
		if (r == 0 && res.is_named)
			r = naming_batch_keep(&t->found, &res, &c->answer);
	}
	return r;
}

/* The list is read once for all claims that it is about. Names of files hold all the time, so of what was
 * there in turn the last counts. */
static int ask_teller(struct naming_told *t, const struct teller *teller, const uint32_t *claims,
		      uint32_t nr)
{
	_cleanup_(freep) struct jit_address *addresses = calloc(nr, sizeof(*addresses));
	_cleanup_(symbolizer_freep) struct symbolizer *s = NULL;
	struct naming_wish wish = { t->env, clock_mono_ns() };
	struct cancel cancel = { naming_is_wished, &wish };
	struct jit_counts counts = { 0 }; /* its own batch counts what it has */
	struct jit_sources src = { .told = { teller->told },
				   .nr_told = 1,
				   .addresses = addresses,
				   .nr_addresses = nr,
				   .cancel = &cancel,
				   .budget = &t->env->c->jit_budget,
				   .purpose = JIT_FOR_FILES };
	int r;

	if (!addresses)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		addresses[i] = (struct jit_address){ .addr = told_address(t, &t->claims[claims[i]]),
						     .time_ns = UINT64_MAX };
	r = symbolizer_new_jit(&src, &counts, &s);
	return r < 0 ? r : take_answers(t, claims, nr, s);
}

static int ask_all(struct naming_told *t)
{
	_cleanup_(freep) uint32_t *order = calloc(t->nr_claims, sizeof(*order));
	uint32_t first = 0, end;

	if (!order)
		return 0;
	for (uint32_t i = 0; i < t->nr_claims; i++)
		order[i] = i;
	qsort_r(order, t->nr_claims, sizeof(*order), by_teller, t);
	for (; first < t->nr_claims && teller_of(t, order[first]) < MAX_TELLERS; first = end) {
		uint32_t teller = teller_of(t, order[first]);

		if (naming_is_over(t->env))
			return -ECANCELED;
		for (end = first; end < t->nr_claims && teller_of(t, order[end]) == teller;)
			end++;
		/* Too large, or it takes too long: no names. */
		(void)ask_teller(t, &t->tellers[teller], order + first, end - first);
	}
	return 0;
}

/* ---- into the model ---- */

/* Those of one location: how many, and how many of them have a name. */
static uint32_t count_group(const struct naming_told *t, uint32_t first, uint32_t *ret_nr_named)
{
	uint32_t i = first;

	*ret_nr_named = 0;
	for (; i < t->nr_claims && t->claims[i].location == t->claims[first].location; i++)
		*ret_nr_named += t->claims[i].answer.is_named;
	return i - first;
}

static int name_itself(struct naming_told *t, const struct claim *c)
{
	const struct naming_outcome *was = &t->env->outcomes[c->location];
	struct naming_stats *stats = &t->env->c->naming;

	naming_stats_found(stats, was->failure, was->is_raw);
	profile_unname(t->p, c->location);
	return naming_apply_answer(t->p, &t->found, c->location, &c->answer);
}

static int name_split(struct naming_told *t, struct claim *c)
{
	struct profile_location l = t->p->locations[c->location];
	uint32_t to;
	int r = profile_location_version(t->p, l.mapping, l.address, 1 + (uint64_t)c->user, &to);

	if (r == 0)
		r = naming_apply_answer(t->p, &t->found, to, &c->answer);
	if (r < 0)
		return r;
	naming_stats_add_named(&t->env->c->naming);
	c->to = to;
	return 0;
}

/* Where all of its users have a name for it, the location itself is the first one's. */
static int apply_group(struct naming_told *t, uint32_t first, uint32_t nr, uint32_t nr_named)
{
	bool is_free = nr_named == nr;
	int r = 0;

	for (uint32_t i = first; i < first + nr && r == 0; i++) {
		if (!t->claims[i].answer.is_named)
			continue;
		r = is_free ? name_itself(t, &t->claims[i]) : name_split(t, &t->claims[i]);
		is_free = false;
	}
	return r;
}

static uint32_t replace(void *ctx, uint32_t user, uint32_t location)
{
	const struct naming_told *t = ctx;
	struct claim key = { .location = location, .user = user };
	const struct claim *c =
		bsearch(&key, t->claims, t->nr_claims, sizeof(key), by_location_and_user);

	return c ? c->to : location;
}

/* What the model has no room for stays as it is. */
static void apply_claims(struct naming_told *t)
{
	uint32_t nr, nr_named;

	for (uint32_t i = 0; i < t->nr_claims; i += nr) {
		nr = count_group(t, i, &nr_named);
		if (apply_group(t, i, nr, nr_named) < 0)
			break;
	}
	profile_replace_frames(t->p, replace, t);
}

int naming_told_new(struct naming_env *env, struct naming_told **ret_told)
{
	_cleanup_(naming_told_freep) struct naming_told *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->env = env;
	t->p = env->c->profile;
	if (env->c->jit && find_all_places(t) < 0)
		return -ENOMEM;
	if (t->nr_places)
		t->outcomes = calloc((size_t)t->p->nr_locations + 1, sizeof(*t->outcomes));
	if (t->nr_places && !t->outcomes)
		return -ENOMEM;
	env->outcomes = t->outcomes;
	*ret_told = TAKE(t);
	return 0;
}

int naming_told_ask(struct naming_told *t)
{
	int r;

	if (!t || !t->nr_places || gather_claims(t) < 0 || !t->nr_claims ||
	    strtab_init(&t->found.strings) < 0)
		return 0;
	atomic_store(&t->env->is_over, false); /* of the crew, which has ended */
	r = ask_all(t);
	if (r == 0)
		apply_claims(t);
	return r;
}
