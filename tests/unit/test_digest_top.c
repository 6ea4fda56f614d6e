/* SPDX-License-Identifier: Apache-2.0 */
#include "digest/functions.h"
#include "digest/top.h"
#include "model.h"

static const struct top_function *find(const struct profile *p, const struct top_function *top,
				       uint32_t nr, const char *name)
{
	struct functions f = { .p = p };

	for (uint32_t i = 0; i < nr; i++)
		if (strcmp(functions_name(&f, top[i].function), name) == 0)
			return &top[i];
	return NULL;
}

static int top_of(const struct profile *p, struct top_function **ret_top, uint32_t *ret_nr)
{
	_cleanup_(functions_done) struct functions f;

	must(functions_init(&f, p, p->count_type) == 0);
	return digest_top(&f, ret_top, ret_nr);
}

static int top_by_total(const struct profile *p, struct top_function **ret_top, uint32_t *ret_nr)
{
	_cleanup_(functions_done) struct functions f;
	int r;

	must(functions_init(&f, p, p->count_type) == 0);
	r = digest_top(&f, ret_top, ret_nr);
	*ret_nr = digest_top_by_total(&f, *ret_top, *ret_nr, 100);
	return r;
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

	must(top_of(p, &top, &nr) == 0);
	ok(nr == 7, "top: every function that has samples is there");
	ok(is(find(p, top, nr, "spin"), 70, 70), "top: a leaf has its samples as self and total");
	ok(is(find(p, top, nr, "main"), 0, 100), "top: a caller has its callees' samples as total");
	ok(is(find(p, top, nr, "inner"), 0, 70), "top: an inlined function counts like any other");
	ok(is(find(p, top, nr, "[no symbol]"), 10, 10) && is(find(p, top, nr, "[unknown]"), 5, 5),
	   "top: code without a symbol counts by its file");
	ok(&top[0] == find(p, top, nr, "spin") && &top[1] == find(p, top, nr, "idle"),
	   "top: most self first");
	ok(&top[4] == find(p, top, nr, "main"), "top: then most total");
	ok(&top[5] == find(p, top, nr, "inner") && &top[6] == find(p, top, nr, "work"),
	   "top: then by name");
	free(top);
	p->count_type = 1;
	must(top_of(p, &top, &nr) == 0);
	ok(is(find(p, top, nr, "main"), 0, 1000000000),
	   "top: values are those of the type that is asked for");
	free(top);
	profile_free(p);
}

static void test_recursion_counts_once(void)
{
	struct profile *p = model_empty();
	uint32_t m = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000);
	uint32_t f = model_location(p, m, 0x1001, "f"), g = model_location(p, m, 0x1002, "f");
	struct top_function *top;
	uint32_t nr;

	model_add(p, (uint32_t[]){ f, f, g, f }, 4, model_labels(p, "a", 1), 3);
	must(top_of(p, &top, &nr) == 0);
	ok(nr == 1 && is(&top[0], 3, 3),
	   "top: a function that calls itself counts once per sample");
	free(top);
	profile_free(p);
}

static void test_inlined_leaf(void)
{
	struct profile *p = model_empty();
	uint32_t l = model_bare_location(p, PROFILE_NONE, 1);
	struct profile_line lines[2] = {
		{ .function = model_function(p, "inner", "", PROFILE_NONE) },
		{ .function = model_function(p, "outer", "", PROFILE_NONE) },
	};
	struct top_function *top;
	uint32_t nr;

	must(profile_set_lines(p, l, lines, 2, true) == 0);
	model_add(p, &l, 1, model_labels(p, "a", 1), 4);
	must(top_of(p, &top, &nr) == 0);
	ok(is(find(p, top, nr, "inner"), 4, 4),
	   "top: of functions inlined into each other the innermost ran");
	ok(is(find(p, top, nr, "outer"), 0, 4),
	   "top: the function that another is inlined into was on the stack");
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
	struct profile *p = model_empty();
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
	must(top_of(p, &top, &nr) == 0);
	ok(nr == 2 && is(&top[0], 7, 7),
	   "top: a function counts once, whatever source files its lines are from");
	ok(is(&top[1], 1, 1), "top: a function of the same name in another file is another one");
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
	struct profile *p = model_empty();
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
	must(top_of(p, &top, &nr) == 0);
	ok(nr == 2 && is(&top[0], 7, 9),
	   "top: a function of generated code counts once, whatever its tiers");
	ok(nr == 2 && is(&top[1], 2, 2),
	   "top: a function of that name elsewhere in the source is another one");
	free(top);
	profile_free(p);
}

static uint32_t raw(struct profile *p, uint32_t mapping, uint64_t address, const char *name)
{
	struct profile_line line = { .function = model_function(p, name, "", mapping) };
	uint32_t l = model_bare_location(p, mapping, address);

	must(profile_set_lines(p, l, &line, 1, false) == 0);
	return l;
}

