/* SPDX-License-Identifier: Apache-2.0 */
/* The summary against the model it is made of: counted again here, the slow and plain way. */
#include "agent/summary.h"
#include "capture.h"
#include "collect/trigger_oncpu.h"
#include "model.h"
#include "replay.h"
#include "stats/sched_report.h"

#define FIRST_JVM 4190000

static struct capture *new_capture(void)
{
	struct world_config cfg = { .proc_root = "/proc", .all = true, .max_fds = 4 };
	struct capture *c;

	must(capture_new(&cfg, NULL, &c) == 0);
	return c;
}

/* A capture that has ended and was named, with this model in it. */
static struct capture *capture_with(struct profile *p)
{
	struct capture *c = new_capture();

	profile_free(c->model->profile);
	c->model->profile = p;
	must(model_init_labels(c->model) == 0);
	c->model->naming.notes =
		calloc((size_t)p->nr_mappings + 1, sizeof(*c->model->naming.notes));
	must(c->model->naming.notes);
	return c;
}

/* All that needs no session. */
static int summarize(const struct capture *c, struct summary **ret_summary)
{
	int r = summary_of_model(c->model, NULL, ret_summary);

	return r < 0 ? r : summary_add_digest(*ret_summary, c->model->profile, 100);
}

/* Names are unique in these models. */
static uint32_t function_of(const struct profile *p, const char *name)
{
	uint32_t f = 0;

	while (f < p->nr_functions && strcmp(profile_str(p, p->functions[f].name), name) != 0)
		f++;
	return f;
}

static bool has_function(const struct profile *p, uint32_t location, uint32_t f, bool is_self)
{
	const struct profile_location *l = &p->locations[location];

	for (uint32_t i = 0; i < l->nr_lines && (i == 0 || !is_self); i++)
		if (p->lines[l->first_line + i].function == f)
			return true;
	return false;
}

/* In how many samples the function ran (is_self), or was anywhere on the stack. */
static int64_t recount(const struct profile *p, uint32_t f, bool is_self)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < p->nr_samples; i++) {
		const struct profile_span *s = &p->stacks[p->samples[i].stack];
		bool has = false;

		for (uint32_t k = 0; k < s->nr && !has && (k == 0 || !is_self); k++)
			has = has_function(p, p->frames[s->first + k], f, is_self);
		sum += has ? profile_count(p, i) : 0;
	}
	return sum;
}

/* The same for addresses without a line in a mapping: nr_mappings is none. Paths are unique, too. */
static int64_t recount_bare(const struct profile *p, uint32_t mapping, bool is_self)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < p->nr_samples; i++) {
		const struct profile_span *s = &p->stacks[p->samples[i].stack];
		bool has = false;

		for (uint32_t k = 0; k < s->nr && !has && (k == 0 || !is_self); k++) {
			const struct profile_location *l = &p->locations[p->frames[s->first + k]];

			has = !l->nr_lines &&
			      (l->mapping == PROFILE_NONE ? p->nr_mappings : l->mapping) == mapping;
		}
		sum += has ? profile_count(p, i) : 0;
	}
	return sum;
}

static uint64_t nr_with_samples(const struct profile *p)
{
	uint64_t nr = 0;

	for (uint32_t f = 0; f < p->nr_functions; f++)
		nr += recount(p, f, false) > 0;
	for (uint32_t m = 0; m <= p->nr_mappings; m++)
		nr += recount_bare(p, m, false) > 0;
	return nr;
}

static uint64_t recount_self(const struct profile *p)
{
	uint64_t sum = 0;

	for (uint32_t f = 0; f < p->nr_functions; f++)
		sum += (uint64_t)recount(p, f, true);
	for (uint32_t m = 0; m <= p->nr_mappings; m++)
		sum += (uint64_t)recount_bare(p, m, true);
	return sum;
}

static uint32_t mapping_of(const struct profile *p, const char *path)
{
	uint32_t m = 0;

	while (m < p->nr_mappings && strcmp(profile_str(p, p->mappings[m].path), path) != 0)
		m++;
	return m;
}

