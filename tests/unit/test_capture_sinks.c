/* SPDX-License-Identifier: Apache-2.0 */
/* Sinks beside the model: who gets samples, events and turns, and what their failure does. */
#include <errno.h>

#include "fake_proc.h"
#include "replay.h"
#include "tap.h"

#define PID 5001

struct counting_sink {
	struct sample_sink sink;
	uint32_t nr_samples, nr_events, nr_flushes;
	uint32_t nr_events_at_sample; /* before the last sample came */
	uint64_t last_ns;             /* of the last sample */
	enum process_event_type last_event;
	uint64_t settled_ns;
	int flush_result;
};

static void count_sample(void *ctx, const struct sample *s)
{
	struct counting_sink *c = ctx;

	c->nr_samples++;
	c->last_ns = s->time_ns;
	c->nr_events_at_sample = c->nr_events;
}

static void count_event(void *ctx, const struct process_event *e)
{
	struct counting_sink *c = ctx;

	c->nr_events++;
	c->last_event = e->type;
}

static int count_flush(void *ctx)
{
	struct counting_sink *c = ctx;

	c->nr_flushes++;
	return c->flush_result;
}

static void note_settled(void *ctx, uint64_t until_ns)
{
	((struct counting_sink *)ctx)->settled_ns = until_ns;
}

static void sink_init(struct counting_sink *c)
{
	*c = (struct counting_sink){ .sink = { count_sample, count_event, count_flush, c,
					       .on_settled = note_settled } };
}

static void sample_at(struct capture *c, uint64_t time_ns)
{
	uint64_t none = 0;

	must(replay_sample(c, time_ns, PID, &none, 0, &none, 0, 0, PA_STOP_EXEC) == 0);
}

static void test_sinks(struct capture *c)
{
	struct counting_sink first, second, other;

	sink_init(&first);
	sink_init(&second);
	sink_init(&other);
	must(pipe_add_sink(c->pipe, 0, &first.sink) == 0 &&
	     pipe_add_sink(c->pipe, 0, &second.sink) == 0 &&
	     pipe_add_sink(c->pipe, 3, &other.sink) == 0);
	must(replay_task(c, EVENT_EXEC, 10, PID, 0) == 0);
	ok(first.nr_events == 1 && second.nr_events == 1 && other.nr_events == 1 &&
		   first.last_event == EVENT_EXEC,
	   "every sink of every origin gets an event, at once");
	sample_at(c, 20);
	ok(first.nr_samples == 0, "a sample waits for the end of the turn");
	must(replay_task(c, EVENT_EXIT, 30, PID, 0) == 0);
	must(capture_settle(c, false) == 0);
	ok(first.nr_samples == 1 && first.last_ns == 20 && second.nr_samples == 1 &&
		   c->model->stats.nr_kept == 1,
	   "all sinks of its origin get it, beside the model");
	ok(first.nr_events_at_sample == 2, "events are ahead of samples that are older");
	ok(other.nr_samples == 0, "sinks of another origin do not get the sample");
	ok(first.nr_flushes == 1 && other.nr_flushes == 1, "each turn ends with a flush");
	ok(first.settled_ns && first.settled_ns < c->pipe->turn_ns,
	   "what has settled is older than the turn: records may be on their way");
	first.flush_result = -EIO;
	second.flush_result = -ENOSPC;
	ok(capture_settle(c, true) == -EIO && second.nr_flushes == 2 && other.nr_flushes == 2,
	   "the first failure is the turn's, and every sink has its flush");
	ok(first.settled_ns == UINT64_MAX, "after the last turn everything has settled");
}

static void test_replaced_sink(struct capture *c)
{
	struct counting_sink before, after;

	sink_init(&before);
	sink_init(&after);
	must(pipe_add_sink(c->pipe, 0, &before.sink) == 0);
	sample_at(c, 40);
	must(capture_settle(c, false) == 0);
	must(pipe_replace_sink(c->pipe, 0, &before.sink, &after.sink) == 0);
	ok(pipe_replace_sink(c->pipe, 0, &before.sink, &after.sink) == -ENOENT,
	   "a sink that is not there has no place to give");
	sample_at(c, 50);
	must(replay_task(c, EVENT_EXEC, 60, PID, 0) == 0 && capture_settle(c, false) == 0);
	ok(before.nr_samples == 1 && before.nr_events == 0 && before.nr_flushes == 1 &&
		   after.nr_samples == 1 && after.nr_events == 1 && after.nr_flushes == 1,
	   "samples, events and turns go to the one that took its place");
	for (int i = 0; i < PIPE_MAX_SINKS - 2; i++)
		must(pipe_add_sink(c->pipe, 0, &after.sink) == 0);
	ok(pipe_add_sink(c->pipe, 0, &after.sink) == -E2BIG &&
		   pipe_add_sink(c->pipe, PIPE_MAX_ORIGINS, &after.sink) == -E2BIG,
	   "sinks and origins have a limit");
}

static struct capture *new_capture(const struct fake *f)
{
	struct world_config cfg = {
		.proc_root = f->dir, .kallsyms_path = "/dev/null", .all = true, .max_fds = 16
	};
	struct capture *c;

	must(capture_new(&cfg, NULL, &c) == 0);
	return c;
}

int main(void)
{
	struct fake f;
	struct capture *c;

	fake_init(&f);
	c = new_capture(&f);
	test_sinks(c);
	capture_free(c);
	c = new_capture(&f);
	test_replaced_sink(c);
	capture_free(c);
	fake_done(&f);
	return tap_done();
}
