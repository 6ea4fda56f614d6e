/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hints for readable code of language runtimes: one per runtime and problem, for all processes with
 * that problem. For JIT code, the advice is that of its rows in unnamed[] and truncations[].
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "agent/summary.h"
#include "base/array.h"
#include "digest/python_use.h"
#include "digest/truncations.h"
#include "model/model.h"
#include "names/advice.h"
#include "names/jit_files.h"

#define MAX_ENTRIES (1u << 22)
#define MAX_PIDS_SHOWN 4
#define PYTHON_WITH_MAP 12 /* CPython 3.12 has -X perf */

static const struct problem {
	const char *name, *text;
} no_symbols = { "no_symbols", "no symbols for its JIT code" },
  truncated = { "truncated", "stacks end in its JIT code" },
  no_script = { "no_script_functions", "the functions of the script are not shown" };

/* A process with a problem that a hint is about. */
struct entry {
	const struct problem *problem;
	const char *runtime; /* static */
	const char *fix;     /* static; may name the PID */
	unsigned int minor;  /* minor version of Python; 0: unknown */
	pid_t pid;
	uint64_t nr_samples;
};

struct entries {
	struct entry *all; /* owned */
	uint32_t nr, cap;
};

static int add_entry(struct entries *to, struct entry e)
{
	int r = ARRAY_RESERVE(to->all, to->cap, to->nr + 1, MAX_ENTRIES);

	if (r == 0)
		to->all[to->nr++] = e;
	return r;
}

static int add_jit_code(const struct model *model, const struct problem *problem, uint32_t mapping,
			const char *fix, uint64_t nr_samples, struct entries *to)
{
	const struct profile_mapping *m = &model->profile->mappings[mapping];
	struct jit_runtime r = jit_files_runtime(model->world->jit, m->owner);

	if (!fix || !r.runtime)
		return 0;
	return add_entry(to, (struct entry){ .problem = problem,
					     .runtime = advice_runtime_title(r.runtime),
					     .fix = fix,
					     .pid = r.pid,
					     .nr_samples = nr_samples });
}

static bool is_jit(const struct profile *p, uint32_t mapping)
{
	return mapping < p->nr_mappings && p->mappings[mapping].kind == PROFILE_MAPPING_JIT;
}

static int add_unnamed(const struct model *model, struct entries *to)
{
	const struct profile *p = model->profile;
	_cleanup_(freep) uint64_t *counts = NULL;
	int r = summary_count_unnamed(p, &counts);

	for (uint32_t m = 0; m < p->nr_mappings && r == 0; m++)
		if (counts[m] && is_jit(p, m))
			r = add_jit_code(model, &no_symbols, m, model->naming.notes[m].advice,
					 counts[m], to);
	return r;
}

static int add_truncated(const struct model *model, struct entries *to)
{
	_cleanup_(freep) struct truncation *found = NULL;
	const struct profile *p = model->profile;
	uint32_t nr;
	int r = digest_truncations(p, model_truncated_key(model), &found, &nr);

	for (uint32_t i = 0; r == 0 && i < nr; i++)
		if (is_jit(p, found[i].mapping))
			r = add_jit_code(model, &truncated, found[i].mapping,
					 summary_truncation_advice(model, &found[i]),
					 (uint64_t)found[i].count, to);
	return r;
}

/* What was asked for already is not advised. */
static const char *python_fix(const struct python_process *p, bool is_switched)
{
	if (is_switched && p->minor >= PYTHON_WITH_MAP)
		return "what was running already is shown when it is called again; start it with "
		       "-X "
		       "perf to see all of it";
	if (is_switched)
		return "CPython 3.12 or later shows them";
	if (p->minor >= PYTHON_WITH_MAP)
		return "pa_options.inject_python switches them on, or start it with -X perf";
	return "CPython 3.12 or later shows them, with pa_options.inject_python or started with -X "
	       "perf";
}

static int add_python(const struct model *model, bool is_switched, struct entries *to)
{
	_cleanup_(freep) struct python_process *found = NULL;
	uint32_t nr;
	int r = python_processes(model->profile, &found, &nr);

	for (uint32_t i = 0; r == 0 && i < nr; i++)
		if (!found[i].shows_script)
			r = add_entry(to, (struct entry){ .problem = &no_script,
							  .runtime = "python",
							  .fix = python_fix(&found[i], is_switched),
							  .minor = found[i].minor,
							  .pid = found[i].pid,
							  .nr_samples = found[i].nr_samples });
	return r;
}

/* ---- groups ---- */

