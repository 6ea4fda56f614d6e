/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_diff.h"

#include <inttypes.h>
#include <perfagent/perfagent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit_status.h"
#include "cli/file_options.h"
#include "cli/report_parts.h"
#include "cli/run_files.h"
#include "cli/scope.h"
#include "cli/terminal_text.h"

#define NR_CHANGES 20
#define SMALL_POINTS 0.05 /* shown as 0.0 */
#define CHANGE_COLUMNS 8

struct diff_run {
	struct file_options o;
	struct pa_profile *base, *now; /* owned, like the next */
	struct pa_diff *diff;
};

static void diff_run_done(struct diff_run *d)
{
	pa_diff_free(d->diff);
	pa_profile_free(d->base);
	pa_profile_free(d->now);
}

static double points(uint64_t base, uint64_t base_sum, uint64_t now, uint64_t sum)
{
	return text_percent(now, sum) - text_percent(base, base_sum);
}

/* In percentage points of the totals. */
static double self_points(const struct pa_diff *d, const struct pa_change *c)
{
	return points(c->base_self, d->base_sum, c->self, d->sum);
}

static double total_points(const struct pa_diff *d, const struct pa_change *c)
{
	return points(c->base_total, d->base_sum, c->total, d->sum);
}

static double magnitude(double v)
{
	return v < 0 ? -v : v;
}

/* "base     old.pb.gz: 2.97s CPU in 297 samples" */
static void print_side(const struct report_page *page, const char *label,
		       const struct pa_profile *p)
{
	const struct pa_summary *s = pa_profile_summary(p);
	char amount[REPORT_AMOUNT_SIZE];
	double unused;
	bool is_time = report_cpu_s(s, 0, &unused);

	(void)report_amount(s, s->samples, amount);
	if (is_time && !s->value_type)
		report_line(page, label, "%s: %ss CPU in %" PRIu64 " sample%s", s->source_file,
			    amount, s->samples, text_plural(s->samples));
	else
		report_line(page, label, "%s: %s%s%s %s", s->source_file, amount,
			    is_time ? "s" : "", report_is_count(s) ? "" : " of",
			    s->value_type ? s->value_type : "samples");
}

static void print_heading(const struct report_page *page)
{
	if (report_is_wide(page))
		(void)printf("%*s%*s%*s%*s  function\n", REPORT_SHARE_COLUMNS, "self",
			     CHANGE_COLUMNS, "change", REPORT_SHARE_COLUMNS + 1, "total",
			     CHANGE_COLUMNS, "change");
	else
		(void)printf("%*s  function\n", CHANGE_COLUMNS, "change");
}

/* On a narrow terminal only the change that the table is sorted by. */
static void print_change(const struct report_page *page, const struct pa_diff *d,
			 const struct pa_change *c)
{
	const struct pa_function_stat f = {
		.name = c->name, .file = c->file, .is_unnamed = c->is_unnamed, .source = c->source
	};
	bool is_by_total = page->opts->sort == REPORT_SORT_TOTAL;
	char self[TEXT_SHARE_SIZE], total[TEXT_SHARE_SIZE];
	int used;

	if (report_is_wide(page))
		used = printf("%*s%+*.1f%*s%+*.1f  ", REPORT_SHARE_COLUMNS,
			      text_share(c->self, d->sum, self), CHANGE_COLUMNS, self_points(d, c),
			      REPORT_SHARE_COLUMNS + 1, text_share(c->total, d->sum, total),
			      CHANGE_COLUMNS, total_points(d, c));
	else
		used = printf("%+*.1f  ", CHANGE_COLUMNS,
			      is_by_total ? total_points(d, c) : self_points(d, c));
	report_function_name(page, &f, report_columns_after(page, used < 0 ? 0 : (uint32_t)used));
	(void)fputc('\n', stdout);
}

static int by_total_points(const void *left, const void *right, void *diff)
{
	double a = magnitude(total_points(diff, left)), b = magnitude(total_points(diff, right));

	return a > b ? -1 : a < b;
}

/* The changes in the order of the table; the caller frees the list. */
static struct pa_change *sorted_changes(const struct diff_run *run)
{
	const struct pa_diff *d = run->diff;
	struct pa_change *list = calloc(d->nr_changes + 1, sizeof(*list));

	for (size_t i = 0; list && i < d->nr_changes; i++)
		list[i] = *PA_ITEM(d, pa_change, d->changes, i);
	if (list && run->o.sort == REPORT_SORT_TOTAL)
		qsort_r(list, d->nr_changes, sizeof(*list), by_total_points, run->diff);
	return list;
}

