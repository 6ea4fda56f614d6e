/* SPDX-License-Identifier: Apache-2.0 */
/* From what the kernel knows of threads to what is shown: open states, sums, order. */
#include "stats/thread_times.h"

#include "tap.h"

static void test_open_state(void)
{
	struct pa_thread_time t = { .begin_ns = 100,
				    .since_ns = 160,
				    .ns = { 10, 20, 30 },
				    .pid = 7,
				    .tid = 8,
				    .state = PA_TIME_BLOCKED };
	struct thread_time until = thread_time_until(&t, 200), ended = thread_time_of_ended(&t);

	ok(until.pid == 7 && until.tid == 8 && until.elapsed_ns == 100 && until.ns[0] == 10 &&
		   until.ns[1] == 20 && until.ns[2] == 70 && thread_time_unaccounted(&until) == 0,
	   "a state that goes on counts until the end of the capture");
	ok(ended.elapsed_ns == 60 && ended.ns[2] == 30 && thread_time_unaccounted(&ended) == 0,
	   "a thread that has ended was in no state since");
	until = thread_time_until(&t, 150);
	ok(until.elapsed_ns == 60 && until.ns[2] == 30,
	   "an event on a CPU whose clock is ahead does not make a state negative");
	t.state = PA_TIME_UNKNOWN;
	until = thread_time_until(&t, 200);
	ok(until.elapsed_ns == 100 && thread_time_unaccounted(&until) == 40 && until.nr_missed == 1,
	   "time in an unknown state is unaccounted, because of an event that did not come");
}

static void test_missed_events(void)
{
	/* 15 of 60 ns were before an event that did not follow the last one. */
	const struct pa_thread_time t = {
		.begin_ns = 100, .since_ns = 160, .ns = { 10, 5, 30 }, .nr_missed = 2
	};
	struct thread_time one = thread_time_until(&t, 180);

	ok(one.nr_missed == 2 && thread_time_unaccounted(&one) == 15 && one.elapsed_ns == 80 &&
		   one.ns[0] == 30,
	   "what the states do not explain is unaccounted");
	one.ns[0] = 1000;
	ok(thread_time_unaccounted(&one) == 0, "unaccounted time is never negative");
}

static void test_sum(void)
{
	const struct pa_time_stats cpu = { .nr_ended = 3,
					   .ended_ns = 100,
					   .ended_in = { 10, 20, 65 },
					   .ended_missed = 1,
					   .nr_events_no_room = 4 };
	const struct thread_time living = {
		.tid = 5, .elapsed_ns = 50, .ns = { 50, 0, 0 }, .nr_missed = 2
	};
	struct thread_times all = { 0 };

	thread_times_add_ended(&all, &cpu);
	thread_times_add_ended(&all, &cpu);
	thread_times_add(&all, &living);
	ok(all.nr_threads == 7 && all.total.elapsed_ns == 250 && all.total.ns[0] == 70 &&
		   all.total.ns[1] == 40 && all.total.ns[2] == 130 && all.total.nr_missed == 4 &&
		   all.nr_events_no_room == 8 && thread_time_unaccounted(&all.total) == 10,
	   "the sum has ended threads of every CPU and those that live");
	thread_times_done(&all);
}

static void test_list(void)
{
	const struct thread_time threads[] = { { .tid = 4, .elapsed_ns = 1 },
					       { .tid = 3, .elapsed_ns = 2 },
					       { .tid = 2, .elapsed_ns = 2 } };
	struct thread_times all = { 0 };

	thread_times_sort(&all);
	for (int i = 0; i < 3; i++)
		if (thread_times_list(&all, &threads[i]) < 0)
			all.nr_listed = 0;
	thread_times_sort(&all);
	ok(all.nr_listed == 3 && all.list[0].tid == 2 && all.list[1].tid == 3 &&
		   all.list[2].tid == 4,
	   "the longest elapsed time is first, equal ones by number");
	thread_times_done(&all);
	ok(!all.list && !all.nr_listed, "a list that is done is empty");
}

static void test_others(void)
{
	const struct thread_time threads[] = { { .tid = 1, .elapsed_ns = 9, .ns = { 4, 3, 2 } },
					       { .tid = 2, .elapsed_ns = 8, .ns = { 0, 0, 7 } },
					       { .tid = 3, .elapsed_ns = 6, .ns = { 1, 2, 3 } } };
	const struct pa_time_stats ended = {
		.nr_ended = 5, .ended_ns = 20, .ended_in = { 5, 6, 7 }, .ended_missed = 2
	};
	struct thread_times all = { 0 };
	struct thread_time rest;

	for (int i = 0; i < 3; i++) {
		thread_times_add(&all, &threads[i]);
		if (thread_times_list(&all, &threads[i]) < 0)
			all.nr_listed = 0;
	}
	thread_times_add_ended(&all, &ended);
	thread_times_sort(&all);
	rest = thread_times_others(&all, 2);
	ok(rest.elapsed_ns == 26 && rest.ns[0] == 6 && rest.ns[1] == 8 && rest.ns[2] == 10 &&
		   rest.nr_missed == 2 && !rest.tid,
	   "what is not shown, or not even listed, is the sum without those that are");
	rest = thread_times_others(&all, 9);
	ok(rest.elapsed_ns == 20, "no more is taken away than the list has");
	thread_times_done(&all);
}

int main(void)
{
	test_open_state();
	test_missed_events();
	test_sum();
	test_list();
	test_others();
	return tap_done();
}
