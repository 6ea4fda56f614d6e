/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/duration.h"
#include "cli/scope.h"
#include "cli/text.h"

#define NR_FUNCTIONS 10
#define NR_FUNCTIONS_VERBOSE 30
#define NR_CUTS 3
#define NR_UNNAMED 3
#define NR_LIMITS 3
#define NR_UNANSWERED 3
#define LABEL_COLUMNS 9
#define WHY_COLUMNS 11          /* before a reason that has a line of its own */
#define TABLE_COLUMNS 19        /* before the name of a function */
#define SELF_TO_NAME_COLUMNS 11 /* of them, behind the first number */
#define MORE_TEXT_SIZE 64
#define NAME_COLUMNS_MIN 20 /* below, the table does not try to fit any more */
#define FILE_COLUMNS_MAX 40 /* the most that a file may take of a line with a limit */

/* What is left of a line for text that begins behind indent; a terminal too narrow is not fitted. */
static uint32_t columns_behind(const struct report_options *opts, uint32_t indent)
{
	return opts->max_cols > indent + NAME_COLUMNS_MIN && opts->max_cols != TEXT_NO_LIMIT
		       ? opts->max_cols - indent
		       : TEXT_NO_LIMIT;
}

/* Cuts text up, whatever is in it. */
static void put_line(const struct report_options *opts, FILE *out, const char *label,
		     uint32_t indent, char *text)
{
	(void)fprintf(out, "%-*s", (int)indent, label);
	text_wrap(out, text, columns_behind(opts, indent), indent);
	(void)fputc('\n', out);
}

/* "label    text", in several lines where it does not fit. */
__attribute__((format(printf, 4, 5))) static void line(const struct report_options *opts, FILE *out,
						       const char *label, const char *fmt, ...)
{
	_cleanup_(freep) char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		text = NULL; /* left undefined; a report without this line is still a report */
	else
		put_line(opts, out, label, LABEL_COLUMNS, text);
}

/* "text: why"; where that does not fit, why has a line of its own, so that it is found. */
__attribute__((format(printf, 4, 5))) static void line_with_why(const struct report_options *opts,
								FILE *out, const char *why,
								const char *fmt, ...)
{
	_cleanup_(freep) char *text = NULL, *copy = strdup(why);
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		text = NULL; /* as above */
	if (!text || !copy)
		return;
	if ((uint64_t)text_columns(text) + strlen(": ") + text_columns(why) <=
	    columns_behind(opts, LABEL_COLUMNS)) {
		line(opts, out, "", "%s: %s", text, why);
		return;
	}
	put_line(opts, out, "", LABEL_COLUMNS, text);
	put_line(opts, out, "", WHY_COLUMNS, copy);
}

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Never cut: a path is there to be copied. */
static void print_output(const char *path, const char *kind, uint64_t size_bytes, FILE *out)
{
	char size[TEXT_SIZE_SIZE];

	(void)fprintf(out, "%-*s", LABEL_COLUMNS, "wrote");
	(void)text_put(out, strcmp(path, "-") ? path : "standard output", TEXT_NO_LIMIT);
	(void)fprintf(out, " (%s, %s)\n", kind, text_size(size_bytes, size));
}

static void print_outputs(const struct pa_summary *s, const struct report_options *opts, FILE *out)
{
	for (size_t i = 0; i < s->nr_outputs; i++)
		print_output(s->outputs[i].path, s->outputs[i].kind, s->outputs[i].size_bytes, out);
	if (opts->json_path)
		print_output(opts->json_path, "json", opts->json_size_bytes, out);
}

static bool has_cpu_clock(const struct pa_summary *s)
{
	return !strcmp(s->event, "cpu-clock");
}

static uint64_t ticks_not_delivered(const struct pa_summary *s)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < s->nr_losses; i++)
		if (strcmp(s->losses[i].name, "not_delivered") == 0)
			nr += s->losses[i].count;
	return nr;
}

/* Of ticks that were not delivered nobody knows whom they would have met: idle CPUs of a virtual machine
 * as well as busy ones. So they are no part of either, but of the whole. */
static void print_busy(const struct pa_summary *s, const struct report_options *opts, FILE *out)
{
	uint64_t missing = ticks_not_delivered(s);
	char duration[DURATION_TEXT_SIZE], unknown[64] = "";

	if (missing * 1000 >= s->ticks_due) /* 0.1 % */
		(void)snprintf(unknown, sizeof(unknown), ", %.1f%% not known",
			       text_percent(missing, s->ticks_due));
	duration_format(s->duration_ns, duration);
	line(opts, out, "CPUs", "%.1f%% busy%s (%u CPU%s, %s at %u Hz)",
	     text_percent(s->ticks_due - missing - s->ticks_idle, s->ticks_due), unknown,
	     s->nr_cpus, text_plural(s->nr_cpus), duration, s->sample_rate_hz);
}

