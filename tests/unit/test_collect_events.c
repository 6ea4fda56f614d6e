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

	ok(missing(10 * NS_PER_S, period, 990, 990 * period) == 0, "all came: none is missing");
	ok(missing(10 * NS_PER_S, period, 970, 970 * period) == 20, "20 of 990 did not come");
	ok(missing(10 * NS_PER_S, period, 0, 0) == 990, "none came: all are missing");
	ok(missing(100 * period - 1, period, 90, 90 * period) == 9,
	   "a period begun is not due yet");
	ok(missing(100 * period, period, 90, 90 * period) == 10, "one that is over is");
	ok(missing(5 * period, period, 3, UINT64_MAX) == 2, "the clock alone says what is due");
}

static void test_edge(void)
{
	ok(events_due(100 * 1000 - 1, 1000, 100, 100 * 1000) == 100,
	   "one more than the clock says was delivered: so many were due");
	ok(events_due(0, 1000, 7, 7000) == 7,
	   "a clock that cannot be read hides no tick that came");
	ok(events_due(0, 1000, 0, 0) == 0, "a CPU that never ran owes nothing");
}

static void test_own_periods(void)
{
	ok(missing(1000000, 0, 100, 1000000) == 0, "cycles: the periods cover the whole count");
	ok(missing(1200000, 0, 100, 1000000) == 20,
	   "cycles: what they leave is missing, in mean periods");
	ok(missing(1009999, 0, 100, 1000000) == 0, "cycles: less than a mean period is none");
	ok(missing(900000, 0, 100, 1000000) == 0, "cycles: never below what was delivered");
	ok(events_due(1000000, 0, 0, 0) == 0,
	   "cycles: without a sample there is no period to go by");
	ok(events_due(1000000, 0, 10, 0) == 10, "cycles: nor with periods of nothing");
}

int main(void)
{
	test_clock();
	test_edge();
	test_own_periods();
	return tap_done();
}
