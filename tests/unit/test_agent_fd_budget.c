/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of open files covers all that a capture may hold open at a time. */
#include "agent/fd_budget.h"

#include <sys/resource.h>

#include "collect/cpus.h"
#include "fetch/fetcher.h"
#include "names/naming_crew.h"
#include "proc/roots.h"
#include "tap.h"

static unsigned int kept_files(unsigned int nr, const struct pa_options *o)
{
	struct rlimit lim;

	must(getrlimit(RLIMIT_NOFILE, &lim) == 0);
	lim.rlim_cur = nr;
	must(setrlimit(RLIMIT_NOFILE, &lim) == 0);
	return fd_budget_kept_files(o);
}

int main(void)
{
	struct pa_options plain = { .sz = sizeof(plain) };
	struct pa_options fetching = { .sz = sizeof(fetching), .nr_debuginfod_urls = 1 };
	unsigned int nr = 1000 + 8 * cpus_possible();
	unsigned int kept = kept_files(nr, &plain);

	ok(kept > 16 && kept + ROOTS_MAX + NAMING_MAX_HELD_FDS < nr,
	   "of %u open files %u are of targets: there is room for what naming holds", nr, kept);
	ok(kept_files(nr, &fetching) == kept - FETCH_MAX_HELD,
	   "with a debuginfod server, files are left for fetching");
	ok(kept_files(64, &plain) == 16, "a few are kept whatever the limit");
	return tap_done();
}
