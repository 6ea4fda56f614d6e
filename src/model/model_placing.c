/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples in code for which a jitdump says when it was replaced: each stack gets the locations of
 * the code at the time of the sample. This is decided here and not when the sample came, because a
 * runtime may write its records late.
 */
#include <errno.h>

#include "model/model.h"

struct placing {
	struct model *m;
	struct jit_program *program;
	uint32_t nr_placed;
};

static int compare_moments(const void *pa, const void *pb)
{
	const struct jit_moment *a = pa, *b = pb;

	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* Sorts the moments by time; returns a parallel array of times (caller frees). */
static uint64_t *sort_moments(const struct jit_program *k)
{
	uint64_t *times_ns = calloc(k->nr_moments, sizeof(*times_ns));

	qsort(k->moments, k->nr_moments, sizeof(*k->moments), compare_moments);
	for (uint32_t i = 0; times_ns && i < k->nr_moments; i++)
		times_ns[i] = k->moments[i].time_ns;
	return times_ns;
}

/* Replaces the location of a frame by that of the code which was there at the time. */
static int choose_version(struct placing *pl, const struct jit_versions *v, uint32_t *location)
{
	struct profile *p = pl->m->profile;
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
		r = jit_samples_add_address(&pl->m->jit, pl->program->id,
					    &(struct jit_address){ .addr = l.address,
								   .version = version });
	return r;
}

static int choose_stack(struct placing *pl, const struct jit_versions *v, uint32_t *stack)
{
	struct profile *p = pl->m->profile;
	struct profile_span s = p->stacks[*stack];
	uint32_t frames[PROFILE_MAX_FRAMES];
	int r = 0;

	for (uint32_t i = 0; i < s.nr && r == 0; i++) {
		frames[i] = p->frames[s.first + i];
		r = choose_version(pl, v, &frames[i]);
	}
	return r < 0 ? r : profile_stack_of(p, p->stack_users[*stack], frames, s.nr, stack);
}

/* v: NULL if no code was replaced. */
static int place_moment(void *ctx, uint32_t i, const struct jit_versions *v)
{
	struct placing *pl = ctx;
	const struct jit_moment *m = &pl->program->moments[i];
	const struct jit_samples *all = &pl->m->jit;
	const int64_t *values = &all->values[(size_t)m->number * all->nr_values];
	uint32_t stack = m->stack;
	int r;

	pl->nr_placed++;
	if (v && choose_stack(pl, v, &stack) < 0)
		pl->m->stats.nr_untimed++;
	r = profile_add(pl->m->profile, stack, m->labels, values);
	if (r < 0) {
		uint64_t nr = (uint64_t)values[pl->m->profile->count_type];

		pl->m->stats.nr_kept -= nr;
		model_count_outcome(pl->m, r, nr);
	}
	return 0;
}

/* Places the samples of one program. */
static void place_all(struct placing *pl, const struct cancel *cancel)
{
	const struct jit_program *k = pl->program;
	_cleanup_(freep) uint64_t *times_ns = sort_moments(k);
	_cleanup_(closep) int dump_fd = -1;
	int r = times_ns ? 0 : -ENOMEM;

	world_lock(pl->m->world);
	dump_fd = jit_files_open_dump(pl->m->world->jit, k->id);
	world_unlock(pl->m->world);
	if (r == 0 && dump_fd >= 0 &&
	    !jit_budget_take(&pl->m->naming.jit_budget, dump_fd, JIT_FOR_MOMENTS))
		r = -ECANCELED; /* over the limits */
	if (r == 0 && dump_fd >= 0)
		r = jit_versions_each(dump_fd, k->addresses, k->nr_addresses, times_ns,
				      k->nr_moments, place_moment, pl, cancel);
	if (r == -ENOMEM || r == -ECANCELED)
		pl->m->stats.nr_untimed += k->nr_moments - pl->nr_placed;
	while (pl->nr_placed < k->nr_moments)
		(void)place_moment(pl, pl->nr_placed, NULL); /* never fails */
}

void model_place_moments(struct model *m, const struct cancel *cancel)
{
	for (uint32_t i = 0; i < m->jit.nr_programs; i++) {
		struct placing pl = { .m = m, .program = &m->jit.programs[i] };

		if (pl.program->nr_moments)
			place_all(&pl, cancel);
	}
	jit_samples_drop_moments(&m->jit);
}
