/* SPDX-License-Identifier: Apache-2.0 */
#include "digest/functions.h"
#include "digest/hot_paths.h"
#include "model.h"

struct rows {
	struct functions f;
	struct hot_path *paths;
	uint32_t nr;
};

static struct rows rows_of(const struct profile *p)
{
	struct rows r;

	must(functions_init(&r.f, p, p->count_type) == 0);
	must(digest_hot_paths(&r.f, &r.paths, &r.nr) == 0);
	return r;
}

static void rows_done(struct rows *r)
{
	free(r->paths);
	functions_done(&r->f);
}

static bool is(const struct rows *r, uint32_t i, const char *name, uint32_t depth, bool continues,
	       int64_t value, int64_t self, int64_t rest)
{
	const struct hot_path *h = &r->paths[i];

	if (i < r->nr && strcmp(functions_name(&r->f, h->function), name) == 0 &&
	    h->depth == depth && h->continues == continues && h->value == value &&
	    h->self == self && h->rest == rest)
		return true;
	if (i < r->nr)
		printf("# row %u: %s, depth %u, continues %d, value %ld, self %ld, rest %ld\n", i,
		       functions_name(&r->f, h->function), h->depth, h->continues, (long)h->value,
		       (long)h->self, (long)h->rest);
	return false;
}

/* What the rows below row i have together: of the next one if it continues, else of those one deeper. */
static int64_t value_below(const struct rows *r, uint32_t i)
{
	int64_t sum = 0;

	if (i + 1 < r->nr && r->paths[i + 1].continues)
		return r->paths[i + 1].value;
	for (uint32_t k = i + 1; k < r->nr && r->paths[k].depth > r->paths[i].depth; k++)
		if (r->paths[k].depth == r->paths[i].depth + 1 && !r->paths[k].continues)
			sum += r->paths[k].value;
	return sum;
}

static bool adds_up(const struct rows *r, int64_t total)
{
	int64_t roots = 0;

	for (uint32_t i = 0; i < r->nr; i++) {
		const struct hot_path *h = &r->paths[i];

		if (h->value != h->self + h->rest + value_below(r, i) || h->rest < 0 ||
		    h->self < 0) {
			printf("# row %u does not add up\n", i);
			return false;
		}
		if (h->depth == 0 && !h->continues)
			roots += h->value;
	}
	return roots <= total;
}

static struct profile *model;
static uint32_t app;

static uint32_t fn(const char *name)
{
	static uint64_t next = 0x1000;

	for (uint32_t i = 0; i < model->nr_locations; i++)
		if (model->locations[i].nr_lines &&
		    strcmp(profile_str(model,
				       model->functions[model->lines[model->locations[i].first_line]
								.function]
					       .name),
			   name) == 0)
			return i;
	return model_location(model, app, next++, name);
}

/* A stack "root;caller;leaf", as folded stacks have it. */
static void add_stack(const char *folded, int64_t n)
{
	uint32_t frames[64], reversed[64], nr = 0;
	char text[512], *rest = text, *name;

	snprintf(text, sizeof(text), "%s", folded);
	while ((name = strsep(&rest, ";")))
		frames[nr++] = fn(name);
	for (uint32_t i = 0; i < nr; i++)
		reversed[i] = frames[nr - 1 - i];
	model_add(model, reversed, nr, model_labels(model, "app", 1), n);
}

static void begin(void)
{
	model = model_empty();
	app = model_mapping(model, "/usr/bin/app", 1, 0x1000, 0x100000);
}

static void test_folding(void)
{
	struct rows r;

	begin();
	add_stack("_start;main;run;parse", 30);
	add_stack("_start;main;run;eval;add", 40);
	add_stack("_start;main;run;eval", 20);
	add_stack("_start;main;run", 6);
	add_stack("_start;main;log", 4);
	r = rows_of(model);
	ok(is(&r, 0, "_start", 0, false, 100, 0, 0),
	   "paths: the outermost function is the first row");
	ok(is(&r, 1, "main", 0, true, 100, 0, 4),
	   "paths: its only callee continues the row, without the callee that has little");
	ok(is(&r, 2, "run", 0, true, 96, 6, 0), "paths: so does the next, up to where it divides");
	ok(is(&r, 3, "eval", 1, false, 60, 20, 0) && is(&r, 4, "add", 2, false, 40, 40, 0),
	   "paths: the larger callee comes first, with its own callees");
	ok(is(&r, 5, "parse", 1, false, 30, 30, 0) && r.nr == 6, "paths: then the smaller one");
	ok(adds_up(&r, 100), "paths: each row is its self, its rest and its callees");
	rows_done(&r);
	profile_free(model);
}