/* Of no ticks there are no shares. */
static void print_load(const struct pa_summary *s, const struct report_options *opts, FILE *out)
{
	char duration[DURATION_TEXT_SIZE];
	double share = text_percent(s->samples, s->ticks_due);

	if (!s->ticks_due)
		return;
	duration_format(s->duration_ns, duration);
	if (!has_cpu_clock(s)) /* cycles stand still on an idle CPU: they say nothing of how idle */
		line(opts, out, "CPUs", "%u, %s, one sample each 1/%u s by %s", s->nr_cpus,
		     duration, s->sample_rate_hz, s->event);
	else
		print_busy(s, opts, out);
	if (opts->is_system_wide)
		return;
	if (has_cpu_clock(s))
		line(opts, out, "target", "%.1f%% of the CPU time, %.2f CPUs on average%s", share,
		     share * s->nr_cpus / 100,
		     s->targets_exited ? "; the capture ended with it" : "");
	else
		line(opts, out, "target", "%.1f%% of the events%s", share,
		     s->targets_exited ? "; the capture ended with it" : "");
}

static void print_no_samples(const struct pa_summary *s, const struct report_options *opts,
			     FILE *out)
{
	char duration[DURATION_TEXT_SIZE];

	if (!s->ticks_due)
		line(opts, out, "samples", "none: no tick at %u Hz was due within %s",
		     s->sample_rate_hz, duration_format(s->duration_ns, duration));
	else if (s->ticks_lost == s->ticks_due)
		line(opts, out, "samples", "none: all ticks were lost");
	else if (s->ticks_outside)
		line(opts, out, "samples", "none: all that ran was outside of this PID namespace");
	else if (opts->is_system_wide)
		line(opts, out, "samples", "none: the machine was idle whenever it was looked at");
	else
		line(opts, out, "samples", "%s",
		     "none: the target never ran when it was looked at; it may be idle, waiting, "
		     "or "
		     "have ended early");
}

/* A file is shown by its last part where columns are scarce. */
static void print_function(const struct pa_summary *s, const struct pa_function_stat *f,
			   const struct report_options *opts, FILE *out)
{
	const char *file = opts->is_verbose ? f->file : text_file_name(f->file);
	bool has_brackets = file[0] == '[';
	uint32_t name_cols = TEXT_NO_LIMIT, file_cols = text_columns(file);

	if (opts->max_cols != TEXT_NO_LIMIT) {
		uint32_t left = opts->max_cols > TABLE_COLUMNS + NAME_COLUMNS_MIN
					? opts->max_cols - TABLE_COLUMNS
					: NAME_COLUMNS_MIN;

		if (file_cols > left / 2)
			file_cols = left / 2;
		if (file_cols > FILE_COLUMNS_MAX)
			file_cols = FILE_COLUMNS_MAX;
		name_cols = left - file_cols - (has_brackets ? 1 : 3);
	}
	(void)fprintf(out, " %6.1f%%  %6.1f%%  ", text_percent(f->nr_self, s->samples),
		      text_percent(f->nr_total, s->samples));
	(void)text_put(out, f->name, name_cols);
	(void)fputs(has_brackets ? " " : " [", out);
	(void)text_put(out, file, file_cols);
	(void)fputs(has_brackets ? "\n" : "]\n", out);
}

/* What the table leaves out: a list that is cut says so. */
static void print_more_functions(const struct pa_summary *s, size_t nr_shown,
				 const struct report_options *opts, FILE *out)
{
	uint64_t more = s->functions_seen - nr_shown, self = s->functions_self;
	char text[MORE_TEXT_SIZE];

	if (s->functions_seen <= nr_shown)
		return;
	for (size_t i = 0; i < nr_shown; i++)
		self -= s->functions[i].nr_self;
	(void)snprintf(text, sizeof(text), "... %" PRIu64 " more function%s%s", more,
		       text_plural(more), opts->is_verbose ? "" : " (-v shows more)");
	(void)fprintf(out, " %6.1f%%%*s", text_percent(self, s->samples), SELF_TO_NAME_COLUMNS, "");
	(void)text_put(out, text, columns_behind(opts, TABLE_COLUMNS));
	(void)fputc('\n', out);
}