static void test_code_without_symbols(void)
{
	struct profile *p = model_empty();
	uint32_t labels = model_labels(p, "a", 1),
		 jit = model_mapping(p, "[jit]", 7, 0x1000, 0x1000);
	uint32_t more = model_mapping(p, "[jit]", 8, 0x9000, 0x2000);
	uint32_t lib = model_mapping(p, "/lib/libz.so", 1, 0x20000, 0x1000);
	uint32_t copy = model_mapping(p, "/lib/libz.so", 2, 0x30000, 0x1000);
	struct top_function *top;
	uint32_t nr;

	p->mappings[jit].kind = p->mappings[more].kind = PROFILE_MAPPING_JIT;
	model_add(p, (uint32_t[]){ raw(p, jit, 0x1010, "0x1010") }, 1, labels, 3);
	model_add(p, (uint32_t[]){ raw(p, more, 0x9010, "0x9010"), raw(p, jit, 0x1020, "0x1020") },
		  2, labels, 4);
	model_add(p, (uint32_t[]){ raw(p, lib, 0x20010, "0x10") }, 1, labels, 1);
	model_add(p, (uint32_t[]){ raw(p, copy, 0x30010, "0x20") }, 1, labels, 1);
	model_add(p, (uint32_t[]){ raw(p, lib, 0x20020, "libz+0xaa60") }, 1, labels, 5);
	must(top_of(p, &top, &nr) == 0);
	ok(nr == 3 && &top[0] == find(p, top, nr, "[jit]") && is(&top[0], 7, 7),
	   "top: generated code without symbols is one row, whatever its processes");
	ok(is(find(p, top, nr, "[no symbol]"), 2, 2), "top: addresses of one file are one row");
	ok(is(find(p, top, nr, "libz+0xaa60"), 5, 5),
	   "top: a function that unwind information shows is a row of its own");
	free(top);
	profile_free(p);
}

/* Two programs of 100 samples each, one of which has a second thread; names begin with the program. */
static struct profile *model_two_programs(void)
{
	struct profile *p = model_empty();
	uint32_t a = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000);
	uint32_t b = model_mapping(p, "/bin/b", 2, 0x9000, 0x2000);
	uint32_t in_a = model_labels(p, "a", 1), in_b = model_labels(p, "b", 2);
	uint32_t a_main = model_location(p, a, 0x1001, "a_main"),
		 a_work = model_location(p, a, 0x1002, "a_work"),
		 a_leaf = model_location(p, a, 0x1003, "a_leaf"),
		 b_main = model_location(p, b, 0x9001, "b_main"),
		 b_thread = model_location(p, b, 0x9002, "b_thread"),
		 b_busy = model_location(p, b, 0x9003, "b_busy");

	model_add(p, (uint32_t[]){ a_leaf, a_work, a_main }, 3, in_a, 60);
	model_add(p, (uint32_t[]){ a_leaf, a_main }, 2, in_a, 39);
	model_add(p, (uint32_t[]){ a_main }, 1, in_a, 1);
	model_add(p, (uint32_t[]){ b_busy, b_main }, 2, in_b, 40);
	model_add(p, (uint32_t[]){ b_busy, b_thread }, 2, in_b, 60);
	return p;
}

static void test_functions_of_every_stack(void)
{
	struct profile *p = model_two_programs();
	struct top_function *top;
	uint32_t nr;

	must(top_by_total(p, &top, &nr) == 0);
	ok(find(p, top, nr, "a_main")->is_everywhere && find(p, top, nr, "b_main")->is_everywhere,
	   "top: by total, a function that each stack of its program has is marked");
	ok(find(p, top, nr, "b_thread")->is_everywhere,
	   "top: so is one that each stack of its thread has");
	ok(nr == 6 && &top[0] == find(p, top, nr, "b_busy") &&
		   &top[1] == find(p, top, nr, "a_main") && &top[2] == find(p, top, nr, "a_leaf"),
	   "top: by total, all are in the order of their total");
	ok(is(&top[0], 100, 100) && !top[0].is_everywhere,
	   "top: a function that runs itself is not marked, also in each stack");
	free(top);
	profile_free(p);
}