static bool is_small(const struct pa_diff *d, const struct pa_change *c)
{
	return magnitude(self_points(d, c)) < SMALL_POINTS &&
	       magnitude(total_points(d, c)) < SMALL_POINTS;
}

static void print_changes(const struct report_page *page, const struct diff_run *run)
{
	_cleanup_(freep) struct pa_change *list = sorted_changes(run);
	size_t max = run->o.top ? run->o.top : NR_CHANGES, nr = 0, nr_large = 0;

	for (size_t i = 0; list && i < run->diff->nr_changes; i++) {
		if (!run->o.top && is_small(run->diff, &list[i]))
			continue;
		nr_large++;
		if (nr == max)
			continue;
		if (!nr++)
			print_heading(page);
		print_change(page, run->diff, &list[i]);
	}
	if (!nr)
		report_sentence(page, "no function changed its share");
	else if (nr_large > nr)
		(void)printf("%*zu more%s\n", REPORT_SHARE_COLUMNS, nr_large - nr,
			     report_is_wide(page) && !run->o.top ? " (--top N)" : "");
}

static void print_diff(const struct diff_run *run)
{
	uint32_t columns = text_terminal_columns(STDOUT_FILENO);
	const struct report_options opts = { .max_cols = columns ? columns : TEXT_NO_LIMIT,
					     .sort = run->o.sort };
	const struct report_page page = { NULL, &opts, stdout, SIZE_MAX };

	print_side(&page, "base", run->base);
	print_side(&page, "new", run->now);
	report_line(&page, "change", "%s",
		    "in percentage points: share in new minus share in base");
	(void)fputc('\n', stdout);
	print_changes(&page, run);
}

/* The function that grew most; NULL if none grew. */
static const struct pa_change *largest_growth(const struct pa_diff *d,
					      double (*growth)(const struct pa_diff *,
							       const struct pa_change *),
					      double *ret_points)
{
	const struct pa_change *largest = NULL;

	*ret_points = 0;
	for (size_t i = 0; i < d->nr_changes; i++) {
		const struct pa_change *c = PA_ITEM(d, pa_change, d->changes, i);

		if (growth(d, c) <= *ret_points)
			continue;
		largest = c;
		*ret_points = growth(d, c);
	}
	return largest;
}

/* Checks self time first: if a total grew, those of callers grew with it. */
static int check_growth(const struct diff_run *run)
{
	double limit = run->o.fail_over_percent, grew;
	const struct pa_change *c = largest_growth(run->diff, self_points, &grew);
	const char *kind = "self";

	if (grew <= limit) {
		c = largest_growth(run->diff, total_points, &grew);
		kind = "total";
	}
	if (limit < 0 || !c || grew <= limit)
		return EXIT_STATUS_OK;
	(void)fflush(stdout);
	(void)fputs("perf-agent: --fail-over: ", stderr);
	(void)text_put(stderr, c->is_unnamed ? c->file : c->name, TEXT_NO_LIMIT);
	if (c->source && text_source_name(c->source)) {
		(void)fputs(" [", stderr);
		(void)text_put(stderr, text_source_name(c->source), TEXT_NO_LIMIT);
		(void)fputc(']', stderr);
	}
	(void)fprintf(stderr, " grew by %.1f%% of the total (%s), more than %g%%\n", grew, kind,
		      limit);
	return EXIT_STATUS_LOST;
}

static int write_page(const struct diff_run *run, struct pa_error *err)
{
	const struct pa_output output = { sizeof(output), "flamegraph", run->o.output, NULL };
	const struct pa_file_options opts = run_files_owned();

	return pa_diff_write(run->diff, &output, &opts, err);
}

static int diff_to_end(struct diff_run *run)
{
	struct pa_error err = { 0 };
	int r;

	run->base = run_files_read(&run->o, run->o.paths[0]);
	run->now = run->base ? run_files_read(&run->o, run->o.paths[1]) : NULL;
	if (!run->now)
		return EXIT_STATUS_FAILED;
	r = pa_diff_new(run->base, run->now, &run->diff, &err);
	if (r == 0 && run->o.output)
		r = write_page(run, &err);
	if (r < 0)
		return run_files_failed(r, &err);
	print_diff(run);
	return check_growth(run);
}

int run_diff(int argc, char *argv[])
{
	struct diff_run run = { 0 };
	int status;

	if (file_options_diff(argc, argv, &run.o) < 0)
		return EXIT_STATUS_USAGE;
	if (run.o.action == OPTIONS_HELP) {
		file_options_help("diff", stdout);
		return exit_status_of_stdout(EXIT_STATUS_OK);
	}
	status = diff_to_end(&run);
	diff_run_done(&run);
	return exit_status_of_stdout(status);
}
