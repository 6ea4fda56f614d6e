/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/trigger_offcpu.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "collect/blocked_iter.h"
#include "collect/map_reader.h"
#include "collect/passed_sums.h"
#include "collect/programs.h"

/* Records per CPU and second: new stacks, and intervals of stacks that user space finishes. */
#define RECORDS_PER_CPU_AND_S 2000
/* A sum that changes while it is read is read again, so that its number and its time belong together;
 * whatever is missing is in the next part. */
#define MAX_READINGS 16

/* The wake-up is attached first: without it, intervals would appear to last until the thread
 * runs. */
static const struct {
	const char *program, *tracepoint;
} hooks[] = {
	{ "pa_wakeup", "sched_wakeup" },
	{ "pa_new", "sched_wakeup_new" },
	{ "pa_switch", "sched_switch" },
};
#define NR_HOOKS (sizeof(hooks) / sizeof(hooks[0]))

struct offcpu {
	const struct pa_options *o; /* borrowed */
	struct programs *programs;  /* borrowed; NULL: not attached */
	uint32_t origin;
	uint8_t states;                 /* the recorded states */
	int links[NR_HOOKS];            /* owned; -1: not attached */
	uint64_t ended_ns;              /* when it was disabled */
	struct passed_sums passed;      /* by part() */
	struct offcpu_found found;      /* filled in by part() and sums() */
	uint64_t nr_lost;               /* as of the last offcpu_look() */
	struct trigger_intervals ended; /* as of the last offcpu_look() */
};

static const struct value_type types[] = {
	{ "intervals", "count" },
	{ "offcpu", "nanoseconds" },
};

static int offcpu_new(const struct trigger_setup *setup, struct value_types *ret_values,
		      void **ret_state, struct pa_error *err)
{
	struct offcpu *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->o = setup->options;
	t->origin = setup->origin;
	t->states = (uint8_t)t->o->off_cpu_states;
	for (size_t i = 0; i < NR_HOOKS; i++)
		t->links[i] = -1;
	*ret_values = (struct value_types){
		.types = types,
		.nr_types = 2,
		.shown_type = 1,
		.default_type = 1,
	};
	*ret_state = t;
	return 0;
}

static void offcpu_configure(void *state, const struct cpus *online, struct programs_config *cfg)
{
	const struct offcpu *t = state;

	cfg->records_per_s += (uint64_t)RECORDS_PER_CPU_AND_S * cpus_count(online);
	cfg->use_waits = true;
	cfg->wait = (struct pa_wait_config){
		.min_ns = t->o->off_cpu_min_ns,
		.own_pid = (__u32)getpid(),
		.states = t->states,
		.origin = (__u8)t->origin,
	};
	if (getrandom(&cfg->wait.seed, sizeof(cfg->wait.seed), GRND_NONBLOCK) < 0)
		cfg->wait.seed = clock_mono_ns();
}

static int offcpu_attach(void *state, struct programs *p, const struct cpus *online,
			 struct pa_error *err)
{
	struct offcpu *t = state;

	t->programs = p;
	for (size_t i = 0; i < NR_HOOKS; i++) {
		int fd = programs_program_fd(t->programs, hooks[i].program);

		if (fd >= 0)
			fd = bpf_raw_tracepoint_open(hooks[i].tracepoint, fd);
		if (fd < 0)
			return error_set(err, -fd, "cannot attach to the kernel's %s: %s",
					 hooks[i].tracepoint, strerror(-fd));
		t->links[i] = fd;
	}
	return 0;
}

static int offcpu_enable(void *state, uint64_t begin_ns)
{
	programs_count_waits(((struct offcpu *)state)->programs, begin_ns);
	return 0;
}

static void close_links(struct offcpu *t)
{
	for (size_t i = 0; i < NR_HOOKS; i++) {
		if (t->links[i] >= 0)
			close(t->links[i]);
		t->links[i] = -1;
	}
}

/* Closing the links would not suffice: a process that the agent has forked may keep them open. */
static void offcpu_disable(void *state, uint64_t end_ns)
{
	struct offcpu *t = state;

	programs_count_waits(t->programs, 0);
	t->ended_ns = end_ns;
}

static void offcpu_detach(void *state)
{
	struct offcpu *t = state;

	close_links(t);
	t->programs = NULL;
	passed_sums_done(&t->passed);
	t->found = (struct offcpu_found){ 0 };
}

/* ---- threads that were off the CPU before ---- */

struct before {
	const struct offcpu *t;
	trigger_blocked_fn fn;
	void *ctx;
};

static void give_blocked(void *ctx, const struct pa_blocked *b)
{
	const struct before *before = ctx;

	before->fn(before->ctx, before->t->origin, b);
}