static bool agrees(const struct pa_summary *s, const struct profile *p)
{
	for (size_t i = 0; i < s->nr_functions; i++) {
		const struct pa_function_stat *f = &s->functions[i];
		int64_t (*count)(const struct profile *p, uint32_t id, bool is_self) =
			f->is_unnamed ? recount_bare : recount;
		uint32_t id = f->is_unnamed ? mapping_of(p, f->file) : function_of(p, f->name);
		int64_t self = count(p, id, true), total = count(p, id, false);

		if ((int64_t)f->nr_self == self && (int64_t)f->nr_total == total)
			continue;
		printf("# %s: self %ld, not %ld; total %ld, not %ld\n", f->name, (long)f->nr_self,
		       (long)self, (long)f->nr_total, (long)total);
		return false;
	}
	return true;
}

static void test_functions(struct profile *p, size_t nr, const char *what)
{
	_cleanup_(capture_freep) struct capture *c = capture_with(p);
	_cleanup_(summary_freep) struct summary *sum = NULL;
	const struct pa_summary *s;
	bool is_sorted = true;

	must(summarize(c, &sum) == 0);
	s = summary_get(sum);
	ok(s->nr_functions == nr, "%s: %zu functions are listed", what, nr);
	ok(s->functions_seen == nr_with_samples(p),
	   "%s: all functions with samples are counted (%llu)", what,
	   (unsigned long long)s->functions_seen);
	ok(s->functions_self == recount_self(p),
	   "%s: the samples of all functions are counted (%llu)", what,
	   (unsigned long long)s->functions_self);
	ok(agrees(s, p), "%s: self and total of each are those of the profile", what);
	for (size_t i = 1; i < s->nr_functions; i++)
		is_sorted &= (int64_t)s->functions[i - 1].nr_self >=
			     (int64_t)s->functions[i].nr_self;
	ok(is_sorted, "%s: most self first", what);
}

static void test_example(void)
{
	struct profile *p = model_example();
	_cleanup_(capture_freep) struct capture *c = capture_with(p);
	_cleanup_(summary_freep) struct summary *sum = NULL;
	const struct pa_summary *s;

	c->model->stats.nr_processes = 2;
	c->model->stats.stops[PA_STOP_END] = 90;
	c->model->stats.stops[PA_STOP_KERNEL] = 4;
	c->model->stats.stops[PA_STOP_EXEC] = 11;
	c->model->stats.stops[PA_STOP_NO_MM] = 2;
	must(summarize(c, &sum) == 0);
	s = summary_get(sum);
	ok(strcmp(s->functions[0].name, "spin") == 0 &&
		   strcmp(s->functions[0].file, "/usr/lib/libspin.so") == 0,
	   "a function has its name and file");
	ok(s->nr_stacks == 4 && s->nr_processes == 2, "stacks and processes are counted");
	ok(s->nr_locations == 6 && s->nr_locations_named == 4,
	   "addresses with a symbol are counted");
	ok(s->nr_unnamed == 2 && s->unnamed[0].nr_samples == 10 &&
		   strcmp(s->unnamed[0].file, "/usr/bin/app") == 0,
	   "unresolved code is listed by file, the most first");
	ok(s->unnamed[1].nr_samples == 5 && strcmp(s->unnamed[1].file, "[unknown]") == 0,
	   "unresolved code without a file is listed as unknown");
	ok(s->stacks_complete == 90, "complete are those that reach their end");
	ok(s->no_user_stack == 17, "kernel tasks, exec and exit are counted apart");
	ok(s->nr_stops == 4 && strcmp(s->stops[3].name, "exec") == 0 && s->stops[3].count == 11,
	   "each stop reason that occurred is listed by name");
}

static void check_processes(const struct pa_summary *s)
{
	uint64_t listed = 0;

	for (size_t i = 0; i < s->nr_processes_listed; i++)
		listed += PA_ITEM(s, pa_process_stat, s->processes, i)->nr_samples;
	ok(s->processes_seen == 2 && listed == 105 && s->processes_samples == 105 &&
		   s->processes[1].pid == 42 && s->processes[1].nr_samples == 5,
	   "the samples of all processes are all samples");
}

