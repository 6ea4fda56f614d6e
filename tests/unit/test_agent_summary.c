/* SPDX-License-Identifier: Apache-2.0 */
/* The summary against the model it is made of: counted again here, the slow and plain way. */
#include "agent/capture.h"
#include "agent/summary.h"
#include "model.h"
#include "replay.h"

static struct capture *new_capture(void)
{
	struct capture_config cfg = {
		.proc_root = "/proc", .all = true, .period_ns = 1000000, .max_fds = 4
	};
	struct capture *c;

	must(capture_new(&cfg, NULL, &c) == 0);
	return c;
}

/* A capture that has ended and was named, with this model in it. */
static struct capture *capture_with(struct profile *p)
{
	struct capture *c = new_capture();

	profile_free(c->profile);
	c->profile = p;
	c->notes = calloc((size_t)p->nr_mappings + 1, sizeof(*c->notes));
	must(c->notes);
	return c;
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
		sum += has ? p->samples[i].values[0] : 0;
	}
	return sum;
}

static uint64_t nr_with_samples(const struct profile *p)
{
	uint64_t nr = 0;

	for (uint32_t f = 0; f < p->nr_functions; f++)
		nr += recount(p, f, false) > 0;
	return nr;
}

static uint64_t recount_self(const struct profile *p)
{
	uint64_t sum = 0;

	for (uint32_t f = 0; f < p->nr_functions; f++)
		sum += (uint64_t)recount(p, f, true);
	return sum;
}

