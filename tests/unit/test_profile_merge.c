/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "model.h"

static const char *leaf_name(const struct profile *p, const struct profile_sample *s)
{
	const struct profile_location *l = &p->locations[p->frames[p->stacks[s->stack].first]];

	if (!l->nr_lines)
		return "";
	return profile_str(p, p->functions[p->lines[l->first_line].function].name);
}

static int64_t count_of(const struct profile *p, const char *leaf)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < p->nr_samples; i++)
		if (strcmp(leaf_name(p, &p->samples[i]), leaf) == 0)
			n += p->samples[i].values[0];
	return n;
}

static bool same_size(const struct profile *a, const struct profile *b)
{
	return a->nr_mappings == b->nr_mappings && a->nr_functions == b->nr_functions &&
	       a->nr_locations == b->nr_locations && a->nr_stacks == b->nr_stacks &&
	       a->nr_label_sets == b->nr_label_sets && a->nr_samples == b->nr_samples &&
	       a->nr_comments == b->nr_comments && a->strings.nr_strings == b->strings.nr_strings;
}

static bool has_doubled(const struct profile *p, const struct profile *once)
{
	for (uint32_t i = 0; i < p->nr_samples; i++)
		for (uint32_t k = 0; k < p->nr_types; k++)
			if (p->samples[i].values[k] != 2 * once->samples[i].values[k])
				return false;
	return true;
}

static void test_into_an_empty_model(void)
{
	struct profile *to = model_new(), *from = model_example();

	ok(profile_merge(to, from) == 0, "an empty model takes another");
	ok(same_size(to, from), "and has as many of everything");
	ok(count_of(to, "spin") == 70 && count_of(to, "idle") == 20, "with the same counts");
	ok(to->time_ns == from->time_ns && to->duration_ns == from->duration_ns,
	   "of the same time");
	ok(to->mappings[0].has_inline_frames, "and with what is known of its mappings");
	profile_free(to);
	profile_free(from);
}

static void test_with_its_equal(void)
{
	struct profile *a = model_example(), *b = model_example(), *once = model_example();

	ok(profile_merge(a, b) == 0, "a model takes its equal");
	ok(same_size(a, once), "nothing is there twice");
	ok(has_doubled(a, once), "every value is doubled");
	ok(profile_merge(b, b) == 0, "a model takes itself");
	ok(same_size(b, once) && has_doubled(b, once), "with the same result");
	profile_free(a);
	profile_free(b);
	profile_free(once);
}

static void test_large_with_itself(void)
{
	struct profile *a = model_large(3), *b = model_large(3);

	must(profile_merge(a, b) == 0);
	ok(same_size(a, b) && has_doubled(a, b), "thousands of things find their equals");
	profile_free(a);
	profile_free(b);
}

/* One process at start, another with the same file elsewhere. */
static struct profile *half(uint64_t start, uint64_t owner, const char *leaf, uint64_t offset)
{
	struct profile *p = model_new();
	uint32_t m = model_mapping(p, "/bin/app", owner, start, 0x1000);
	uint32_t l = model_location(p, m, start + offset, leaf);

	model_add(p, &l, 1, model_labels(p, "app", 1), 1);
	return p;
}

static void test_rebases(void)
{
	struct profile *a = half(0x10000, 1, "f", 0x10), *b = half(0x555000, 9, "f", 0x10);
	struct profile *c = half(0x777000, 1, "g", 0x20);

	must(profile_merge(a, b) == 0 && profile_merge(a, c) == 0);
	ok(a->nr_mappings == 1, "one file is one mapping, wherever it was");
	ok(a->nr_locations == 2, "equal code is one location");
	ok(a->samples[0].values[0] == 2, "and one sample");
	ok(a->locations[1].address == 0x10020, "addresses move to the start seen first");
	profile_free(a);
	profile_free(b);
	profile_free(c);
}

static void test_versions(void)
{
	struct profile *a = half(0x10000, 1, "f", 0x10), *b = half(0x10000, 1, "f", 0x10);
	uint32_t l;

	must(profile_location_version(b, 0, 0x10010, 5, &l) == 0);
	must(profile_merge(a, b) == 0 && profile_merge(a, b) == 0);
	ok(a->nr_locations == 2 && a->locations[1].version == 5,
	   "versions of the code in one place stay apart");
	profile_free(a);
	profile_free(b);
}