static void check_paths(const struct pa_summary *s)
{
	ok(s->nr_paths == 7 && strcmp(s->paths[0].name, "main") == 0 &&
		   s->paths[0].nr_samples == 100 && s->paths[3].continues &&
		   strcmp(s->paths[3].file, "/usr/lib/libspin.so") == 0 && s->paths[5].is_unnamed,
	   "paths begin with the outermost function");
	ok(s->paths[0].is_start && !s->paths[1].is_start && !s->paths[3].is_start,
	   "a function that each stack has is marked as a start of paths");
}

static void test_lists(void)
{
	struct profile *p = model_example();
	_cleanup_(capture_freep) struct capture *c = capture_with(p);
	_cleanup_(summary_freep) struct summary *sum = NULL;
	const struct pa_summary *s;

	profile_count_in_kernel(p, model_labels(p, "app", 41), 25);
	must(summary_of_model(c->model, NULL, &sum) == 0);
	must(summary_add_digest(sum, p, 3) == 0);
	s = summary_get(sum);
	ok(s->nr_functions == 3 && s->functions_seen == 7 && s->nr_functions_by_total == 4,
	   "lists of functions have the length that is asked for, besides those that each stack "
	   "has");
	ok(strcmp(s->functions_by_total[0].name, "main") == 0 &&
		   s->functions_by_total[0].is_start &&
		   strcmp(s->functions_by_total[1].name, "spin") == 0 &&
		   s->functions_by_total[1].nr_total == 70 && !s->functions_by_total[1].is_start,
	   "functions by total begin with the largest, which is marked if every stack has it");
	ok(s->nr_commands == 2 && s->commands_seen == 2 &&
		   strcmp(s->commands[0].comm, "app") == 0 && s->commands[0].nr_samples == 100 &&
		   s->commands[0].nr_in_kernel == 25 && s->commands[0].nr_processes == 1,
	   "commands have their samples, also those in the kernel");
	check_processes(s);
	check_paths(s);
}

/* Two samples truncated in one file for one reason, and one for another; the rest is whole. */
static void test_truncations(void)
{
	struct profile *p = model_example();
	_cleanup_(capture_freep) struct capture *c = NULL;
	_cleanup_(summary_freep) struct summary *sum = NULL;
	const struct pa_summary *s;
	uint32_t frames[] = { 1, 0 }, bare = 0, key = model_string(p, "truncated");
	uint32_t deep = model_string_label(p, "truncated", "too_deep");
	uint32_t fault = model_string_label(p, "truncated", "unreadable_stack");

	model_add(p, frames, 2, deep, 5);
	model_add(p, &bare, 1, deep, 6);
	model_add(p, frames, 2, fault, 3);
	c = capture_with(p);
	must(model_truncated_key(c->model) == key);
	must(summarize(c, &sum) == 0);
	s = summary_get(sum);
	ok(s->nr_truncations == 2 && strcmp(s->truncations[0].reason, "too_deep") == 0 &&
		   s->truncations[0].nr_samples == 11 && s->truncations[1].nr_samples == 3,
	   "truncations add up by reason and file, the most first");
	ok(s->truncations_seen == 2 && s->truncations_samples == 14,
	   "the number of truncations is reported");
	ok(strcmp(s->truncations[0].file,
		  profile_str(p, p->mappings[p->locations[0].mapping].path)) == 0,
	   "the file is that of the outermost frame");
}

static void add_unnamed(struct profile *p, uint32_t mapping, int64_t n)
{
	uint32_t frame = model_bare_location(p, mapping, p->mappings[mapping].start + 16);

	model_add(p, &frame, 1, model_labels(p, "a", n), n);
}

static uint32_t add_file(struct profile *p, const char *path, uint64_t owner, const char *build_id)
{
	uint32_t m = model_mapping(p, path, owner, owner << 32, 0x1000);

	p->mappings[m].build_id = *build_id ? model_string(p, build_id) : 0;
	return m;
}

