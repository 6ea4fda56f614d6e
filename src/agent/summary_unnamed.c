/* SPDX-License-Identifier: Apache-2.0 */
/* The files that cost most names. One file is one line, however many processes and mounts have it. */
#include <errno.h>

#include "agent/capture.h"
#include "agent/summary.h"

/* The samples of a mapping, or of several that are one to the reader. */
struct place {
	uint32_t path, build_id; /* strings; 0: none */
	/* Of what is no file, where one name stands for many things: */
	const char *why, *cure;
	uint32_t mapping; /* the one with most samples; nr_mappings: none */
	uint64_t nr_most; /* its samples */
	uint64_t nr_samples;
};

/* Samples whose running function has no name, by mapping; the one past the end: without one. */
static int count_unnamed(const struct profile *p, uint64_t **ret_counts)
{
	uint64_t *counts = calloc((size_t)p->nr_mappings + 1, sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr_samples; i++) {
		const struct profile_span *st = &p->stacks[p->samples[i].stack];
		const struct profile_location *l;

		if (!st->nr)
			continue; /* where it ran is not known, so no name is missing */
		l = &p->locations[p->frames[st->first]];
		if (!l->is_named)
			counts[l->mapping == PROFILE_NONE ? p->nr_mappings : l->mapping] +=
				(uint64_t)p->samples[i].values[0];
	}
	*ret_counts = counts;
	return 0;
}

static struct place place_of(const struct capture *c, uint32_t mapping, uint64_t nr_samples)
{
	const struct profile *p = c->profile;
	struct place at = { .mapping = mapping, .nr_most = nr_samples, .nr_samples = nr_samples };

	if (mapping < p->nr_mappings) {
		at.path = p->mappings[mapping].path;
		at.build_id = p->mappings[mapping].build_id;
	}
	if (mapping == p->nr_mappings || p->mappings[mapping].kind != PROFILE_MAPPING_FILE) {
		at.why = c->notes[mapping].why;
		at.cure = c->notes[mapping].cure;
	}
	return at;
}

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int r;

	if (x->path != y->path)
		return x->path < y->path ? -1 : 1;
	if (x->build_id != y->build_id)
		return x->build_id < y->build_id ? -1 : 1;
	r = compare_text(x->why, y->why);
	return r ? r : compare_text(x->cure, y->cure);
}

static int by_samples(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->nr_samples != y->nr_samples)
		return x->nr_samples > y->nr_samples ? -1 : 1;
	return x->mapping < y->mapping ? -1 : x->mapping > y->mapping;
}

/* What is to be said of a place is what holds for most of it. */
static void add_to(struct place *to, const struct place *more)
{
	if (more->nr_most > to->nr_most ||
	    (more->nr_most == to->nr_most && more->mapping < to->mapping)) {
		to->nr_most = more->nr_most;
		to->mapping = more->mapping;
	}
	to->nr_samples += more->nr_samples;
}

/* Equal places, side by side, become one. */
static uint32_t sum_up(struct place *places, uint32_t nr)
{
	uint32_t to = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (to && by_place(&places[to - 1], &places[i]) == 0)
			add_to(&places[to - 1], &places[i]);
		else
			places[to++] = places[i];
	}
	return to;
}

int summary_list_unnamed(const struct capture *c, struct pa_unnamed_stat *to,
			 char (*cure_texts)[CURE_SIZE], size_t max, struct pa_summary *summary)
{
	const struct profile *p = c->profile;
	_cleanup_(freep) struct place *places = calloc((size_t)p->nr_mappings + 1, sizeof(*places));
	_cleanup_(freep) uint64_t *counts = NULL;
	int r = places ? count_unnamed(p, &counts) : -ENOMEM;
	uint32_t nr = 0;

	if (r < 0)
		return r;
	for (uint32_t m = 0; m <= p->nr_mappings; m++)
		if (counts[m])
			places[nr++] = place_of(c, m, counts[m]);
	qsort(places, nr, sizeof(*places), by_place);
	nr = sum_up(places, nr);
	qsort(places, nr, sizeof(*places), by_samples);
	for (uint32_t i = 0; i < nr; i++)
		summary->unnamed_samples += places[i].nr_samples;
	summary->unnamed_seen = nr;
	summary->nr_unnamed = nr < max ? nr : max;
	for (size_t i = 0; i < summary->nr_unnamed; i++)
		to[i] = (struct pa_unnamed_stat){
			.file = summary_mapping_path(p, places[i].mapping),
			.nr_samples = places[i].nr_samples,
			.why = c->notes[places[i].mapping].why,
			.cure = cure_fill_pid(c->notes[places[i].mapping].cure,
					      summary_mapping_pid(c, places[i].mapping),
					      cure_texts[i]),
		};
	return 0;
}
