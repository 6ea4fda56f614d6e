/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model_waits.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "model/model.h"

#define MAX_TRACING_FRAMES 8

static const char *const state_names[PA_NR_WAIT_STATES] = {
	[PA_WAIT_SLEEP] = "sleep",
	[PA_WAIT_DISK] = "disk",
	[PA_WAIT_RUNQUEUE] = "runqueue",
	[PA_WAIT_PREEMPTED] = "preempted",
};

const char *model_wait_state_name(uint8_t state)
{
	return state_names[state];
}

void model_waits_done(struct model_waits *w)
{
	idtable_done(&w->by_id);
	free(w->all);
	profile_free(w->inherited);
}

static bool is_wait(const void *owner, uint32_t at, const void *key)
{
	return ((const struct model_waits *)owner)->all[at].id == *(const uint64_t *)key;
}

/* How many there may be, for a stack with this ID. What the kernel sums up always has room, however many other stacks
 * have none there: those who wait in ever new stacks leave it to others here as well. */
static uint32_t max_for(const struct model_waits *w, uint64_t id)
{
	_Static_assert(MODEL_MAX_WAITS / MODEL_SUMMED_PART == PA_MAX_WAITS, "room for all of them");
	return id & (PA_WAIT_SINGLE | PA_WAIT_UNSUMMED) ? w->max - w->max / MODEL_SUMMED_PART
							: w->max;
}

static struct model_wait *find_wait(const struct model_waits *w, uint64_t id)
{
	uint32_t at;

	return idtable_find(&w->by_id, hash_mix(0, id), is_wait, w, &id, &at) ? &w->all[at] : NULL;
}

int model_waits_get(struct model_waits *w, uint64_t id, struct model_wait **ret)
{
	int r;

	*ret = find_wait(w, id);
	if (*ret)
		return 0;
	r = ARRAY_RESERVE(w->all, w->cap, w->nr + 1, max_for(w, id));
	if (r == 0)
		r = idtable_reserve(&w->by_id);
	if (r < 0)
		return r;
	idtable_insert(&w->by_id, hash_mix(0, id), w->nr);
	w->all[w->nr] = (struct model_wait){ .id = id };
	*ret = &w->all[w->nr++];
	return 0;
}

void model_add_sum(void *model, const struct wait_sum *sum)
{
	struct model *m = model;
	struct pa_wait_sum *to;
	struct model_wait *w;
	int r = model_waits_get(&m->waits, sum->wait, &w);

	if (r < 0) {
		model_count_outcome(m, r, sum->nr);
		return;
	}
	to = &w->sums[sum->state];
	to->nr += sum->nr;
	to->ns += sum->ns;
	if (sum->max_ns > to->max_ns)
		to->max_ns = sum->max_ns;
}

int model_know_wait(struct model *m, const struct sample *s, uint32_t stack, uint32_t labels,
		    bool has_dump)
{
	struct model_wait *w;
	int r = model_waits_get(&m->waits, s->wait, &w);

	if (r < 0)
		return r;
	if (w->is_known)
		return -EEXIST;
	w->is_known = true;
	w->stack = stack;
	w->labels = labels;
	w->has_dump = has_dump;
	w->stop = s->stop;
	w->was_walked_again = s->was_walked_again;
	w->is_finished = s->is_finished;
	w->syscall_nr = s->syscall_nr;
	w->time_ns = s->time_ns;
	w->program = s->program;
	w->process = model_process_of(s);
	return 0;
}

void model_settle_waits(void *model, uint64_t until_ns)
{
	((struct model *)model)->waits.settled_ns = until_ns;
}

void model_use_wait(struct model *m, uint64_t id)
{
	struct model_wait *w = find_wait(&m->waits, id);

	if (w)
		w->is_used = true;
}

static void count_kept(struct model_stats *st, const struct model_wait *w, uint64_t nr)
{
	st->stops[w->stop] += nr;
	st->nr_in_kernel += nr;
	st->nr_walked_again += w->was_walked_again ? nr : 0;
	st->nr_finished += w->is_finished ? nr : 0;
	if (!st->first_ns || w->time_ns < st->first_ns)
		st->first_ns = w->time_ns;
}