/* The same file behind two mounts, another of the same path, and code of three JITs. */
static void test_one_line_per_file(void)
{
	struct profile *p = model_empty();
	_cleanup_(capture_freep) struct capture *c = NULL;
	_cleanup_(summary_freep) struct summary *sum = NULL;
	const struct pa_unnamed_stat *u;

	add_unnamed(p, add_file(p, "/lib/a.so", 1, "aa"), 30);
	add_unnamed(p, add_file(p, "/lib/a.so", 2, "aa"), 40);
	add_unnamed(p, add_file(p, "/lib/a.so", 3, "bb"), 5);
	for (uint64_t i = 4; i < 7; i++) {
		uint32_t m = add_file(p, "[jit]", i, "");

		p->mappings[m].kind = PROFILE_MAPPING_JIT;
		add_unnamed(p, m, (int64_t)i);
	}
	c = capture_with(p);
	c->model->naming.notes[0] = (struct naming_note){ "gone", "keep it" };
	c->model->naming.notes[1] = (struct naming_note){ "stripped", "install it" };
	c->model->naming.notes[3] = c->model->naming.notes[4] =
		(struct naming_note){ "no map", "start python so" };
	c->model->naming.notes[5] = (struct naming_note){ "no map", "start node so" };
	must(summarize(c, &sum) == 0);
	u = summary_get(sum)->unnamed;
	ok(summary_get(sum)->nr_unnamed == 4 && !strcmp(u[0].file, "/lib/a.so") &&
		   u[0].nr_samples == 70 && u[2].nr_samples == 6,
	   "a file that several processes have is one, with the samples of all");
	ok(summary_get(sum)->unnamed_seen == 4 && summary_get(sum)->unnamed_samples == 90,
	   "the number of unresolved files and of their samples is reported");
	ok(!strcmp(u[0].why, "stripped") && !strcmp(u[0].fix, "install it"),
	   "the reason of a file is that of most of its samples");
	ok(u[1].nr_samples == 9 && !strcmp(u[1].fix, "start python so") &&
		   !strcmp(u[2].fix, "start node so"),
	   "generated code is one entry if the hint is the same");
	ok(u[3].nr_samples == 5 && !strcmp(u[3].file, "/lib/a.so"),
	   "another build is another file");
}

static void test_empty_stack(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	_cleanup_(summary_freep) struct summary *sum = NULL;
	uint64_t none = 0;

	must(replay_sample(c, 100, REPLAY_PARENT, &none, 0, &none, 0, 0, PA_STOP_EXEC) == 0);
	must(capture_settle(c, true) == 0);
	must(capture_name(c, NULL) == 0);
	must(c->model->profile->nr_samples == 1 && c->model->profile->nr_frames == 0);
	ok(summarize(c, &sum) == 0, "a sample without a frame is summarized");
	ok(summary_get(sum)->nr_functions == 0 && summary_get(sum)->nr_unnamed == 0,
	   "a sample without a frame is not unresolved");
}

static void test_empty_stack_among_others(void)
{
	struct profile *p = model_empty();
	_cleanup_(capture_freep) struct capture *c = NULL;
	_cleanup_(summary_freep) struct summary *sum = NULL;
	uint32_t bare = model_bare_location(p, PROFILE_NONE, 1), labels = model_labels(p, "a", 1);

	model_add(p, &bare, 1, labels, 3);
	model_add(p, &bare, 0, labels, 4);
	c = capture_with(p);
	must(summarize(c, &sum) == 0);
	ok(summary_get(sum)->nr_unnamed == 1 && summary_get(sum)->unnamed[0].nr_samples == 3,
	   "only samples that have a frame lack its name");
}

static void test_nothing(void)
{
	_cleanup_(capture_freep) struct capture *c = capture_with(model_empty());
	_cleanup_(summary_freep) struct summary *sum = NULL;

	must(summarize(c, &sum) == 0);
	ok(summary_get(sum)->nr_functions == 0 && summary_get(sum)->nr_stops == 0,
	   "a capture without samples has a summary");
}

static uint64_t count_of(const struct pa_count *counts, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(counts[i].name, name) == 0)
			return counts[i].count;
	return UINT64_MAX;
}

