/* SPDX-License-Identifier: Apache-2.0 */
/* How long names are looked for while the user waits, and how that time is shared by several models. */
#include "names/naming_deadline.h"
#include "tap.h"

static atomic_bool yes = true;

/* A deadline that began so long ago, while this process has hardly had a CPU. */
static struct naming_deadline begun(uint64_t waited_ns)
{
	struct naming_deadline d = { .interrupted = &yes };

	atomic_store(&d.began_ns, clock_mono_ns() - waited_ns);
	atomic_store(&d.began_cpu_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return d;
}

static bool is_over(uint64_t waited_ns, unsigned int nr, unsigned int nr_all)
{
	struct naming_deadline d = begun(waited_ns);

	naming_deadline_share(&d, nr, nr_all);
	return naming_deadline_is_over(&d);
}

int main(void)
{
	struct naming_deadline nobody_waits = { 0 }, d = begun(NAMING_WAIT_MOST_NS);

	ok(!naming_deadline_is_over(NULL) && !naming_deadline_is_over(&nobody_waits),
	   "no time is over while nobody waits");
	ok(naming_deadline_is_over(&d), "who waited the longest time waits no more");
	d = begun(NAMING_WAIT_NS / 2);
	ok(!naming_deadline_is_over(&d), "the time is not over at its half");
	d = begun(NAMING_WAIT_MOST_NS / 2);
	ok(!naming_deadline_is_over(&d), "a busy machine gets more time");
	atomic_store(&d.began_cpu_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID) - NAMING_CPU_NS);
	ok(naming_deadline_is_over(&d), "more CPU time than that is not used");
	ok(is_over(NAMING_WAIT_MOST_NS / 2, 1, 2) && !is_over(NAMING_WAIT_MOST_NS / 2, 2, 2),
	   "of two models, the first leaves the second half of the time");
	ok(!is_over(NAMING_WAIT_MOST_NS / 4, 1, 3) && is_over(NAMING_WAIT_MOST_NS / 2, 1, 3) &&
		   !is_over(NAMING_WAIT_MOST_NS / 2, 2, 3),
	   "of three models, each has a third");
	return tap_done();
}
