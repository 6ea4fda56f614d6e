/* SPDX-License-Identifier: Apache-2.0 */
/* A limit on work: charged before it is done, and final. */
#include "base/work.h"

#include <errno.h>

#include "base/clock.h"
#include "tap.h"

static bool is_set(const void *flag)
{
	return *(const bool *)flag;
}

static void test_bytes(void)
{
	struct work w = { .left_bytes = 1000 };

	ok(work_charge(&w, 600) == 0 && w.left_bytes == 400, "a charge within the limit succeeds");
	ok(work_charge(&w, 401) == -E2BIG && w.end == WORK_OVER_BYTES,
	   "a charge over the limit fails");
	ok(work_charge(&w, 1) == -E2BIG && w.left_bytes == 400,
	   "after a failed charge even a small one fails");
}

static void test_cancel(void)
{
	bool flag = false;
	struct cancel cancel = { is_set, &flag };
	struct work w = { .left_bytes = 1ull << 40, .cancel = &cancel };
	int nr = 0;

	ok(work_charge(&w, 1 << 20) == 0, "without a cancellation charges succeed");
	flag = true;
	while (nr < 10000 && work_charge(&w, 100) == 0)
		nr++;
	ok(nr < 1000 && w.end == WORK_CANCELLED, "a cancellation is noticed within 100 KB of work");
	flag = false;
	ok(work_charge(&w, 1) == -ECANCELED, "a cancellation is permanent");
}

static void test_cpu(void)
{
	struct work w = { .left_bytes = UINT64_MAX };
	uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t nr = 0;

	work_limit_cpu(&w, 20 * NS_PER_MS);
	while (work_charge(&w, 4096) == 0)
		nr++;
	ok(nr > 16 && w.end == WORK_OVER_TIME, "the CPU time limit ends the work");
	ok(clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns >= 20 * NS_PER_MS,
	   "the work does not end before the CPU time is used up");
}

int main(void)
{
	test_bytes();
	test_cancel();
	test_cpu();
	return tap_done();
}
