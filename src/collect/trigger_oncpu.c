/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/trigger_oncpu.h"

#include <errno.h>

#include "base/clock.h"
#include "collect/events.h"
#include "collect/programs.h"

#define PROGRAM "pa_oncpu"
#define COUNTERS "tick_stats"

struct oncpu {
	const struct pa_options *o;      /* borrowed */
	const struct programs *programs; /* borrowed; NULL: not attached */
	struct events *events;           /* owned; NULL: not attached */
	struct pa_tick_stats *per_cpu;   /* owned: as of the last look(); NULL: none yet */
	struct cpus silent;              /* CPUs that did not tick between the last two calls */
	/* not delivered, or lost in the kernel, as of the last look() */
	uint64_t nr_lost;
};

static const struct value_type clock_types[] = {
	{ "samples", "count" },
	{ "cpu", "nanoseconds" },
};

static const struct value_type cycles_types[] = {
	{ "samples", "count" },
	{ "cycles", "count" },
};

static int oncpu_new(const struct trigger_setup *setup, struct value_types *ret_values,
		     void **ret_state, struct pa_error *err)
{
	struct oncpu *t = calloc(1, sizeof(*t));
	bool is_clock = setup->options->event == PA_EVENT_CPU_CLOCK;

	if (!t)
		return -ENOMEM;
	if (setup->origin != PA_ORIGIN_ONCPU) { /* its program is part of the shared object */
		free(t);
		return error_set(err, EINVAL, "the on-CPU trigger must be the first");
	}
	t->o = setup->options;
	*ret_values = (struct value_types){
		.types = is_clock ? clock_types : cycles_types,
		.nr_types = 2,
		.default_type = 1,
		.period = is_clock ? NS_PER_S / t->o->sample_rate_hz : 0,
	};
	*ret_state = t;
	return 0;
}

static void oncpu_configure(void *state, const struct cpus *online, struct programs_config *cfg)
{
	const struct oncpu *t = state;

	cfg->has_oncpu = true;
	cfg->records_per_s += (uint64_t)t->o->sample_rate_hz * cpus_count(online);
}

int oncpu_open(enum pa_event event, unsigned int rate_hz, const struct programs *p,
	       const struct cpus *online, struct events **ret_events, struct pa_error *err)
{
	const struct perf_event_attr clock = { .type = PERF_TYPE_SOFTWARE,
					       .config = PERF_COUNT_SW_CPU_CLOCK,
					       .sample_period = NS_PER_S / rate_hz };
	const struct perf_event_attr cycles = { .type = PERF_TYPE_HARDWARE,
						.config = PERF_COUNT_HW_CPU_CYCLES,
						.freq = 1,
						.sample_freq = rate_hz };

	return events_open(event == PA_EVENT_CYCLES ? &cycles : &clock,
			   programs_program_fd(p, PROGRAM), online, ret_events, err);
}

static int oncpu_attach(void *state, struct programs *p, const struct cpus *online,
			struct pa_error *err)
{
	struct oncpu *t = state;

	t->programs = p;
	return oncpu_open(t->o->event, t->o->sample_rate_hz, p, online, &t->events, err);
}

static void oncpu_detach(void *state)
{
	struct oncpu *t = state;

	t->events = events_free(t->events);
	t->programs = NULL;
	free(t->per_cpu);
	t->per_cpu = NULL;
}

static int oncpu_enable(void *state, uint64_t begin_ns)
{
	struct oncpu *t = state;

	(void)begin_ns; /* a tick has no duration */
	return events_enable(t->events);
}

static int read_counters(const struct oncpu *t, struct pa_tick_stats **ret_per_cpu,
			 unsigned int *ret_nr)
{
	return programs_read_per_cpu(t->programs, COUNTERS, sizeof(**ret_per_cpu),
				     (void **)ret_per_cpu, ret_nr);
}

/* Reads the events' counts before the program's counters, so that no tick in between appears to be
 * missing. */
static int read_progress(const struct oncpu *t, struct pa_tick_stats **ret_per_cpu,
			 unsigned int *ret_nr, uint64_t *ret_missing)
{
	unsigned int nr_possible = cpus_possible();
	_cleanup_(freep) uint64_t *counts = calloc(nr_possible, sizeof(*counts));
	int r;

	if (!counts)
		return -ENOMEM;
	events_read_counts(t->events, counts, nr_possible);
	r = read_counters(t, ret_per_cpu, ret_nr);
	if (r == 0)
		*ret_missing = events_missing(counts, events_period(t->events), *ret_per_cpu,
					      *ret_nr < nr_possible ? *ret_nr : nr_possible);
	return r;
}

