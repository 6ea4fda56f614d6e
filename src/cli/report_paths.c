/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hot-path tree. A line is a chain of calls along which nearly all samples stay together, "a >
 * b > c"; where they diverge, each branch is a line one level deeper.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/function_name.h"
#include "cli/report_parts.h"
#include "cli/scope.h"
#include "cli/terminal_text.h"

#define NR_LINES 8
#define NR_LINES_VERBOSE 30
#define LEVEL_COLUMNS 2
#define LEVELS_MAX 12         /* deeper levels are not indented further */
#define NAME_COLUMNS_SHORT 32 /* per name in a chain that does not fit otherwise */
#define NAME_COLUMNS_LEAST 12 /* with less room, only the last name of a chain is shown */
#define COLUMNS_IN_FILE 200   /* of a line; a chain of C++ names has no end */
#define PYTHON_MAIN "pymain_" /* of functions of CPython that start a script */
#define SEPARATOR " > "
#define SEPARATOR_COLUMNS 3
#define OMITTED "..."
#define OMITTED_COLUMNS 3
#define BRACKETS_COLUMNS 2    /* "[file]" */
#define PARENTHESES_COLUMNS 3 /* " (script)" */

/* The rows [first, end) of pa_summary.paths. */
struct path_line {
	size_t first, end;
	bool is_shown;
};

bool report_is_same_source(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Keeps the preorder. Returns the number of lines; lines has room for one per row. */
static size_t list_lines(const struct pa_summary *s, struct path_line *lines)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr_paths; i++)
		if (nr && PA_ITEM(s, pa_path_stat, s->paths, i)->continues)
			lines[nr - 1].end = i + 1;
		else
			lines[nr++] = (struct path_line){ i, i + 1, false };
	return nr;
}

/* Whether the file is a C library or its loader. Where it is stripped, its functions have no names of
 * their own. */
static bool is_c_library(const char *path)
{
	static const char *const names[] = { "libc.so.", "libc-", "ld-linux", "ld-musl" };
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	return false;
}

bool report_is_start_code(const char *name)
{
	static const char *const names[] = { "_start",
					     "__libc_start_main_impl",
					     "__libc_start_main",
					     "__libc_start_call_main",
					     "__clone3",
					     "__clone",
					     "clone3",
					     "clone",
					     "start_thread",
					     "Py_BytesMain",
					     "Py_Main",
					     "Py_RunMain" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, PYTHON_MAIN, strlen(PYTHON_MAIN));
}

/* The start code of a program or of a thread says little: a line begins after it, or with the main() that it
 * calls. Of a stripped C library, every function that each stack has is start code. */
static void skip_starts(const struct pa_summary *s, struct path_line *line)
{
	if (PA_ITEM(s, pa_path_stat, s->paths, line->first)->depth)
		return;
	for (size_t i = line->first; i + 1 < line->end; i++) {
		const struct pa_path_stat *row = PA_ITEM(s, pa_path_stat, s->paths, i);
		bool is_start = report_is_start_code(row->name) || is_c_library(row->file);

		if (!row->is_start || (!is_start && strcmp(row->name, "main") != 0))
			return;
		if (is_start)
			line->first = i + 1;
	}
}

/* Selects the hottest lines. A caller has at least as many samples as its callees and precedes
 * them, so it is shown if they are. */
static void choose_lines(const struct pa_summary *s, struct path_line *lines, size_t nr, size_t max)
{
	for (size_t chosen = 0; chosen < max; chosen++) {
		struct path_line *best = NULL;

		for (size_t i = 0; i < nr; i++)
			if (!lines[i].is_shown &&
			    (!best ||
			     PA_ITEM(s, pa_path_stat, s->paths, lines[i].first)->nr_samples >
				     PA_ITEM(s, pa_path_stat, s->paths, best->first)->nr_samples))
				best = &lines[i];
		if (!best)
			return;
		best->is_shown = true;
	}
}

/* The script of a function, if functions of that name in two scripts are rows; else NULL. */
static const char *script_of(const struct pa_summary *s, const struct pa_path_stat *row)
{
	for (size_t i = 0; row->source && !row->is_unnamed && i < s->nr_paths; i++) {
		const struct pa_path_stat *other = PA_ITEM(s, pa_path_stat, s->paths, i);

		if (other->source && strcmp(other->source, row->source) &&
		    !strcmp(other->name, row->name))
			return text_source_name(row->source);
	}
	return NULL;
}

static void put_named(FILE *f, const char *name, const char *script, uint32_t max_cols)
{
	uint32_t script_cols = script ? text_columns(script) + PARENTHESES_COLUMNS : 0;

	if (!script_cols || script_cols >= max_cols) {
		(void)function_name_put(f, name, max_cols);
		return;
	}
	(void)function_name_put(f, name, max_cols - script_cols);
	(void)fputs(" (", f);
	(void)text_put(f, script, TEXT_NO_LIMIT);
	(void)fputc(')', f);
}

/* The name in at most max_cols columns; the caller frees it. */
static char *name_text(const struct pa_summary *s, const struct pa_path_stat *row,
		       uint32_t max_cols)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	if (row->is_unnamed) {
		const char *file = text_file_name(row->file);
		uint32_t brackets = file[0] == '[' ? 0 : BRACKETS_COLUMNS;

		(void)fputs(brackets ? "[" : "", f);
		(void)text_put(f, file, max_cols > brackets ? max_cols - brackets : 1);
		(void)fputs(brackets ? "]" : "", f);
	} else {
		put_named(f, row->name, script_of(s, row), max_cols);
	}
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

static uint32_t name_columns(const struct pa_summary *s, const struct pa_path_stat *row,
			     uint32_t max_cols)
{
	_cleanup_(freep) char *text = name_text(s, row, max_cols);

	return text ? text_columns(text) : 0;
}

