/* SPDX-License-Identifier: Apache-2.0 */
/* How complete stacks and symbols are. Files with the same reason and the same fix are one entry.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/flag_names.h"
#include "cli/report_parts.h"
#include "cli/scope.h"
#include "cli/terminal_text.h"

#define NR_ENTRIES 3
#define NR_LIMITS 3
#define NR_FILES_SMALL 2 /* from this many files with a small share on, they are only counted */
#define SMALL_FILE_PER_MILLE 10

/* Samples that lack something for a reason in a file. */
struct missing {
	const char *file, *why, *fix; /* fix: NULL or "" if none is known */
	uint64_t nr_samples;
	bool is_printed;
};

/* A list of the summary, most samples first. */
struct missing_list {
	struct missing *items;
	size_t nr;
	uint64_t seen, samples; /* including files that the list leaves out */
	uint64_t whole;         /* the total that shares refer to */
	const char *what;       /* "truncated" */
};

static bool has_same_fix(const struct missing *a, const struct missing *b)
{
	return !strcmp(a->why, b->why) && !strcmp(a->fix ? a->fix : "", b->fix ? b->fix : "");
}

static void put_path(FILE *f, const char *before, const char *path)
{
	_cleanup_(freep) char *text = text_path(path);

	(void)fprintf(f, "%s%s", before, text ? text : "?");
}

static bool is_small(const struct missing_list *list, const struct missing *h)
{
	return h->nr_samples * 1000 < list->whole * SMALL_FILE_PER_MILLE;
}

/* Files with the same reason and the same fix. */
struct missing_group {
	size_t nr, nr_small;
	uint64_t samples, samples_small;
};

/* Adds up the group of list->items[first], and marks it as printed. */
static struct missing_group sum_group(const struct missing_list *list, size_t first)
{
	struct missing_group g = { 0 };

	for (size_t i = first; i < list->nr; i++) {
		struct missing *h = &list->items[i];

		if (!has_same_fix(&list->items[first], h))
			continue;
		g.nr++;
		g.samples += h->nr_samples;
		h->is_printed = true;
		if (i == first || !is_small(list, h))
			continue;
		g.nr_small++;
		g.samples_small += h->nr_samples;
	}
	return g;
}

/* "/usr/bin/a (8.0%), /usr/bin/b (4.0%), 5 more files (0.6%)" */
static char *group_files(const struct report_page *p, const struct missing_list *list, size_t first,
			 const struct missing_group *g)
{
	bool counts_small = !p->opts->is_verbose && g->nr_small >= NR_FILES_SMALL;
	char share[TEXT_SHARE_SIZE], *files = NULL;
	size_t len;
	FILE *f = open_memstream(&files, &len);

	if (!f)
		return NULL;
	for (size_t i = first; i < list->nr; i++) {
		const struct missing *h = &list->items[i];

		if (!has_same_fix(&list->items[first], h) ||
		    (counts_small && i > first && is_small(list, h)))
			continue;
		put_path(f, i == first ? "" : ", ", h->file);
		if (g->nr > 1)
			(void)fprintf(f, " (%s)", text_share(h->nr_samples, list->whole, share));
	}
	if (counts_small)
		(void)fprintf(f, ", %zu more files (%s)", g->nr_small,
			      text_share(g->samples_small, list->whole, share));
	if (fclose(f) == 0)
		return files;
	free(files);
	return NULL;
}

/* "12.0% truncated in /usr/bin/a (8.0%), /usr/bin/b (4.0%): why", and the fix. Returns how many files. */
static size_t print_group(const struct report_page *p, const struct missing_list *list,
			  size_t first)
{
	const struct missing *head = &list->items[first];
	struct missing_group g = sum_group(list, first);
	_cleanup_(freep) char *files = group_files(p, list, first, &g);
	char share[TEXT_SHARE_SIZE];

	if (!files)
		return 0;
	report_line_with_why(p, head->why, "%s %s in %s", text_share(g.samples, list->whole, share),
			     list->what, files);
	report_fix(p, head->fix);
	return g.nr;
}

static void print_entries(const struct report_page *p, const struct missing_list *list)
{
	size_t max = p->opts->is_verbose ? list->nr : NR_ENTRIES, nr_groups = 0, shown = 0;
	uint64_t rest = list->samples;

	for (size_t i = 0; i < list->nr && nr_groups < max; i++) {
		if (list->items[i].is_printed)
			continue;
		shown += print_group(p, list, i);
		nr_groups++;
	}
	for (size_t i = 0; i < list->nr; i++)
		rest -= list->items[i].is_printed ? list->items[i].nr_samples : 0;
	if (list->seen > shown)
		report_line(p, "", "%" PRIu64 " more, %.1f%% of the samples%s", list->seen - shown,
			    text_percent(rest, list->whole),
			    list->nr > shown ? " (-v shows more)" : "");
}

