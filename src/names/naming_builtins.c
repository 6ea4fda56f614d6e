/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves code in files that have no symbols for it, from the lists of processes: V8 has its
 * builtins in its own library, without symbols, and lists them in the perf map like generated code.
 * Addresses that files could not resolve are looked up in the list of a process that has the same
 * bytes of the file mapped.
 *
 * Such a list is a claim by the user who wrote it. It resolves only samples of that user, in
 * processes with the same root. A location that stacks of several users share is split.
 */
#include <errno.h>

#include "base/array.h"
#include "names/naming_batch.h"
#include "names/source.h"

#define MAX_CLAIMS PROFILE_MAX_THINGS
#define MAX_PLACES (1u << 20)
#define NO_PLACE UINT32_MAX

/* A process whose list is read once, for all claims that it may resolve. */
struct provider {
	uint32_t process;
	struct jit_symbol_files symbol_files; /* its descriptors are owned */
	struct symbol_reply reply;
};

/* A user's list about the file behind a mapping. */
struct place {
	uint32_t mapping;
	uint32_t provider;
	struct jit_place at;
};

/* A location without a symbol, in the stacks of one user. */
struct claim {
	uint32_t location;
	uint32_t user;
	uint32_t place;                     /* the place whose list may resolve it, or NO_PLACE */
	const struct symbol_answer *answer; /* in the provider's reply; NULL: not resolved */
	uint32_t to;                        /* the location that replaces it in the user's stacks */
};

struct naming_builtins {
	struct naming_env *env;
	struct profile *p;
	struct place *places; /* owned; by mapping */
	uint32_t nr_places, cap_places;
	struct provider *providers; /* owned */
	uint32_t nr_providers, cap_providers;
	struct claim *claims; /* owned; by location, then by user */
	uint32_t nr_claims, cap_claims;
	struct naming_outcome *outcomes; /* owned; used through env */
};

struct naming_builtins *naming_builtins_free(struct naming_builtins *t)
{
	if (!t)
		return NULL;
	for (uint32_t i = 0; i < t->nr_providers; i++) {
		closep(&t->providers[i].symbol_files.map_fd);
		closep(&t->providers[i].symbol_files.dump_fd);
		symbol_reply_done(&t->providers[i].reply);
	}
	free(t->providers);
	free(t->places);
	free(t->claims);
	free(t->outcomes);
	free(t);
	return NULL;
}

/* ---- which processes have lists ---- */

/* True if the user already has a place for the mapping: the first process counts. */
static bool has_place(const struct naming_builtins *t, uint32_t mapping, uint32_t user)
{
	for (uint32_t i = t->nr_places; i > 0 && t->places[i - 1].mapping == mapping; i--)
		if (t->places[i - 1].at.user == user)
			return true;
	return false;
}

/* -E2BIG: there are too many providers. */
static int find_provider(struct naming_builtins *t, uint32_t process, uint32_t *ret_provider)
{
	int r;

	for (uint32_t i = 0; i < t->nr_providers; i++)
		if (t->providers[i].process == process) {
			*ret_provider = i;
			return 0;
		}
	r = ARRAY_RESERVE(t->providers, t->cap_providers, t->nr_providers + 1,
			  NAMING_MAX_PROVIDERS);
	if (r < 0)
		return r;
	*ret_provider = t->nr_providers;
	t->providers[t->nr_providers++] = (struct provider){
		.process = process, .symbol_files = jit_files_of_process(t->env->job->jit, process)
	};
	return 0;
}

static int add_place(struct naming_builtins *t, uint32_t mapping, const struct jit_place *at)
{
	struct place place = { .mapping = mapping, .at = *at };
	int r = ARRAY_RESERVE(t->places, t->cap_places, t->nr_places + 1, MAX_PLACES);

	if (r == 0)
		r = find_provider(t, at->process, &place.provider);
	if (r == 0)
		t->places[t->nr_places++] = place;
	return r == -E2BIG ? 0 : r; /* only names are lost */
}

static int find_places(struct naming_builtins *t, uint32_t mapping)
{
	const struct profile_mapping *m = &t->p->mappings[mapping];
	struct jit_place place;
	uint32_t at = 0;
	int r = 0;

	while (r == 0 && jit_files_next_place(t->env->job->jit, &at, (uint32_t)m->owner,
					      m->file_offset, m->limit - m->start, &place)) {
		if (naming_is_over(t->env))
			return -ECANCELED;
		if (!has_place(t, mapping, place.user))
			r = add_place(t, mapping, &place);
	}
	return r;
}

static int list_places(const struct naming_job *job, const struct cancel *cancel)
{
	uint32_t at = 0;
	int r;

	do {
		filestore_lock(job->files);
		r = jit_files_list_places(job->jit, &at);
		filestore_unlock(job->files);
	} while (r > 0 && !cancel_is_asked(cancel));
	return r > 0 ? -ECANCELED : r;
}

