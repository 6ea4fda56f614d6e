/* SPDX-License-Identifier: Apache-2.0 */
#include "names/naming_deadline.h"

static bool is_true(const atomic_bool *b)
{
	return b && atomic_load_explicit(b, memory_order_relaxed);
}

bool naming_deadline_is_set(struct naming_deadline *d)
{
	unsigned long long none = 0, none_cpu = 0;

	if (!d || !(is_true(d->hurry) || is_true(d->interrupted)))
		return false;
	if (!atomic_load(&d->began_ns)) {
		(void)atomic_compare_exchange_strong(&d->began_cpu_ns, &none_cpu,
						     clock_ns(CLOCK_PROCESS_CPUTIME_ID));
		(void)atomic_compare_exchange_strong(&d->began_ns, &none, clock_mono_ns());
	}
	return true;
}

static uint64_t waited_ns(const struct naming_deadline *d)
{
	return clock_mono_ns() - atomic_load(&d->began_ns);
}

void naming_deadline_share(struct naming_deadline *d, unsigned int nr, unsigned int nr_all)
{
	if (d)
		atomic_store(&d->share_permille, 1000u * nr / nr_all);
}

bool naming_deadline_is_over(struct naming_deadline *d)
{
	uint64_t waited, share;

	if (!naming_deadline_is_set(d))
		return false;
	share = atomic_load(&d->share_permille);
	if (!share)
		share = 1000;
	waited = waited_ns(d);
	if (waited < NAMING_WAIT_NS / 1000 * share)
		return false;
	return waited >= NAMING_WAIT_MOST_NS / 1000 * share ||
	       clock_ns(CLOCK_PROCESS_CPUTIME_ID) - atomic_load(&d->began_cpu_ns) >=
		       NAMING_CPU_NS / 1000 * share;
}

bool naming_deadline_ends_fetching(struct naming_deadline *d)
{
	if (!naming_deadline_is_set(d))
		return false;
	return is_true(d->hurry) || waited_ns(d) >= NAMING_FETCH_NS;
}

bool naming_deadline_ends_placing(struct naming_deadline *d, uint64_t began_ns)
{
	return naming_deadline_is_set(d) && clock_mono_ns() - began_ns >= NAMING_PLACING_NS;
}
