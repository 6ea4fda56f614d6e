/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "model.h"

static void test_mappings_are_one_over_processes(void)
{
	struct profile *p = model_new();
	uint32_t a = model_mapping(p, "/lib/a", 7, 0x10000, 0x1000);

	ok(model_mapping(p, "/lib/a", 7, 0x90000, 0x1000) == a,
	   "the same piece of the same file elsewhere is the same mapping");
	ok(p->mappings[a].start == 0x10000, "the start seen first stays");
	ok(model_mapping(p, "/lib/a", 8, 0x10000, 0x1000) != a, "another file is another mapping");
	ok(model_mapping(p, "/lib/a", 7, 0x10000, 0x2000) != a, "another size is another mapping");
	profile_free(p);
}

static void test_jit_mappings_differ_by_start(void)
{
	struct profile *p = model_new();
	struct profile_mapping m = {
		.kind = PROFILE_MAPPING_JIT, .owner = 1, .start = 0x1000, .limit = 0x2000
	};
	uint32_t a, b;

	must(profile_mapping(p, &m, &a) == 0);
	m.start += 0x10000;
	m.limit += 0x10000;
	must(profile_mapping(p, &m, &b) == 0);
	ok(a != b, "two regions of JIT code of one process and one size are two mappings");
	profile_free(p);
}

static void test_equal_things_are_one(void)
{
	struct profile *p = model_new();
	uint32_t m = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000);
	uint32_t f = model_function(p, "f", "a.c", m), l = model_bare_location(p, m, 0x1001);
	uint32_t s, t, u, other, same, set = model_labels(p, "a", 1);

	ok(model_function(p, "f", "a.c", m) == f, "equal functions are one");
	ok(model_function(p, "f", "a.c", PROFILE_NONE) != f, "in another file they are two");
	ok(model_bare_location(p, m, 0x1001) == l, "equal locations are one");
	ok(model_bare_location(p, PROFILE_NONE, 0x1001) != l, "without a mapping they are two");
	must(profile_location_version(p, m, 0x1001, 9, &other) == 0);
	ok(other != l && profile_location_version(p, m, 0x1001, 0, &same) == 0 && same == l,
	   "so are two versions of the code there");
	ok(model_labels(p, "a", 1) == set, "equal label sets are one");
	ok(model_labels(p, "a", 2) != set, "another number is another label set");
	must(profile_stack(p, (uint32_t[]){ l, l }, 2, &s) == 0);
	must(profile_stack(p, (uint32_t[]){ l, l }, 2, &t) == 0);
	must(profile_stack(p, (uint32_t[]){ l }, 1, &u) == 0);
	ok(s == t, "equal stacks are one");
	ok(u != s, "a shorter stack is another");
	ok(profile_stack(p, NULL, 0, &u) == 0 && p->stacks[u].nr == 0, "a stack may be empty");
	ok(profile_label_set(p, NULL, 0, &u) == 0 && p->label_sets[u].nr == 0,
	   "a label set may be empty");
	profile_free(p);
}

static void test_values_add_up(void)
{
	struct profile *p = model_new();
	uint32_t l = model_bare_location(p, PROFILE_NONE, 1), set = model_labels(p, "a", 1);
	int64_t most[2] = { 0, INT64_MAX };

	model_add(p, &l, 1, set, 1);
	model_add(p, &l, 1, set, 2);
	ok(p->nr_samples == 1, "the same stack with the same labels is one sample");
	ok(p->samples[0].values[0] == 3, "its counts add up");
	ok(p->samples[0].values[1] == 30000000, "its nanoseconds add up");
	ok(profile_add(p, 0, set, most) == -EOVERFLOW, "a sum past 63 bits is refused");
	ok(p->samples[0].values[0] == 3, "and no value of it is added");
	model_add(p, &l, 1, model_labels(p, "b", 1), 1);
	ok(p->nr_samples == 2, "with other labels it is another sample");
	profile_free(p);
}

static void test_lines_set_the_flags(void)
{
	struct profile *p = model_new();
	uint32_t m = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000);
	uint32_t raw = model_bare_location(p, m, 0x1000), full = model_bare_location(p, m, 0x1001);
	struct profile_line lines[2] = {
		{ .function = model_function(p, "0x1000", "", m) },
		{ .function = model_function(p, "f", "a.c", m), .line = 3 },
	};

	must(profile_set_lines(p, raw, lines, 1, false) == 0);
	ok(!p->mappings[m].has_functions, "an address as a name does not count as functions");
	ok(!p->mappings[m].has_filenames && !p->mappings[m].has_line_numbers, "nor as lines");
	must(profile_set_lines(p, full, lines, 2, true) == 0);
	ok(p->mappings[m].has_functions, "a symbol does");
	ok(p->mappings[m].has_filenames, "a source file is noted");
	ok(p->mappings[m].has_line_numbers, "a line number is noted");
	ok(p->mappings[m].has_inline_frames, "a second line is noted as inlining");
	ok(p->locations[full].is_named && !p->locations[raw].is_named, "both know what they are");
	ok(profile_set_lines(p, full, lines, 1, true) == -EALREADY, "a name is given once");
	profile_free(p);
}