static void print_functions(const struct pa_summary *s, const struct report_options *opts,
			    FILE *out)
{
	size_t nr =
		min_size(s->nr_functions, opts->is_verbose ? NR_FUNCTIONS_VERBOSE : NR_FUNCTIONS);

	if (!nr)
		return;
	(void)fputs("\n    self    total  function\n", out);
	for (size_t i = 0; i < nr; i++)
		print_function(s, &s->functions[i], opts, out);
	print_more_functions(s, nr, opts, out);
	(void)fputc('\n', out);
}

static void print_cure(const char *cure, FILE *out)
{
	if (cure && *cure) /* never cut: a cure is there to be followed */
		line(&(struct report_options){ .max_cols = TEXT_NO_LIMIT }, out, "", "  fix: %s",
		     cure);
}

/* Of a list by number of samples: what it leaves out. listed: how many -v would show. */
static void print_more(const struct report_options *opts, FILE *out, uint64_t seen, size_t shown,
		       size_t listed, double percent)
{
	if (seen > shown)
		line(opts, out, "", "... %" PRIu64 " more, %.1f%% of the samples%s", seen - shown,
		     percent, listed > shown ? " (-v shows more)" : "");
}

static void print_cuts(const struct pa_summary *s, const struct report_options *opts, FILE *out)
{
	size_t nr = opts->is_verbose ? s->nr_cuts : min_size(s->nr_cuts, NR_CUTS);
	uint64_t rest = s->cuts_samples;
	char share[TEXT_SHARE_SIZE];

	for (size_t i = 0; i < nr; i++) {
		const struct pa_cut_stat *c = &s->cuts[i];

		line_with_why(opts, out, c->text, "%s cut in %s",
			      text_share(c->nr_samples, s->samples, share), c->file);
		print_cure(c->cure, out);
		rest -= c->nr_samples;
	}
	print_more(opts, out, s->cuts_seen, nr, s->nr_cuts, text_percent(rest, s->samples));
}

/* The share is one of those that have a user stack. */
static void print_complete(const struct pa_summary *s, const struct report_options *opts, FILE *out)
{
	uint64_t nr_stacks = s->samples - s->no_user_stack;
	char share[TEXT_SHARE_SIZE], finished[64] = "", none[64] = "";

	if (s->walks_finished)
		(void)snprintf(finished, sizeof(finished),
			       "; %" PRIu64 " walk%s finished outside the kernel",
			       s->walks_finished, text_plural(s->walks_finished));
	if (s->no_user_stack)
		(void)snprintf(none, sizeof(none), "; %" PRIu64 " sample%s without a user stack",
			       s->no_user_stack, text_plural(s->no_user_stack));
	if (nr_stacks)
		line(opts, out, "stacks", "%s complete%s%s",
		     text_share(s->stacks_complete, nr_stacks, share), finished, none);
	else
		line(opts, out, "stacks", "no sample has a user stack");
}

static void print_stacks(const struct pa_summary *s, const struct report_options *opts, FILE *out)
{
	line(opts, out, "samples", "%" PRIu64 " in %" PRIu64 " stack%s of %" PRIu64 " process%s",
	     s->samples, s->nr_stacks, text_plural(s->nr_stacks), s->nr_processes,
	     s->nr_processes == 1 ? "" : "es");
	print_complete(s, opts, out);
	print_cuts(s, opts, out);
}

static void print_names(const struct pa_summary *s, const struct report_options *opts, FILE *out)
{
	size_t nr = min_size(s->nr_unnamed, opts->is_verbose ? s->nr_unnamed : NR_UNNAMED);
	uint64_t rest = s->unnamed_samples;
	char share[TEXT_SHARE_SIZE];

	if (s->nr_locations)
		line(opts, out, "names", "%s of %" PRIu64 " address%s",
		     text_share(s->nr_locations_named, s->nr_locations, share), s->nr_locations,
		     s->nr_locations == 1 ? " has one" : "es have one");
	for (size_t i = 0; i < nr; i++) {
		const struct pa_unnamed_stat *u = &s->unnamed[i];

		line_with_why(opts, out, u->why, "%s: %" PRIu64 " sample%s (%s) without a name",
			      u->file, u->nr_samples, text_plural(u->nr_samples),
			      text_share(u->nr_samples, s->samples, share));
		print_cure(u->cure, out);
		rest -= u->nr_samples;
	}
	print_more(opts, out, s->unnamed_seen, nr, s->nr_unnamed, text_percent(rest, s->samples));
}