/* The lock is held only for short times, because samples wait for it. */
static int find_all_places(struct naming_builtins *t)
{
	struct cancel cancel = { naming_is_over_or_late, t->env };
	const struct naming_job *job = t->env->job;
	int r = list_places(job, &cancel);

	if (r == 0)
		jit_files_sort_places(job->jit);
	for (uint32_t i = 0; i < t->p->nr_mappings && r == 0; i++) {
		if (cancel_is_asked(&cancel))
			return -ECANCELED;
		if (t->p->mappings[i].kind != PROFILE_MAPPING_FILE)
			continue;
		filestore_lock(job->files);
		r = find_places(t, i);
		filestore_unlock(job->files);
	}
	return r;
}

static int by_mapping(const void *a, const void *b)
{
	uint32_t x = ((const struct place *)a)->mapping, y = ((const struct place *)b)->mapping;

	return x < y ? -1 : x > y;
}

/* The place of a user in a mapping, or NO_PLACE. */
static uint32_t find_place(const struct naming_builtins *t, uint32_t mapping, uint32_t user)
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

/* ---- claims ---- */

static int by_location_and_user(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->location != y->location)
		return x->location < y->location ? -1 : 1;
	return x->user < y->user ? -1 : x->user > y->user;
}

static bool is_wanted(const struct naming_builtins *t, uint32_t location)
{
	const struct profile_location *l = &t->p->locations[location];
	struct place key = { .mapping = l->mapping };

	return !t->env->outcomes[location].is_named && l->mapping != PROFILE_NONE &&
	       bsearch(&key, t->places, t->nr_places, sizeof(key), by_mapping);
}

static int add_claim(struct naming_builtins *t, uint32_t location, uint32_t user)
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

static void sort_claims(struct naming_builtins *t)
{
	uint32_t nr = 0;

	qsort(t->claims, t->nr_claims, sizeof(*t->claims), by_location_and_user);
	for (uint32_t i = 0; i < t->nr_claims; i++)
		if (!nr || by_location_and_user(&t->claims[nr - 1], &t->claims[i]) != 0)
			t->claims[nr++] = t->claims[i];
	t->nr_claims = nr;
}

static int gather_claims(struct naming_builtins *t)
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

/* ---- resolving ---- */

static uint32_t provider_of(const struct naming_builtins *t, uint32_t claim)
{
	uint32_t place = t->claims[claim].place;

	return place == NO_PLACE ? NAMING_MAX_PROVIDERS : t->places[place].provider;
}

static int by_provider(const void *pa, const void *pb, void *ctx)
{
	uint32_t a = provider_of(ctx, *(const uint32_t *)pa),
		 b = provider_of(ctx, *(const uint32_t *)pb);

	return a < b ? -1 : a > b;
}

/* The address in the process that has written the list. */
static uint64_t address_in_provider(const struct naming_builtins *t, const struct claim *c)
{
	const struct place *place = &t->places[c->place];

	return t->p->locations[c->location].address - t->p->mappings[place->mapping].start +
	       place->at.start;
}

static void take_answers(struct naming_builtins *t, const struct symbol_reply *reply,
			 const uint32_t *claims, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (reply->answers[i].flags & SYMBOL_IS_NAMED)
			t->claims[claims[i]].answer = &reply->answers[i];
}

/* Runs a job for the list, with the provider's descriptors. */
static int resolve_by_list(struct naming_builtins *t, struct provider *provider,
			   const struct symbol_item *items, struct jit_address *addresses,
			   uint32_t nr)
{
	struct cancel reading = { naming_is_over_or_late, t->env };
	struct symbol_job_cancel cancel = { .reading = &reading, .all = &reading };
	struct source s = SOURCE_NONE;
	int r;

	s.job.kind = SYMBOL_JOB_JIT;
	s.job.items = items;
	s.job.nr_items = nr;
	s.job.symbol_files[0] = provider->symbol_files;
	s.job.nr_symbol_files = 1;
	s.job.addresses = addresses;
	s.job.nr_addresses = nr;
	provider->symbol_files = JIT_SYMBOL_FILES(-1, -1); /* the source closes them */
	jit_budget_limit(&t->env->job->jit_budget, &s.job.symbol_files[0], JIT_FOR_FILES);
	r = source_resolve(&s, &cancel, &provider->reply);
	source_done(&s);
	return r;
}

/* A file stays mapped, so of several entries for an address the last one counts. */
static int ask_provider(struct naming_builtins *t, struct provider *provider,
			const uint32_t *claims, uint32_t nr)
{
	_cleanup_(freep) struct jit_address *addresses = calloc(nr, sizeof(*addresses));
	_cleanup_(freep) struct symbol_item *items = calloc(nr, sizeof(*items));
	int r;

	if (!addresses || !items)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		items[i].address = address_in_provider(t, &t->claims[claims[i]]);
		addresses[i] =
			(struct jit_address){ .addr = items[i].address, .time_ns = UINT64_MAX };
	}
	r = resolve_by_list(t, provider, items, addresses, nr);
	if (r == 0)
		take_answers(t, &provider->reply, claims, nr);
	return r;
}

