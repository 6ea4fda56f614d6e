/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "model.h"
#include "write/writer.h"

static char path[] = "/tmp/folded.XXXXXX";

/* What the writer makes of a model; the caller frees it. */
static char *folded(const struct profile *p)
{
	struct outfile *out;
	char *text;
	FILE *f;
	size_t n;

	must(outfile_open(path, NULL, &out, NULL) == 0);
	must(writer_folded.write(p, out, NULL, NULL) == 0 && outfile_commit(out, NULL) == 0);
	n = outfile_size(out);
	outfile_free(out);
	text = calloc(1, n + 1);
	f = fopen(path, "r");
	must(text && f && fread(text, 1, n, f) == n && fgetc(f) == EOF);
	fclose(f);
	return text;
}

/* Frees the model. */
static bool gives(struct profile *p, const char *expected)
{
	char *text = folded(p);
	bool same = strcmp(text, expected) == 0;

	if (!same)
		printf("# got:\n%s# expected:\n%s", text, expected);
	free(text);
	profile_free(p);
	return same;
}

static void test_example(void)
{
	ok(gives(model_example(), "app;main;0x403004 10\n"
				  "app;main;idle 20\n"
				  "app;main;work;inner_[i];spin 70\n"
				  "other;0xdead 5\n"),
	   "root first, inlined frames outermost first, sorted, addresses without names");
	ok(gives(model_empty(), ""), "no samples give an empty file");
}

static void test_shown_type(void)
{
	struct profile *p = model_example();

	p->shown_type = 1;
	ok(gives(p, "app;main;0x403004 100000000\n"
		    "app;main;idle 200000000\n"
		    "app;main;work;inner_[i];spin 700000000\n"
		    "other;0xdead 50000000\n"),
	   "the value is the one that the model selects");
}

static uint32_t mapping_of_kind(struct profile *p, uint8_t kind, uint64_t start)
{
	struct profile_mapping m = { .kind = kind,
				     .owner = 7,
				     .start = start,
				     .limit = start + 0x1000,
				     .path = model_string(p, "[code]") };
	uint32_t id;

	must(profile_mapping(p, &m, &id) == 0);
	return id;
}

static void test_marks(void)
{
	struct profile *p = model_empty();
	uint32_t file = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000);
	uint32_t kernel = mapping_of_kind(p, PROFILE_MAPPING_KERNEL, 0x10000);
	uint32_t jit = mapping_of_kind(p, PROFILE_MAPPING_JIT, 0x20000);
	uint32_t main = model_location(p, file, 0x1001, "main");
	uint32_t read = model_location(p, kernel, 0x10001, "ksys_read");
	uint32_t hot = model_location(p, jit, 0x20001, "hot");
	uint32_t bare = model_bare_location(p, jit, 0x20002);

	model_add(p, (uint32_t[]){ read, hot, main }, 3, model_labels(p, "a", 1), 1);
	model_add(p, (uint32_t[]){ bare, main }, 2, model_labels(p, "a", 1), 2);
	ok(gives(p, "a;main;0x20002_[j] 2\n"
		    "a;main;hot_[j];ksys_read_[k] 1\n"),
	   "folded: kernel frames end with _[k], JIT frames with _[j]");
}

/* A function of that name in generated code, whose source is known. */
static uint32_t scripted(struct profile *p, uint32_t mapping, uint64_t address, const char *name,
			 const char *source)
{
	uint32_t l = model_bare_location(p, mapping, address);
	struct profile_line line = { .function = model_function(p, name, source, mapping) };

	must(profile_set_lines(p, l, &line, 1, true) == 0);
	return l;
}

static void test_scripts(void)
{
	struct profile *p = model_empty();
	uint32_t file = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000);
	uint32_t jit = mapping_of_kind(p, PROFILE_MAPPING_JIT, 0x20000), labels;
	const uint32_t runs[] = {
		scripted(p, jit, 0x20001, "run", "/srv/m1.py"),
		scripted(p, jit, 0x20002, "run", "/srv/m2.py"),
		scripted(p, jit, 0x20003, "(anonymous srv.js:5)", "/srv/srv.js"),
		scripted(p, jit, 0x20004, "run", "/srv/a;b.js"),
		scripted(p, file, 0x1001, "run", "/srv/run.c"),
	};

	labels = model_labels(p, "a", 1);
	for (uint32_t i = 0; i < 5; i++)
		model_add(p, &runs[i], 1, labels, i + 1);
	ok(gives(p, "a;(anonymous srv.js:5)_[j] 3\n"
		    "a;run 5\n"
		    "a;run (a:b.js)_[j] 4\n"
		    "a;run (m1.py)_[j] 1\n"
		    "a;run (m2.py)_[j] 2\n"),
	   "folded: functions of generated code have the name of their script, unless they name "
	   "it");
}

