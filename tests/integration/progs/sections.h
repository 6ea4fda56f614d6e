/* SPDX-License-Identifier: Apache-2.0 */
/* How programs with a session of their own print its accounts: a line for each profile, and a comment for
 * each loss. */
#ifndef PROGS_SECTIONS_H
#define PROGS_SECTIONS_H

#include <perfagent/perfagent.h>
#include <stdio.h>

static void sections_show(const struct pa_summary *s)
{
	for (size_t i = 0; i < s->nr_sections; i++) {
		const struct pa_section *c = &s->sections[i];
		uint64_t sum = c->samples + c->lost;

		for (size_t k = 0; k < c->nr_counts; k++)
			sum += c->counts[k].count;
		printf("section %s due %llu sum %llu samples %llu lost %llu\n", c->name,
		       (unsigned long long)c->due, (unsigned long long)sum,
		       (unsigned long long)c->samples, (unsigned long long)c->lost);
		for (size_t k = 0; k < c->nr_losses; k++)
			printf("# %s %llu\n", c->losses[k].name,
			       (unsigned long long)c->losses[k].count);
	}
}

#endif
