/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/pipe.h"

#include <errno.h>

#include "base/clock.h"
#include "bpf/wait.h"
#include "capture/resolve.h"

/* The number of tables that one walk may wait for, one after another: more than a stack has files.
 * Without a limit, a walk would wait forever if there is no room for two tables at a time. */
#define MAX_TRIES 64
#define LAST_TABLES_CPU_NS (4 * NS_PER_S) /* CPU time for compiling after sampling has ended */
#define INTERRUPTED_CPU_NS (NS_PER_S / 4) /* CPU time for it if the user waits for the end */
/* Pages follow their sample within microseconds. A sample that was younger than this when the ring
 * was read may be incomplete, however long ago the reading was. */
#define STACK_ON_ITS_WAY_NS NS_PER_MS
/* The longest time between a sample and its last record in the ring: a virtual CPU may be suspended
 * in between. */
#define LATE_RECORD_NS NS_PER_S

struct pipe *pipe_free(struct pipe *p)
{
	if (!p)
		return NULL;
	waiting_samples_done(&p->waiting);
	record_queue_done(&p->queue);
	free(p);
	return NULL;
}

int pipe_new(struct world *w, struct pipe **ret_pipe)
{
	struct pipe *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->world = w;
	record_queue_init(&p->queue);
	waiting_samples_init(&p->waiting);
	pipe_begin_turn(p);
	*ret_pipe = p;
	return 0;
}

int pipe_add_sink(struct pipe *p, uint8_t origin, const struct sample_sink *sink)
{
	struct pipe_origin *o;

	if (origin >= PIPE_MAX_ORIGINS || p->origins[origin].nr_sinks == PIPE_MAX_SINKS)
		return -E2BIG;
	o = &p->origins[origin];
	o->sinks[o->nr_sinks++] = sink;
	return 0;
}

int pipe_replace_sink(struct pipe *p, uint8_t origin, const struct sample_sink *sink,
		      const struct sample_sink *by)
{
	for (unsigned int i = 0; origin < PIPE_MAX_ORIGINS && i < p->origins[origin].nr_sinks; i++)
		if (p->origins[origin].sinks[i] == sink) {
			p->origins[origin].sinks[i] = by;
			return 0;
		}
	return -ENOENT;
}

const struct pipe_stats *pipe_stats(const struct pipe *p, uint8_t origin)
{
	return &p->origins[origin].stats;
}

void pipe_begin_turn(struct pipe *p)
{
	p->turn_ns = clock_mono_ns();
}

int pipe_fd(const struct pipe *p)
{
	return p->world->unwinder ? unwinder_fd(p->world->unwinder) : -1;
}

/* ---- input ---- */

/* NULL if no sink is registered for the origin. A record too short to have an origin is counted for
 * the first. */
static struct pipe_origin *origin_of(struct pipe *p, const struct pa_record *head, size_t size)
{
	const struct pa_sample *s = (const void *)head;

	if (size < sizeof(*s))
		return &p->origins[0];
	return s->origin < PIPE_MAX_ORIGINS && p->origins[s->origin].nr_sinks
		       ? &p->origins[s->origin]
		       : NULL;
}

/* How many events a sample stands for: none if its value is sent separately. */
static uint64_t nr_events(const struct pa_record *head, size_t size)
{
	const struct pa_sample *s = (const void *)head;

	return size < sizeof(*s) || !(s->flags & PA_SAMPLE_WAIT);
}

void pipe_sum(void *ctx, uint32_t origin, const struct wait_sum *sum)
{
	struct pipe *p = ctx;
	struct pipe_origin *o;

	if (world_is_aborted(p->world))
		return;
	if (origin >= PIPE_MAX_ORIGINS) {
		p->nr_bad_origin += sum->nr;
		return;
	}
	o = &p->origins[origin];
	o->stats.nr_records += sum->nr;
	for (unsigned int i = 0; i < o->nr_sinks; i++)
		if (o->sinks[i]->on_sum)
			o->sinks[i]->on_sum(o->sinks[i]->ctx, sum);
}

static void add_interval(struct pipe *p, const struct pa_wait_end *e, size_t size)
{
	const struct wait_sum sum = { e->wait, e->state, 1, e->ns, e->ns };

	if (size >= sizeof(*e) && e->state < PA_NR_WAIT_STATES)
		pipe_sum(p, e->origin, &sum);
}