/* Files that would have cost too much: few are shown, all are counted. */
static void print_limits(const struct pa_summary *s, const struct report_options *opts, FILE *out)
{
	size_t nr = min_size(s->nr_limits, opts->is_verbose ? s->nr_limits : NR_LIMITS);

	for (size_t i = 0; i < nr; i++)
		line(opts, out, i ? "" : "limits", "%s: %s", s->limits[i].file, s->limits[i].text);
	if (s->limits_seen > nr)
		line(opts, out, "", "... %" PRIu64 " more over the limits%s", s->limits_seen - nr,
		     opts->is_verbose ? "" : " (-v shows more)");
}

/* Whose fault it was that debug files could not be had. */
static void print_fetch_failures(const struct pa_summary *s, const struct report_options *opts,
				 FILE *out)
{
	for (size_t i = 0; i < s->nr_fetch_failures; i++) {
		const struct pa_fetch_failure *f = &s->fetch_failures[i];

		line_with_why(opts, out, f->text, "%s: %" PRIu64 " file%s", f->server, f->count,
			      text_plural(f->count));
	}
}

/* Where names came from beyond the binaries; what went wrong is said always. */
static void print_debug_files(const struct pa_summary *s, const struct report_options *opts,
			      FILE *out)
{
	char size[TEXT_SIZE_SIZE];
	const char *label = "debug";

	if (s->nr_debug_files && opts->is_verbose) {
		line(opts, out, label, "%" PRIu64 " file%s with lines in a separate debug file",
		     s->nr_debug_files, text_plural(s->nr_debug_files));
		label = "";
	}
	for (size_t i = 0; i < s->nr_fetches; i++, label = "")
		line(opts, out, label, "%" PRIu64 " debug file%s %s", s->fetches[i].count,
		     text_plural(s->fetches[i].count), s->fetches[i].text);
	print_fetch_failures(s, opts, out);
	if (s->fetched_bytes)
		line(opts, out, label, "%s came from servers", text_size(s->fetched_bytes, size));
	if (s->nr_cache_evicted && opts->is_verbose)
		line(opts, out, "", "%" PRIu64 " older file%s left the cache to make room",
		     s->nr_cache_evicted, text_plural(s->nr_cache_evicted));
	if (s->nr_debug_mismatches)
		line(opts, out, "debug", "%" PRIu64 " debug file%s of another build %s not used",
		     s->nr_debug_mismatches, text_plural(s->nr_debug_mismatches),
		     s->nr_debug_mismatches == 1 ? "was" : "were");
	if (s->nr_unnamed_by_rule)
		line(opts, out, "debug", "%" PRIu64 " file%s without names: --symbol-fail-closed",
		     s->nr_unnamed_by_rule, text_plural(s->nr_unnamed_by_rule));
	if (s->fetch_problem)
		line(&(struct report_options){ .max_cols = TEXT_NO_LIMIT }, out, "debug",
		     "nothing was fetched: %s", s->fetch_problem);
}

static double ms_of(uint64_t ns)
{
	return (double)ns * 1e3 / NS_PER_S;
}

static void print_naming(const struct pa_summary *s, const struct report_options *opts, FILE *out)
{
	if (!opts->is_verbose || !s->naming_batches)
		return;
	line(opts, out, "naming",
	     "%" PRIu64 " address%s in %" PRIu64
	     " batch%s (p50 %.1f ms, p99 %.1f ms, max %.1f ms); %" PRIu64 " raw, %" PRIu64
	     " fallback%s",
	     s->naming_addresses, s->naming_addresses == 1 ? "" : "es", s->naming_batches,
	     s->naming_batches == 1 ? "" : "es", ms_of(s->naming_p50_ns), ms_of(s->naming_p99_ns),
	     ms_of(s->naming_max_ns), s->naming_raw, s->naming_fallbacks,
	     text_plural(s->naming_fallbacks));
	for (size_t i = 0; i < s->nr_naming_failures; i++)
		if (s->naming_failures[i].count)
			line(opts, out, "", "%" PRIu64 " without a name: %s",
			     s->naming_failures[i].count, s->naming_failures[i].text);
}

static bool has_kernel_frames(const struct pa_summary *s, const struct report_options *opts)
{
	if (opts->has_kernel_stacks)
		return true;
	for (size_t i = 0; i < s->nr_functions; i++)
		if (!strcmp(s->functions[i].file, "[kernel]"))
			return true;
	return false;
}

