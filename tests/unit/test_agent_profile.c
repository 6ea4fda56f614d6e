/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles in files, through the public interface. */
#include <errno.h>
#include <perfagent/perfagent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pprof_maker.h"

static char folder[] = "/tmp/agent_profile.XXXXXX";

/* A path in the folder; each of a few remains valid. */
static const char *in_folder(const char *name)
{
	static char paths[8][64];
	static size_t next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

/* Two types, and one sample of each function. */
static void save_profile(const char *path, const char *comment)
{
	struct maker *m = calloc(1, sizeof(*m));
	FILE *f = fopen(path, "w");

	must(m && f);
	make_tables(m);
	make_message(m, 2, PAIRS({ 1, 7 }, { 2, 3 }, { 2, 40 }));
	make_message(m, 2, PAIRS({ 1, 1ull << 40 }, { 2, 1 }, { 2, 60 }));
	if (comment) {
		make_bytes(m, 6, comment, strlen(comment));
		make_number(m, 13, S_PATH + 1);
	}
	must(fwrite(m->bytes, 1, m->n, f) == m->n && fclose(f) == 0);
	free(m);
}

static struct pa_profile *read_type(const char *path, const char *type)
{
	const struct pa_profile_options opts = { .sz = sizeof(opts), .value_type = type };
	struct pa_profile *p = NULL;
	struct pa_error err = { 0 };

	if (pa_profile_read(path, &opts, &p, &err) < 0)
		printf("# %s\n", err.text);
	must(p);
	return p;
}

/* The caller frees it. */
static char *text_of(const char *path)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = fopen(path, "r");

	must(f && getdelim(&text, &n, '\0', f) > 0 && feof(f));
	fclose(f);
	return text;
}

/* How often the page at path contains a text. */
static int count_in(const char *path, const char *words)
{
	char *text = text_of(path);
	int nr = 0;

	for (const char *at = text; (at = strstr(at, words)); at++)
		nr++;
	free(text);
	return nr;
}

static void test_type_of_page(void)
{
	const char *path = in_folder("two.pb"), *page = in_folder("page.html");
	const struct pa_output to = { sizeof(to), "flamegraph", page, NULL };
	struct pa_profile *samples = read_type(path, "samples"), *other = read_type(path, NULL);
	struct pa_profile *cpu = read_type(path, "cpu");
	struct pa_diff *d = NULL;

	must(pa_profile_write(other, &to, NULL, NULL) == 0);
	ok(!strcmp(pa_profile_summary(samples)->count_type, "samples") &&
		   !strcmp(pa_profile_summary(samples)->count_unit, "count") &&
		   !strcmp(pa_profile_summary(cpu)->count_type, "cpu") &&
		   !strcmp(pa_profile_summary(cpu)->count_unit, "nanoseconds"),
	   "a summary says what its functions count");
	ok(count_in(page, "\"shown\":1") == 1, "a page shows the default type of the file first");
	must(pa_profile_write(samples, &to, NULL, NULL) == 0);
	ok(count_in(page, "\"shown\":0") == 1, "a page shows the chosen type first");
	must(pa_diff_new(samples, samples, &d, NULL) == 0 &&
	     pa_diff_write(d, &to, NULL, NULL) == 0);
	ok(count_in(page, "\"shown\":0") == 2,
	   "a page of differences shows the chosen type of both profiles first");
	pa_diff_free(d);
	ok(pa_diff_new(samples, cpu, &d, NULL) == -EINVAL, "two types cannot be compared");
	pa_profile_free(samples);
	pa_profile_free(other);
	pa_profile_free(cpu);
}

static bool is_cancelled(void *ctx)
{
	return *(bool *)ctx;
}

/* Both writers, with the same output and options. */
static void writes(const struct pa_output *output, const struct pa_file_options *opts, int expected,
		   const char *what)
{
	struct pa_profile *p = read_type(in_folder("two.pb"), NULL);
	struct pa_diff *d = NULL;

	must(pa_diff_new(p, p, &d, NULL) == 0);
	ok(pa_profile_write(p, output, opts, NULL) == expected, "profile: %s", what);
	ok(pa_diff_write(d, output, opts, NULL) == expected, "difference: %s", what);
	pa_diff_free(d);
	pa_profile_free(p);
}