static int offcpu_blocked(void *state, trigger_blocked_fn fn, void *ctx)
{
	struct before before = { state, fn, ctx };

	return blocked_iter_read(before.t->programs, give_blocked, &before);
}

static bool offcpu_is_blocked(const void *state, const struct pa_blocked *b)
{
	const struct offcpu *t = state;
	struct pa_thread now;

	return bpf_map_lookup_elem(programs_map_fd(t->programs, "threads"), &b->task, &now) == 0 &&
	       now.is_open && now.wait == b->wait;
}

/* ---- sums in the kernel ---- */

struct reading {
	struct offcpu *t;
	trigger_sum_fn fn;
	void *ctx;
};

static void give(struct reading *rd, const struct wait_sum *sum)
{
	rd->fn(rd->ctx, rd->t->origin, sum);
}

/* passed: what was passed before, which changes to what has been passed now; NULL: nothing, and this
 * is the last reading. */
static void give_sums(struct reading *rd, uint64_t id, const struct pa_wait *w,
		      struct passed_sum *passed)
{
	for (unsigned int i = 0; i < PA_NR_WAIT_STATES; i++) {
		const struct pa_wait_sum *s = &w->sums[i];
		struct pa_wait_sum none = { 0 }, *before = passed ? &passed->sums[i] : &none;
		struct wait_sum more = { id, (uint8_t)i, s->nr - before->nr, s->ns - before->ns,
					 s->max_ns };

		if (!more.nr)
			continue;
		rd->t->found.nr_summed += more.nr;
		*before = *s;
		give(rd, &more);
	}
}

static int give_wait(void *ctx, uint64_t id, const void *value)
{
	struct reading *rd = ctx;

	give_sums(rd, id, value, passed_sums_find(&rd->t->passed, id));
	return 0;
}

static bool has_more(const struct pa_wait *w, const struct passed_sum *passed)
{
	uint64_t nr = 0;

	for (unsigned int i = 0; i < PA_NR_WAIT_STATES; i++)
		nr += w->sums[i].nr - (passed ? passed->sums[i].nr : 0);
	return nr > 0;
}

static void read_settled(const struct offcpu *t, uint64_t id, struct pa_wait *w)
{
	int fd = programs_map_fd(t->programs, "waits");
	struct pa_wait again;

	for (unsigned int i = 0; i < MAX_READINGS && bpf_map_lookup_elem(fd, &id, &again) == 0;
	     i++) {
		if (!memcmp(w, &again, sizeof(again)))
			return;
		*w = again;
	}
}

/* Without memory a sum remains for the next part. */
static int give_part(void *ctx, uint64_t id, const void *value)
{
	struct reading *rd = ctx;
	struct passed_sum *passed = passed_sums_find(&rd->t->passed, id);
	struct pa_wait w;

	memcpy(&w, value, sizeof(w));
	if (!has_more(&w, passed) || passed_sums_get(&rd->t->passed, id, &passed) < 0)
		return 0;
	read_settled(rd->t, id, &w);
	give_sums(rd, id, &w, passed);
	return 0;
}

/* Passes an open interval, which lasts until the end of the capture. */
static int give_open(void *ctx, uint64_t task, const void *value)
{
	struct reading *rd = ctx;
	const struct pa_thread *th = value;
	uint64_t ended_ns = rd->t->ended_ns;
	uint64_t ns = ended_ns > th->since_ns ? ended_ns - th->since_ns
					      : 0; /* a clock of another CPU may be ahead */

	if (!th->is_open || !(rd->t->states >> th->state & 1))
		return 0;
	rd->t->found.nr_open_ran += th->loss == PA_WAIT_RAN;
	if (th->loss)
		return 0;
	if (ns < rd->t->o->off_cpu_min_ns) {
		rd->t->found.nr_open_short++;
		return 0;
	}
	rd->t->found.nr_open++;
	give(rd, &(struct wait_sum){ th->wait, th->state, 1, ns, ns });
	return 0;
}

struct using
{
	const struct offcpu *t;
	trigger_wait_fn fn;
	void *ctx;
};

/* Also of a thread that is running: between its wake-up and its run it has no interval for a moment. */
static int give_use(void *ctx, uint64_t task, const void *value)
{
	const struct using *u = ctx;

	u->fn(u->ctx, u->t->origin, ((const struct pa_thread *)value)->wait);
	return 0;
}

static int offcpu_part(void *state, trigger_sum_fn sum, trigger_wait_fn uses, void *ctx)
{
	struct reading rd = { state, sum, ctx };
	struct using u = { state, uses, ctx };
	const struct programs *p = rd.t->programs;
	int r = map_read(programs_map_fd(p, "waits"), sizeof(struct pa_wait), give_part, &rd);

	if (r == 0)
		r = map_read(programs_map_fd(p, "threads"), sizeof(struct pa_thread), give_use, &u);
	if (r == 0)
		programs_await_end(); /* a record that one of them is writing hides those behind it */
	return r;
}

