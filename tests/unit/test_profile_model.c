/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "model.h"

static void test_mappings_are_one_over_processes(void)
{
	struct profile *p = model_empty();
	uint32_t a = model_mapping(p, "/lib/a", 7, 0x10000, 0x1000);

	ok(model_mapping(p, "/lib/a", 7, 0x90000, 0x1000) == a,
	   "the same part of the same file elsewhere is the same mapping");
	ok(p->mappings[a].start == 0x10000, "a mapping keeps the start seen first");
	ok(model_mapping(p, "/lib/a", 8, 0x10000, 0x1000) != a, "another file is another mapping");
	ok(model_mapping(p, "/lib/a", 7, 0x10000, 0x2000) != a, "another size is another mapping");
	profile_free(p);
}

static void test_jit_mappings_differ_by_start(void)
{
	struct profile *p = model_empty();
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
	struct profile *p = model_empty();
	uint32_t m = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000);
	uint32_t f = model_function(p, "f", "a.c", m), l = model_bare_location(p, m, 0x1001);
	uint32_t s, t, u, other, same, set = model_labels(p, "a", 1);

	ok(model_function(p, "f", "a.c", m) == f, "equal functions are one");
	ok(model_function(p, "f", "a.c", PROFILE_NONE) != f,
	   "equal functions in different files are two");
	ok(model_bare_location(p, m, 0x1001) == l, "equal locations are one");
	ok(model_bare_location(p, PROFILE_NONE, 0x1001) != l,
	   "equal locations without a mapping are two");
	must(profile_location_version(p, m, 0x1001, 9, &other) == 0);
	ok(other != l && profile_location_version(p, m, 0x1001, 0, &same) == 0 && same == l,
	   "two versions of the code at an address are two locations");
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
	struct profile *p = model_empty();
	uint32_t l = model_bare_location(p, PROFILE_NONE, 1), set = model_labels(p, "a", 1);
	int64_t most[2] = { 0, INT64_MAX };

	model_add(p, &l, 1, set, 1);
	model_add(p, &l, 1, set, 2);
	ok(p->nr_samples == 1, "the same stack with the same labels is one sample");
	ok(profile_value(p, 0, 0) == 3, "the counts of a sample add up");
	ok(profile_value(p, 0, 1) == 30000000, "the nanoseconds of a sample add up");
	ok(profile_add(p, 0, set, most) == -EOVERFLOW, "a sum beyond 63 bits is refused");
	ok(profile_value(p, 0, 0) == 3, "a refused sample adds no value");
	model_add(p, &l, 1, model_labels(p, "b", 1), 1);
	ok(p->nr_samples == 2, "the same stack with other labels is another sample");
	profile_free(p);
}

#define NR_TYPES 40

/* Of n: n, 2 n, 3 n … */
static void add_times(struct profile *p, uint32_t stack, uint32_t labels, int64_t n)
{
	int64_t values[NR_TYPES];

	for (int64_t i = 0; i < NR_TYPES; i++)
		values[i] = n * (i + 1);
	must(profile_add(p, stack, labels, values) == 0);
}

static void test_any_number_of_types(void)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	uint32_t stacks[100], set;
	int64_t nr_wrong = 0, over[NR_TYPES] = { 0 };
	int r = profile_new(&p);

	for (uint32_t i = 0; i < NR_TYPES && r == 0; i++)
		r = profile_add_type(p, "things", "count");
	ok(r == 0 && p->nr_types == NR_TYPES, "a model may have %d types of values", NR_TYPES);
	set = model_labels(p, "a", 1);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t l = model_bare_location(p, PROFILE_NONE, i);

		must(profile_stack(p, &l, 1, &stacks[i]) == 0);
		add_times(p, stacks[i], set, i);
	}
	for (uint32_t i = 0; i < 100; i++)
		add_times(p, stacks[i], set, 1000);
	for (uint32_t i = 0; i < 100; i++)
		for (uint32_t k = 0; k < NR_TYPES; k++)
			nr_wrong += profile_value(p, i, k) != (1000 + (int64_t)i) * (k + 1);
	ok(p->nr_samples == 100 && nr_wrong == 0, "every value of every sample adds up");
	over[NR_TYPES - 1] = INT64_MAX;
	over[0] = 5;
	ok(profile_add(p, stacks[7], set, over) == -EOVERFLOW && profile_value(p, 7, 0) == 1007,
	   "if the last value does not fit, none is added");
	ok(profile_value(p, 7, NR_TYPES) == 0, "a type out of range has the value 0");
	p->count_type = 2;
	ok(profile_count(p, 7) == 3021, "the model says which type counts events");
	ok(profile_add_type(p, "late", "count") == -EBUSY && p->nr_types == NR_TYPES,
	   "no type can be added after the first sample");
}

static void test_no_types(void)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	uint32_t stack, set;

	must(profile_new(&p) == 0 && profile_stack(p, NULL, 0, &stack) == 0 &&
	     profile_label_set(p, NULL, 0, &set) == 0);
	ok(profile_add(p, stack, set, NULL) == 0 && profile_add(p, stack, set, NULL) == 0 &&
		   p->nr_samples == 1 && profile_count(p, 0) == 0,
	   "a sample without types has no value");
}

