/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hottest functions by self time and by total time. Each list shows both numbers; the one by
 * total time leaves out what the other list already shows.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/function_name.h"
#include "cli/report_parts.h"
#include "cli/scope.h"
#include "cli/terminal_text.h"

#define NR_FUNCTIONS_BOTH 6 /* rows of each of two lists */
#define NR_FUNCTIONS_ONE 10 /* rows of a single list */
#define NR_FUNCTIONS_VERBOSE 30
#define BESIDE_COLUMNS 160 /* from this width on, the two lists are side by side */
#define FILE_ROOM_MAX 43
#define NAME_COLUMNS_IN_FILE 120 /* C++ has names of a thousand letters */
#define FILE_ROOM_MIN 8
#define NR_FUNCTIONS_SMALL 3 /* printed by default however small they are */
#define SMALL_SELF_PER_MILLE 5
#define SMALL_TOTAL_PER_MILLE 20
#define NEARLY_SAME_PERCENT 2
#define SAME_TEXT_SIZE 32

struct function_list {
	const struct pa_function_stat **items; /* owned; each is borrowed from the summary */
	size_t nr;
	bool is_by_total;
};

static void function_list_done(struct function_list *l)
{
	free(l->items);
}

/* A list by total alone leaves out nothing but start code; beside a list by self also what nearly every stack
 * has: its rows would say nothing. */
static bool is_left_out(const struct report_page *p, const struct pa_function_stat *f)
{
	return f->is_start && (p->opts->sort == REPORT_SORT_BOTH || report_is_start_code(f->name));
}

/* Without memory the list is empty. */
static struct function_list list_of(const struct report_page *p, bool is_by_total)
{
	const struct pa_summary *s = p->s;
	size_t nr = is_by_total ? s->nr_functions_by_total : s->nr_functions;
	struct function_list l = { calloc(nr + 1, sizeof(*l.items)), 0, is_by_total };

	for (size_t i = 0; l.items && i < nr; i++) {
		const struct pa_function_stat *f = PA_ITEM(
			s, pa_function_stat, is_by_total ? s->functions_by_total : s->functions, i);

		if (!is_by_total || !is_left_out(p, f))
			l.items[l.nr++] = f;
	}
	return l;
}

static size_t rows_wanted(const struct report_page *p)
{
	if (p->opts->top)
		return p->opts->top;
	if (p->opts->is_verbose)
		return NR_FUNCTIONS_VERBOSE;
	return p->opts->sort == REPORT_SORT_BOTH ? report_min(NR_FUNCTIONS_BOTH, p->max_rows)
						 : NR_FUNCTIONS_ONE;
}

static void print_heading(const struct report_page *p, bool is_by_total)
{
	static const char *const columns[] = { "self", "total" };
	double unused;
	const char *time = !p->s->value_unit || report_cpu_s(p->s, 0, &unused) ? " time" : "";

	(void)report_cpu_s_heading(p);
	(void)fprintf(p->out, "%*s", REPORT_SHARE_COLUMNS, columns[is_by_total]);
	if (report_is_wide(p))
		(void)fprintf(p->out, "%*s", REPORT_SHARE_COLUMNS, columns[!is_by_total]);
	if (!report_is_wide(p))
		(void)fputs("  function\n", p->out);
	else
		(void)fprintf(p->out, "  functions by %s%s\n", columns[is_by_total], time);
}

/* The columns of the file, with brackets and a space: a third of cols, or more if the name leaves more. */
static uint32_t file_room(uint32_t name_cols, uint32_t cols)
{
	uint32_t room = cols / 3;

	if (name_cols < cols - room)
		room = cols - name_cols;
	return room < FILE_ROOM_MAX ? room : FILE_ROOM_MAX;
}

/* What a function is in: the mapped file; for generated code the script, if that is known. */
static const char *place_of(const struct report_page *p, const struct pa_function_stat *f)
{
	const char *source = f->source ? text_source_name(f->source) : NULL;

	if (source)
		return p->opts->is_verbose ? f->source : source;
	return p->opts->is_verbose ? f->file : text_file_name(f->file);
}

