/* SPDX-License-Identifier: Apache-2.0 */
/* Lists files that were not read completely because that would cost too much, each once. */
#include "agent/summary.h"
#include "model/model.h"

#define TABLE_OVER "its unwind table costs more to compile than the limits allow"

static const char *table_limit(const struct model *model, const struct profile_mapping *m)
{
	enum work_end end = model->world->unwinder
				    ? unwinder_end(model->world->unwinder, (uint32_t)m->owner)
				    : WORK_GOES_ON;

	return end == WORK_OVER_BYTES || end == WORK_OVER_TIME ? TABLE_OVER : NULL;
}

static bool is_listed(const struct pa_limit_stat *list, size_t nr, const char *file,
		      const char *text)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(list[i].file, file) == 0 && strcmp(list[i].text, text) == 0)
			return true;
	return false;
}

static void list_limit(struct pa_limit_stat *to, size_t max, struct pa_summary *summary,
		       const char *file, const char *what, const char *text)
{
	if (!text || is_listed(to, summary->nr_limits, file, text))
		return;
	summary->limits_seen++;
	if (summary->nr_limits < max)
		to[summary->nr_limits++] = (struct pa_limit_stat){ file, what, text };
}

void summary_list_limits(const struct model *model, struct pa_limit_stat *to, size_t max,
			 struct pa_summary *summary)
{
	const struct profile *p = model->profile;

	for (uint32_t i = 0; i < p->nr_mappings; i++) {
		const char *file = summary_mapping_path(p, i);

		if (p->mappings[i].kind != PROFILE_MAPPING_FILE)
			continue;
		list_limit(to, max, summary, file, "unwind_table",
			   table_limit(model, &p->mappings[i]));
		list_limit(to, max, summary, file, "names",
			   model->naming.notes ? model->naming.notes[i].limit : NULL);
	}
}