static void oncpu_look(void *state, struct cpus *silent)
{
	struct oncpu *t = state;
	struct pa_tick_stats *per_cpu = NULL;
	uint64_t lost = 0;
	unsigned int nr = 0;
	int r = read_progress(t, &per_cpu, &nr, &lost);

	memset(&t->silent, 0xff, sizeof(t->silent));
	if (r < 0)
		return;
	for (unsigned int i = 0; i < nr; i++) {
		lost += per_cpu[i].ring_full + per_cpu[i].ring_busy + per_cpu[i].nested;
		if (t->per_cpu && per_cpu[i].ticks != t->per_cpu[i].ticks) {
			cpus_remove(&t->silent, i);
			cpus_remove(silent, i);
		}
	}
	t->nr_lost = lost;
	free(t->per_cpu);
	t->per_cpu = per_cpu;
}

static int oncpu_follow(void *state, const struct cpus *online)
{
	struct oncpu *t = state;

	return events_follow(t->events, online, &t->silent);
}

static uint64_t oncpu_nr_lost(const void *state)
{
	return ((const struct oncpu *)state)->nr_lost;
}

static struct pa_tick_stats sum_up(const struct pa_tick_stats *per_cpu, unsigned int nr)
{
	struct pa_tick_stats t = { 0 };

	for (unsigned int i = 0; i < nr; i++) {
		t.ticks += per_cpu[i].ticks;
		t.idle += per_cpu[i].idle;
		t.other += per_cpu[i].other;
		t.outside += per_cpu[i].outside;
		t.submitted += per_cpu[i].submitted;
		t.ring_full += per_cpu[i].ring_full;
		t.ring_busy += per_cpu[i].ring_busy;
		t.nested += per_cpu[i].nested;
	}
	return t;
}

void oncpu_account(const struct pa_tick_stats *per_cpu, unsigned int nr_cpus, uint64_t due,
		   struct trigger_account *to)
{
	struct pa_tick_stats t = sum_up(per_cpu, nr_cpus);

	to->due = due;
	to->submitted = t.submitted;
	trigger_count(to, "idle", "idle", t.idle);
	trigger_count(to, "other", "other", t.other);
	trigger_count(to, "outside", "outside", t.outside);
	trigger_lose(to, TRIGGER_NOT_DELIVERED, "not delivered by the kernel", due - t.ticks);
	trigger_lose(to, "ring_full", "the sample ring was full", t.ring_full);
	trigger_lose(to, "ring_busy", "the sample ring was locked when an NMI came", t.ring_busy);
	trigger_lose(to, "nested", "too many samples were in progress on one CPU", t.nested);
}

static int account(void *state, struct trigger_account *ret_account)
{
	struct oncpu *t = state;
	_cleanup_(freep) struct pa_tick_stats *per_cpu = NULL;
	unsigned int nr;
	int r = read_counters(t, &per_cpu, &nr);

	if (r < 0)
		return r;
	oncpu_account(per_cpu, nr, events_ticks_due(t->events, per_cpu, nr), ret_account);
	ret_account->nr_cpus = events_nr_cpus(t->events);
	return 0;
}

/* The numbers of the last look() may be a second old; these are the final ones. */
static void oncpu_disable(void *state, uint64_t end_ns)
{
	struct oncpu *t = state;
	struct trigger_account a = { 0 };

	(void)end_ns;
	events_disable(t->events);
	if (account(t, &a) < 0)
		return;
	t->nr_lost = 0;
	for (uint32_t i = 0; i < a.nr_losses; i++)
		t->nr_lost += a.losses[i].count;
}

const struct trigger trigger_oncpu = {
	.name = "on-cpu",
	.unit = "tick",
	.units = "ticks",
	.create = oncpu_new,
	.configure = oncpu_configure,
	.attach = oncpu_attach,
	.enable = oncpu_enable,
	.look = oncpu_look,
	.follow = oncpu_follow,
	.disable = oncpu_disable,
	.nr_lost = oncpu_nr_lost,
	.account = account,
	.detach = oncpu_detach,
	.free = free,
};
