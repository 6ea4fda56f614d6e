/* SPDX-License-Identifier: Apache-2.0 */
/* Time off the CPU: stacks and sums come separately, and meet in the profile. */
#include "bpf/wait.h"
#include "replay.h"
#include "tap.h"

#define STACK_ID 77
#define SINGLE_ID (PA_WAIT_SINGLE | 5)

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
static void give_stack(struct capture *c, uint64_t id, uint64_t pc, uint16_t syscall_nr)
{
	struct {
		struct pa_sample s;
		__u64 words[2];
	} rec = {
		.s = { .head = { PA_RECORD_SAMPLE, (__u32)getpid(), 1000 },
		       .tid = (__u32)getpid(),
		       .nr_user = 1,
		       .nr_values = 1,
		       .syscall_nr = syscall_nr,
		       .flags = PA_SAMPLE_WAIT | PA_SAMPLE_IN_KERNEL | PA_SAMPLE_IN_SYSCALL,
		       .comm = "waiter",
		       .thread = "waiter" },
		.words = { id, pc },
	};

	must(capture_record(c, &rec, sizeof(rec)) == 0);
}

static void give_interval(struct capture *c, uint64_t id, uint64_t ns, uint8_t state)
{
	const struct pa_wait_end e = {
		.head = { PA_RECORD_WAIT, 0, 2000 }, .wait = id, .ns = ns, .state = state
	};

	must(capture_record(c, &e, sizeof(e)) == 0);
}

static void give_sum(struct capture *c, uint64_t id, uint8_t state, uint64_t nr, uint64_t ns)
{
	pipe_sum(c->pipe, 0, &(struct wait_sum){ id, state, nr, ns, ns });
}

static const char *label(const struct profile *p, uint32_t sample, const char *key)
{
	struct profile_span s = p->label_sets[p->samples[sample].labels];

	for (uint32_t i = 0; i < s.nr; i++)
		if (strcmp(profile_str(p, p->labels[s.first + i].key), key) == 0)
			return profile_str(p, p->labels[s.first + i].str);
	return "";
}

/* The sample of that state; UINT32_MAX: none. */
static uint32_t find_state(const struct profile *p, const char *state)
{
	for (uint32_t i = 0; i < p->nr_samples; i++)
		if (strcmp(label(p, i, "state"), state) == 0)
			return i;
	return UINT32_MAX;
}

static void test_sums(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	const struct profile *p = c->model->profile;
	struct capture_stats st;
	uint32_t sleep_at, disk_at;

	give_sum(c, STACK_ID, PA_WAIT_SLEEP, 3, 300);
	give_stack(c, STACK_ID, 0x1000, 0);
	give_stack(c, STACK_ID, 0x1000, 0); /* sent again because the kernel's map was full */
	give_sum(c, STACK_ID, PA_WAIT_SLEEP, 2, 50);
	give_sum(c, STACK_ID, PA_WAIT_DISK, 1, 7);
	must(capture_settle(c, true) == 0);
	ok(p->nr_samples == 0, "no wait is in the profile before all sums have come");
	must(capture_name(c, NULL) == 0);
	sleep_at = find_state(p, "sleep");
	disk_at = find_state(p, "disk");
	must(sleep_at < p->nr_samples && disk_at < p->nr_samples);
	ok(p->nr_samples == 2 && profile_value(p, sleep_at, 0) == 5 &&
		   profile_value(p, sleep_at, 1) == 350,
	   "sums that come before and after their stack add up");
	ok(profile_value(p, disk_at, 0) == 1 && profile_value(p, disk_at, 1) == 7,
	   "each state is a sample of its own");
	ok(p->samples[sleep_at].stack == p->samples[disk_at].stack, "with the same stack");
	ok(strcmp(label(p, sleep_at, "syscall"), "read") == 0 ||
		   strcmp(label(p, sleep_at, "syscall"), "io_setup") == 0,
	   "system call 0 is named: %s", label(p, sleep_at, "syscall"));
	st = capture_all_stats(c);
	ok(st.pipe.nr_records == 6 && st.model.nr_kept == 6 && capture_adds_up(&st),
	   "intervals are counted, not records");
}

static void test_single(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	const struct profile *p = c->model->profile;

	give_interval(c, SINGLE_ID, 42, PA_WAIT_SLEEP);
	give_stack(c, SINGLE_ID, 0x2000, 0);
	must(capture_settle(c, true) == 0 && capture_name(c, NULL) == 0);
	ok(p->nr_samples == 1 && profile_value(p, 0, 1) == 42,
	   "the interval of a stack that user space finishes follows it");
}

