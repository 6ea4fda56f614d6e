/* SPDX-License-Identifier: Apache-2.0 */
/* How the samples of one profile were unwound and symbolized. */
#include "agent/summary.h"

static const struct pa_count stop_counts[PA_NR_STOPS] = {
#define X(stop, value, machine, people, how) [value] = { .name = machine, .text = people },
#include "bpf/stop_reasons.def"
#undef X
};

void summary_add_stops(struct summary_quality *q, const struct model_stats *stats,
		       struct pa_section *to)
{
	for (size_t i = 0; i < PA_NR_STOPS; i++) {
		if (!stats->stops[i])
			continue;
		q->stops[to->nr_stops] = stop_counts[i];
		q->stops[to->nr_stops++].count = stats->stops[i];
		if (PA_STOPS_WITHOUT_STACK >> i & 1)
			to->no_user_stack += stats->stops[i];
	}
	to->stops = q->stops;
	to->stacks_complete = stats->stops[PA_STOP_END];
}

int summary_quality_fill(struct summary_quality *q, const struct model *model,
			 const struct model_stats *stats, struct pa_section *to)
{
	int r;

	summary_add_stops(q, stats, to);
	to->truncations = q->truncations;
	to->unnamed = q->unnamed;
	r = summary_list_truncations(model, q->truncations, q->truncation_advice,
				     SUMMARY_MAX_TRUNCATIONS, to);
	return r < 0 ? r
		     : summary_list_unnamed(model, q->unnamed, q->unnamed_advice,
					    SUMMARY_MAX_UNNAMED, to);
}

void summary_quality_of_first(struct pa_summary *to, const struct pa_section *first)
{
	to->stops = first->stops;
	to->nr_stops = first->nr_stops;
	to->stacks_complete = first->stacks_complete;
	to->no_user_stack = first->no_user_stack;
	to->truncations = first->truncations;
	to->nr_truncations = first->nr_truncations;
	to->truncations_seen = first->truncations_seen;
	to->truncations_samples = first->truncations_samples;
	to->unnamed = first->unnamed;
	to->nr_unnamed = first->nr_unnamed;
	to->unnamed_seen = first->unnamed_seen;
	to->unnamed_samples = first->unnamed_samples;
}