static int offcpu_sums(void *state, trigger_sum_fn fn, void *ctx)
{
	struct reading rd = { state, fn, ctx };
	const struct programs *p = rd.t->programs;
	int r;

	close_links(rd.t);
	programs_await_end();
	r = map_read(programs_map_fd(p, "waits"), sizeof(struct pa_wait), give_wait, &rd);
	return r < 0 ? r
		     : map_read(programs_map_fd(p, "threads"), sizeof(struct pa_thread), give_open,
				&rd);
}

/* ---- the account ---- */

static int read_counters(const struct offcpu *t, struct pa_wait_stats *ret)
{
	_cleanup_(freep) struct pa_wait_stats *per_cpu = NULL;
	const size_t nr_fields = sizeof(*ret) / sizeof(uint64_t);
	unsigned int nr;
	int r = programs_read_per_cpu(t->programs, "wait_stats", sizeof(*per_cpu),
				      (void **)&per_cpu, &nr);

	if (r < 0)
		return r;
	*ret = (struct pa_wait_stats){ 0 };
	for (unsigned int i = 0; i < nr; i++)
		for (size_t k = 0; k < nr_fields; k++)
			((uint64_t *)ret)[k] += ((const uint64_t *)&per_cpu[i])[k];
	return 0;
}

static uint64_t nr_lost_of(const struct pa_wait_stats *st)
{
	uint64_t nr = st->end_lost + st->not_delivered + st->no_end;

	for (unsigned int i = PA_WAIT_NOT_LOST + 1; i <= PA_WAIT_NO_ROOM; i++)
		nr += st->lost[i];
	return nr;
}

static void offcpu_look(void *state, struct cpus *silent)
{
	struct offcpu *t = state;
	struct pa_wait_stats st;

	if (read_counters(t, &st) < 0)
		return;
	t->nr_lost = nr_lost_of(&st);
	t->ended = (struct trigger_intervals){ st.summed + st.submitted, st.ended_ns };
}

static struct trigger_intervals offcpu_intervals(const void *state)
{
	return ((const struct offcpu *)state)->ended;
}

static uint64_t offcpu_nr_lost(const void *state)
{
	return ((const struct offcpu *)state)->nr_lost;
}

void offcpu_account(const struct pa_wait_stats *st, const struct offcpu_found *found,
		    struct trigger_account *to)
{
	to->due = st->intervals;
	to->submitted = found->nr_summed + st->submitted + found->nr_open;
	to->nr_unsummed = st->waits_full;
	trigger_count(to, "idle", "idle", st->idle);
	trigger_count(to, "other", "other", st->other);
	trigger_count(to, "outside", "outside", st->outside);
	trigger_count(to, "agent", "agent", st->own + st->lost[PA_WAIT_HELPER]);
	trigger_count(to, "exited", "exited", st->exited);
	trigger_count(to, "other_states", "other states", st->other_state + found->nr_open_ran);
	trigger_count(to, "too_short", "too short", st->too_short + found->nr_open_short);
	trigger_lose(to, TRIGGER_NOT_DELIVERED, "not delivered by the kernel", st->not_delivered);
	trigger_lose(to, "no_end", "their end was not delivered by the kernel", st->no_end);
	trigger_lose(to, "ring_full", "the sample ring was full",
		     st->lost[PA_WAIT_RING_FULL] + st->end_lost);
	trigger_lose(to, "ring_busy", "the sample ring was locked when an NMI came",
		     st->lost[PA_WAIT_RING_BUSY]);
	trigger_lose(to, "nested", "too many samples were in progress on one CPU",
		     st->lost[PA_WAIT_NESTED]);
	trigger_lose(to, "threads_full", "there was no room for more threads",
		     st->lost[PA_WAIT_NO_ROOM]);
}

static int account_of(void *state, struct trigger_account *ret_account)
{
	struct offcpu *t = state;
	struct pa_wait_stats st;
	int r = read_counters(t, &st);

	if (r == 0)
		offcpu_account(&st, &t->found, ret_account);
	return r;
}

const struct trigger trigger_offcpu = {
	.name = "off-cpu",
	.unit = "interval",
	.units = "intervals",
	.create = offcpu_new,
	.configure = offcpu_configure,
	.attach = offcpu_attach,
	.enable = offcpu_enable,
	.blocked = offcpu_blocked,
	.is_blocked = offcpu_is_blocked,
	.look = offcpu_look,
	.disable = offcpu_disable,
	.part = offcpu_part,
	.sums = offcpu_sums,
	.intervals = offcpu_intervals,
	.nr_lost = offcpu_nr_lost,
	.account = account_of,
	.detach = offcpu_detach,
	.free = free,
};