static uint64_t loss(const struct pa_summary *s, const char *name)
{
	return count_of(s->sections[0].losses, s->sections[0].nr_losses, name);
}

static void test_sections(void)
{
	const struct pa_tick_stats cpus[2] = {
		{ .ticks = 100,
		  .idle = 20,
		  .other = 30,
		  .outside = 5,
		  .submitted = 40,
		  .ring_full = 5 },
		{ .ticks = 50,
		  .idle = 10,
		  .other = 2,
		  .outside = 3,
		  .submitted = 33,
		  .ring_full = 2 },
	};
	const struct pipe_stats pipe = { .nr_records = 70, .nr_bad = 1, .nr_no_memory = 2 };
	const struct model_stats stats = { .nr_kept = 60, .nr_full = 4, .nr_no_memory = 3 };
	_cleanup_(capture_freep) struct capture *c = capture_with(model_empty());
	_cleanup_(summary_freep) struct summary *sum = NULL;
	struct summary_source sources[2] = { { &trigger_oncpu, { 0 }, &pipe, stats, NULL },
					     { &trigger_oncpu, { 0 }, &pipe, stats, NULL } };
	const struct pa_section *c0;
	const struct pa_summary *s;

	must(summarize(c, &sum) == 0);
	s = summary_get(sum);
	oncpu_account(cpus, 2, 160, &sources[0].account);
	sources[1].account.due = sources[1].account.submitted = 70;
	must(summary_add_sections(sum, sources, 2) == 0);
	c0 = &s->sections[0];
	ok(s->nr_sections == 2 && strcmp(c0->name, "on-cpu") == 0 &&
		   strcmp(c0->units, "ticks") == 0,
	   "a section for each trigger");
	ok(c0->due == 160 && c0->samples == 60 && s->samples == 60, "due and samples are reported");
	ok(count_of(c0->counts, 3, "idle") == 30 && count_of(c0->counts, 3, "other") == 32 &&
		   count_of(c0->counts, 3, "outside") == 8 && c0->nr_counts == 3,
	   "idle, other and outside are the sums over the CPUs");
	ok(loss(s, "not_delivered") == 10, "due but never seen: not delivered");
	ok(loss(s, "ring_full") == 7, "the ring was full");
	ok(loss(s, "left_in_ring") == 3, "submitted but never read: left in the ring");
	ok(loss(s, "bad_record") == 1 && loss(s, "model_full") == 4 && loss(s, "no_memory") == 5,
	   "what the agent could not keep is listed by cause");
	ok(c0->lost == 30, "lost is the sum of the causes");
	ok(c0->due == 30 + 32 + 8 + c0->samples + c0->lost, "the terms of the account add up");
	ok(s->sections[1].due == s->sections[1].samples + s->sections[1].lost &&
		   s->sections[1].nr_losses == 4 && s->sections[1].nr_counts == 0,
	   "an account of records alone adds up");
}

static void test_stacks_of_sections(void)
{
	const struct pipe_stats pipe = { 0 };
	_cleanup_(capture_freep) struct capture *c = capture_with(model_empty());
	_cleanup_(capture_freep) struct capture *truncated = capture_with(model_example());
	_cleanup_(summary_freep) struct summary *sum = NULL;
	struct summary_source sources[2] = {
		{ &trigger_oncpu, { 0 }, &pipe, c->model->stats, c->model },
		{ &trigger_oncpu, { 0 }, &pipe, { .stops = { 0 } }, truncated->model }
	};
	const struct pa_section *all;

	c->model->stats.stops[PA_STOP_END] = 4;
	sources[1].model.stops[PA_STOP_END] = 7;
	sources[1].model.stops[PA_STOP_TOO_DEEP] = 2;
	sources[1].model.stops[PA_STOP_EXEC] = 1;
	must(summarize(c, &sum) == 0 && summary_add_sections(sum, sources, 2) == 0);
	all = summary_get(sum)->sections;
	ok(all[0].stacks_complete == 4 && all[0].nr_stops == 1 && all[0].unnamed_samples == 0,
	   "the first section has the stacks of the first model, as the summary");
	ok(all[1].stacks_complete == 7 && all[1].nr_stops == 3 && all[1].no_user_stack == 1,
	   "another section has those of its own model");
	ok(all[1].unnamed_samples > 0 && all[1].nr_unnamed == all[1].unnamed_seen &&
		   strcmp(all[1].stops[1].name, "too_deep") == 0,
	   "with what has no symbols, and why walks ended");
}