/* The columns of the separator before a row of a chain, with a mark for functions left out there.
 */
static uint32_t separator_columns(const struct pa_path_stat *row)
{
	return SEPARATOR_COLUMNS + (row->nr_skipped ? OMITTED_COLUMNS + SEPARATOR_COLUMNS : 0);
}

/* The first row from which on the chain fits into cols: the end of a chain is the most useful. */
static size_t chain_start(const struct pa_summary *s, const struct path_line *line,
			  uint32_t name_cols, uint32_t cols)
{
	uint64_t used = 0;
	size_t start = line->end;

	while (start > line->first) {
		const struct pa_path_stat *row = PA_ITEM(s, pa_path_stat, s->paths, start - 1);
		uint32_t before = start - 1 > line->first ? OMITTED_COLUMNS + SEPARATOR_COLUMNS : 0;
		uint32_t after =
			start < line->end
				? separator_columns(PA_ITEM(s, pa_path_stat, s->paths, start))
				: 0;

		if (used + name_columns(s, row, name_cols) + after + before > cols &&
		    start < line->end)
			break;
		used += name_columns(s, row, name_cols) + after;
		start--;
	}
	return start;
}

static void print_chain(const struct report_page *p, const struct path_line *line, uint32_t cols)
{
	uint32_t name_cols = cols;
	size_t start = chain_start(p->s, line, name_cols, cols);

	if (start > line->first) {
		name_cols = cols < NAME_COLUMNS_SHORT ? cols : NAME_COLUMNS_SHORT;
		start = chain_start(p->s, line, name_cols, cols);
	}
	if (start > line->first &&
	    cols >= OMITTED_COLUMNS + SEPARATOR_COLUMNS + NAME_COLUMNS_LEAST) {
		(void)fputs(OMITTED SEPARATOR, p->out);
		if (start + 1 == line->end)
			name_cols = cols - OMITTED_COLUMNS - SEPARATOR_COLUMNS;
	}
	for (size_t i = start; i < line->end; i++) {
		_cleanup_(freep) char *name =
			name_text(p->s, PA_ITEM(p->s, pa_path_stat, p->s->paths, i), name_cols);

		if (i > start)
			(void)fputs(PA_ITEM(p->s, pa_path_stat, p->s->paths, i)->nr_skipped
					    ? SEPARATOR OMITTED SEPARATOR
					    : SEPARATOR,
				    p->out);
		(void)fputs(name ? name : OMITTED, p->out);
	}
}

static void print_path_line(const struct report_page *p, const struct path_line *line)
{
	const struct pa_path_stat *row = PA_ITEM(p->s, pa_path_stat, p->s->paths, line->first);
	uint32_t depth = row->depth < LEVELS_MAX ? row->depth : LEVELS_MAX;
	uint32_t used = report_cpu_s_column(p, row->nr_samples);

	used += report_share_column(p, row->nr_samples);
	if (report_is_wide(p))
		used += depth * LEVEL_COLUMNS;
	(void)fprintf(p->out, "%*s", report_is_wide(p) ? (int)(depth * LEVEL_COLUMNS) + 2 : 2, "");
	print_chain(p, line,
		    p->opts->max_cols == TEXT_NO_LIMIT ? COLUMNS_IN_FILE - used - 2
						       : report_columns_after(p, used + 2));
	(void)fputc('\n', p->out);
}

static bool is_row_of(const struct pa_path_stat *row, const struct pa_function_stat *f)
{
	return row->is_unnamed == f->is_unnamed && !strcmp(row->name, f->name) &&
	       !strcmp(row->file, f->file) && report_is_same_source(row->source, f->source);
}

static const struct pa_path_stat *row_at(const struct pa_summary *s, size_t i)
{
	return PA_ITEM(s, pa_path_stat, s->paths, i);
}

/* The end of the rows below row i: those of its chain, and of the branches at the end of the
 * chain. */
static size_t end_below(const struct pa_summary *s, size_t i)
{
	uint32_t depth = row_at(s, i)->depth;

	for (i++; i < s->nr_paths; i++)
		if (row_at(s, i)->depth < depth ||
		    (row_at(s, i)->depth == depth && !row_at(s, i)->continues))
			break;
	return i;
}

bool report_paths_have_below(const struct pa_summary *s, const struct pa_function_stat *upper,
			     const struct pa_function_stat *lower)
{
	for (size_t i = 0; i < s->nr_paths; i++) {
		size_t end = is_row_of(row_at(s, i), upper) ? end_below(s, i) : 0;

		for (size_t k = i + 1; k < end; k++)
			if (is_row_of(row_at(s, k), lower))
				return true;
	}
	return false;
}

void report_paths(const struct report_page *p)
{
	_cleanup_(freep) struct path_line *lines = calloc(p->s->nr_paths + 1, sizeof(*lines));
	size_t nr;

	if (!lines || !p->s->nr_paths)
		return;
	nr = list_lines(p->s, lines);
	for (size_t i = 0; i < nr && !p->opts->is_verbose; i++)
		skip_starts(p->s, &lines[i]);
	choose_lines(p->s, lines, nr, p->opts->is_verbose ? NR_LINES_VERBOSE : NR_LINES);
	(void)report_cpu_s_heading(p);
	(void)fprintf(p->out, "%*s  hot paths%s\n", REPORT_SHARE_COLUMNS, "share",
		      report_is_wide(p) ? " (caller > callee)" : "");
	for (size_t i = 0; i < nr; i++)
		if (lines[i].is_shown)
			print_path_line(p, &lines[i]);
	(void)fputc('\n', p->out);
}