/* Advice for JIT code is printed once per runtime (report_hints()). */
static const char *fix_of(const struct pa_summary *s, const char *file, const char *fix)
{
	return s->nr_hints && !strcmp(file, "[jit]") ? NULL : fix;
}

static void print_truncated(const struct report_page *p, const struct pa_section *c)
{
	const struct pa_summary *s = p->s;
	_cleanup_(freep) struct missing *items = calloc(c->nr_truncations + 1, sizeof(*items));
	struct missing_list list = {
		items,      c->nr_truncations, c->truncations_seen, c->truncations_samples,
		c->samples, "truncated"
	};

	if (!items)
		return;
	for (size_t i = 0; i < c->nr_truncations; i++) {
		const struct pa_truncation_stat *t =
			PA_ITEM(s, pa_truncation_stat, c->truncations, i);

		items[i] = (struct missing){ t->file, t->text, fix_of(s, t->file, t->fix),
					     t->nr_samples, false };
	}
	print_entries(p, &list);
}

static void print_unresolved(const struct report_page *p, const struct pa_section *c,
			     const char *what)
{
	const struct pa_summary *s = p->s;
	_cleanup_(freep) struct missing *items = calloc(c->nr_unnamed + 1, sizeof(*items));
	struct missing_list list = { items,      c->nr_unnamed, c->unnamed_seen, c->unnamed_samples,
				     c->samples, what };

	if (!items)
		return;
	for (size_t i = 0; i < c->nr_unnamed; i++) {
		const struct pa_unnamed_stat *u = PA_ITEM(s, pa_unnamed_stat, c->unnamed, i);

		items[i] = (struct missing){ u->file, u->why, fix_of(s, u->file, u->fix),
					     u->nr_samples, false };
	}
	print_entries(p, &list);
}

/* The summary of a file has no sections. */
static struct pa_section whole_of(const struct pa_summary *s)
{
	return (struct pa_section){
		.samples = s->samples,
		.stacks_complete = s->stacks_complete,
		.no_user_stack = s->no_user_stack,
		.truncations = s->truncations,
		.nr_truncations = s->nr_truncations,
		.truncations_seen = s->truncations_seen,
		.truncations_samples = s->truncations_samples,
		.unnamed = s->unnamed,
		.nr_unnamed = s->nr_unnamed,
		.unnamed_seen = s->unnamed_seen,
		.unnamed_samples = s->unnamed_samples,
	};
}

/* The nth further section with stacks; NULL if that section has none. */
static const struct pa_section *further(const struct pa_summary *s, size_t i)
{
	const struct pa_section *c = PA_ITEM(s, pa_section, s->sections, i);

	return i && c->nr_stops ? c : NULL;
}

/* The percentage refers to samples that have a user stack. */
static void print_complete(const struct report_page *p, const struct pa_section *c,
			   const char *label, const char *name)
{
	uint64_t nr_stacks = c->samples - c->no_user_stack;
	char share[TEXT_SHARE_SIZE], none[64] = "";

	if (c->no_user_stack && p->opts->is_verbose)
		(void)snprintf(none, sizeof(none), "; %" PRIu64 " sample%s without a user stack",
			       c->no_user_stack, text_plural(c->no_user_stack));
	if (nr_stacks)
		report_line(p, label, "%s%s%s complete%s", name, *name ? ": " : "",
			    text_share(c->stacks_complete, nr_stacks, share), none);
	else
		report_line(p, label, "%s%sno sample has a user stack", name, *name ? ": " : "");
	print_truncated(p, c);
}

void report_stacks(const struct report_page *p)
{
	struct pa_section first = whole_of(p->s);

	if (first.samples)
		print_complete(p, &first, "stacks", "");
	for (size_t i = 0; i < p->s->nr_sections; i++)
		if (further(p->s, i))
			print_complete(p, further(p->s, i), first.samples ? "" : "stacks",
				       further(p->s, i)->name);
}

static bool has_kernel_frames(const struct pa_summary *s)
{
	if (s->kernel_stacks)
		return true;
	for (size_t i = 0; i < s->nr_functions; i++)
		if (!strcmp(PA_ITEM(s, pa_function_stat, s->functions, i)->file, "[kernel]"))
			return true;
	return false;
}