static void test_lost_stack(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	struct capture_stats st;

	give_sum(c, STACK_ID, PA_WAIT_SLEEP, 4, 400);
	give_stack(c, STACK_ID + 1, 0x1000, 0); /* without an interval */
	must(capture_settle(c, true) == 0 && capture_name(c, NULL) == 0);
	st = capture_all_stats(c);
	ok(c->model->profile->nr_samples == 0 && st.model.nr_without_stack == 4 &&
		   st.pipe.nr_records == 4,
	   "intervals whose stack has not come are counted as such");
}

static void test_bad_records(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	struct pa_wait_end e = { .head = { PA_RECORD_WAIT, 0, 1 }, .state = PA_NR_WAIT_STATES };

	must(capture_record(c, &e, sizeof(e)) == 0);
	e.state = 0;
	must(capture_record(c, &e, sizeof(e) - 1) == 0);
	e.origin = PIPE_MAX_ORIGINS;
	must(capture_record(c, &e, sizeof(e)) == 0);
	must(capture_settle(c, true) == 0 && capture_name(c, NULL) == 0);
	ok(c->model->profile->nr_samples == 0 && c->model->waits.nr == 0,
	   "an interval in no state, of no origin or that is too short is not taken");
}

static void test_limit(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	struct capture_stats st;

	c->model->waits.max = 2;
	for (uint64_t id = 1; id <= 4; id++) {
		give_stack(c, id, 0x1000 * id, 0);
		give_sum(c, id, PA_WAIT_SLEEP, 10 * id, 1000);
	}
	give_sum(c, 1, PA_WAIT_DISK, 5, 50);
	must(capture_settle(c, true) == 0 && capture_name(c, NULL) == 0);
	st = capture_all_stats(c);
	ok(c->model->waits.nr == 2 && c->model->waits.cap <= 16 && st.model.nr_kept == 10 + 20 + 5,
	   "stacks over the limit are not kept, others get more");
	ok(st.model.nr_full == 30 + 40 && st.model.nr_without_stack == 0 && capture_adds_up(&st),
	   "their intervals are counted as over the limit");
}

/* Someone who always waits in new stacks, which have no room in the kernel. */
static void test_reserve(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	struct capture_stats st;

	c->model->waits.max = 2 * MODEL_SUMMED_PART;
	for (uint64_t i = 1; i <= 100; i++) {
		uint64_t id = i | (i % 2 ? PA_WAIT_UNSUMMED : PA_WAIT_SINGLE);

		give_stack(c, id, 0x1000 * i, 0);
		give_interval(c, id, 10, PA_WAIT_SLEEP);
	}
	for (uint64_t id = 1; id <= 2; id++) {
		give_stack(c, id, 0x1000 * id, 0);
		give_sum(c, id, PA_WAIT_DISK, 1000, 1000);
	}
	must(capture_settle(c, true) == 0 && capture_name(c, NULL) == 0);
	st = capture_all_stats(c);
	ok(st.model.nr_kept == 30 + 2000 && st.model.nr_full == 70 && capture_adds_up(&st),
	   "stacks that are summed up have room beside any number of others: %llu kept, %llu lost",
	   (unsigned long long)st.model.nr_kept, (unsigned long long)st.model.nr_full);
}

/* How many sums the first of nr processes has when all of them add as many as they may. */
static uint64_t part_of(uint64_t nr, uint64_t *ret_all)
{
	static uint64_t own[1000];
	uint64_t all = 0, before;

	must(nr <= 1000);
	memset(own, 0, sizeof(own));
	do {
		before = all;
		for (uint64_t i = 0; i < nr; i++)
			if (pa_has_wait_room(own[i], all)) {
				own[i]++;
				all++;
			}
	} while (all != before);
	*ret_all = all;
	return own[0];
}

static void test_room(void)
{
	uint64_t all, part = part_of(1, &all);

	ok(part == all && part >= PA_MAX_WAITS / 3 && part <= PA_MAX_WAITS / 3 + 1 &&
		   pa_has_wait_room(0, all),
	   "a process that always waits in new stacks has a third of the sums: %lu", part);
	part = part_of(8, &all);
	ok(part >= PA_MAX_WAITS / 10 && all < PA_MAX_WAITS && pa_has_wait_room(part - 2, all),
	   "eight of them have a tenth each, %lu, and leave as much for others", part);
	part = part_of(1000, &all);
	ok(part > 0 && pa_has_wait_room(0, all), "a thousand of them leave room: %lu are used",
	   all);
	ok(!pa_has_wait_room(0, PA_MAX_WAITS), "a map that is full has none");
}

int main(void)
{
	test_limit();
	test_reserve();
	test_room();
	test_sums();
	test_single();
	test_lost_stack();
	test_bad_records();
	return tap_done();
}
