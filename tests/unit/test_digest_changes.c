/* SPDX-License-Identifier: Apache-2.0 */
/* Differences of two profiles, and samples by label. */
#include <math.h>
#include <string.h>

#include "digest/changes.h"
#include "digest/functions.h"
#include "digest/label_values.h"
#include "digest/labels.h"
#include "model.h"

static struct functions functions_of(const struct profile *p)
{
	struct functions f;

	must(functions_init(&f, p, p->count_type) == 0);
	return f;
}

/* A profile of a program at a path, whose function main calls work and, for some, idle. */
static struct profile *program(const char *path, uint64_t base, int64_t nr_work, int64_t nr_idle)
{
	struct profile *p = model_empty();
	uint32_t m = model_mapping(p, path, 1, base, 0x1000);
	uint32_t main_at = model_location(p, m, base + 0x10, "main");
	uint32_t work[] = { model_location(p, m, base + 0x20, "work"), main_at };
	uint32_t idle[] = { model_location(p, m, base + 0x30, "idle"), main_at };
	uint32_t labels = model_labels(p, "prog", 7);

	if (nr_work)
		model_add(p, work, 2, labels, nr_work);
	if (nr_idle)
		model_add(p, idle, 2, labels, nr_idle);
	return p;
}

static const struct change *change_named(const struct changes *all, const struct functions *base,
					 const struct functions *now, const char *name)
{
	for (uint32_t i = 0; i < all->nr; i++) {
		const struct change *c = &all->list[i];
		const char *found = c->now.function != PROFILE_NONE
					    ? functions_name(now, c->now.function)
					    : functions_name(base, c->base.function);

		if (strcmp(found, name) == 0)
			return c;
	}
	must(!"the function is listed");
	return NULL;
}

static bool is_near(double a, double b)
{
	return a - b < 1e-9 && b - a < 1e-9;
}

static void test_shares(void)
{
	struct profile *a = program("/old/prog", 0x1000, 10, 30);
	struct profile *b = program("/new/prog", 0x8000, 300, 100);
	struct functions base = functions_of(a), now = functions_of(b);
	const struct change *work, *main_fn;
	struct changes all;

	must(digest_changes(&base, &now, &all) == 0);
	ok(all.nr == 3 && all.base_sum == 40 && all.now_sum == 400,
	   "functions match by name and file name, wherever the file and its code are");
	work = change_named(&all, &base, &now, "work");
	main_fn = change_named(&all, &base, &now, "main");
	ok(work->base.self == 10 && work->now.self == 300 &&
		   is_near(changes_of_self(&all, work), 0.5),
	   "a change of self is that of the shares, in captures of different length");
	ok(main_fn->base.total == 40 && main_fn->now.total == 400 &&
		   is_near(changes_of_total(&all, main_fn), 0) && main_fn->now.self == 0,
	   "a function that is in every stack has not changed");
	ok(&all.list[2] == main_fn, "the largest changes come first");
	free(all.list);
	functions_done(&base);
	functions_done(&now);
	profile_free(a);
	profile_free(b);
}

/* Two Python modules that have a function of one name; the numbers are the samples of each. */
static struct profile *two_modules(const char *directory, int64_t nr_first, int64_t nr_second)
{
	struct profile *p = model_empty();
	uint32_t m = model_mapping(p, "[jit]", 0, 0x1000, 0x1000), labels;
	const int64_t nr[] = { nr_first, nr_second };

	p->mappings[m].kind = PROFILE_MAPPING_JIT;
	labels = model_labels(p, "python3", 7);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t l = model_bare_location(p, m, 0x1001 + 16 * i);
		struct profile_line line = { 0 };
		char source[64];

		(void)snprintf(source, sizeof(source), "%s/m%u.py", directory, i + 1);
		line.function = model_function(p, "run", source, m);
		must(profile_set_lines(p, l, &line, 1, true) == 0);
		model_add(p, &l, 1, labels, nr[i]);
	}
	return p;
}

