/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of generated code: the files that its JIT compiler wrote, or why there are none. */
#include "base/cleanup.h"
#include "names/advice.h"
#include "names/jit_files.h"
#include "names/source.h"

static const struct naming_note map_notes[NR_JIT_MAPS] = {
	[JIT_MAP_NONE] = { "code generated at run time, without a perf map", NULL },
	[JIT_MAP_OPEN] = { "its perf map does not list this code", NULL },
	[JIT_MAP_FOREIGN] = { "its perf map belongs to another user and is ignored",
			      "remove /tmp/perf-PID.map and start the process again" },
	[JIT_MAP_LINK] = { "its perf map is a link or not a regular file, and is ignored",
			   "remove /tmp/perf-PID.map and start the process again" },
	[JIT_MAP_STALE] = { "its perf map was written by another program with the same PID and is "
			    "ignored",
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
	return counts->nr_maps_too_large || counts->nr_dumps_too_large;
}

static bool has_map(const struct symbol_job *job)
{
	for (uint32_t i = 0; i < job->nr_symbol_files; i++)
		if (job->symbol_files[i].map_fd >= 0)
			return true;
	return false;
}

static bool has_dump(const struct symbol_job *job)
{
	for (uint32_t i = 0; i < job->nr_symbol_files; i++)
		if (job->symbol_files[i].dump_fd >= 0)
			return true;
	return false;
}

/* Opens the current files of the program and of those that it was forked from. */
static enum jit_map open_files(struct naming_job *job, uint64_t program, struct symbol_job *to,
			       const char **ret_runtime)
{
	struct jit_looks looks;
	enum jit_map map;

	filestore_lock(job->files);
	jit_files_list_looks(job->jit, program, job->is_last, &looks);
	filestore_unlock(job->files);
	jit_looks_open(&looks, job->procfs);
	filestore_lock(job->files);
	map = jit_files_get(job->jit, program, &looks, to->symbol_files, &to->nr_symbol_files);
	if (job->is_last) /* there may be more files than can be open at once */
		jit_files_drop(job->jit, program);
	*ret_runtime = jit_files_runtime(job->jit, program).runtime;
	filestore_unlock(job->files);
	return map;
}

int source_prepare_jit(struct naming_job *job, const struct profile_mapping *m, struct source *s)
{
	const struct jit_program *sampled = jit_samples_find(job->jit_samples, m->owner);
	const char *runtime = NULL;
	enum jit_map map = open_files(job, m->owner, &s->job, &runtime);
	struct naming_note note = map_notes[map];

	if (map == JIT_MAP_NONE || map == JIT_MAP_STALE)
		note.advice = advice_for_symbols(runtime);
	if (!has_map(&s->job) && !has_dump(&s->job)) {
		source_make_raw(s, note.why, note.advice);
		return 0;
	}
	for (uint32_t i = 0; i < s->job.nr_symbol_files; i++)
		jit_budget_limit(&job->jit_budget, &s->job.symbol_files[i], JIT_FOR_CODE);
	s->job.kind = SYMBOL_JOB_JIT;
	s->job.addresses = sampled ? sampled->addresses : NULL;
	s->job.nr_addresses = sampled ? sampled->nr_addresses : 0;
	return 0;
}

struct naming_note source_jit_note(const struct source *s, const struct jit_counts *counts)
{
	if (is_over_limits(counts))
		return (struct naming_note){ .why = OVER_LIMITS };
	if (has_map(&s->job))
		return (struct naming_note){ .why = map_notes[JIT_MAP_OPEN].why };
	return (struct naming_note){ .why = "its jitdump does not list this code" };
}