void report_function_name(const struct report_page *p, const struct pa_function_stat *f,
			  uint32_t cols)
{
	const char *name = f->is_unnamed ? "code without symbols" : f->name;
	const char *file = place_of(p, f);
	bool has_brackets = file[0] == '[';
	uint32_t brackets = has_brackets ? 1 : 3, file_cols = text_columns(file);

	if (cols != TEXT_NO_LIMIT) {
		uint32_t room = file_room(text_columns(name), cols);

		if (!report_is_wide(p) || room < FILE_ROOM_MIN) {
			(void)function_name_put(p->out, name, cols);
			return;
		}
		file_cols = file_cols + brackets < room ? file_cols : room - brackets;
		cols -= file_cols + brackets;
	} else {
		cols = NAME_COLUMNS_IN_FILE;
	}
	(void)function_name_put(p->out, name, cols);
	(void)fputs(has_brackets ? " " : " [", p->out);
	(void)text_put(p->out, file, file_cols);
	(void)fputs(has_brackets ? "" : "]", p->out);
}

/* nr_same: rows after it that are not printed, because they have nearly the same total. */
static void print_function(const struct report_page *p, const struct pa_function_stat *f,
			   bool is_by_total, size_t nr_same)
{
	char same[SAME_TEXT_SIZE] = "";
	uint64_t first = is_by_total ? f->nr_total : f->nr_self;
	uint64_t second = is_by_total ? f->nr_self : f->nr_total;
	uint32_t used = report_cpu_s_column(p, first);

	used += report_share_column(p, first);
	if (report_is_wide(p))
		used += report_share_column(p, second);
	(void)fputs("  ", p->out);
	if (report_is_wide(p) && nr_same)
		(void)snprintf(same, sizeof(same), " and %zu more", nr_same);
	used += 2 + (uint32_t)strlen(same);
	report_function_name(p, f, report_columns_after(p, used));
	(void)fprintf(p->out, "%s\n", same);
}

/* Summarizes what a list leaves out. Totals overlap, so they cannot be summed up. */
static void print_more_functions(const struct report_page *p, size_t nr_shown)
{
	uint64_t more = p->s->functions_seen - nr_shown, self = p->s->functions_self;

	if (p->s->functions_seen <= nr_shown)
		return;
	for (size_t i = 0; i < nr_shown; i++)
		self -= PA_ITEM(p->s, pa_function_stat, p->s->functions, i)->nr_self;
	if (!self)
		return; /* callers of listed functions */
	(void)report_cpu_s_column(p, self);
	(void)report_share_column(p, self);
	(void)fprintf(p->out, "%*s  %" PRIu64 " more%s\n",
		      report_is_wide(p) ? REPORT_SHARE_COLUMNS : 0, "", more,
		      report_is_wide(p) && !p->opts->top ? " (--top N)" : "");
}

static bool is_same_function(const struct pa_function_stat *a, const struct pa_function_stat *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->file, b->file) &&
	       report_is_same_source(a->source, b->source);
}

/* A function that calls little is in the list by self time; a row by total time would repeat it. */
static bool is_shown_by_self(const struct pa_summary *s, const struct pa_function_stat *f,
			     size_t nr_by_self)
{
	if (f->nr_self < f->nr_total - f->nr_total / 10)
		return false;
	for (size_t i = 0; i < report_min(nr_by_self, s->nr_functions); i++)
		if (is_same_function(f, PA_ITEM(s, pa_function_stat, s->functions, i)))
			return true;
	return false;
}

/* True for two lists of a few rows each, in which no row should be wasted. */
static bool is_short(const struct report_options *opts)
{
	return opts->sort == REPORT_SORT_BOTH && !opts->top && !opts->is_verbose;
}

/* Both lists are sorted by the number compared here, so the remaining rows are negligible, too. */
static bool is_negligible(const struct report_page *p, const struct pa_function_stat *f,
			  bool is_by_total, size_t nr_before)
{
	if (!is_short(p->opts))
		return false;
	if (is_by_total)
		return f->nr_total * 1000 < p->s->samples * SMALL_TOTAL_PER_MILLE;
	return !f->nr_self || (nr_before >= NR_FUNCTIONS_SMALL &&
			       f->nr_self * 1000 < p->s->samples * SMALL_SELF_PER_MILLE);
}

/* True if a caller and its callee are one row, since nearly all of the caller's time is the callee's: their
 * totals are the same, or the hot paths have one below the other and their totals differ by little. Two
 * functions that do not call each other may have similar totals by chance. */
