/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples in code of which a jitdump tells when it was replaced: each stack gets the locations of
 * what was there when it was sampled. That is decided here and not when the sample came, for a
 * runtime may write of its code later than we look.
 */
#include <errno.h>

#include "agent/naming_batch.h"
#include "base/clock.h"

struct placing {
	struct capture *c;
	struct jit_kept kept;
	uint32_t nr_placed;
};

static int compare_moments(const void *pa, const void *pb)
{
	const struct jit_moment *a = pa, *b = pb;

	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* Their times, sorted, as they are then themselves; the caller frees them. */
static uint64_t *sort_moments(const struct jit_kept *k)
{
	uint64_t *times_ns = calloc(k->nr_moments, sizeof(*times_ns));

	qsort(k->moments, k->nr_moments, sizeof(*k->moments), compare_moments);
	for (uint32_t i = 0; times_ns && i < k->nr_moments; i++)
		times_ns[i] = k->moments[i].time_ns;
	return times_ns;
}

/* Turns the location of a frame into that of the code which was there at the time. */
static int choose_version(struct placing *pl, const struct jit_versions *v, uint32_t *location)
{
	struct profile *p = pl->c->profile;
	struct profile_location l = p->locations[*location];
	uint32_t nr = p->nr_locations;
	uint64_t version;
	int r;

	if (l.mapping == PROFILE_NONE || p->mappings[l.mapping].kind != PROFILE_MAPPING_JIT)
		return 0;
	version = jit_versions_at(v, l.address);
	if (!version)
		return 0;
	r = profile_location_version(p, l.mapping, l.address, version, location);
	if (r == 0 && p->nr_locations > nr)
		r = jit_files_note_version(pl->c->jit, pl->kept.process, l.address, version);
	return r;
}

static int choose_stack(struct placing *pl, const struct jit_versions *v, uint32_t *stack)
{
	struct profile *p = pl->c->profile;
	struct profile_span s = p->stacks[*stack];
	uint32_t frames[PROFILE_MAX_FRAMES];
	int r = 0;

	for (uint32_t i = 0; i < s.nr && r == 0; i++) {
		frames[i] = p->frames[s.first + i];
		r = choose_version(pl, v, &frames[i]);
	}
	return r < 0 ? r : profile_stack_of(p, p->stack_users[*stack], frames, s.nr, stack);
}

/* v: NULL, nothing was replaced. */
static int place_moment(void *ctx, uint32_t i, const struct jit_versions *v)
{
	struct placing *pl = ctx;
	const struct jit_moment *m = &pl->kept.moments[i];
	int64_t values[] = { 1, (int64_t)m->weight };
	uint32_t stack = m->stack;
	int r;

	pl->nr_placed++;
	if (v && choose_stack(pl, v, &stack) < 0)
		pl->c->stats.nr_untimed++;
	r = profile_add(pl->c->profile, stack, m->labels, values);
	if (r < 0) {
		pl->c->stats.nr_kept--;
		capture_count_outcome(pl->c, r);
	}
	return 0;
}

static void place_all(struct placing *pl, const struct cancel *cancel)
{
	const struct jit_kept *k = &pl->kept;
	_cleanup_(freep) uint64_t *times_ns = sort_moments(k);
	int r = times_ns ? 0 : -ENOMEM;

	if (r == 0 && k->dump_fd >= 0 &&
	    !jit_budget_take(&pl->c->jit_budget, k->dump_fd, JIT_FOR_MOMENTS))
		r = -ECANCELED; /* over the limits */
	if (r == 0 && k->dump_fd >= 0)
		r = jit_versions_each(k->dump_fd, k->addresses, k->nr_addresses, times_ns,
				      k->nr_moments, place_moment, pl, cancel);
	if (r == -ENOMEM || r == -ECANCELED)
		pl->c->stats.nr_untimed += k->nr_moments - pl->nr_placed;
	while (pl->nr_placed < k->nr_moments)
		(void)place_moment(pl, pl->nr_placed, NULL); /* never fails */
}

void naming_place_moments(const struct naming_env *env)
{
	struct placing pl = { .c = env->c };
	uint32_t at = 0;

	while (env->c->jit && jit_files_next_kept(env->c->jit, &at, &pl.kept)) {
		struct naming_wish wish = { env, clock_mono_ns() };
		struct cancel cancel = { naming_is_wished, &wish };

		pl.nr_placed = 0;
		place_all(&pl, &cancel);
		jit_files_drop_kept(env->c->jit, pl.kept.process);
	}
}
