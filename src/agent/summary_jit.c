/* SPDX-License-Identifier: Apache-2.0 */
/* What was read, and what was ignored, of the files that tell about code made at run time. */
#include "agent/capture.h"
#include "agent/summary.h"

void summary_count_jit(const struct capture *c, struct pa_count *to)
{
	static const uint64_t none[NR_JIT_MAPS];
	const uint64_t *maps = c->jit ? jit_files_counts(c->jit) : none;
	const struct jit_counts *n = &c->jit_counts;
	const struct pa_count counts[SUMMARY_NR_JIT] = {
		{ "maps_read", "perf maps read", n->nr_maps },
		{ "maps_missing", "processes without a perf map", maps[JIT_MAP_NONE] },
		{ "maps_foreign", "perf maps ignored: they belong to another user",
		  maps[JIT_MAP_FOREIGN] },
		{ "maps_link", "perf maps ignored: a link, or no regular file",
		  maps[JIT_MAP_LINK] },
		{ "maps_stale", "perf maps ignored: of a program before or after",
		  maps[JIT_MAP_STALE] },
		{ "maps_gone", "processes that ended before their perf map was opened",
		  maps[JIT_MAP_GONE] },
		{ "maps_unreadable", "perf maps that could not be read", maps[JIT_MAP_UNREADABLE] },
		{ "maps_too_many", "perf maps over the limit of open files",
		  maps[JIT_MAP_TOO_MANY] },
		{ "maps_cut", "perf maps over the size limit", n->nr_maps_cut },
		{ "map_lines", "lines of perf maps", n->nr_map_lines },
		{ "map_bad_lines", "of them skipped: not understood", n->nr_map_bad_lines },
		{ "dumps_read", "jitdumps read", n->nr_dumps },
		{ "dumps_bad", "of them skipped: no jitdump of this machine", n->nr_dumps_bad },
		{ "dumps_cut", "jitdumps over the limit of records", n->nr_dumps_cut },
		{ "dump_records", "records of jitdumps", n->nr_dump_records },
		{ "dump_bad_records", "of them skipped: not understood", n->nr_dump_bad_records },
		{ "dump_bad_lines", "addresses whose lines in a jitdump made no sense",
		  n->nr_dump_bad_lines },
		{ "dump_untimed", "samples in code of jitdumps named without their time",
		  c->stats.nr_untimed },
	};

	memcpy(to, counts, sizeof(counts));
}