static bool is_same_total(const struct pa_summary *s, const struct pa_function_stat *f,
			  const struct pa_function_stat *next)
{
	if (next->nr_total == f->nr_total)
		return true;
	return next->nr_total * 100 >= f->nr_total * (100 - NEARLY_SAME_PERCENT) &&
	       (report_paths_have_below(s, f, next) || report_paths_have_below(s, next, f));
}

/* Counts functions after i with nearly the same total: usually callers that do nothing else. */
static size_t count_same_total(const struct report_page *p, const struct function_list *list,
			       size_t i)
{
	size_t nr = 0;

	while (is_short(p->opts) && list->is_by_total && i + nr + 1 < list->nr &&
	       is_same_total(p->s, list->items[i], list->items[i + nr + 1]))
		nr++;
	return nr;
}

/* Of functions with nearly the same total, one row is printed: the innermost of a script, else the first that
 * has a symbol, if there is one. */
static const struct pa_function_stat *best_name(const struct pa_summary *s,
						const struct pa_function_stat *const *items,
						size_t nr)
{
	const struct pa_function_stat *best = NULL;

	for (size_t i = 0; i < nr; i++)
		if (items[i]->source && (!best || report_paths_have_below(s, best, items[i])))
			best = items[i];
	for (size_t i = 0; i < nr && !best; i++)
		if (!items[i]->is_unnamed && !strstr(items[i]->name, "+0x"))
			best = items[i];
	return best ? best : items[0];
}

/* What each stack has, such as an interpreter's loop, must not take the place of everything else: a list
 * by total alone has as many rows of both, unless their number is given. */
static bool counts_apart(const struct report_page *p, const struct pa_function_stat *f,
			 bool is_by_total)
{
	return is_by_total && f->is_start && !p->opts->top;
}

/* nr_by_self: rows of the list by self time if that is printed, too. Returns the number of rows. */
static size_t print_list(const struct report_page *p, bool is_by_total, size_t nr_by_self)
{
	_cleanup_(function_list_done) struct function_list list = list_of(p, is_by_total);
	size_t nr = 0, nr_starts = 0, max = rows_wanted(p);

	for (size_t i = 0, same; i < list.nr && nr - nr_starts < max; i += 1 + same) {
		const struct pa_function_stat *f = list.items[i];

		same = 0;

		if (is_negligible(p, f, is_by_total, nr))
			break;
		if (is_by_total && is_shown_by_self(p->s, f, nr_by_self))
			continue;
		if (counts_apart(p, f, is_by_total) && nr_starts == max)
			continue;
		nr_starts += counts_apart(p, f, is_by_total);
		if (!nr++)
			print_heading(p, is_by_total);
		same = count_same_total(p, &list, i);
		print_function(p, best_name(p->s, list.items + i, 1 + same), is_by_total, same);
	}
	if (nr && !is_by_total)
		print_more_functions(p, nr);
	return nr;
}

/* Renders each list as text, in half the columns. */
static char *render_list(const struct report_page *p, bool is_by_total, size_t nr_by_self)
{
	struct report_options opts = *p->opts;
	struct report_page half = *p;
	char *text = NULL;
	size_t len;

	half.opts = &opts;
	half.out = open_memstream(&text, &len);
	if (!half.out)
		return NULL;
	opts.max_cols = (opts.max_cols - 3) / 2;
	(void)print_list(&half, is_by_total, nr_by_self);
	if (fclose(half.out) == 0)
		return text;
	free(text);
	return NULL;
}

static void print_beside(const struct report_page *p)
{
	_cleanup_(freep) char *left = render_list(p, false, 0);
	_cleanup_(freep) char *right = render_list(p, true, rows_wanted(p));

	if (left && right)
		report_beside(p->out, left, right);
}

static void print_below(const struct report_page *p)
{
	(void)print_list(p, false, 0);
	(void)fputc('\n', p->out);
	if (print_list(p, true, rows_wanted(p)))
		(void)fputc('\n', p->out);
}

void report_functions(const struct report_page *p)
{
	if (!p->s->nr_functions)
		return;
	if (p->opts->sort == REPORT_SORT_BOTH &&
	    (p->opts->max_cols < BESIDE_COLUMNS || p->opts->max_cols == TEXT_NO_LIMIT)) {
		print_below(p);
		return;
	}
	if (p->opts->sort == REPORT_SORT_BOTH)
		print_beside(p);
	else if (p->opts->sort == REPORT_SORT_SELF)
		(void)print_list(p, false, 0);
	else
		(void)print_list(p, true, 0);
	(void)fputc('\n', p->out);
}