static void test_python_functions_of_every_stack(void)
{
	struct profile *p = model_empty();
	uint32_t jit = model_mapping(p, "[jit]", 0, 0x1000, 0x1000);
	uint32_t python = model_mapping(p, "/bin/python3", 1, 0x9000, 0x1000);
	uint32_t eval = model_location(p, python, 0x9001, "eval"), stack[3] = { eval };
	const char *const sources[] = { "/srv/app.py", "<frozen runpy>" };
	struct top_function *top;
	uint32_t nr;

	p->mappings[jit].kind = PROFILE_MAPPING_JIT;
	for (uint32_t i = 0; i < 2; i++) {
		struct profile_function f = { .mapping = jit };
		struct profile_line line = { 0 };

		must(profile_string(p, i ? "frozen" : "run", &f.name) == 0 &&
		     profile_string(p, i ? "py::frozen:x" : "py::run:x", &f.system_name) == 0 &&
		     profile_string(p, sources[i], &f.filename) == 0 &&
		     profile_function(p, &f, &line.function) == 0);
		stack[i + 1] = model_bare_location(p, jit, 0x1001 + i);
		must(profile_set_lines(p, stack[i + 1], &line, 1, true) == 0);
	}
	model_add(p, stack, 3, model_labels(p, "a", 1), 5);
	must(top_by_total(p, &top, &nr) == 0);
	ok(!find(p, top, nr, "run")->is_everywhere,
	   "top: a Python function is never marked, for its self is always small");
	ok(find(p, top, nr, "frozen")->is_everywhere,
	   "top: one of the interpreter's own modules is");
	free(top);
	profile_free(p);
}

/* A function that several programs share, as the loader's and libc's are. */
static void test_shared_start(void)
{
	struct profile *p = model_two_programs();
	uint32_t libc = model_mapping(p, "/lib/libc.so", 9, 0x90000, 0x1000);
	uint32_t start = model_location(p, libc, 0x90001, "libc_start");
	uint32_t other = model_location(p, libc, 0x90002, "libc_other");
	uint32_t a_main = p->frames[p->stacks[0].first + 2];
	struct top_function *top;
	uint32_t nr;

	for (int64_t i = 0; i < 4; i++) {
		char comm[16];

		snprintf(comm, sizeof(comm), "small-%d", (int)i);
		model_add(p, (uint32_t[]){ other, start }, i % 2 ? 2 : 1, model_labels(p, comm, i),
			  2);
	}
	model_add(p, (uint32_t[]){ a_main, start }, 2, model_labels(p, "c", 9), 90);
	must(top_by_total(p, &top, &nr) == 0);
	ok(find(p, top, nr, "libc_start")->is_everywhere,
	   "top: a function of each stack is marked although a few stacks lack it");
	free(top);
	profile_free(p);
}

static void test_few_samples_prove_nothing(void)
{
	struct profile *p = model_empty();
	uint32_t m = model_mapping(p, "/bin/a", 1, 0x1000, 0x10000);
	uint32_t common = model_location(p, m, 0x1001, "common");
	struct top_function *top;
	uint32_t nr;

	for (int64_t i = 0; i < 60; i++) {
		uint32_t leaf = model_location(p, m, 0x2000 + (uint64_t)i, i % 2 ? "odd" : "even");
		char comm[16];

		snprintf(comm, sizeof(comm), "command-%d", (int)i);
		model_add(p, (uint32_t[]){ leaf, common }, i % 3 ? 2 : 1, model_labels(p, comm, i),
			  1);
	}
	must(top_by_total(p, &top, &nr) == 0);
	ok(is(find(p, top, nr, "common"), 0, 40),
	   "top: commands with a few samples are taken together");
	free(top);
	profile_free(p);
}

static void test_truncated_stacks(void)
{
	struct profile *p = model_two_programs();
	struct profile_label labels[2] = {
		{ .key = model_string(p, "comm"), .str = model_string(p, "a") },
		{ .key = model_string(p, "truncated"), .str = model_string(p, "too_deep") },
	};
	uint32_t m = p->locations[0].mapping, set;
	uint32_t lost = model_location(p, m, 0x1100, "a_lost"),
		 caller = model_location(p, m, 0x1101, "a_caller"),
		 other = model_location(p, m, 0x1102, "a_other");
	struct top_function *top;
	uint32_t nr;

	must(profile_label_set(p, labels, 2, &set) == 0);
	model_add(p, (uint32_t[]){ lost, caller }, 2, set, 50);
	model_add(p, (uint32_t[]){ lost, other }, 2, set, 50);
	must(top_by_total(p, &top, &nr) == 0);
	ok(is(find(p, top, nr, "a_caller"), 0, 50) &&
		   !find(p, top, nr, "a_caller")->is_everywhere &&
		   find(p, top, nr, "a_main")->is_everywhere,
	   "top: where truncated stacks begin says nothing about a function");
	free(top);
	profile_free(p);
}

static void test_nothing(void)
{
	struct profile *p = model_empty();
	struct top_function *top;
	uint32_t nr = 1;

	(void)model_function(p, "unused", "", PROFILE_NONE);
	ok(top_of(p, &top, &nr) == 0 && nr == 0, "top: a function without samples is left out");
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
	test_code_without_symbols();
	test_functions_of_every_stack();
	test_python_functions_of_every_stack();
	test_shared_start();
	test_few_samples_prove_nothing();
	test_truncated_stacks();
	test_nothing();
	return tap_done();
}