static void test_naming(void)
{
	struct profile *p = model_example();
	_cleanup_(capture_freep) struct capture *c = capture_with(p);
	_cleanup_(summary_freep) struct summary *sum = NULL;
	const struct pa_summary *s;

	naming_stats_add_batch(&c->model->naming.stats, 5, true);
	naming_stats_add_unnamed(&c->model->naming.stats, NAMING_NO_JIT_MAP, true);
	must(summarize(c, &sum) == 0);
	s = summary_get(sum);
	ok(s->naming_batches == 1 && s->naming_addresses == 1 && s->naming_raw == 1 &&
		   s->naming_fallbacks == 1 && s->naming_p50_ns == 5 && s->naming_p99_ns == 5 &&
		   s->naming_max_ns == 5,
	   "the counters of symbolization are reported");
	ok(s->nr_naming_failures == NAMING_NR_FAILURES &&
		   strcmp(s->naming_failures[NAMING_NO_JIT_MAP].name, "no_jit_map") == 0 &&
		   s->naming_failures[NAMING_NO_JIT_MAP].count == 1 &&
		   s->naming_failures[NAMING_NO_SYMBOL].count == 0,
	   "with every reason for a missing name");
}

/* Seven processes of Python 3.11, one of 3.12. */
static struct profile *python_model(void)
{
	struct profile *p = model_empty();
	uint32_t old = model_mapping(p, "/usr/bin/python3.11", 1, 0x1000, 0x1000);
	uint32_t new = model_mapping(p, "/usr/lib/libpython3.12.so.1.0", 2, 0x3000, 0x1000);
	uint32_t eval11 = model_location(p, old, 0x1001, "eval"),
		 eval12 = model_location(p, new, 0x3001, "eval");

	for (int64_t pid = 1; pid <= 7; pid++)
		model_add(p, &eval11, 1, model_labels(p, "py", pid), pid);
	model_add(p, &eval12, 1, model_labels(p, "py", 50), 2);
	return p;
}

static void test_hints(void)
{
	_cleanup_(capture_freep) struct capture *c = capture_with(python_model());
	_cleanup_(summary_freep) struct summary *sum = NULL;
	const struct pa_hint *first, *second;
	const struct pa_summary *s;

	must(summary_of_model(c->model, NULL, &sum) == 0);
	s = summary_get(sum);
	must(s->nr_hints == 2 && s->pa_hint_sz == sizeof(*first));
	first = PA_ITEM(s, pa_hint, s->hints, 0);
	second = PA_ITEM(s, pa_hint, s->hints, 1);
	ok(first->nr_samples == 28 && first->nr_processes == 7 &&
		   strcmp(first->problem, "no_script_functions") == 0 &&
		   strcmp(first->text,
			  "python 3.11 (PIDs 7, 6, 5, 4 and 3 more): the functions of the script "
			  "are "
			  "not shown; CPython 3.12 or later shows them, with "
			  "pa_options.inject_python or started with -X perf") == 0,
	   "hints: processes that share one are in one line, the busiest first: %s", first->text);
	ok(second->nr_samples == 2 && strcmp(second->runtime, "python") == 0 &&
		   strcmp(second->text, "python 3.12 (PID 50): the functions of the script are not "
					"shown; pa_options.inject_python switches them on, or "
					"start it with -X perf") == 0,
	   "hints: what helps depends on the version: %s", second->text);
}

