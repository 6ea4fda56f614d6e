/* SPDX-License-Identifier: Apache-2.0 */
/* Where stacks are truncated, by reason and file; generated code also by what would help. */
#include <errno.h>
#include <string.h>

#include "agent/capture.h"
#include "agent/cures.h"
#include "agent/jit_files.h"
#include "agent/summary.h"
#include "profile/cuts.h"

static const struct {
	const char *name, *text, *cure;
} stops[] = {
#define X(stop, value, machine, people, how) [value] = { machine, people, how },
#include "bpf/stop_reasons.def"
#undef X
};
#define NR_STOPS (sizeof(stops) / sizeof(stops[0]))

/* The samples of one mapping, or of several that are one to the reader. */
struct cut {
	size_t stop;
	uint32_t path; /* string; 0: none */
	const char *cure;
	uint32_t mapping; /* the one with most samples */
	int64_t nr_most, nr_samples;
};

/* The stop that a label's value names. */
static size_t stop_of(const char *name)
{
	size_t i = 0;

	while (i < NR_STOPS - 1 && strcmp(stops[i].name, name) != 0)
		i++;
	return i;
}

/* Where a table was missing, or what it would have made needless. */
static bool is_for_want_of_tables(size_t stop)
{
	return stop == PA_STOP_NO_TABLE || stop == PA_STOP_BIG_STACK;
}

/* Frame pointers help where there are none. */
static const char *cure_of_runtime(const struct capture *c, uint64_t owner)
{
	struct jit_runtime r = jit_files_runtime(c->jit, owner);

	return unwinder_is_record_keeper(c->unwinder, r.pid, owner)
		       ? NULL
		       : cure_for_generated_code(r.runtime);
}

static const char *cure_of(const struct capture *c, size_t stop, uint32_t mapping)
{
	const struct profile_mapping *m =
		mapping < c->profile->nr_mappings ? &c->profile->mappings[mapping] : NULL;

	if (is_for_want_of_tables(stop) && !c->cfg.compile_first)
		return "compile unwind tables before sampling (--unwind dwarf)";
	if (stop != PA_STOP_FP_END && stop != PA_STOP_NO_RECORD)
		return stops[stop].cure;
	if (!c->unwinder)
		return "walk by unwind tables too (--unwind auto)";
	if (m && m->kind == PROFILE_MAPPING_JIT)
		return cure_of_runtime(c, m->owner);
	if (m && m->kind == PROFILE_MAPPING_FILE)
		return cure_for_file(profile_str(c->profile, m->path),
				     unwinder_has_own_stack(c->unwinder, m->owner));
	return NULL;
}

static struct cut cut_of(const struct capture *c, const struct profile_cut *from)
{
	const struct profile *p = c->profile;
	size_t stop = stop_of(profile_str(p, from->reason));

	return (struct cut){
		.stop = stop,
		.path = from->mapping < p->nr_mappings ? p->mappings[from->mapping].path : 0,
		.cure = cure_of(c, stop, from->mapping),
		.mapping = from->mapping,
		.nr_most = from->count,
		.nr_samples = from->count,
	};
}

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_place(const void *a, const void *b)
{
	const struct cut *x = a, *y = b;

	if (x->stop != y->stop)
		return x->stop < y->stop ? -1 : 1;
	if (x->path != y->path)
		return x->path < y->path ? -1 : 1;
	return compare_text(x->cure, y->cure);
}

static int by_samples(const void *a, const void *b)
{
	const struct cut *x = a, *y = b;

	if (x->nr_samples != y->nr_samples)
		return x->nr_samples > y->nr_samples ? -1 : 1;
	return by_place(a, b);
}

/* Equal places, side by side, become one. */
static uint32_t sum_up(struct cut *cuts, uint32_t nr)
{
	uint32_t to = 0;

	for (uint32_t i = 0; i < nr; i++) {
		struct cut *last = to ? &cuts[to - 1] : NULL;

		if (!last || by_place(last, &cuts[i]) != 0) {
			cuts[to++] = cuts[i];
			continue;
		}
		last->nr_samples += cuts[i].nr_samples;
		if (cuts[i].nr_most > last->nr_most) {
			last->nr_most = cuts[i].nr_most;
			last->mapping = cuts[i].mapping;
		}
	}
	return to;
}

static int list_cuts(const struct capture *c, struct cut **ret_cuts, uint32_t *ret_nr)
{
	_cleanup_(freep) struct profile_cut *found = NULL;
	uint32_t nr;
	int r = profile_cuts(c->profile, c->label_truncated, &found, &nr);

	if (r < 0)
		return r;
	*ret_cuts = calloc((size_t)nr + 1, sizeof(**ret_cuts));
	if (!*ret_cuts)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		(*ret_cuts)[i] = cut_of(c, &found[i]);
	qsort(*ret_cuts, nr, sizeof(**ret_cuts), by_place);
	*ret_nr = sum_up(*ret_cuts, nr);
	qsort(*ret_cuts, *ret_nr, sizeof(**ret_cuts), by_samples);
	return 0;
}

pid_t summary_mapping_pid(const struct capture *c, uint32_t mapping)
{
	const struct profile *p = c->profile;

	if (mapping >= p->nr_mappings || p->mappings[mapping].kind != PROFILE_MAPPING_JIT)
		return 0;
	return jit_files_runtime(c->jit, p->mappings[mapping].owner).pid;
}

int summary_list_cuts(const struct capture *c, struct pa_cut_stat *to,
		      char (*cure_texts)[CURE_SIZE], size_t max, struct pa_summary *summary)
{
	_cleanup_(freep) struct cut *cuts = NULL;
	uint32_t nr;
	int r = list_cuts(c, &cuts, &nr);

	if (r < 0)
		return r;
	summary->cuts_seen = nr;
	for (uint32_t i = 0; i < nr; i++)
		summary->cuts_samples += (uint64_t)cuts[i].nr_samples;
	summary->nr_cuts = nr < max ? nr : max;
	for (size_t i = 0; i < summary->nr_cuts; i++)
		to[i] = (struct pa_cut_stat){
			.reason = stops[cuts[i].stop].name,
			.text = stops[cuts[i].stop].text,
			.file = summary_mapping_path(c->profile, cuts[i].mapping),
			.nr_samples = (uint64_t)cuts[i].nr_samples,
			.cure = cure_fill_pid(cuts[i].cure, summary_mapping_pid(c, cuts[i].mapping),
					      cure_texts[i]),
		};
	return 0;
}