int pipe_record(void *ctx, const void *bytes, size_t size)
{
	struct pipe *p = ctx;
	const struct pa_record *head = bytes;
	struct pipe_origin *o = NULL;

	if (size < sizeof(*head) || world_is_aborted(p->world))
		return 0;
	if (head->type == PA_RECORD_SAMPLE) {
		o = origin_of(p, head, size);
		if (!o) {
			p->nr_bad_origin++;
			return 0;
		}
		o->stats.nr_records += nr_events(head, size);
	} else if (head->type == PA_RECORD_WAIT) {
		add_interval(p, bytes, size);
		return 0;
	} else if (head->type != PA_RECORD_STACK && head->type != PA_RECORD_STACK_END &&
		   head->type != PA_RECORD_EXEC) {
		return 0;
	}
	if (record_queue_add(&p->queue, bytes, size) < 0 && o)
		o->stats.nr_no_memory += nr_events(head, size);
	return 0;
}

int pipe_event(void *ctx, const struct process_event *e)
{
	struct pipe *p = ctx;

	world_event(p->world, e);
	for (unsigned int i = 0; i < PIPE_MAX_ORIGINS; i++)
		for (unsigned int k = 0; k < p->origins[i].nr_sinks; k++)
			if (p->origins[i].sinks[k]->on_event)
				p->origins[i].sinks[k]->on_event(p->origins[i].sinks[k]->ctx, e);
	return 0;
}

/* ---- output ---- */

static void give_to_sinks(struct pipe_origin *o, const struct sample *s)
{
	for (unsigned int i = 0; i < o->nr_sinks; i++)
		o->sinks[i]->on_sample(o->sinks[i]->ctx, s);
}

/* Resolves and delivers a sample, or counts it as lost. -EAGAIN: neither, since a table is
 * awaited. */
static int settle_one(struct pipe *p, const struct pa_sample *s, size_t size,
		      const struct stack_copy *stack, uint32_t *ret_missing)
{
	struct pipe_origin *o = origin_of(p, &s->head, size);
	struct resolved resolved;
	int r = resolve_record(p->world, s, stack, &resolved, ret_missing);

	if (r == 0)
		give_to_sinks(o, &resolved.sample);
	else if (r == -ENOMEM || r == -E2BIG)
		o->stats.nr_no_memory += nr_events(&s->head, size);
	else if (r != -EAGAIN)
		o->stats.nr_bad += nr_events(&s->head, size);
	return r;
}

/* A sample with its stack: resolves it, or sets it aside until a table is ready. */
static void settle_unfinished(struct pipe *p, const struct queued *q)
{
	const struct pa_sample *s = (const void *)q->head;
	struct stack_copy stack;
	uint32_t missing;

	record_queue_gather_stack(&p->queue, q, &stack);
	unwinder_missed(p->world->unwinder, (pid_t)s->head.pid, s->stop);
	if (settle_one(p, s, q->size, &stack, &missing) != -EAGAIN ||
	    waiting_samples_add(&p->waiting, s, q->size, &stack, missing) == 0)
		return;
	stack.must_end = true; /* no more samples can wait */
	(void)settle_one(p, s, q->size, &stack, &missing);
}

static void settle_sample(struct pipe *p, const struct queued *q)
{
	const struct pa_sample *s = (const void *)q->head;

	if (!queued_sample_is_whole(q))
		origin_of(p, q->head, q->size)->stats.nr_bad += nr_events(q->head, q->size);
	else if (p->world->unwinder && (s->flags & PA_SAMPLE_UNFINISHED))
		settle_unfinished(p, q);
	else
		(void)settle_one(p, s, q->size, NULL, NULL); /* it counts the outcome */
}

static bool can_go_on(void *ctx, const struct waiting_sample *one)
{
	const struct pipe *p = ctx;

	return !unwinder_is_awaited(p->world->unwinder, one->file);
}

/* Retries the samples whose table is ready now. A sample may then need another table. */
static void settle_waiting(struct pipe *p)
{
	struct waiting_sample *one;

	while ((one = waiting_samples_take(&p->waiting, can_go_on, p))) {
		one->stack.must_end = ++one->nr_tries == MAX_TRIES;
		if (settle_one(p, one->sample, sizeof(*one->sample), &one->stack, &one->file) ==
		    -EAGAIN)
			waiting_samples_give_back(&p->waiting, one);
		else
			free(one);
	}
}

static bool can_end(void *ctx, const struct waiting_sample *one)
{
	return true;
}

/* Ends all waiting: the tables will not come, so the walks end where they need them. */
static void end_waiting(struct pipe *p)
{
	struct waiting_sample *one;

	while ((one = waiting_samples_take(&p->waiting, can_end, p))) {
		one->stack.must_end = true;
		(void)settle_one(p, one->sample, sizeof(*one->sample), &one->stack, &one->file);
		free(one);
	}
}

/* Waits for tables, but not for long, however many files the targets have mapped. */
static void settle_all_waiting(struct pipe *p)
{
	struct unwinder *u = p->world->unwinder;
	uint64_t max_cpu_ns =
		unwinder_cpu_ns(u) +
		(world_is_interrupted(p->world) ? INTERRUPTED_CPU_NS : LAST_TABLES_CPU_NS);

	while (p->waiting.first && unwinder_wait(u, max_cpu_ns))
		settle_waiting(p);
	unwinder_give_up(u);
	end_waiting(p);
}