static void test_owners_are_not_compared(void)
{
	struct profile *a = model_new(), *b = model_new();

	(void)model_mapping(a, "/bin/a", 1, 0x1000, 0x1000);
	(void)model_mapping(b, "/bin/b", 1, 0x1000, 0x1000);
	must(profile_merge(a, b) == 0);
	ok(a->nr_mappings == 2, "the same owner number in two sessions may mean two files");
	ok(a->mappings[0].owner != a->mappings[1].owner, "which then have two owners");
	(void)model_mapping(b, "/bin/c", 2, 0x1000, 0x1000);
	must(profile_merge(a, b) == 0 && a->nr_mappings == 3);
	ok(model_mapping(a, "/bin/d", 2, 0x1000, 0x1000) == 3,
	   "and the numbers of this session stay free for its own files");
	profile_free(a);
	profile_free(b);
}

static void test_twins_stay_two(void)
{
	struct profile *a = model_new(), *b = model_new();

	for (uint64_t owner = 1; owner <= 2; owner++) {
		(void)model_mapping(a, "/tmp/replaced", owner, 0x1000, 0x1000);
		(void)model_mapping(b, "/tmp/replaced", owner, 0x1000, 0x1000);
	}
	(void)model_mapping(b, "/tmp/replaced", 3, 0x1000, 0x1000);
	must(profile_merge(a, b) == 0);
	ok(a->nr_mappings == 3, "files that look alike pair off; the third is new");
	profile_free(a);
	profile_free(b);
}

static uint32_t add_jit(struct profile *p, uint64_t owner, uint64_t start)
{
	struct profile_mapping m = { .kind = PROFILE_MAPPING_JIT,
				     .owner = owner,
				     .start = start,
				     .limit = start + 0x1000,
				     .path = model_string(p, "[jit]") };
	uint32_t id;

	must(profile_mapping(p, &m, &id) == 0);
	return id;
}

static void test_jit_code_is_not_mixed(void)
{
	struct profile *a = model_new(), *b = model_new(), *empty = model_new();

	(void)add_jit(a, 1, 0x1000);
	(void)add_jit(b, 2, 0x1000);
	(void)add_jit(b, 1, 0x5000);
	must(profile_merge(a, b) == 0);
	ok(a->nr_mappings == 3, "JIT code of other processes or places stays apart");
	must(profile_merge(empty, a) == 0 && profile_merge(empty, a) == 0);
	ok(empty->nr_mappings == 3, "the same comes together again, also after a merge");
	profile_free(a);
	profile_free(b);
	profile_free(empty);
}

static void test_better_name_wins(void)
{
	struct profile *a = model_new(), *b = half(0x10000, 1, "f", 0x10);
	uint32_t m = model_mapping(a, "/bin/app", 1, 0x10000, 0x1000);
	uint32_t l = model_bare_location(a, m, 0x10010);
	struct profile_line raw = { .function = model_function(a, "0x10010", "", m) };

	must(profile_set_lines(a, l, &raw, 1, false) == 0);
	model_add(a, &l, 1, model_labels(a, "app", 1), 1);
	must(profile_merge(a, b) == 0);
	ok(count_of(a, "f") == 2, "a symbol replaces an address");
	ok(a->mappings[m].has_functions, "and the mapping has functions now");
	must(profile_merge(b, b) == 0 && count_of(b, "f") == 2);
	profile_free(a);
	profile_free(b);
}

static void test_header_is_joined(void)
{
	struct profile *a = model_example(), *b = model_example(), *c = model_new();

	b->time_ns += 5000000000;
	b->period = 1;
	must(profile_add_comment(b, "second=1") == 0);
	must(profile_merge(a, b) == 0);
	ok(a->time_ns == 1700000000000000000, "the earlier start");
	ok(a->duration_ns == 7000000000, "to the later end");
	ok(a->nr_comments == 2, "each comment once");
	ok(a->period == 0, "two periods are none");
	must(profile_merge(a, c) == 0);
	ok(a->duration_ns == 7000000000, "a model without a time has no part in it");
	profile_free(a);
	profile_free(b);
	profile_free(c);
}

static void test_other_types_are_refused(void)
{
	struct profile *a = model_example(), *b, *c;

	must(profile_new(&b) == 0 && profile_new(&c) == 0);
	ok(profile_merge(a, b) == -EINVAL, "fewer types");
	must(profile_add_type(c, "intervals", "count") == 0);
	must(profile_add_type(c, "cpu", "nanoseconds") == 0);
	ok(profile_merge(a, c) == -EINVAL, "types of another name");
	profile_free(a);
	profile_free(b);
	profile_free(c);
}

int main(void)
{
	test_into_an_empty_model();
	test_with_its_equal();
	test_large_with_itself();
	test_rebases();
	test_versions();
	test_owners_are_not_compared();
	test_twins_stay_two();
	test_jit_code_is_not_mixed();
	test_better_name_wins();
	test_header_is_joined();
	test_other_types_are_refused();
	return tap_done();
}