static int place(struct model *m, const struct model_wait *w, uint8_t state)
{
	const struct pa_wait_sum *sum = &w->sums[state];
	const int64_t values[] = { (int64_t)sum->nr, (int64_t)sum->ns };
	uint32_t labels;
	int r = model_add_state_label(m, w->labels, state_names[state], &labels);
	struct jit_moment moment = { w->time_ns, w->stack, labels, 0 };

	if (r < 0)
		return r;
	if (w->has_dump && jit_samples_keep(&m->jit, w->program, &moment, values) == 0)
		return 0;
	m->stats.nr_untimed += w->has_dump ? sum->nr : 0;
	return profile_add(m->profile, w->stack, labels, values);
}

static void place_state(struct model *m, const struct model_wait *w, uint8_t state)
{
	uint64_t nr = w->sums[state].nr;
	int r;

	if (!nr)
		return;
	if (!w->is_known || w->is_inherited) { /* or there was no memory to bring it in */
		m->stats.nr_without_stack += nr;
		return;
	}
	r = place(m, w, state);
	model_count_outcome(m, r, nr);
	if (r == 0)
		count_kept(&m->stats, w, nr);
}

static bool begins_with_one_of(const char *name, const char *const *words, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!strncmp(name, words[i], strlen(words[i])))
			return true;
	return false;
}

/* The name of a frame in the kernel; NULL if it is not in the kernel, or has no name. */
static const char *kernel_name(const struct profile *p, uint32_t location)
{
	const struct profile_location *l = &p->locations[location];

	if (l->mapping == PROFILE_NONE || p->mappings[l->mapping].kind != PROFILE_MAPPING_KERNEL ||
	    !l->is_named)
		return NULL;
	return profile_str(p, p->functions[p->lines[l->first_line].function].name);
}

/* The number of innermost frames that belong to our tracepoint. */
static uint32_t nr_tracing(const struct profile *p, const struct profile_span *s)
{
	static const char *const words[] = { "bpf_prog_",    "bpf_trace_run", "__bpf_trace_",
					     "__traceiter_", "bpf_get_stack", "__bpf_get_stack" };
	uint32_t nr = 0, found = 0;

	while (nr < s->nr && nr < MAX_TRACING_FRAMES) {
		const char *name = kernel_name(p, p->frames[s->first + nr]);

		nr++;
		if (name && begins_with_one_of(name, words, sizeof(words) / sizeof(words[0])))
			found = nr;
	}
	return found;
}

bool model_is_scheduler(const char *name)
{
	static const char *const words[] = { "__schedule", "schedule", "io_schedule",
					     "preempt_schedule", "__cond_resched" };

	return begins_with_one_of(name, words, sizeof(words) / sizeof(words[0]));
}

static void keep_one_frame(const struct profile *p, struct profile_span *s)
{
	const char *name;

	while (s->nr > 1 && (name = kernel_name(p, p->frames[s->first])) &&
	       model_is_scheduler(name)) {
		s->first++;
		s->nr--;
	}
	s->nr = 1;
}

void model_trim_waits(struct model *m)
{
	struct profile *p = m->profile;

	for (uint32_t i = 0; m->waits.nr && i < p->nr_stacks; i++) {
		struct profile_span *s = &p->stacks[i];
		uint32_t nr = nr_tracing(p, s);

		if (nr == s->nr)
			continue; /* the whole stack */
		s->first += nr;
		s->nr -= nr;
		if (!m->has_kernel_stacks && s->nr && kernel_name(p, p->frames[s->first]))
			keep_one_frame(p, s);
	}
}

void model_place_waits(struct model *m)
{
	if (m->waits.is_placed)
		return;
	m->waits.is_placed = true;
	model_bring_in_waits(m);
	for (uint32_t i = 0; i < m->waits.nr; i++)
		for (unsigned int state = 0; state < PA_NR_WAIT_STATES; state++)
			place_state(m, &m->waits.all[i], (uint8_t)state);
}