static int ask_all(struct naming_builtins *t)
{
	_cleanup_(freep) uint32_t *order = calloc(t->nr_claims, sizeof(*order));
	uint32_t first = 0, end;

	if (!order)
		return 0;
	for (uint32_t i = 0; i < t->nr_claims; i++)
		order[i] = i;
	qsort_r(order, t->nr_claims, sizeof(*order), by_provider, t);
	for (; first < t->nr_claims && provider_of(t, order[first]) < NAMING_MAX_PROVIDERS;
	     first = end) {
		uint32_t provider = provider_of(t, order[first]);

		if (naming_is_over(t->env))
			return -ECANCELED;
		for (end = first; end < t->nr_claims && provider_of(t, order[end]) == provider;)
			end++;
		/* If the list is too large or takes too long, it resolves nothing. */
		(void)ask_provider(t, &t->providers[provider], order + first, end - first);
	}
	return 0;
}

/* ---- applying ---- */

/* The number of claims for one location, and how many of them are resolved. */
static uint32_t count_group(const struct naming_builtins *t, uint32_t first, uint32_t *ret_nr_named)
{
	uint32_t i = first;

	*ret_nr_named = 0;
	for (; i < t->nr_claims && t->claims[i].location == t->claims[first].location; i++)
		*ret_nr_named += t->claims[i].answer != NULL;
	return i - first;
}

static int apply_to(struct naming_builtins *t, const struct claim *c, uint32_t location)
{
	const struct provider *provider = &t->providers[t->places[c->place].provider];

	return naming_apply_answer(t->p, &provider->reply, location, c->answer);
}

static int name_itself(struct naming_builtins *t, const struct claim *c)
{
	const struct naming_outcome *was = &t->env->outcomes[c->location];
	struct naming_stats *stats = &t->env->job->stats;

	naming_stats_found(stats, was->failure, was->is_raw);
	profile_unname(t->p, c->location);
	return apply_to(t, c, c->location);
}

static int name_split(struct naming_builtins *t, struct claim *c)
{
	struct profile_location l = t->p->locations[c->location];
	uint32_t to;
	int r = profile_location_version(t->p, l.mapping, l.address, 1 + (uint64_t)c->user, &to);

	if (r == 0)
		r = apply_to(t, c, to);
	if (r < 0)
		return r;
	naming_stats_add_named(&t->env->job->stats, NAMING_FROM_GENERATED);
	c->to = to;
	return 0;
}

/* If every user has a name for the location, the location itself gets the first user's name. */
static int apply_group(struct naming_builtins *t, uint32_t first, uint32_t nr, uint32_t nr_named)
{
	bool is_free = nr_named == nr;
	int r = 0;

	for (uint32_t i = first; i < first + nr && r == 0; i++) {
		if (!t->claims[i].answer)
			continue;
		r = is_free ? name_itself(t, &t->claims[i]) : name_split(t, &t->claims[i]);
		is_free = false;
	}
	return r;
}

static uint32_t replace(void *ctx, uint32_t user, uint32_t location)
{
	const struct naming_builtins *t = ctx;
	struct claim key = { .location = location, .user = user };
	const struct claim *c =
		bsearch(&key, t->claims, t->nr_claims, sizeof(key), by_location_and_user);

	return c ? c->to : location;
}

/* If the model has no room for a name, the location stays as it is. */
static void apply_claims(struct naming_builtins *t)
{
	uint32_t nr, nr_named;

	for (uint32_t i = 0; i < t->nr_claims; i += nr) {
		nr = count_group(t, i, &nr_named);
		if (apply_group(t, i, nr, nr_named) < 0)
			break;
	}
	profile_replace_frames(t->p, replace, t);
}

int naming_builtins_new(struct naming_env *env, struct naming_builtins **ret_builtins)
{
	_cleanup_(naming_builtins_freep) struct naming_builtins *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->env = env;
	t->p = env->job->profile;
	if (env->job->jit && find_all_places(t) < 0)
		return -ENOMEM;
	if (t->nr_places)
		t->outcomes = calloc((size_t)t->p->nr_locations + 1, sizeof(*t->outcomes));
	if (t->nr_places && !t->outcomes)
		return -ENOMEM;
	env->outcomes = t->outcomes;
	*ret_builtins = TAKE(t);
	return 0;
}

int naming_builtins_ask(struct naming_builtins *t)
{
	int r;

	if (!t || !t->nr_places || gather_claims(t) < 0 || !t->nr_claims)
		return 0;
	r = ask_all(t);
	if (r == 0)
		apply_claims(t);
	return r;
}