static void test_recursion(void)
{
	struct rows r;

	begin();
	add_stack("main;walk;walk;walk;leaf", 10);
	add_stack("main;walk;walk", 10);
	add_stack("main;walk;visit;walk;leaf", 20);
	r = rows_of(model);
	ok(is(&r, 1, "walk", 0, true, 40, 10, 0), "paths: a function that calls itself is one row");
	ok(is(&r, 2, "visit", 1, false, 20, 0, 0) && is(&r, 3, "walk", 1, true, 20, 0, 0),
	   "paths: one that is called again by another function is another row");
	ok(adds_up(&r, 40), "paths: recursion adds up");
	rows_done(&r);
	profile_free(model);
}

static void test_inlined(void)
{
	struct profile *p = model_example();
	struct rows r = rows_of(p);

	ok(is(&r, 0, "main", 0, false, 100, 0, 0) && is(&r, 1, "work", 1, false, 70, 0, 0) &&
		   is(&r, 2, "inner", 1, true, 70, 0, 0) && is(&r, 3, "spin", 1, true, 70, 70, 0),
	   "paths: an inlined function is a callee of the function it is inlined into");
	ok(is(&r, 4, "idle", 1, false, 20, 20, 0) && is(&r, 5, "[no symbol]", 1, false, 10, 10, 0),
	   "paths: code without a symbol is a row of its file");
	ok(is(&r, 6, "[unknown]", 0, false, 5, 5, 0) && r.nr == 7,
	   "paths: code without a file is a row");
	rows_done(&r);
	profile_free(p);
}

static void test_small_and_equal(void)
{
	char name[64];
	struct rows r;

	begin();
	add_stack("main;b", 250);
	add_stack("main;a", 250);
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "main;f%d", i);
		add_stack(name, 1);
	}
	r = rows_of(model);
	ok(r.nr == 3 && is(&r, 0, "main", 0, false, 1000, 0, 500),
	   "paths: callees below one per cent are the rest of their caller");
	ok(is(&r, 1, "a", 1, false, 250, 250, 0) && is(&r, 2, "b", 1, false, 250, 250, 0),
	   "paths: equal ones are in the order of their names");
	rows_done(&r);
	profile_free(model);
}

static void test_many_branches(void)
{
	char name[64];
	struct rows r;

	begin();
	for (int i = 0; i < 80; i++) {
		snprintf(name, sizeof(name), "main;f%02d", i);
		add_stack(name, i == 79 ? 101 : 100);
	}
	r = rows_of(model);
	ok(r.nr == HOT_PATHS_MAX_BRANCHES && is(&r, 1, "f79", 1, false, 101, 101, 0) &&
		   is(&r, 2, "f00", 1, false, 100, 100, 0),
	   "paths: of many branches the largest are rows");
	ok(adds_up(&r, 8001) && is(&r, 0, "main", 0, false, 8001, 0, 17 * 100),
	   "paths: the others are the rest of their caller");
	rows_done(&r);
	profile_free(model);
}

static void test_long_chain(void)
{
	char folded[512] = "f00";
	struct rows r;

	begin();
	for (int i = 1; i < 40; i++) {
		snprintf(folded + strlen(folded), sizeof(folded) - strlen(folded), ";f%02d", i);
		if (i == 15)
			add_stack(folded, 2);
	}
	add_stack(folded, 98);
	r = rows_of(model);
	ok(r.nr == HOT_PATHS_MAX_FOLDED, "paths: a long row is shortened");
	ok(is(&r, 7, "f07", 0, true, 100, 0, 2) && is(&r, 8, "f32", 0, true, 98, 0, 0) &&
		   is(&r, 15, "f39", 0, true, 98, 98, 0),
	   "paths: it keeps its beginning and its end");
	ok(r.paths[8].nr_skipped == 24 && r.paths[7].nr_skipped == 0,
	   "paths: how many functions are left out is known");
	ok(adds_up(&r, 100), "paths: what they had is the rest of the row before");
	rows_done(&r);
	profile_free(model);
}

static void test_anything(void)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct profile *p = model_large(seed);
		struct rows r = rows_of(p);

		ok(adds_up(&r, INT64_MAX), "paths: random profile %d: %u rows add up", (int)seed,
		   r.nr);
		rows_done(&r);
		profile_free(p);
	}
}

static void test_nothing(void)
{
	struct profile *p = model_empty();
	struct rows r = rows_of(p);
	uint32_t none;

	ok(r.nr == 0, "paths: a profile without samples has no rows");
	rows_done(&r);
	model_add(p, &none, 0, model_labels(p, "app", 1), 5);
	r = rows_of(p);
	ok(r.nr == 0, "paths: a sample without frames is not a row");
	rows_done(&r);
	profile_free(p);
}

int main(void)
{
	test_folding();
	test_recursion();
	test_inlined();
	test_small_and_equal();
	test_many_branches();
	test_long_chain();
	test_anything();
	test_nothing();
	return tap_done();
}
