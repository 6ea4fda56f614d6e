/* SPDX-License-Identifier: Apache-2.0 */
/* Where stacks are truncated, by reason and file; JIT code also by the advice for its runtime. */
#include <errno.h>
#include <string.h>

#include "agent/summary.h"
#include "agent/summary_places.h"
#include "digest/truncations.h"
#include "model/model.h"
#include "names/advice.h"
#include "names/jit_files.h"

static const struct {
	const char *name, *text, *advice;
} stops[] = {
#define X(stop, value, machine, people, how) [value] = { machine, people, how },
#include "bpf/stop_reasons.def"
#undef X
};
#define NR_STOPS (sizeof(stops) / sizeof(stops[0]))

/* The number of the stop reason with that machine name. */
static size_t stop_of(const char *name)
{
	size_t i = 0;

	while (i < NR_STOPS - 1 && strcmp(stops[i].name, name) != 0)
		i++;
	return i;
}

const char *summary_stop_text(const char *reason)
{
	size_t i = stop_of(reason);

	return strcmp(stops[i].name, reason) ? NULL : stops[i].text;
}

/* True if a table was missing, or would have made copying the stack unnecessary. */
static bool is_for_lack_of_tables(size_t stop)
{
	return stop == PA_STOP_NO_TABLE || stop == PA_STOP_BIG_STACK;
}

/* Advice for the runtime; NULL if it keeps frame pointers already. */
static const char *runtime_advice(const struct model *model, uint64_t owner)
{
	struct jit_runtime r = jit_files_runtime(model->world->jit, owner);

	return unwinder_is_record_keeper(model->world->unwinder, r.pid, owner)
		       ? NULL
		       : advice_for_jit_stacks(r.runtime);
}

static const char *stop_advice(const struct model *model, size_t stop, uint32_t mapping)
{
	const struct profile_mapping *m =
		mapping < model->profile->nr_mappings ? &model->profile->mappings[mapping] : NULL;

	if (is_for_lack_of_tables(stop) && !model->world->cfg.compile_first)
		return "compile unwind tables before sampling (pa_options.unwind dwarf)";
	if (stop != PA_STOP_FP_END && stop != PA_STOP_NO_RECORD)
		return stops[stop].advice;
	if (!model->world->unwinder)
		return "walk by unwind tables too (pa_options.unwind auto)";
	if (m && m->kind == PROFILE_MAPPING_JIT)
		return runtime_advice(model, m->owner);
	if (m && m->kind == PROFILE_MAPPING_FILE)
		return advice_for_file(profile_str(model->profile, m->path),
				       unwinder_has_own_stack(model->world->unwinder, m->owner));
	return NULL;
}

const char *summary_truncation_advice(const struct model *model, const struct truncation *t)
{
	return stop_advice(model, stop_of(profile_str(model->profile, t->reason)), t->mapping);
}

pid_t summary_mapping_pid(const struct model *model, uint32_t mapping)
{
	const struct profile *p = model->profile;

	if (mapping >= p->nr_mappings || p->mappings[mapping].kind != PROFILE_MAPPING_JIT)
		return 0;
	return jit_files_runtime(model->world->jit, p->mappings[mapping].owner).pid;
}

static struct summary_place place_of(const void *ctx, const struct truncation *from)
{
	const struct model *model = ctx;
	const struct profile *p = model->profile;

	return (struct summary_place){
		.ids = { (uint32_t)stop_of(profile_str(p, from->reason)),
			 from->mapping < p->nr_mappings ? p->mappings[from->mapping].path : 0 },
		.texts = { summary_truncation_advice(model, from) },
		.mapping = from->mapping,
		.nr_most = (uint64_t)from->count,
		.nr_samples = (uint64_t)from->count,
	};
}

static struct pa_truncation_stat row_of(const struct model *model, const struct summary_place *from,
					char *advice_text)
{
	return (struct pa_truncation_stat){
		.reason = stops[from->ids[0]].name,
		.text = stops[from->ids[0]].text,
		.file = summary_mapping_path(model->profile, from->mapping),
		.nr_samples = from->nr_samples,
		.fix = advice_fill_pid(from->texts[0], summary_mapping_pid(model, from->mapping),
				       advice_text),
	};
}

int summary_list_truncations(const struct model *model, struct pa_truncation_stat *to,
			     char (*advice_texts)[ADVICE_SIZE], size_t max,
			     struct pa_section *section)
{
	struct summary_places places;
	int r = summary_places_of_truncations(model->profile, model_truncated_key(model), place_of,
					      model, &places);

	if (r < 0)
		return r;
	section->truncations_samples = places.nr_samples;
	section->truncations_seen = places.nr;
	section->nr_truncations = places.nr < max ? places.nr : max;
	for (size_t i = 0; i < section->nr_truncations; i++)
		to[i] = row_of(model, &places.all[i], advice_texts[i]);
	free(places.all);
	return 0;
}
