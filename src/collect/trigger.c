/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/trigger.h"

#include <errno.h>
#include <string.h>

#include "sample/sample.h"

struct use {
	const struct trigger *trigger;
	void *state; /* owned; NULL: create() failed */
	struct value_types values;
};

struct triggers {
	uint32_t nr;
	struct use uses[]; /* by origin */
};

static void add_count(struct pa_count *to, uint32_t *nr, struct pa_count c)
{
	if (*nr < TRIGGER_MAX_COUNTS)
		to[(*nr)++] = c;
}

void trigger_count(struct trigger_account *a, const char *name, const char *text, uint64_t count)
{
	add_count(a->counts, &a->nr_counts, (struct pa_count){ name, text, count });
}

void trigger_lose(struct trigger_account *a, const char *name, const char *text, uint64_t count)
{
	add_count(a->losses, &a->nr_losses, (struct pa_count){ name, text, count });
}

/* A sample with more values than it holds would be read beyond its end. */
static bool are_valid(const struct value_types *v)
{
	return v->nr_types >= 1 && v->nr_types <= SAMPLE_MAX_VALUES &&
	       v->count_type < v->nr_types && v->shown_type < v->nr_types &&
	       v->default_type < v->nr_types;
}

int triggers_new(const struct trigger *const *list, uint32_t nr, const struct pa_options *options,
		 const struct log *log, struct triggers **ret_triggers, struct pa_error *err)
{
	_cleanup_(triggers_freep) struct triggers *t = NULL;

	t = calloc(1, sizeof(*t) + nr * sizeof(t->uses[0]));
	if (!t)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		struct trigger_setup setup = { options, log, i };
		struct use *u = &t->uses[t->nr++];
		int r;

		u->trigger = list[i];
		r = list[i]->create(&setup, &u->values, &u->state, err);
		if (r == 0 && !are_valid(&u->values))
			r = -EINVAL;
		if (r < 0)
			return r;
	}
	*ret_triggers = TAKE(t);
	return 0;
}

void triggers_detach(struct triggers *t)
{
	for (uint32_t i = 0; t && i < t->nr; i++)
		if (t->uses[i].state)
			t->uses[i].trigger->detach(t->uses[i].state);
}

struct triggers *triggers_free(struct triggers *t)
{
	triggers_detach(t);
	for (uint32_t i = 0; t && i < t->nr; i++)
		if (t->uses[i].state)
			t->uses[i].trigger->free(t->uses[i].state);
	free(t);
	return NULL;
}

uint32_t triggers_nr(const struct triggers *t)
{
	return t->nr;
}

const struct trigger *triggers_get(const struct triggers *t, uint32_t origin)
{
	return t->uses[origin].trigger;
}

const struct value_types *triggers_values(const struct triggers *t, uint32_t origin)
{
	return &t->uses[origin].values;
}

void triggers_configure(struct triggers *t, const struct cpus *online, struct programs_config *cfg)
{
	for (uint32_t i = 0; i < t->nr; i++)
		if (t->uses[i].trigger->configure)
			t->uses[i].trigger->configure(t->uses[i].state, online, cfg);
}

int triggers_attach(struct triggers *t, struct programs *p, const struct cpus *online,
		    struct pa_error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < t->nr && r == 0; i++)
		r = t->uses[i].trigger->attach(t->uses[i].state, p, online, err);
	return r;
}

int triggers_enable(struct triggers *t, uint64_t begin_ns)
{
	int r = 0;

	for (uint32_t i = 0; i < t->nr && r == 0; i++)
		if (t->uses[i].trigger->enable)
			r = t->uses[i].trigger->enable(t->uses[i].state, begin_ns);
	return r;
}

void triggers_look(struct triggers *t, struct cpus *ret_silent)
{
	memset(ret_silent, 0xff, sizeof(*ret_silent));
	for (uint32_t i = 0; i < t->nr; i++)
		if (t->uses[i].trigger->look)
			t->uses[i].trigger->look(t->uses[i].state, ret_silent);
}

int triggers_follow(struct triggers *t, const struct cpus *online)
{
	int result = 0;

	for (uint32_t i = 0; i < t->nr; i++) {
		int r = t->uses[i].trigger->follow
				? t->uses[i].trigger->follow(t->uses[i].state, online)
				: 0;

		if (r < 0)
			result = r;
	}
	return result;
}

void triggers_disable(struct triggers *t, uint64_t end_ns)
{
	for (uint32_t i = 0; i < t->nr; i++)
		if (t->uses[i].trigger->disable)
			t->uses[i].trigger->disable(t->uses[i].state, end_ns);
}

int triggers_blocked(struct triggers *t, trigger_blocked_fn fn, void *ctx)
{
	int r = 0;

	for (uint32_t i = 0; i < t->nr && r == 0; i++)
		if (t->uses[i].trigger->blocked)
			r = t->uses[i].trigger->blocked(t->uses[i].state, fn, ctx);
	return r;
}

bool triggers_is_blocked(const struct triggers *t, uint32_t origin, const struct pa_blocked *b)
{
	return t->uses[origin].trigger->is_blocked(t->uses[origin].state, b);
}

int triggers_part(struct triggers *t, uint32_t origin, trigger_sum_fn sum, trigger_wait_fn uses,
		  void *ctx)
{
	const struct trigger *trigger = t->uses[origin].trigger;

	return trigger->part ? trigger->part(t->uses[origin].state, sum, uses, ctx) : -EOPNOTSUPP;
}

int triggers_sums(struct triggers *t, trigger_sum_fn fn, void *ctx)
{
	int r = 0;

	for (uint32_t i = 0; i < t->nr && r == 0; i++)
		if (t->uses[i].trigger->sums)
			r = t->uses[i].trigger->sums(t->uses[i].state, fn, ctx);
	return r;
}

struct trigger_intervals triggers_intervals(const struct triggers *t)
{
	struct trigger_intervals sum = { 0 };

	for (uint32_t i = 0; i < t->nr; i++) {
		struct trigger_intervals more = { 0 };

		if (t->uses[i].trigger->intervals)
			more = t->uses[i].trigger->intervals(t->uses[i].state);
		sum.nr += more.nr;
		sum.ns += more.ns;
	}
	return sum;
}

uint64_t triggers_nr_lost(const struct triggers *t)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < t->nr; i++)
		if (t->uses[i].trigger->nr_lost)
			nr += t->uses[i].trigger->nr_lost(t->uses[i].state);
	return nr;
}

int triggers_account(struct triggers *t, uint32_t origin, struct trigger_account *ret_account)
{
	*ret_account = (struct trigger_account){ 0 };
	return t->uses[origin].trigger->account(t->uses[origin].state, ret_account);
}