static int compare_hints(const struct entry *a, const struct entry *b)
{
	int r = strcmp(a->problem->name, b->problem->name);

	if (r == 0)
		r = strcmp(a->runtime, b->runtime);
	if (r == 0)
		r = strcmp(a->fix, b->fix);
	return r ? r : (int)a->minor - (int)b->minor;
}

static int by_process(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	int r = compare_hints(a, b);

	return r ? r : a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* Groups entries by hint; within a hint, the process with the most samples comes first. */
static int by_hint(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	int r = compare_hints(a, b);

	if (r)
		return r;
	if (a->nr_samples != b->nr_samples)
		return a->nr_samples > b->nr_samples ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static void add_samples(void *to, const void *more)
{
	((struct entry *)to)->nr_samples += ((const struct entry *)more)->nr_samples;
}

/* Merges the entries to one per hint and process. A process can have several JIT mappings, and
 * several reasons why stacks end in them. */
static void merge_entries(struct entries *e)
{
	e->nr = array_merge(e->all, e->nr, sizeof(*e->all), by_process, add_samples);
	if (e->nr)
		qsort(e->all, e->nr, sizeof(*e->all), by_hint);
}

/* Writes "java (PID 77)", "python 3.11 (PIDs 77, 78 and 3 more)". */
static void put_subject(FILE *f, const struct entry *first, uint32_t nr)
{
	(void)fputs(first->runtime, f);
	if (first->minor)
		(void)fprintf(f, " 3.%u", first->minor);
	(void)fputs(nr > 1 ? " (PIDs" : " (PID", f);
	for (uint32_t i = 0; i < nr && i < MAX_PIDS_SHOWN; i++)
		(void)fprintf(f, "%s %d", i ? "," : "", (int)first[i].pid);
	if (nr > MAX_PIDS_SHOWN)
		(void)fprintf(f, " and %" PRIu32 " more", nr - MAX_PIDS_SHOWN);
	(void)fputc(')', f);
}

/* Writes the fix with its PID; for several processes, that of the busiest as an example. */
static void put_fix(FILE *f, const struct entry *first, uint32_t nr)
{
	char fix[ADVICE_SIZE];
	const char *filled = advice_fill_pid(first->fix, first->pid, fix);

	if (nr > 1 && filled != first->fix)
		(void)fprintf(f, "for each, as for PID %d: ", (int)first->pid);
	(void)fputs(filled, f);
}

static int format_hint(const struct entry *first, uint32_t nr, char text[SUMMARY_HINT_SIZE])
{
	FILE *f = fmemopen(text, SUMMARY_HINT_SIZE, "w");

	if (!f)
		return -ENOMEM;
	put_subject(f, first, nr);
	(void)fprintf(f, ": %s; ", first->problem->text);
	put_fix(f, first, nr);
	(void)fclose(f); /* it writes to memory, so cannot fail */
	return 0;
}

static int by_samples(const void *pa, const void *pb)
{
	const struct pa_hint *a = pa, *b = pb;

	if (a->nr_samples != b->nr_samples)
		return a->nr_samples > b->nr_samples ? -1 : 1;
	return strcmp(a->text, b->text);
}

static int fill_hints(const struct entries *e, struct pa_hint *to, char (*texts)[SUMMARY_HINT_SIZE],
		      size_t *ret_nr)
{
	size_t nr = 0;

	for (uint32_t i = 0, end; i < e->nr && nr < SUMMARY_MAX_HINTS; i = end, nr++) {
		uint64_t sum = 0;

		for (end = i; end < e->nr && compare_hints(&e->all[i], &e->all[end]) == 0; end++)
			sum += e->all[end].nr_samples;
		if (format_hint(&e->all[i], end - i, texts[nr]) < 0)
			return -ENOMEM;
		to[nr] = (struct pa_hint){ .runtime = e->all[i].runtime,
					   .problem = e->all[i].problem->name,
					   .text = texts[nr],
					   .nr_samples = sum,
					   .nr_processes = end - i };
	}
	qsort(to, nr, sizeof(*to), by_samples);
	*ret_nr = nr;
	return 0;
}

int summary_list_hints(const struct model *model, bool switches_python, struct pa_hint *to,
		       char (*texts)[SUMMARY_HINT_SIZE], size_t *ret_nr)
{
	struct entries e = { 0 };
	int r = add_unnamed(model, &e);

	if (r == 0)
		r = add_truncated(model, &e);
	if (r == 0)
		r = add_python(model, switches_python, &e);
	merge_entries(&e);
	if (r == 0)
		r = fill_hints(&e, to, texts, ret_nr);
	free(e.all);
	return r;
}