/* The source of kernel symbols. If there is none, users who see kernel frames should know why. */
static void print_kernel_symbols(const struct report_page *p)
{
	const char *source = p->s->kernel_symbols;

	if (source && has_kernel_frames(p->s) &&
	    (p->opts->is_verbose || !strncmp(source, "none", strlen("none"))))
		report_line(p, "", "kernel: %s", source);
}

static uint64_t count_interrupted(const struct pa_summary *s)
{
	for (size_t i = 0; i < s->nr_naming_failures; i++) {
		const struct pa_count *c = PA_ITEM(s, pa_count, s->naming_failures, i);

		if (!strcmp(c->name, "interrupted"))
			return c->count;
	}
	return 0;
}

/* What was left out because the user waited. */
static void print_interrupted(const struct report_page *p)
{
	uint64_t nr_names = count_interrupted(p->s), nr_lines = p->s->naming_lines_interrupted;

	if (!nr_names && !nr_lines)
		return;
	report_line(p, "",
		    "left out because of the interrupt: the names of %" PRIu64
		    " address%s, the lines of %" PRIu64,
		    nr_names, nr_names == 1 ? "" : "es", nr_lines);
	report_fix(p, "let the capture end by itself, after --duration");
}

void report_symbols(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	struct pa_section first = whole_of(s);
	char share[TEXT_SHARE_SIZE], what[64];

	if (s->nr_locations)
		report_line(p, "symbols", "%s of %" PRIu64 " address%s resolved",
			    text_share(s->nr_locations_named, s->nr_locations, share),
			    s->nr_locations, s->nr_locations == 1 ? "" : "es");
	print_interrupted(p);
	print_unresolved(p, &first, "of samples without symbols");
	for (size_t i = 0; i < s->nr_sections; i++) {
		const struct pa_section *c = further(s, i);

		if (!c)
			continue;
		(void)snprintf(what, sizeof(what), "of %s without symbols", c->name);
		print_unresolved(p, c, what);
	}
	report_hints(p);
	print_kernel_symbols(p);
}

static void print_fetches(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	char size[TEXT_SIZE_SIZE];

	for (size_t i = 0; i < s->nr_fetches; i++) {
		const struct pa_count *c = PA_ITEM(s, pa_count, s->fetches, i);

		report_line(p, "debug", "%" PRIu64 " debug file%s %s", c->count,
			    text_plural(c->count), c->text);
	}
	for (size_t i = 0; i < s->nr_fetch_failures; i++) {
		const struct pa_fetch_failure *f =
			PA_ITEM(s, pa_fetch_failure, s->fetch_failures, i);

		report_line_with_why(p, f->text, "%s: %" PRIu64 " file%s", f->server, f->count,
				     text_plural(f->count));
	}
	if (s->fetched_bytes)
		report_line(p, "", "%s downloaded", text_size(s->fetched_bytes, size));
}

void report_debug_files(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	char problem[FLAG_NAMES_SIZE];

	if (s->nr_debug_files && p->opts->is_verbose)
		report_line(p, "debug", "%" PRIu64 " file%s with lines from a separate debug file",
			    s->nr_debug_files, text_plural(s->nr_debug_files));
	print_fetches(p);
	if (s->nr_cache_evicted && p->opts->is_verbose)
		report_line(p, "debug", "%" PRIu64 " older file%s removed from the cache",
			    s->nr_cache_evicted, text_plural(s->nr_cache_evicted));
	if (s->nr_debug_mismatches)
		report_line(p, "debug", "%" PRIu64 " debug file%s of another build not used",
			    s->nr_debug_mismatches, text_plural(s->nr_debug_mismatches));
	if (s->nr_unnamed_by_rule)
		report_line(p, "debug", "%" PRIu64 " file%s without symbols: --symbol-fail-closed",
			    s->nr_unnamed_by_rule, text_plural(s->nr_unnamed_by_rule));
	if (s->fetch_problem)
		report_line(p, "debug", "nothing could be fetched: %s",
			    flag_names(s->fetch_problem, problem));
}

void report_limits(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	size_t nr = report_min(s->nr_limits, p->opts->is_verbose ? s->nr_limits : NR_LIMITS);

	for (size_t i = 0; i < nr; i++) {
		const struct pa_limit_stat *l = PA_ITEM(s, pa_limit_stat, s->limits, i);
		_cleanup_(freep) char *file = text_path(l->file);

		report_line(p, i ? "" : "limits", "%s: %s", file ? file : "?", l->text);
	}
	if (s->limits_seen > nr)
		report_line(p, "", "%" PRIu64 " more files over the limits%s", s->limits_seen - nr,
			    p->opts->is_verbose ? "" : " (-v shows more)");
}