static void test_bad_numbers_are_refused(void)
{
	struct profile *p = model_new();
	uint32_t m = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000), id = 99;
	struct profile_mapping empty = { .start = 5, .limit = 5 };
	struct profile_mapping no_path = { .start = 5, .limit = 6, .path = 12345 };
	struct profile_function f = { .name = 12345, .mapping = m };
	struct profile_label label = { .key = 12345 };
	struct profile_line line = { .function = 12345 };
	int64_t values[2] = { 1, 1 };

	ok(profile_mapping(p, &empty, &id) == -EINVAL, "an empty mapping");
	ok(profile_mapping(p, &no_path, &id) == -EINVAL, "a mapping with an unknown path");
	ok(profile_location(p, m, 0xfff, &id) == -EINVAL, "an address before its mapping");
	ok(profile_location(p, m, 0x2000, &id) == -EINVAL, "an address after its mapping");
	ok(profile_location(p, 7, 0x1000, &id) == -EINVAL, "an unknown mapping");
	ok(profile_function(p, &f, &id) == -EINVAL, "a function with an unknown name");
	ok(profile_stack(p, (uint32_t[]){ 7 }, 1, &id) == -EINVAL, "an unknown location");
	ok(profile_label_set(p, &label, 1, &id) == -EINVAL, "an unknown label");
	ok(profile_add(p, 0, 0, values) == -EINVAL, "an unknown stack");
	ok(profile_set_lines(p, 0, &line, 1, true) == -EINVAL, "a name for an unknown location");
	(void)model_bare_location(p, m, 0x1000);
	ok(profile_set_lines(p, 0, &line, 1, true) == -EINVAL, "an unknown function");
	ok(profile_set_lines(p, 0, &line, 0, true) == -EINVAL, "no lines at all");
	ok(id == 99, "no number is given out then");
	ok(p->nr_mappings == 1 && p->nr_functions == 0 && p->nr_stacks == 0 &&
		   p->nr_label_sets == 0 && p->nr_samples == 0,
	   "and nothing is added");
	profile_free(p);
}

static void test_limits_are_refused(void)
{
	struct profile *p = model_new();
	uint32_t l = model_bare_location(p, PROFILE_NONE, 1), id;
	uint32_t *frames = calloc(PROFILE_MAX_FRAMES + 1, sizeof(*frames));
	struct profile_label labels[PROFILE_MAX_LABELS + 1] = { { 0 } };
	struct profile_line lines[PROFILE_MAX_LINES + 1] = { { 0 } };
	int r = 0, nr = 0;

	must(frames);
	ok(profile_stack(p, frames, PROFILE_MAX_FRAMES, &id) == 0, "the deepest stack");
	ok(profile_stack(p, frames, PROFILE_MAX_FRAMES + 1, &id) == -E2BIG, "one frame more");
	ok(profile_label_set(p, labels, PROFILE_MAX_LABELS, &id) == 0, "the most labels");
	ok(profile_label_set(p, labels, PROFILE_MAX_LABELS + 1, &id) == -E2BIG, "one more");
	(void)model_function(p, "f", "", PROFILE_NONE);
	ok(profile_set_lines(p, l, lines, PROFILE_MAX_LINES + 1, true) == -E2BIG, "too many lines");
	ok(profile_set_lines(p, l, lines, PROFILE_MAX_LINES, true) == 0, "the most lines");
	ok(profile_add_type(p, "a", "b") == -E2BIG, "a third type");
	for (; r == 0; nr++)
		r = profile_add_comment(p, "c");
	ok(r == -E2BIG && nr == PROFILE_MAX_COMMENTS + 1, "one comment too many");
	free(frames);
	profile_free(p);
}

int main(void)
{
	test_mappings_are_one_over_processes();
	test_jit_mappings_differ_by_start();
	test_equal_things_are_one();
	test_values_add_up();
	test_lines_set_the_flags();
	test_bad_numbers_are_refused();
	test_limits_are_refused();
	return tap_done();
}