static void test_lines_set_the_flags(void)
{
	struct profile *p = model_empty();
	uint32_t m = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000);
	uint32_t raw = model_bare_location(p, m, 0x1000), full = model_bare_location(p, m, 0x1001);
	struct profile_line lines[2] = {
		{ .function = model_function(p, "0x1000", "", m) },
		{ .function = model_function(p, "f", "a.c", m), .line = 3 },
	};

	must(profile_set_lines(p, raw, lines, 1, false) == 0);
	ok(!p->mappings[m].has_functions, "an address as a name does not count as has_functions");
	ok(!p->mappings[m].has_filenames && !p->mappings[m].has_line_numbers,
	   "an address as a name does not count as has_line_numbers");
	must(profile_set_lines(p, full, lines, 2, true) == 0);
	ok(p->mappings[m].has_functions, "a symbol counts as has_functions");
	ok(p->mappings[m].has_filenames, "a source file sets has_filenames");
	ok(p->mappings[m].has_line_numbers, "a line number sets has_line_numbers");
	ok(p->mappings[m].has_inline_frames, "a second line sets has_inline_frames");
	ok(p->locations[full].is_named && !p->locations[raw].is_named,
	   "both locations know whether they are resolved");
	ok(profile_set_lines(p, full, lines, 1, true) == -EALREADY,
	   "a location is resolved only once");
	profile_free(p);
}

static void test_bad_numbers_are_refused(void)
{
	struct profile *p = model_empty();
	uint32_t m = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000), id = 99;
	struct profile_mapping empty = { .start = 5, .limit = 5 };
	struct profile_mapping no_path = { .start = 5, .limit = 6, .path = 12345 };
	struct profile_function f = { .name = 12345, .mapping = m };
	struct profile_label label = { .key = 12345 };
	struct profile_line line = { .function = 12345 };
	int64_t values[2] = { 1, 1 };

	ok(profile_mapping(p, &empty, &id) == -EINVAL, "an empty mapping is refused");
	ok(profile_mapping(p, &no_path, &id) == -EINVAL,
	   "a mapping with an unknown path is refused");
	ok(profile_location(p, m, 0xfff, &id) == -EINVAL,
	   "an address before its mapping is refused");
	ok(profile_location(p, m, 0x2000, &id) == -EINVAL,
	   "an address after its mapping is refused");
	ok(profile_location(p, 7, 0x1000, &id) == -EINVAL, "an unknown mapping is refused");
	ok(profile_function(p, &f, &id) == -EINVAL, "a function with an unknown name is refused");
	ok(profile_stack(p, (uint32_t[]){ 7 }, 1, &id) == -EINVAL,
	   "an unknown location is refused");
	ok(profile_label_set(p, &label, 1, &id) == -EINVAL, "an unknown label is refused");
	ok(profile_add(p, 0, 0, values) == -EINVAL, "an unknown stack is refused");
	ok(profile_set_lines(p, 0, &line, 1, true) == -EINVAL,
	   "a name for an unknown location is refused");
	(void)model_bare_location(p, m, 0x1000);
	ok(profile_set_lines(p, 0, &line, 1, true) == -EINVAL, "an unknown function is refused");
	ok(profile_set_lines(p, 0, &line, 0, true) == -EINVAL, "no lines at all is refused");
	ok(id == 99, "a refused item sets no number");
	ok(p->nr_mappings == 1 && p->nr_functions == 0 && p->nr_stacks == 0 &&
		   p->nr_label_sets == 0 && p->nr_samples == 0,
	   "a refused item adds nothing");
	profile_free(p);
}

static void test_limits_are_refused(void)
{
	struct profile *p = model_empty();
	uint32_t l = model_bare_location(p, PROFILE_NONE, 1), id;
	uint32_t *frames = calloc(PROFILE_MAX_FRAMES + 1, sizeof(*frames));
	struct profile_label labels[PROFILE_MAX_LABELS + 1] = { { 0 } };
	struct profile_line lines[PROFILE_MAX_LINES + 1] = { { 0 } };
	int r = 0, nr = 0;

	must(frames);
	ok(profile_stack(p, frames, PROFILE_MAX_FRAMES, &id) == 0, "the deepest stack is accepted");
	ok(profile_stack(p, frames, PROFILE_MAX_FRAMES + 1, &id) == -E2BIG,
	   "one frame more is refused");
	ok(profile_label_set(p, labels, PROFILE_MAX_LABELS, &id) == 0,
	   "the most labels are accepted");
	ok(profile_label_set(p, labels, PROFILE_MAX_LABELS + 1, &id) == -E2BIG,
	   "one label more is refused");
	(void)model_function(p, "f", "", PROFILE_NONE);
	ok(profile_set_lines(p, l, lines, PROFILE_MAX_LINES + 1, true) == -E2BIG,
	   "too many lines are refused");
	ok(profile_set_lines(p, l, lines, PROFILE_MAX_LINES, true) == 0,
	   "the most lines are accepted");
	for (; r == 0; nr++)
		r = profile_add_comment(p, "c");
	ok(r == -E2BIG && nr == PROFILE_MAX_COMMENTS + 1, "one comment too many is refused");
	free(frames);
	profile_free(p);
}

int main(void)
{
	test_mappings_are_one_over_processes();
	test_jit_mappings_differ_by_start();
	test_equal_things_are_one();
	test_values_add_up();
	test_any_number_of_types();
	test_no_types();
	test_lines_set_the_flags();
	test_bad_numbers_are_refused();
	test_limits_are_refused();
	return tap_done();
}
