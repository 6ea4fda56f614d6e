/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cli_report_recorded DIRECTORY [--write]
 *
 * Reports of recorded captures, as they were judged to be good. DIRECTORY has a summary NAME.json for each
 * capture, as --json wrote it, and the reports NAME.80.txt and NAME.200.txt of terminals that wide.
 * --write: writes these reports again; read them before you commit them. scripts/record_reports records
 * the captures again.
 */
#include <limits.h>
#include <string.h>

#include "cli/report.h"
#include "summary_reader.h"
#include "tap.h"

#define FIRST_SCREEN 20 /* lines, which are to name what costs the time */

struct recording {
	const char *name;
	const char *
		culprit; /* a function that a reader of the first screen has to find; NULL: there is none */
	const char *advice; /* … and what it says besides */
};

static const struct recording recordings[] = {
	{ "one_process", "price_basket", "on average" },
	{ "make_j2", "symbol_table::finalize_compilation_unit", "  cc1\n" },
	{ "all_processes", "sha256sum+0x", "  sha256sum\n" },
	{ "python_perf", "slow_parse", "on average" },
	{ "jvm", "code without symbols [jit]", "Compiler.perfmap" },
	{ "jvm_perf_map", "Srv.hot", "on average" },
	{ "jvm_truncated", "java.util.HashMap.merge", "on average" },
	{ "few_samples", "sort+0x", "only " },
	{ "no_samples", NULL, "never on a CPU" },
	{ "steal", "price_basket", "(steal)" },
};

/* The caller frees it. NULL: there is no such file. */
static char *read_text(const char *path)
{
	char *text = NULL;
	size_t len, size = 0;
	FILE *f = fopen(path, "re");

	if (!f)
		return NULL;
	len = (size_t)getdelim(&text, &size, EOF, f);
	(void)fclose(f);
	if (len == (size_t)-1) {
		free(text);
		return NULL;
	}
	return text;
}

/* The caller frees it. */
static char *print_report(const struct pa_summary *s, uint32_t max_cols)
{
	const struct report_options opts = { .max_cols = max_cols };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	must(f);
	report_print(s, &opts, f);
	must(fclose(f) == 0 && text);
	return text;
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	must(f && fputs(text, f) != EOF && fclose(f) == 0);
}

/* The first line in which two texts differ, for people. */
static void show_difference(const char *got, const char *expected)
{
	while (*got && *expected) {
		size_t n = strcspn(got, "\n"), m = strcspn(expected, "\n");

		if (n != m || strncmp(got, expected, n) != 0)
			break;
		got += n + (got[n] == '\n');
		expected += m + (expected[m] == '\n');
	}
	printf("# is        '%.*s'\n# should be '%.*s'\n", (int)strcspn(got, "\n"), got,
	       (int)strcspn(expected, "\n"), expected);
}

/* The caller frees it. */
static char *first_screen(const char *text)
{
	size_t len = 0;
	char *screen;

	for (int i = 0; i < FIRST_SCREEN && text[len]; i++)
		len += strcspn(text + len, "\n") + 1;
	screen = strndup(text, len);
	must(screen);
	return screen;
}

/* True if the screen has the heading and a row below it, as it has to if the whole report has the table. */
static bool has_table(const char *text, const char *screen, const char *heading)
{
	const char *at = strstr(screen, heading), *row = at ? strchr(at, '\n') : NULL;

	return !strstr(text, heading) || (row && row[1] == ' ' && strchr(row + 1, '\n'));
}

static void check_first_screen(const char *text, const struct recording *r, uint32_t max_cols)
{
	static const char *const tables[] = { "procs  command", "functions by self time",
					      "functions by total time", "  hot paths" };
	char *screen = first_screen(text);
	const char *functions = strstr(screen, tables[1]);

	ok(strstr(screen, r->advice) != NULL, "%s: the first %d lines of %u columns have '%.*s'",
	   r->name, FIRST_SCREEN, max_cols, (int)strcspn(r->advice, "\n"), r->advice);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		ok(has_table(text, screen, tables[i]),
		   "%s: the table '%s' begins in the first %d lines of %u columns", r->name,
		   tables[i] + strspn(tables[i], " "), FIRST_SCREEN, max_cols);
	if (r->culprit)
		ok(functions && strstr(functions, r->culprit),
		   "%s: functions or paths of the first %d lines of %u columns have '%s'", r->name,
		   FIRST_SCREEN, max_cols, r->culprit);
	free(screen);
}

static void check_report(const struct pa_summary *s, const struct recording *r, const char *dir,
			 uint32_t max_cols, bool is_write)
{
	char path[PATH_MAX], *text = print_report(s, max_cols), *expected;

	(void)snprintf(path, sizeof(path), "%s/%s.%u.txt", dir, r->name, max_cols);
	if (is_write)
		write_text(path, text);
	expected = read_text(path);
	if (!ok(expected && !strcmp(text, expected), "%s: the report of %u columns", r->name,
		max_cols))
		show_difference(text, expected ? expected : "");
	check_first_screen(text, r, max_cols);
	free(expected);
	free(text);
}

int main(int argc, char *argv[])
{
	bool is_write = argc == 3 && !strcmp(argv[2], "--write");

	must(argc == 2 || is_write);
	for (size_t i = 0; i < sizeof(recordings) / sizeof(recordings[0]); i++) {
		struct summary_reader reader;
		char path[PATH_MAX];

		(void)snprintf(path, sizeof(path), "%s/%s.json", argv[1], recordings[i].name);
		if (ok(summary_reader_init(&reader, path), "%s: recorded", recordings[i].name)) {
			check_report(&reader.summary, &recordings[i], argv[1], 80, is_write);
			check_report(&reader.summary, &recordings[i], argv[1], 200, is_write);
		}
		summary_reader_done(&reader);
	}
	return tap_done();
}
