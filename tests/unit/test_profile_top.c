/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"
#include "profile/top.h"

static const struct top_function *find(const struct profile *p, const struct top_function *top,
				       uint32_t nr, const char *name)
{
	for (uint32_t i = 0; i < nr; i++)
		if (strcmp(profile_str(p, p->functions[top[i].function].name), name) == 0)
			return &top[i];
	return NULL;
}

static bool is(const struct top_function *f, int64_t self, int64_t total)
{
	return f && f->self == self && f->total == total;
}

static void test_example(void)
{
	struct profile *p = model_example();
	struct top_function *top;
	uint32_t nr;

	must(profile_top(p, &top, &nr) == 0);
	ok(nr == 5, "every function that has samples is there");
	ok(is(find(p, top, nr, "spin"), 70, 70), "a leaf has its samples as self and total");
	ok(is(find(p, top, nr, "main"), 0, 100), "a caller has them as total");
	ok(is(find(p, top, nr, "inner"), 0, 70), "an inlined function counts like any other");
	ok(&top[0] == find(p, top, nr, "spin") && &top[1] == find(p, top, nr, "idle"),
	   "most self first");
	ok(&top[2] == find(p, top, nr, "main"), "then most total");
	ok(&top[3] == find(p, top, nr, "inner") && &top[4] == find(p, top, nr, "work"),
	   "then by name");
	free(top);
	profile_free(p);
}

static void test_recursion_counts_once(void)
{
	struct profile *p = model_new();
	uint32_t m = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000);
	uint32_t f = model_location(p, m, 0x1001, "f"), g = model_location(p, m, 0x1002, "f");
	struct top_function *top;
	uint32_t nr;

	model_add(p, (uint32_t[]){ f, f, g, f }, 4, model_labels(p, "a", 1), 3);
	must(profile_top(p, &top, &nr) == 0);
	ok(nr == 1 && is(&top[0], 3, 3), "a function that calls itself counts once per sample");
	free(top);
	profile_free(p);
}

static void test_inlined_leaf(void)
{
	struct profile *p = model_new();
	uint32_t l = model_bare_location(p, PROFILE_NONE, 1);
	struct profile_line lines[2] = {
		{ .function = model_function(p, "inner", "", PROFILE_NONE) },
		{ .function = model_function(p, "outer", "", PROFILE_NONE) },
	};
	struct top_function *top;
	uint32_t nr;

	must(profile_set_lines(p, l, lines, 2, true) == 0);
	model_add(p, &l, 1, model_labels(p, "a", 1), 4);
	must(profile_top(p, &top, &nr) == 0);
	ok(is(find(p, top, nr, "inner"), 4, 4), "of an inlined chain the innermost ran");
	ok(is(find(p, top, nr, "outer"), 0, 4), "the outer one was on the stack");
	free(top);
	profile_free(p);
}

/* One location in a function of that name, source file and mapping. */
static uint32_t at(struct profile *p, uint64_t address, uint32_t mapping, const char *source)
{
	uint32_t l = model_bare_location(p, mapping, address);
	struct profile_line line = { .function = model_function(p, "f", source, mapping) };

	must(profile_set_lines(p, l, &line, 1, true) == 0);
	return l;
}

static void test_one_function_of_several(void)
{
	struct profile *p = model_new();
	uint32_t m = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000);
	uint32_t again = model_mapping(p, "/bin/a", 1, 0x9000, 0x2000);
	uint32_t other = model_mapping(p, "/bin/b", 2, 0x20000, 0x1000);
	uint32_t labels = model_labels(p, "a", 1);
	struct top_function *top;
	uint32_t nr;

	model_add(p, (uint32_t[]){ at(p, 0x1001, m, "f.c"), at(p, 0x1002, m, "f.h") }, 2, labels,
		  3);
	model_add(p, (uint32_t[]){ at(p, 0x9001, again, "f.h") }, 1, labels, 4);
	model_add(p, (uint32_t[]){ at(p, 0x20001, other, "f.c") }, 1, labels, 1);
	must(profile_top(p, &top, &nr) == 0);
	ok(nr == 2 && is(&top[0], 7, 7),
	   "a function counts once, whatever source files its lines are from");
	ok(is(&top[1], 1, 1), "that of another file of the same name is another one");
	free(top);
	profile_free(p);
}

/* A JavaScript function as one tier has compiled it. */
static uint32_t tier(struct profile *p, uint64_t address, uint32_t mapping, const char *system_name,
		     uint32_t start_line)
{
	struct profile_function f = { .mapping = mapping, .start_line = start_line };
	uint32_t l = model_bare_location(p, mapping, address);
	struct profile_line line = { 0 };

	must(profile_string(p, "tick", &f.name) == 0 &&
	     profile_string(p, system_name, &f.system_name) == 0 &&
	     profile_string(p, "/a.js", &f.filename) == 0 &&
	     profile_function(p, &f, &line.function) == 0);
	must(profile_set_lines(p, l, &line, 1, true) == 0);
	return l;
}

static void test_one_function_of_several_tiers(void)
{
	struct profile *p = model_new();
	uint32_t labels = model_labels(p, "a", 1), m = model_mapping(p, "[jit]", 0, 0x1000, 0x1000);
	uint32_t slow, fast, other;
	struct top_function *top;
	uint32_t nr;

	p->mappings[m].kind = PROFILE_MAPPING_JIT;
	slow = tier(p, 0x1001, m, "JS:~tick /a.js:1:14", 1);
	fast = tier(p, 0x1101, m, "JS:*tick /a.js:1:14", 1);
	other = tier(p, 0x1201, m, "JS:*tick /a.js:9:14", 9);
	model_add(p, (uint32_t[]){ slow, fast }, 2, labels, 3);
	model_add(p, (uint32_t[]){ fast }, 1, labels, 4);
	model_add(p, (uint32_t[]){ other, slow }, 2, labels, 2);
	must(profile_top(p, &top, &nr) == 0);
	ok(nr == 2 && is(&top[0], 7, 9),
	   "a function of generated code counts once, whatever its tiers");
	ok(nr == 2 && is(&top[1], 2, 2), "one of that name elsewhere in the source is another one");
	free(top);
	profile_free(p);
}

static void test_nothing(void)
{
	struct profile *p = model_new();
	struct top_function *top;
	uint32_t nr = 1;

	(void)model_function(p, "unused", "", PROFILE_NONE);
	ok(profile_top(p, &top, &nr) == 0 && nr == 0, "a function without samples is left out");
	free(top);
	profile_free(p);
}

int main(void)
{
	test_example();
	test_recursion_counts_once();
	test_inlined_leaf();
	test_one_function_of_several();
	test_one_function_of_several_tiers();
	test_nothing();
	return tap_done();
}
