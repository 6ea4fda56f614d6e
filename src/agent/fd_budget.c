/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/fd_budget.h"

#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/error.h"
#include "collect/cpus.h"
#include "fetch/fetcher.h"
#include "names/naming_crew.h"
#include "proc/roots.h"

#define FDS_PER_CPU 4 /* two events, a ring, a link */
#define OTHER_FDS 64  /* BPF maps and programs, outputs, files that the caller has open */
#define MIN_KEPT_FILES 16u
#define MAX_KEPT_FILES 32768u

static uint64_t limit(void)
{
	struct rlimit lim;

	return getrlimit(RLIMIT_NOFILE, &lim) < 0 ? UINT64_MAX : lim.rlim_cur;
}

/* Descriptors for everything except files of targets. */
static uint64_t own_needs(unsigned int nr_cpus)
{
	return OTHER_FDS + ROOTS_MAX + (uint64_t)FDS_PER_CPU * nr_cpus;
}

int fd_budget_check(struct pa_error *err)
{
	struct cpus online;
	unsigned int nr_cpus = cpus_read(CPUS_ONLINE_PATH, &online) < 0 ? cpus_possible()
									: cpus_count(&online);
	uint64_t needed = own_needs(nr_cpus) + MIN_KEPT_FILES;

	if (limit() >= needed)
		return 0;
	return error_set(
		err, EMFILE,
		"the limit of open files is %llu, and a capture on %u CPUs needs %llu: raise "
		"it (ulimit -n %llu, or LimitNOFILE= of a service)",
		(unsigned long long)limit(), nr_cpus, (unsigned long long)needed,
		(unsigned long long)needed);
}

unsigned int fd_budget_kept_files(const struct pa_options *o)
{
	uint64_t others = own_needs(cpus_possible()) + NAMING_MAX_HELD_FDS +
			  (o->nr_debuginfod_urls ? FETCH_MAX_HELD : 0);
	uint64_t all = limit();

	if (all < others + MIN_KEPT_FILES)
		return MIN_KEPT_FILES;
	return all - others < MAX_KEPT_FILES ? (unsigned int)(all - others) : MAX_KEPT_FILES;
}
