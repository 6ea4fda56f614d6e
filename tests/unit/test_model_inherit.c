/* SPDX-License-Identifier: Apache-2.0 */
/* A model of off-CPU time that replaces another one: each interval is in exactly one of them, with
 * its stack. */
#include "bpf/wait.h"
#include "replay.h"
#include "tap.h"

#define SUMMED 77
#define USED (PA_WAIT_SINGLE | 1)
#define OVER (PA_WAIT_SINGLE | 2)
#define LATE (PA_WAIT_SINGLE | 3)
#define LOST (PA_WAIT_SINGLE | 4)

static struct capture *new_capture(void)
{
	struct world_config cfg = { .proc_root = "/proc",
				    .kallsyms_path = "/dev/null",
				    .all = true };
	struct capture *c = NULL;

	must(capture_new(&cfg, NULL, &c) == 0);
	return c;
}

/* A stack of one address in no mapping. */
static void give_stack(struct capture *c, uint64_t id)
{
	struct {
		struct pa_sample s;
		__u64 words[2];
	} rec = {
		.s = { .head = { PA_RECORD_SAMPLE, (__u32)getpid(), 1000 },
		       .tid = (__u32)getpid(),
		       .nr_user = 1,
		       .nr_values = 1,
		       .flags = PA_SAMPLE_WAIT,
		       .comm = "waiter",
		       .thread = "waiter" },
		.words = { id, 0x1000 * (id & 0xff) | PA_PC_EXACT },
	};

	must(capture_record(c, &rec, sizeof(rec)) == 0 && pipe_settle(c->pipe, false) == 0);
}

static void give_sum(struct capture *c, uint64_t id, uint64_t nr, uint64_t ns)
{
	pipe_sum(c->pipe, 0, &(struct wait_sum){ id, PA_WAIT_SLEEP, nr, ns, ns });
}

/* What session_take_model() does. */
static struct model *replace(struct capture *c, struct model *from, uint64_t now_ns)
{
	struct model *next = NULL;

	must(model_new(&(struct model_config){ .values = &cpu_values }, c->world, &next) == 0 &&
	     pipe_replace_sink(c->pipe, 0, &from->sink, &next->sink) == 0);
	model_inherit_waits(next, from, now_ns);
	model_place_waits(from);
	return next;
}

/* The nanoseconds of the stack with this ID; 0: none. */
static int64_t ns_of(const struct model *m, uint64_t id)
{
	const struct profile *p = m->profile;

	for (uint32_t i = 0; i < p->nr_samples; i++) {
		struct profile_span s = p->stacks[p->samples[i].stack];
		uint64_t leaf = p->locations[p->frames[s.first]].address;

		if ((leaf & ~0xfffull) == 0x1000 * (id & 0xff))
			return profile_value(p, i, 1);
	}
	return 0;
}

static void name(struct model *m)
{
	must(model_name(m, NULL) == 0);
}

static void test_summed(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	_cleanup_(model_freep) struct model *second = NULL, *third = NULL, *fourth = NULL;

	give_stack(c, SUMMED);
	give_sum(c, SUMMED, 3, 300);
	second = replace(c, c->model, 2000);
	give_sum(c, SUMMED, 2, 50);
	third = replace(c, second, 3000);
	fourth = replace(c, third, 4000);
	give_sum(c, SUMMED, 1, 7);
	must(pipe_settle(c->pipe, true) == 0);
	name(c->model);
	name(second);
	name(third);
	name(fourth);
	ok(ns_of(c->model, SUMMED) == 300 && c->model->profile->nr_samples == 1,
	   "values that came before the replacement are in the first model");
	ok(ns_of(second, SUMMED) == 50 && second->profile->nr_samples == 1,
	   "values of a stack that was sent to the first model are in the second one");
	ok(third->profile->nr_samples == 0 && third->profile->nr_stacks == 0,
	   "a stack without values is in no profile");
	ok(ns_of(fourth, SUMMED) == 7, "a stack is inherited by a model that has no values of it");
	ok(second->stats.nr_kept == 2 && fourth->stats.nr_kept == 1 &&
		   second->stats.nr_processes == 1 && third->stats.nr_processes == 0,
	   "intervals and processes are counted where they are");
}

static void test_singles(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	_cleanup_(model_freep) struct model *second = NULL;

	give_stack(c, USED);
	give_stack(c, OVER);
	give_sum(c, OVER, 1, 10);
	model_use_wait(c->model, USED);
	second = replace(c, c->model, 2000);
	ok(second->waits.nr == 1, "a stack is inherited only if a thread refers to it");
	give_sum(c, USED, 1, 20);
	must(pipe_settle(c->pipe, true) == 0);
	name(c->model);
	name(second);
	ok(ns_of(c->model, OVER) == 10 && ns_of(second, USED) == 20,
	   "an interval that ends after the replacement has its stack");
}

static void test_late_stack(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	_cleanup_(model_freep) struct model *second = NULL, *third = NULL;

	give_sum(c, LATE, 1, 30);
	give_sum(c, LOST, 1, 40);
	second = replace(c, c->model, 2000);
	ok(c->model->stats.nr_without_stack == 0 && second->waits.nr == 2,
	   "values whose stack has not come wait for it in the next model");
	give_stack(c, LATE);
	model_settle_waits(second, 2001);
	third = replace(c, second, 3000);
	must(pipe_settle(c->pipe, true) == 0);
	name(c->model);
	name(second);
	name(third);
	ok(ns_of(second, LATE) == 30, "their stack and they are in the model that has both");
	ok(second->stats.nr_without_stack == 1 && third->waits.nr == 0,
	   "a stack that does not come is lost once, and no model waits for it again");
}

int main(void)
{
	test_summed();
	test_singles();
	test_late_stack();
	return tap_done();
}
