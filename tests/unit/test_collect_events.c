/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "collect/events.h"
#include "tap.h"

/* What the report calls "not delivered by the kernel". */
static uint64_t missing(uint64_t count, uint64_t period_ns, uint64_t nr_delivered, uint64_t weight)
{
	return events_due(count, period_ns, nr_delivered, weight) - nr_delivered;
}

static void test_clock(void)
{
	const uint64_t period = NS_PER_S / 99;

	ok(missing(10 * NS_PER_S, period, 990, 990 * period) == 0,
	   "all ticks delivered: none is missing");
	ok(missing(10 * NS_PER_S, period, 970, 970 * period) == 20,
	   "970 of 990 ticks delivered: 20 are missing");
	ok(missing(10 * NS_PER_S, period, 0, 0) == 990, "no tick delivered: all are missing");
	ok(missing(100 * period - 1, period, 90, 90 * period) == 9,
	   "an unfinished period is not due yet");
	ok(missing(100 * period, period, 90, 90 * period) == 10, "a finished period is due");
	ok(missing(5 * period, period, 3, UINT64_MAX) == 2,
	   "the clock alone determines what is due");
}

static void test_edge(void)
{
	ok(events_due(100 * 1000 - 1, 1000, 100, 100 * 1000) == 100,
	   "one tick more than the clock counted: that many were due");
	ok(events_due(0, 1000, 7, 7000) == 7,
	   "if the clock cannot be read, delivered ticks still count");
	ok(events_due(0, 1000, 0, 0) == 0, "a CPU that was never online owes nothing");
}

static void test_own_periods(void)
{
	ok(missing(1000000, 0, 100, 1000000) == 0, "cycles: the periods cover the whole count");
	ok(missing(1200000, 0, 100, 1000000) == 20,
	   "cycles: the remainder is missing, in mean periods");
	ok(missing(1009999, 0, 100, 1000000) == 0,
	   "cycles: a remainder below a mean period is not missing");
	ok(missing(900000, 0, 100, 1000000) == 0, "cycles: never fewer than were delivered");
	ok(events_due(1000000, 0, 0, 0) == 0, "cycles: without a sample there is no mean period");
	ok(events_due(1000000, 0, 10, 0) == 10, "cycles: periods of 0 give no mean period");
}

static void test_live(void)
{
	const struct pa_tick_stats per_cpu[] = {
		{ .ticks = 90, .weight = 90000 },
		{ .ticks = 100, .weight = 100000 },
		{ .ticks = 0 },
	};

	ok(events_missing((const uint64_t[]){ 100000, 100999, 0 }, 1000, per_cpu, 3) == 9,
	   "live: 9 of 10 that are missing are lost, the last one may be on its way");
	ok(events_missing((const uint64_t[]){ 91000, 99000, 0 }, 1000, per_cpu, 3) == 0,
	   "live: what came since the count was read is not missing");
	ok(events_missing((const uint64_t[]){ 190000, 100000, 5000 }, 0, per_cpu, 3) == 99,
	   "live: cycles by their mean period");
}

int main(void)
{
	test_live();
	test_clock();
	test_edge();
	test_own_periods();
	return tap_done();
}