/* True if pages of its stack may still come: the ring may have been read before the last one was
 * written. */
static bool is_on_its_way(const struct pipe *p, const struct queued *q)
{
	const struct pa_sample *s = (const void *)q->head;

	return s->head.type == PA_RECORD_SAMPLE && queued_sample_is_whole(q) &&
	       (s->flags & PA_SAMPLE_UNFINISHED) && s->head.time_ns + LATE_RECORD_NS > p->turn_ns &&
	       !record_queue_has_stack(&p->queue, q);
}

/* Handles the queued records older than until_ns, since younger ones may be incomplete; UINT64_MAX:
 * all of them. */
static void settle_queue(struct pipe *p, uint64_t until_ns)
{
	size_t at = 0;

	for (struct queued q; record_queue_at(&p->queue, at, &q); at = q.next) {
		if (world_is_aborted(p->world))
			continue;
		if (until_ns < UINT64_MAX && (q.head->time_ns >= until_ns || is_on_its_way(p, &q)))
			break;
		if (q.head->type == PA_RECORD_SAMPLE)
			settle_sample(p, &q);
		else if (q.head->type == PA_RECORD_EXEC)
			world_exec_heard(p->world, q.head->time_ns, (pid_t)q.head->pid);
	}
	record_queue_drop(&p->queue, at);
}

/* As settle_queue(), and also handles the walks that are finished here. */
static void settle_unwinding(struct pipe *p, bool is_last, uint64_t until_ns)
{
	struct unwinder *u = p->world->unwinder;

	unwinder_take(u);
	settle_waiting(p);
	settle_queue(p, is_last ? UINT64_MAX : until_ns);
	if (is_last)
		settle_all_waiting(p);
	unwinder_give(u);
	p->has_published = unwinder_publish(u);
}

/* The time before which all samples have been delivered. */
static uint64_t settled_until_ns(const struct pipe *p, bool is_last)
{
	uint64_t until_ns = p->turn_ns > LATE_RECORD_NS ? p->turn_ns - LATE_RECORD_NS : 0;
	uint64_t waiting_ns = waiting_samples_oldest_ns(&p->waiting);
	struct queued q;

	if (is_last)
		return UINT64_MAX;
	if (waiting_ns < until_ns)
		until_ns = waiting_ns;
	if (record_queue_at(&p->queue, 0, &q) && q.head->time_ns < until_ns)
		until_ns = q.head->time_ns;
	return until_ns;
}

static void report_settled(struct pipe *p, uint64_t until_ns)
{
	for (unsigned int i = 0; i < PIPE_MAX_ORIGINS; i++)
		for (unsigned int k = 0; k < p->origins[i].nr_sinks; k++)
			if (p->origins[i].sinks[k]->on_settled)
				p->origins[i].sinks[k]->on_settled(p->origins[i].sinks[k]->ctx,
								   until_ns);
}

static int flush_sinks(struct pipe *p)
{
	int result = 0;

	for (unsigned int i = 0; i < PIPE_MAX_ORIGINS; i++)
		for (unsigned int k = 0; k < p->origins[i].nr_sinks; k++) {
			const struct sample_sink *s = p->origins[i].sinks[k];
			int r = s->flush ? s->flush(s->ctx) : 0;

			if (r < 0 && result == 0)
				result = r;
		}
	return result;
}

int pipe_settle(struct pipe *p, bool is_last)
{
	uint64_t now_ns = clock_mono_ns();

	world_rescan(p->world, now_ns);
	if (p->world->unwinder)
		settle_unwinding(p, is_last, p->turn_ns - STACK_ON_ITS_WAY_NS);
	else
		settle_queue(p, UINT64_MAX);
	world_forget(p->world, now_ns, waiting_samples_oldest_ns(&p->waiting));
	world_log_unanswered(p->world);
	report_settled(p, settled_until_ns(p, is_last));
	return flush_sinks(p);
}

/* True if the rest of the queue needs something: the stack of an unfinished sample, or an unknown
 * process. Finished samples can wait, and at a high rate there always is one. */
static bool is_awaited(const struct pipe *p)
{
	for (struct queued q = { 0 }; record_queue_at(&p->queue, q.next, &q);) {
		const struct pa_sample *s = (const void *)q.head;

		if (q.head->type != PA_RECORD_SAMPLE || q.size < sizeof(*s) ||
		    (s->flags & PA_SAMPLE_UNFINISHED))
			return true;
	}
	return false;
}

bool pipe_is_in_a_hurry(const struct pipe *p)
{
	return p->has_published || is_awaited(p);
}
