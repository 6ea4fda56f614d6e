/* SPDX-License-Identifier: Apache-2.0 */
/* The files with the most samples without a symbol. A file is one row, whatever the number of
 * processes and mounts. */
#include <errno.h>

#include "agent/summary.h"
#include "agent/summary_places.h"
#include "model/model.h"

int summary_count_unnamed(const struct profile *p, uint64_t **ret_counts)
{
	uint64_t *counts = calloc((size_t)p->nr_mappings + 1, sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr_samples; i++) {
		const struct profile_span *st = &p->stacks[p->samples[i].stack];
		const struct profile_location *l;

		if (!st->nr)
			continue; /* the function itself is unknown, so no symbol is missing */
		l = &p->locations[p->frames[st->first]];
		if (!l->is_named)
			counts[l->mapping == PROFILE_NONE ? p->nr_mappings : l->mapping] +=
				(uint64_t)profile_count(p, i);
	}
	*ret_counts = counts;
	return 0;
}

/* What identifies a row: path and build-id for a file; otherwise the problem as well, because
 * "[jit]" stands for the code of many runtimes. */
static struct summary_place place_of(const struct model *model, uint32_t mapping,
				     uint64_t nr_samples)
{
	const struct profile *p = model->profile;
	const struct profile_mapping *m = mapping < p->nr_mappings ? &p->mappings[mapping] : NULL;
	const struct naming_note *note = &model->naming.notes[mapping];
	bool is_file = m && m->kind == PROFILE_MAPPING_FILE;

	return (struct summary_place){
		.ids = { m ? m->path : 0, m ? m->build_id : 0 },
		.texts = { is_file ? NULL : note->why, is_file ? NULL : note->advice },
		.mapping = mapping,
		.nr_most = nr_samples,
		.nr_samples = nr_samples,
	};
}

int summary_list_unnamed(const struct model *model, struct pa_unnamed_stat *to,
			 char (*advice_texts)[ADVICE_SIZE], size_t max, struct pa_section *section)
{
	const struct profile *p = model->profile;
	_cleanup_(freep) struct summary_place *places =
		calloc((size_t)p->nr_mappings + 1, sizeof(*places));
	_cleanup_(freep) uint64_t *counts = NULL;
	int r = places ? summary_count_unnamed(p, &counts) : -ENOMEM;
	uint32_t nr = 0;

	if (r < 0)
		return r;
	for (uint32_t m = 0; m <= p->nr_mappings; m++)
		if (counts[m])
			places[nr++] = place_of(model, m, counts[m]);
	nr = summary_places_merge(places, nr, &section->unnamed_samples);
	section->unnamed_seen = nr;
	section->nr_unnamed = nr < max ? nr : max;
	for (size_t i = 0; i < section->nr_unnamed; i++) {
		uint32_t mapping = places[i].mapping;
		const struct naming_note *note = &model->naming.notes[mapping];

		to[i] = (struct pa_unnamed_stat){
			.file = summary_mapping_path(p, mapping),
			.nr_samples = places[i].nr_samples,
			.why = note->why,
			.fix = advice_fill_pid(note->advice, summary_mapping_pid(model, mapping),
					       advice_texts[i]),
		};
	}
	return 0;
}