static void test_scripts(void)
{
	struct profile *a = two_modules("/old", 10, 30), *b = two_modules("/new", 30, 10);
	struct functions base = functions_of(a), now = functions_of(b);
	struct changes all;

	must(digest_changes(&base, &now, &all) == 0);
	ok(all.nr == 2 && is_near(fabs(changes_of_self(&all, &all.list[0])), 0.5) &&
		   is_near(changes_of_self(&all, &all.list[0]),
			   -changes_of_self(&all, &all.list[1])),
	   "functions of one name in two scripts are two, wherever the scripts are");
	ok(all.nr == 2 &&
		   strcmp(functions_source(&now, all.list[0].now.function), "/new/m1.py") == 0,
	   "of the same changes, that of the first script comes first");
	free(all.list);
	functions_done(&base);
	functions_done(&now);
	profile_free(a);
	profile_free(b);
}

static void test_one_sided(void)
{
	struct profile *a = program("/bin/prog", 0x1000, 10, 0);
	struct profile *b = program("/bin/prog", 0x1000, 10, 10);
	struct functions base = functions_of(a), now = functions_of(b);
	const struct change *idle;
	struct changes all;

	must(digest_changes(&base, &now, &all) == 0);
	idle = change_named(&all, &base, &now, "idle");
	ok(idle->base.function == PROFILE_NONE && is_near(changes_of_self(&all, idle), 0.5),
	   "a function that is new has grown by its whole share");
	free(all.list);
	must(digest_changes(&now, &base, &all) == 0);
	idle = change_named(&all, &now, &base, "idle");
	ok(idle->now.function == PROFILE_NONE && is_near(changes_of_self(&all, idle), -0.5),
	   "a function that is gone has shrunk by it");
	free(all.list);
	functions_done(&base);
	functions_done(&now);
	profile_free(a);
	profile_free(b);
}

/* A stack with two functions of the same name, of two files that have one name. */
static void test_same_names(void)
{
	struct profile *p = model_empty(), *none = model_empty();
	uint32_t a = model_mapping(p, "/a/lib.so", 1, 0x1000, 0x1000);
	uint32_t b = model_mapping(p, "/b/lib.so", 2, 0x4000, 0x1000);
	uint32_t stack[] = { model_location(p, a, 0x1010, "run"),
			     model_location(p, b, 0x4010, "run") };
	struct functions f, empty;
	struct changes all;

	model_add(p, stack, 2, model_labels(p, "prog", 7), 5);
	f = functions_of(p);
	empty = functions_of(none);
	must(digest_changes(&empty, &f, &all) == 0);
	ok(all.nr == 1 && all.list[0].now.total == 5 && all.list[0].now.self == 5,
	   "functions that cannot be distinguished are one, and a stack counts once");
	ok(all.base_sum == 0 && is_near(changes_of_self(&all, &all.list[0]), 1),
	   "an empty profile has no shares");
	free(all.list);
	functions_done(&f);
	functions_done(&empty);
	profile_free(p);
	profile_free(none);
}

static void test_labels(void)
{
	struct profile *p = model_empty();
	uint32_t m = model_mapping(p, "/bin/prog", 1, 0x1000, 0x1000);
	uint32_t at = model_location(p, m, 0x1010, "main"), none;
	struct label_value *values;
	uint32_t nr;

	must(profile_label_set(p, NULL, 0, &none) == 0);
	model_add(p, &at, 1, model_labels(p, "b", 1), 3);
	model_add(p, &at, 1, model_labels(p, "a", 2), 4);
	model_add(p, &at, 1, model_labels(p, "b", 2), 5);
	model_add(p, &at, 1, none, 1);
	must(digest_label_values(p, label_key(p, "comm"), &values, &nr) == 0);
	ok(nr == 3 && values[0].count == 8 && strcmp(profile_str(p, values[0].str), "b") == 0 &&
		   values[1].count == 4,
	   "samples are added up by the text of a label");
	ok(values[2].is_missing && values[2].count == 1, "samples without the label are listed");
	free(values);
	must(digest_label_values(p, label_key(p, "pid"), &values, &nr) == 0);
	ok(nr == 3 && values[0].num == 2 && values[0].count == 9,
	   "samples are added up by the number of a label");
	free(values);
	profile_free(p);
}

int main(void)
{
	test_shares();
	test_scripts();
	test_one_sided();
	test_same_names();
	test_labels();
	return tap_done();
}
