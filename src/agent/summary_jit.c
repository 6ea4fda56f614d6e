/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of what was read and what was ignored in perf maps and jitdumps. */
#include "agent/summary.h"
#include "model/model.h"

void summary_count_jit(const struct world *w, const struct model_account *all, struct pa_count *to)
{
	const struct jit_map_counts maps = jit_files_counts(w->jit);
	const struct jit_counts *n = &all->jit;
	const struct pa_count counts[SUMMARY_NR_JIT] = {
		{ "maps_read", "perf maps read", n->nr_maps },
		{ "maps_missing", "processes without a perf map", maps.nr[JIT_MAP_NONE] },
		{ "maps_foreign", "perf maps ignored: they belong to another user",
		  maps.nr[JIT_MAP_FOREIGN] },
		{ "maps_link", "perf maps ignored: a link, or not a regular file",
		  maps.nr[JIT_MAP_LINK] },
		{ "maps_stale", "perf maps ignored: written by another program with the same PID",
		  maps.nr[JIT_MAP_STALE] },
		{ "maps_gone", "processes that ended before their perf map was opened",
		  maps.nr[JIT_MAP_GONE] },
		{ "maps_unreadable", "perf maps that could not be read",
		  maps.nr[JIT_MAP_UNREADABLE] },
		{ "maps_too_many", "perf maps over the limit of open files",
		  maps.nr[JIT_MAP_TOO_MANY] },
		{ "maps_too_large", "perf maps over the size limit", n->nr_maps_too_large },
		{ "map_lines", "lines of perf maps", n->nr_map_lines },
		{ "map_bad_lines", "of them skipped: invalid", n->nr_map_bad_lines },
		{ "dumps_read", "jitdumps read", n->nr_dumps },
		{ "dumps_bad", "of them skipped: not a jitdump of this machine", n->nr_dumps_bad },
		{ "dumps_too_large", "jitdumps over the limit of records", n->nr_dumps_too_large },
		{ "dump_records", "records of jitdumps", n->nr_dump_records },
		{ "dump_bad_records", "of them skipped: invalid", n->nr_dump_bad_records },
		{ "dump_bad_lines", "addresses whose lines in a jitdump made no sense",
		  n->nr_dump_bad_lines },
		{ "dump_untimed", "samples in code of jitdumps named without their time",
		  all->stats.nr_untimed },
	};

	memcpy(to, counts, sizeof(counts));
}