static void test_equal_lines_are_summed(void)
{
	struct profile *p = model_empty();
	uint32_t a = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000);
	uint32_t f = model_location(p, a, 0x1001, "f"), g = model_location(p, a, 0x1002, "f");

	model_add(p, &f, 1, model_labels(p, "a", 1), 1);
	model_add(p, &g, 1, model_labels(p, "a", 1), 2);
	model_add(p, &f, 1, model_labels(p, "a", 2), 4);
	ok(gives(p, "a;f 7\n"), "two locations of one function and two processes are one line");
}

static void test_sorted_by_bytes(void)
{
	struct profile *p = model_empty();
	const char *names[] = { "f<int>", "f", "f(int)", "fa" };
	uint32_t a = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000), l[4];

	for (uint32_t i = 0; i < 4; i++) {
		l[i] = model_location(p, a, 0x1001 + i, names[i]);
		model_add(p, (uint32_t[]){ l[0], l[i] }, 2, model_labels(p, "a", 1), 1);
		model_add(p, &l[i], 1, model_labels(p, "a", 1), 1);
	}
	model_add(p, NULL, 0, model_labels(p, "a", 1), 1);
	model_add(p, &l[1], 1, model_labels(p, "a b", 1), 1);
	ok(gives(p, "a 1\n"
		    "a b;f 1\n"
		    "a;f 1\n"
		    "a;f(int) 1\n"
		    "a;f(int);f<int> 1\n"
		    "a;f;f<int> 1\n"
		    "a;f<int> 1\n"
		    "a;f<int>;f<int> 1\n"
		    "a;fa 1\n"
		    "a;fa;f<int> 1\n"),
	   "whole lines are sorted, not frame by frame");
}

static void test_hostile_names(void)
{
	struct profile *p = model_empty();
	uint32_t a = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000), none;
	uint32_t f = model_location(p, a, 0x1001, "f;g\nfake;stack 9");
	uint32_t e = model_location(p, a, 0x1002, "");
	int64_t values[2] = { 3, 3 };

	model_add(p, &f, 1, model_labels(p, "x;y\n", 1), 1);
	must(profile_label_set(p, NULL, 0, &none) == 0);
	must(profile_stack(p, &e, 1, &e) == 0 && profile_add(p, e, none, values) == 0);
	ok(gives(p, "[unknown];[unknown] 3\nx:y?;f:g?fake:stack 9 1\n"),
	   "names can break neither frames nor lines, and are never empty");
}

static void test_cancel(void)
{
	struct profile *p = model_large(1);
	atomic_bool cancel = true;
	struct pa_error err = { 0 };
	struct outfile *out;

	must(outfile_open(path, NULL, &out, NULL) == 0);
	ok(writer_folded.write(p, out, &cancel, &err) == -ECANCELED, "'%s'", err.text);
	outfile_free(out);
	profile_free(p);
}

static void test_long_names(void)
{
	struct profile *p = model_empty();
	uint32_t a = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000);
	char *name = calloc(1, 200001), *text;
	uint32_t l;

	must(name);
	memset(name, 'n', 200000);
	l = model_location(p, a, 0x1001, name);
	model_add(p, (uint32_t[]){ l, l }, 2, model_labels(p, "a", 1), 1);
	text = folded(p);
	ok(strlen(text) == 2 * 200001 + 4 && strcmp(text + strlen(text) - 4, "n 1\n") == 0,
	   "a name longer than the buffer is written whole");
	free(text);
	free(name);
	profile_free(p);
}

int main(void)
{
	must(mkstemp(path) >= 0);
	test_example();
	test_shown_type();
	test_marks();
	test_scripts();
	test_equal_lines_are_summed();
	test_sorted_by_bytes();
	test_hostile_names();
	test_cancel();
	test_long_names();
	unlink(path);
	return tap_done();
}