/* Waits of Python: for a lock that a function of a script takes, or without a perf map. */
static void check_python_wait(bool has_script, const char *expected)
{
	_cleanup_(capture_freep) struct capture *c = capture_with(model_empty());
	struct profile *p = c->model->profile;
	uint32_t lib = model_mapping(p, "/usr/lib/libpython3.12.so.1.0", 1, 0x1000, 0x1000);
	uint32_t map = model_mapping(p, "", 2, 0x3000, 0x1000);
	uint32_t all[] = { model_location(p, lib, 0x1001, "acquire_timed"),
			   model_location(p, lib, 0x1002, "_PyEval_EvalFrameDefault"),
			   model_location(p, map, 0x3001, "hold"),
			   model_location(p, lib, 0x1003, "py_trampoline_evaluator"),
			   model_location(p, lib, 0x1002, "_PyEval_EvalFrameDefault"),
			   model_location(p, map, 0x3002, "worker") };
	uint32_t bare[] = { all[0], all[1], all[3], all[4] };
	struct model_wait *w = calloc(1, sizeof(*w));
	struct pa_wait_stat stat = { 0 };
	struct pa_summary s = { 0 };
	char texts[1][SUMMARY_WAIT_SIZE];

	must(w);
	p->mappings[map].kind = PROFILE_MAPPING_JIT;
	w->is_known = true;
	w->sums[0] = (struct pa_wait_sum){ .nr = 1, .ns = 5, .max_ns = 5 };
	must(profile_stack(p, has_script ? all : bare, has_script ? 6 : 4, &w->stack) == 0);
	c->model->waits.all = w;
	c->model->waits.nr = 1;
	must(summary_list_waits(c->model, &stat, texts, 1, &s) == 0);
	ok(!strcmp(stat.functions, expected), "waits: of Python, %s: %s",
	   has_script ? "functions of the script without the interpreter" : "the interpreter",
	   stat.functions);
}

static void test_python_waits(void)
{
	check_python_wait(true, "hold < worker");
	check_python_wait(false,
			  "acquire_timed < _PyEval_EvalFrameDefault < py_trampoline_evaluator");
}

/* Two JVMs without a perf map, as processes that the world knows. */
static struct profile *jvm_model(struct world *w)
{
	struct profile *p = model_empty();

	for (pid_t pid = FIRST_JVM; pid < FIRST_JVM + 2; pid++) {
		const struct mmap_event e = { .time_ns = 10,
					      .pid = pid,
					      .start = 0x5000,
					      .end = 0x7000,
					      .path = "/usr/lib/jvm/libjvm.so" };
		uint32_t m = add_file(p, "[jit]", (uint64_t)(pid - FIRST_JVM), ""), at;

		must(tracker_fork(w->tracker, 5, pid, 1) == 0 && tracker_mmap(w->tracker, &e) == 0);
		jit_files_look(w->jit, tracker_find(w->tracker, pid, 20), pid, 20);
		p->mappings[m].kind = PROFILE_MAPPING_JIT;
		p->mappings[m].owner = process_program(tracker_find(w->tracker, pid, 20), 20);
		at = model_bare_location(p, m, p->mappings[m].start + 16);
		model_add(p, &at, 1, model_labels(p, "java", pid), pid - FIRST_JVM + 1);
	}
	return p;
}

static void test_hint_for_many_jvms(void)
{
	_cleanup_(capture_freep) struct capture *c = capture_with(model_empty());
	_cleanup_(summary_freep) struct summary *sum = NULL;
	const struct pa_hint *hint;

	profile_free(c->model->profile);
	c->model->profile = jvm_model(c->world);
	free(c->model->naming.notes);
	c->model->naming.notes = calloc(3, sizeof(*c->model->naming.notes));
	must(c->model->naming.notes && model_init_labels(c->model) == 0);
	for (int i = 0; i < 2; i++)
		c->model->naming.notes[i].advice =
			advice_for_symbols(advice_runtime_of_file("/usr/lib/jvm/libjvm.so"));
	must(summary_of_model(c->model, NULL, &sum) == 0 && summary_get(sum)->nr_hints == 1);
	hint = PA_ITEM(summary_get(sum), pa_hint, summary_get(sum)->hints, 0);
	ok(hint->nr_processes == 2 && strstr(hint->text, "run jcmd 4190001 Compiler.perfmap") &&
		   strstr(hint->text, "for each, as for PID 4190001: ") &&
		   !strstr(hint->text, "jcmd PID"),
	   "hints: of several JVMs the fix has a PID that can be pasted: %s", hint->text);
}

