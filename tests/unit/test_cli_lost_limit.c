/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/lost_limit.h"
#include "item_sizes.h"
#include "tap.h"

static struct options options_with(bool strict, double max_lost_percent)
{
	return (struct options){ .strict = strict, .max_lost_percent = max_lost_percent };
}

/* NULL: nothing is said. */
static bool says(struct options o, const struct pa_section *sections, size_t nr_sections,
		 uint64_t sideband_lost, const char *expected)
{
	struct pa_summary s = { ITEM_SIZES, .sections = sections, .nr_sections = nr_sections,
				.sideband_lost = sideband_lost };
	char text[LOST_LIMIT_TEXT_SIZE];
	const char *got = lost_limit_exceeded(&o, &s, text);

	if (got)
		printf("# %s\n", got);
	return expected ? got && strcmp(got, expected) == 0 : !got;
}

int main(void)
{
	const struct pa_section ticks = {
		.unit = "tick", .units = "ticks", .due = 1000, .lost = 50
	};
	const struct pa_section faults = {
		.unit = "page fault", .units = "page faults", .due = 1, .lost = 1
	};
	const struct pa_section none = { .unit = "tick", .units = "ticks" };
	const struct pa_section both[] = { ticks, faults };
	const struct options strict = options_with(true, OPTIONS_NO_MAX_LOST);

	ok(says(options_with(false, OPTIONS_NO_MAX_LOST), &ticks, 1, 7, NULL),
	   "without an option no loss is too much");
	ok(says(strict, &none, 1, 0, NULL), "strict: nothing due, nothing lost");
	ok(says(strict, &ticks, 1, 0, "--strict: 50 of 1000 ticks (5.0%) lost"),
	   "strict: ticks are counted");
	ok(says(strict, both, 2, 1,
		"--strict: 50 of 1000 ticks (5.0%), 1 of 1 page fault (100.0%), 1 record about "
		"processes and mappings lost"),
	   "strict: every kind is counted");
	ok(says(strict, &none, 1, 2, "--strict: 2 records about processes and mappings lost"),
	   "strict: records alone");
	ok(says(options_with(false, 5), &ticks, 1, 9, NULL), "max-lost: as much is allowed");
	ok(says(options_with(false, 4.9), &ticks, 1, 0,
		"--max-lost 4.9: 50 of 1000 ticks (5.0%) lost"),
	   "max-lost: more is not");
	ok(says(options_with(false, 0), &none, 1, 0, NULL), "max-lost 0: nothing lost is fine");
	ok(says(options_with(false, 6), both, 2, 0,
		"--max-lost 6: 1 of 1 page fault (100.0%) lost"),
	   "max-lost: only what is over the limit is said");
	ok(says(options_with(true, 99), &ticks, 1, 0, "--strict: 50 of 1000 ticks (5.0%) lost"),
	   "strict counts before max-lost");
	return tap_done();
}
