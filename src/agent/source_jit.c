/* SPDX-License-Identifier: Apache-2.0 */
/* Names of code that was made at run time: what its maker wrote about it, or why there is nothing. */
#include "agent/cures.h"
#include "agent/jit_files.h"
#include "agent/source.h"

static const struct naming_note map_notes[NR_JIT_MAPS] = {
	[JIT_MAP_NONE] = { "machine code made at run time, without a perf map", NULL },
	[JIT_MAP_OPEN] = { "its perf map does not list this code", NULL },
	[JIT_MAP_FOREIGN] = { "its perf map belongs to another user and is ignored",
			      "remove /tmp/perf-PID.map and start the process again" },
	[JIT_MAP_LINK] = { "its perf map is a link or no regular file, and is ignored",
			   "remove /tmp/perf-PID.map and start the process again" },
	[JIT_MAP_STALE] = { "its perf map is of a program before or after it and is ignored",
			    NULL },
	[JIT_MAP_GONE] = { "the process had ended before its perf map could be opened",
			   "profile for longer" },
	[JIT_MAP_UNREADABLE] = { "its perf map could not be read", NULL },
	[JIT_MAP_TOO_MANY] = { "more perf maps than may be kept open",
			       "raise the limit of open files (ulimit -n)" },
};

#define OVER_LIMITS "the perf maps and jitdumps of its user are larger than the limits allow"

static bool is_over_limits(const struct jit_counts *counts)
{
	return counts->nr_maps_cut || counts->nr_dumps_cut;
}

static bool has_map(const struct jit_sources *src)
{
	for (uint32_t i = 0; i < src->nr_told; i++)
		if (src->told[i].map_fd >= 0)
			return true;
	return false;
}

static bool has_dump(const struct jit_sources *src)
{
	for (uint32_t i = 0; i < src->nr_told; i++)
		if (src->told[i].dump_fd >= 0)
			return true;
	return false;
}

int source_open_jit(struct capture *c, const struct profile_mapping *m, struct source *s)
{
	_cleanup_(jit_sources_done) struct jit_sources src;
	enum jit_map map = jit_files_get(c->jit, m->owner, &src);
	struct naming_note note = map_notes[map];
	int r;

	jit_files_drop(c->jit, m->owner); /* there may be more of them than may be open at once */
	if (map == JIT_MAP_NONE || map == JIT_MAP_STALE)
		note.cure = cure_for_names(jit_files_runtime(c->jit, m->owner).runtime);
	if (!has_map(&src) && !has_dump(&src))
		return source_open_raw(s, note.why, note.cure);
	src.cancel = s->cancel;
	src.budget = &c->jit_budget;
	src.purpose = JIT_FOR_CODE;
	r = symbolizer_new_jit(&src, &s->jit_counts, &s->symbolizer);
	if (r < 0)
		return r;
	s->symbolizer->missing_why = is_over_limits(&s->jit_counts) ? OVER_LIMITS
				     : has_map(&src)                ? map_notes[JIT_MAP_OPEN].why
						     : "its jitdump does not list this code";
	return 0;
}