/* What was named before it, by another thread, and is gone by now. */
static void test_models_taken_out(void)
{
	struct profile *p = model_example();
	_cleanup_(capture_freep) struct capture *c = capture_with(p);
	_cleanup_(summary_freep) struct summary *sum = NULL;
	struct model_account taken = { .stats = { .nr_processes = 3, .nr_untimed = 4 },
				       .jit = { .nr_maps = 5 } };
	struct naming_stats many = { 0 };
	const struct pa_summary *s;

	for (uint64_t i = 0; i < NAMING_LAST_BATCHES + 76; i++)
		naming_stats_add_batch(&many, i, false);
	naming_stats_add_unnamed(&many, NAMING_NO_FILE, true);
	many.nr_shared = 3;
	naming_stats_add(&taken.naming, &many);
	naming_stats_add_batch(&c->model->naming.stats, 9, true);
	naming_stats_add_named(&c->model->naming.stats, NAMING_FROM_FILE);
	c->model->naming.stats.nr_shared = 1;
	c->model->naming.jit_counts.nr_maps = 2;
	c->model->stats.nr_processes = 1;
	must(summary_of_model(c->model, &taken, &sum) == 0);
	s = summary_get(sum);
	ok(s->naming_batches == NAMING_LAST_BATCHES + 77 && s->naming_addresses == 2 &&
		   s->naming_raw == 1 && s->naming_fallbacks == 1 && s->naming_shared == 4 &&
		   s->naming_failures[NAMING_NO_FILE].count == 1,
	   "the summary counts what naming did for models that were taken out");
	ok(s->naming_max_ns == NAMING_LAST_BATCHES + 75, "with how long their last batches took");
	ok(s->jit[0].count == 7 && s->jit[SUMMARY_NR_JIT - 1].count == 4 && s->nr_processes == 4,
	   "with what was read for them, and their samples");
}

static void test_gaps(void)
{
	struct profile *p = model_example();
	_cleanup_(capture_freep) struct capture *c = capture_with(p);
	_cleanup_(summary_freep) struct summary *sum = NULL;
	const struct pa_summary *s;

	c->pipe->nr_bad_origin = 12;
	must(summary_of_model(c->model, NULL, &sum) == 0);
	summary_add_gaps(sum, c->world, c->pipe, NULL);
	s = summary_get(sum);
	ok(s->nr_gaps == SUMMARY_NR_GAPS && strcmp(s->gaps[4].name, "unknown_origin") == 0 &&
		   s->gaps[4].count == 12,
	   "records whose origin is not a trigger are a gap of the summary");
}

static void test_no_io_wait(void)
{
	struct sched_block process = { .pid = 7, .reasons = { [PA_SWITCH_IO_WAIT] = 3 } };
	struct sched_report r = { .total = process, .processes = &process, .nr_processes = 1 };
	_cleanup_(freep) struct pa_pmu_stat *known = NULL, *unknown = NULL;
	size_t nr;

	must(summary_list_pmu(&r, &known, &nr) == 0 && nr == 2);
	r.no_io_wait = "this kernel does not say";
	must(summary_list_pmu(&r, &unknown, &nr) == 0 && nr == 2);
	ok(known[0].nr_io_wait == 3 && known[1].nr_io_wait == 3 &&
		   unknown[0].nr_io_wait == PA_UNKNOWN && unknown[1].nr_io_wait == PA_UNKNOWN,
	   "where the kernel does not say what is a wait for I/O, their number is unknown");
}

int main(void)
{
	test_hints();
	test_python_waits();
	test_hint_for_many_jvms();
	test_functions(model_example(), 7, "example");
	test_functions(model_large(1), 100, "large");
	test_example();
	test_lists();
	test_truncations();
	test_naming();
	test_models_taken_out();
	test_gaps();
	test_one_line_per_file();
	test_empty_stack();
	test_empty_stack_among_others();
	test_nothing();
	test_sections();
	test_no_io_wait();
	test_stacks_of_sections();
	return tap_done();
}