/* By the size of the structure, what comes after it is not read. */
static void test_sizes(void)
{
	struct {
		struct pa_output known;
		uint64_t more;
	} output = { { sizeof(output), "flamegraph", in_folder("page.html"), NULL }, 0 };
	struct {
		struct pa_file_options known;
		uint64_t more;
	} opts = { { .sz = sizeof(opts) }, 0 };
	bool yes = true;

	writes(&output.known, &opts.known, 0, "structures of a newer caller that uses nothing new");
	output.more = 1;
	writes(&output.known, &opts.known, -E2BIG, "an output for a newer library is refused");
	output.known.sz = sizeof(output.known);
	opts.more = 1;
	writes(&output.known, &opts.known, -E2BIG, "options for a newer library are refused");
	opts.known.is_cancelled = is_cancelled;
	opts.known.cancel_ctx = &yes;
	opts.known.sz = offsetof(struct pa_file_options, is_cancelled);
	writes(&output.known, &opts.known, 0, "what an older caller does not have is not read");
	opts.known.sz = sizeof(opts.known);
	writes(&output.known, &opts.known, -ECANCELED, "writing can be cancelled");
	opts.known.sz = 1;
	writes(&output.known, &opts.known, -EINVAL, "options without a size are refused");
	output.known.sz = sizeof(size_t);
	writes(&output.known, NULL, -EINVAL, "an output without a path is refused");
	output.known.sz = sizeof(output.known);
	opts.known.sz = SIZE_MAX;
	opts.more = 0;
	writes(&output.known, &opts.known, -EINVAL,
	       "a size of options that cannot be one is refused");
}

/* Pages that end where the structure does: what comes behind is not read. */
static void test_sizes_out_of_bounds(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *end = (char *)mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) +
		    2 * page;
	struct pa_output *output = (void *)(end - 2 * page);
	struct pa_file_options *file_opts = (void *)(end - 2 * page);
	struct pa_profile_options *po = (void *)(end - 2 * page);
	struct pa_profile *p = read_type(in_folder("two.pb"), NULL), *other = NULL;
	struct pa_file *f = NULL;

	must(end != (char *)MAP_FAILED + 2 * page && mprotect(end, page, PROT_NONE) == 0);
	po->sz = SIZE_MAX;
	ok(pa_profile_read(in_folder("two.pb"), po, &other, NULL) == -EINVAL && !other,
	   "garbage for the size of options to read a profile is refused");
	ok(pa_file_open(in_folder("page.html"), file_opts, &f, NULL) == -EINVAL && !f,
	   "garbage for the size of options of a file is refused");
	*output = (struct pa_output){ SIZE_MAX / 2, "folded", in_folder("page.html"), NULL };
	ok(pa_profile_write(p, output, NULL, NULL) == -EINVAL,
	   "garbage for the size of an output is refused");
	pa_profile_free(p);
	munmap(end - 2 * page, 3 * page);
}

/* A capture of a process that never ran has no samples, and no labels. */
static void test_label_of_none(void)
{
	const struct pa_profile_options opts = { .sz = sizeof(opts), .label = "pid" };
	struct maker *m = calloc(1, sizeof(*m));
	struct pa_profile *p = NULL;
	struct pa_error err = { 0 };

	must(m);
	make_tables(m);
	ok(pa_profile_parse(m->bytes, m->n, NULL, &opts, &p, &err) == 0,
	   "the values of a label can be asked for in a profile without samples: %s", err.text);
	ok(p && !pa_profile_summary(p)->nr_label_values &&
		   !strcmp(pa_profile_summary(p)->label, "pid"),
	   "a profile without samples has an empty list of the values of any label");
	pa_profile_free(p);
	p = NULL;
	make_message(m, 2, PAIRS({ 1, 7 }, { 2, 3 }, { 2, 40 }));
	ok(pa_profile_parse(m->bytes, m->n, NULL, &opts, &p, &err) == -EINVAL && !p,
	   "a label that no sample has is an error: %s", err.text);
	free(m);
}

static void test_title(const char *name, const char *title, const char *what)
{
	const struct pa_output to = { sizeof(to), "flamegraph", in_folder("page.html"), NULL };
	struct pa_profile *p = read_type(in_folder(name), NULL);
	struct pa_diff *d = NULL;
	char text[64];

	snprintf(text, sizeof(text), "\"%s\"", title);
	must(pa_profile_write(p, &to, NULL, NULL) == 0);
	ok(count_in(to.path, text) == 1, "a page is titled by %s", what);
	must(pa_diff_new(p, p, &d, NULL) == 0 && pa_diff_write(d, &to, NULL, NULL) == 0);
	ok(count_in(to.path, text) == 1, "a page of differences is titled by %s", what);
	pa_diff_free(d);
	pa_profile_free(p);
}

static void test_titles(void)
{
	test_title("ours.pb", "PID 7 (app)", "what the file says was profiled");
	test_title("two.pb", "two.pb", "the name of a file that says nothing");
}

int main(void)
{
	must(mkdtemp(folder));
	save_profile(in_folder("two.pb"), NULL);
	save_profile(in_folder("ours.pb"), "target: PID 7 (app)");
	test_type_of_page();
	test_sizes();
	test_sizes_out_of_bounds();
	test_label_of_none();
	test_titles();
	unlink(in_folder("two.pb"));
	unlink(in_folder("ours.pb"));
	unlink(in_folder("page.html"));
	rmdir(folder);
	return tap_done();
}