static bool agrees(const struct pa_summary *s, const struct profile *p)
{
	for (size_t i = 0; i < s->nr_functions; i++) {
		const struct pa_function_stat *f = &s->functions[i];
		uint32_t id = function_of(p, f->name);
		int64_t self = recount(p, id, true), total = recount(p, id, false);

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

	must(summary_of_capture(c, &sum) == 0);
	s = summary_get(sum);
	ok(s->nr_functions == nr, "%s: %zu functions", what, nr);
	ok(s->functions_seen == nr_with_samples(p), "%s: of all that have samples (%llu)", what,
	   (unsigned long long)s->functions_seen);
	ok(s->functions_self == recount_self(p), "%s: and the samples of all (%llu)", what,
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

	c->stats.nr_processes = 2;
	c->stats.stops[PA_STOP_END] = 90;
	c->stats.stops[PA_STOP_KERNEL] = 4;
	c->stats.stops[PA_STOP_EXEC] = 11;
	c->stats.stops[PA_STOP_NO_MM] = 2;
	must(summary_of_capture(c, &sum) == 0);
	s = summary_get(sum);
	ok(strcmp(s->functions[0].name, "spin") == 0 &&
		   strcmp(s->functions[0].file, "/usr/lib/libspin.so") == 0,
	   "a function has its name and file");
	ok(s->nr_stacks == 4 && s->nr_processes == 2, "stacks and processes are counted");
	ok(s->nr_locations == 6 && s->nr_locations_named == 4, "so are addresses with a name");
	ok(s->nr_unnamed == 2 && s->unnamed[0].nr_samples == 10 &&
		   strcmp(s->unnamed[0].file, "/usr/bin/app") == 0,
	   "what has no name is told by file, the most first");
	ok(s->unnamed[1].nr_samples == 5 && strcmp(s->unnamed[1].file, "[unknown]") == 0,
	   "and what has no file as unknown");
	ok(s->stacks_complete == 90, "complete are those that reach their end");
	ok(s->no_user_stack == 17, "kernel tasks, exec and exit are counted apart");
	ok(s->nr_stops == 4 && strcmp(s->stops[3].name, "exec") == 0 && s->stops[3].count == 11,
	   "each end that was seen is told by name");
}

/* Two samples cut in one file for one reason, and one for another; the rest is whole. */
static void test_cuts(void)
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
	c->label_truncated = key;
	must(summary_of_capture(c, &sum) == 0);
	s = summary_get(sum);
	ok(s->nr_cuts == 2 && strcmp(s->cuts[0].reason, "too_deep") == 0 &&
		   s->cuts[0].nr_samples == 11 && s->cuts[1].nr_samples == 3,
	   "cuts add up by reason and file, the most first");
	ok(s->cuts_seen == 2 && s->cuts_samples == 14, "how many there are is told");
	ok(strcmp(s->cuts[0].file, profile_str(p, p->mappings[p->locations[0].mapping].path)) == 0,
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
	struct profile *p = model_new();
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
	c->notes[0] = (struct naming_note){ "gone", "keep it" };
	c->notes[1] = (struct naming_note){ "stripped", "install it" };
	c->notes[3] = c->notes[4] = (struct naming_note){ "no map", "start python so" };
	c->notes[5] = (struct naming_note){ "no map", "start node so" };
	must(summary_of_capture(c, &sum) == 0);
	u = summary_get(sum)->unnamed;
	ok(summary_get(sum)->nr_unnamed == 4 && !strcmp(u[0].file, "/lib/a.so") &&
		   u[0].nr_samples == 70 && u[2].nr_samples == 6,
	   "a file that several processes have is one, with the samples of all");
	ok(summary_get(sum)->unnamed_seen == 4 && summary_get(sum)->unnamed_samples == 90,
	   "how many there are, with how many samples, is told");
	ok(!strcmp(u[0].why, "stripped") && !strcmp(u[0].cure, "install it"),
	   "its reason is that of most of them");
	ok(u[1].nr_samples == 9 && !strcmp(u[1].cure, "start python so") &&
		   !strcmp(u[2].cure, "start node so"),
	   "code of JITs is one where the cure is");
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
	must(c->profile->nr_samples == 1 && c->profile->nr_frames == 0);
	ok(summary_of_capture(c, &sum) == 0, "a sample without a frame is no trouble");
	ok(summary_get(sum)->nr_functions == 0 && summary_get(sum)->nr_unnamed == 0,
	   "and lacks no name");
}

static void test_empty_stack_among_others(void)
{
	struct profile *p = model_new();
	_cleanup_(capture_freep) struct capture *c = NULL;
	_cleanup_(summary_freep) struct summary *sum = NULL;
	uint32_t bare = model_bare_location(p, PROFILE_NONE, 1), labels = model_labels(p, "a", 1);

	model_add(p, &bare, 1, labels, 3);
	model_add(p, &bare, 0, labels, 4);
	c = capture_with(p);
	must(summary_of_capture(c, &sum) == 0);
	ok(summary_get(sum)->nr_unnamed == 1 && summary_get(sum)->unnamed[0].nr_samples == 3,
	   "only samples that have a frame lack its name");
}

static void test_nothing(void)
{
	_cleanup_(capture_freep) struct capture *c = capture_with(model_new());
	_cleanup_(summary_freep) struct summary *sum = NULL;

	must(summary_of_capture(c, &sum) == 0);
	ok(summary_get(sum)->nr_functions == 0 && summary_get(sum)->nr_stops == 0,
	   "a capture without samples has a summary");
}

static uint64_t loss(const struct pa_summary *s, const char *name)
{
	for (size_t i = 0; i < s->nr_losses; i++)
		if (strcmp(s->losses[i].name, name) == 0)
			return s->losses[i].count;
	return UINT64_MAX;
}

static void test_ticks(void)
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
	const struct capture_stats stats = {
		.nr_records = 70, .nr_kept = 60, .nr_bad = 1, .nr_model_full = 4, .nr_no_memory = 5
	};
	_cleanup_(capture_freep) struct capture *c = capture_with(model_new());
	_cleanup_(summary_freep) struct summary *sum = NULL;
	const struct pa_summary *s;

	must(summary_of_capture(c, &sum) == 0);
	s = summary_get(sum);
	summary_add_ticks(sum, cpus, 2, 160, &stats);
	ok(s->ticks_due == 160 && s->samples == 60, "due and samples are told");
	ok(s->ticks_idle == 30 && s->ticks_other == 32 && s->ticks_outside == 8,
	   "idle, other and outside are the sums over the CPUs");
	ok(loss(s, "not_delivered") == 10, "due but never seen: not delivered");
	ok(loss(s, "ring_full") == 7, "the ring was full");
	ok(loss(s, "left_in_ring") == 3, "submitted but never read: left in the ring");
	ok(loss(s, "bad_record") == 1 && loss(s, "model_full") == 4 && loss(s, "no_memory") == 5,
	   "what the agent could not keep, by cause");
	ok(s->ticks_lost == 30, "lost is the sum of these");
	ok(s->ticks_due ==
		   s->ticks_idle + s->ticks_other + s->ticks_outside + s->samples + s->ticks_lost,
	   "and all adds up");
}

static void test_naming(void)
{
	struct profile *p = model_example();
	_cleanup_(capture_freep) struct capture *c = capture_with(p);
	_cleanup_(summary_freep) struct summary *sum = NULL;
	const struct pa_summary *s;

	naming_stats_add_batch(&c->naming, 5, true);
	naming_stats_add_unnamed(&c->naming, NAMING_NO_JIT_MAP, true);
	must(summary_of_capture(c, &sum) == 0);
	s = summary_get(sum);
	ok(s->naming_batches == 1 && s->naming_addresses == 1 && s->naming_raw == 1 &&
		   s->naming_fallbacks == 1 && s->naming_p50_ns == 5 && s->naming_p99_ns == 5 &&
		   s->naming_max_ns == 5,
	   "what naming did is told");
	ok(s->nr_naming_failures == NAMING_NR_FAILURES &&
		   strcmp(s->naming_failures[NAMING_NO_JIT_MAP].name, "no_jit_map") == 0 &&
		   s->naming_failures[NAMING_NO_JIT_MAP].count == 1 &&
		   s->naming_failures[NAMING_NO_SYMBOL].count == 0,
	   "with every reason for a missing name");
}

int main(void)
{
	test_functions(model_example(), 5, "example");
	test_functions(model_large(1), 100, "large");
	test_example();
	test_cuts();
	test_naming();
	test_one_line_per_file();
	test_empty_stack();
	test_empty_stack_among_others();
	test_nothing();
	test_ticks();
	return tap_done();
}