/* Who keeps others waiting is named; what it has mapped stays without names. */
static void print_unanswered(const struct pa_summary *s, const struct report_options *opts,
			     FILE *out)
{
	size_t nr = opts->is_verbose ? s->nr_unanswered : min_size(s->nr_unanswered, NR_UNANSWERED);

	for (size_t i = 0; i < nr; i++) {
		const struct pa_unanswered_stat *u = &s->unanswered[i];

		if (u->pid)
			line(opts, out, "silent",
			     "PID %u: %s did not answer; it was not asked again", u->pid, u->what);
		else
			line(opts, out, "silent", "%s did not answer; it was not asked again",
			     u->what);
	}
	if (s->unanswered_seen > nr)
		line(opts, out, "silent", "... %" PRIu64 " more", s->unanswered_seen - nr);
}

static void print_losses(const struct pa_summary *s, const struct report_options *opts, FILE *out)
{
	uint64_t sum =
		s->ticks_idle + s->ticks_other + s->ticks_outside + s->samples + s->ticks_lost;

	if (!s->ticks_lost && !s->sideband_lost)
		line(opts, out, "lost", "nothing was lost");
	for (size_t i = 0; i < s->nr_losses; i++)
		if (s->losses[i].count)
			line(opts, out, "lost", "%" PRIu64 " tick%s (%.2f%%): %s",
			     s->losses[i].count, text_plural(s->losses[i].count),
			     text_percent(s->losses[i].count, s->ticks_due), s->losses[i].text);
	if (s->sideband_lost)
		line(opts, out, "lost", "%" PRIu64 " record%s about processes and mappings",
		     s->sideband_lost, text_plural(s->sideband_lost));
	line(opts, out, "ticks",
	     "%" PRIu64 " due = %" PRIu64 " idle + %" PRIu64 " other + %" PRIu64
	     " outside + %" PRIu64 " sample%s + %" PRIu64 " lost",
	     s->ticks_due, s->ticks_idle, s->ticks_other, s->ticks_outside, s->samples,
	     text_plural(s->samples), s->ticks_lost);
	if (sum != s->ticks_due)
		line(opts, out, "", "these do not add up, which is a bug in perf-agent; report it");
}

/* What the unwind tables took, for who asks; what they lacked, for everybody. */
static void print_tables(const struct pa_summary *s, const struct report_options *opts, FILE *out)
{
	char size[TEXT_SIZE_SIZE];

	if (s->nr_tables && (opts->is_verbose || s->tables_evicted))
		line(opts, out, "tables",
		     "%" PRIu64 " file%s, %s at most; dropped to make room %" PRIu64 " time%s",
		     s->nr_tables, text_plural(s->nr_tables), text_size(s->tables_peak_bytes, size),
		     s->tables_evicted, text_plural(s->tables_evicted));
	if (s->tables_refused)
		line(opts, out, "tables",
		     "%" PRIu64 " had no room in the kernel; their stacks were finished outside",
		     s->tables_refused);
	if (opts->is_verbose && s->notices_lost)
		line(opts, out, "woken", "too late %" PRIu64 " time%s: the ring was full",
		     s->notices_lost, text_plural(s->notices_lost));
}

#define MUCH_KERNEL 10 /* percent; below, what the kernel does is not what is looked for */

/* Without its stacks, time in the kernel is that of the function that called it. */
static void print_kernel(const struct pa_summary *s, const struct report_options *opts, FILE *out)
{
	double percent = text_percent(s->samples_in_kernel, s->samples);

	if (s->kernel_symbols && s->samples && has_kernel_frames(s, opts))
		line(opts, out, "kernel", "names: %s", s->kernel_symbols);
	if (!opts->has_kernel_stacks && percent >= MUCH_KERNEL)
		line(opts, out, "kernel",
		     "%.1f%% of the samples were in the kernel; --kernel-stacks shows where",
		     percent);
}

static void print_cost(const struct pa_summary *s, const struct report_options *opts, FILE *out)
{
	char size[TEXT_SIZE_SIZE];

	line(opts, out, "agent",
	     "%.2fs of CPU time while sampling, %.2fs with start and symbols; %s of memory at most",
	     (double)s->agent_sampling_cpu_ns / NS_PER_S, (double)s->agent_cpu_ns / NS_PER_S,
	     text_size(s->agent_peak_rss_bytes, size));
}

void report_print(const struct pa_summary *s, const struct report_options *opts, FILE *out)
{
	print_outputs(s, opts, out);
	print_load(s, opts, out);
	if (s->samples) {
		print_functions(s, opts, out);
		print_stacks(s, opts, out);
		print_names(s, opts, out);
		print_debug_files(s, opts, out);
		print_limits(s, opts, out);
		print_naming(s, opts, out);
	} else {
		print_no_samples(s, opts, out);
	}
	print_kernel(s, opts, out);
	print_unanswered(s, opts, out);
	print_losses(s, opts, out);
	print_tables(s, opts, out);
	print_cost(s, opts, out);
}
