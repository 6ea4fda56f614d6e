/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/flag_names.h"
#include "cli/report_parts.h"

#define MIN_PERCENT 1 /* of the samples; hints below it are shown with -v only */
#define MAIN_PERCENT 50

/* True for a hint without which the list of functions is useless. */
bool report_is_main_hint(const struct pa_summary *s, const struct pa_hint *h)
{
	return !report_is_off_cpu(s) && h->nr_samples * 100 > s->samples * MAIN_PERCENT;
}

static void print_hint(const struct report_page *p, const struct pa_hint *h)
{
	char text[FLAG_NAMES_SIZE];

	report_line(p, "hint", "%s", flag_names(h->text, text));
}

void report_main_hints(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	bool has_any = false;

	for (size_t i = 0; i < s->nr_hints; i++) {
		const struct pa_hint *h = PA_ITEM(s, pa_hint, s->hints, i);

		if (!report_is_main_hint(s, h))
			continue;
		print_hint(p, h);
		has_any = true;
	}
	if (has_any)
		(void)fputc('\n', p->out);
}

void report_hints(const struct report_page *p)
{
	const struct pa_summary *s = p->s;

	for (size_t i = 0; i < s->nr_hints; i++) {
		const struct pa_hint *h = PA_ITEM(s, pa_hint, s->hints, i);

		if (!report_is_main_hint(s, h) &&
		    (p->opts->is_verbose || h->nr_samples * 100 >= s->samples * MIN_PERCENT))
			print_hint(p, h);
	}
}
