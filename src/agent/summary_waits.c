/* SPDX-License-Identifier: Apache-2.0 */
/* Where threads waited: by the innermost functions of their own (wait_code.h), the state and the system
 * call. */
#include <errno.h>
#include <stdio.h>

#include "agent/summary.h"
#include "agent/wait_code.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/idtable.h"
#include "model/syscall_name.h"

#define NR_OWN_FRAMES 3
#define MAX_ROWS (1u << 20)

/* Waits that form one row. */
struct row {
	/* functions of the profile, innermost first; PROFILE_NONE: no more */
	uint32_t functions[NR_OWN_FRAMES];
	int syscall_nr;
	uint8_t state;
	struct pa_wait_sum sum;
};

struct rows {
	struct row *all; /* owned */
	uint32_t nr, cap;
	struct idtable index;
};

static void rows_done(struct rows *r)
{
	idtable_done(&r->index);
	free(r->all);
}

static enum wait_code code_of(const struct profile *p, const struct profile_location *l,
			      uint32_t line)
{
	const struct profile_function *f = &p->functions[p->lines[l->first_line + line].function];

	if (l->mapping >= p->nr_mappings)
		return WAIT_CODE_OWN;
	return wait_code_of(p->mappings[l->mapping].kind, summary_mapping_path(p, l->mapping),
			    profile_str(p, f->system_name), profile_str(p, f->name));
}

/* Adds the functions of one frame from a line on: inlined ones, and the one that they were inlined
 * into. Where the program has functions of its own, only those. */
static uint32_t add_functions(const struct profile *p, uint32_t location, uint32_t line,
			      enum wait_code best, struct row *to, uint32_t nr)
{
	const struct profile_location *l = &p->locations[location];

	for (; line < l->nr_lines && nr < NR_OWN_FRAMES; line++)
		if (best < WAIT_CODE_OWN || code_of(p, l, line) == WAIT_CODE_OWN)
			to->functions[nr++] = p->lines[l->first_line + line].function;
	return nr;
}

/* Finds the first function of the best kind of code that the stack has, and returns that kind; the
 * first function if all of it is the scheduler's. */
static enum wait_code find_start(const struct profile *p, const struct profile_span *s,
				 uint32_t *ret_frame, uint32_t *ret_line)
{
	enum wait_code best = WAIT_CODE_SCHEDULER;

	*ret_frame = *ret_line = 0;
	for (uint32_t i = 0; i < s->nr && best < WAIT_CODE_OWN; i++) {
		const struct profile_location *l = &p->locations[p->frames[s->first + i]];

		for (uint32_t line = 0; line < l->nr_lines && best < WAIT_CODE_OWN; line++) {
			enum wait_code code = code_of(p, l, line);

			if (code <= best)
				continue;
			best = code;
			*ret_frame = i;
			*ret_line = line;
		}
	}
	return best;
}

static void find_functions(const struct profile *p, uint32_t stack, struct row *to)
{
	const struct profile_span *s = &p->stacks[stack];
	uint32_t at, line, nr = 0;
	enum wait_code best = find_start(p, s, &at, &line);

	for (; at < s->nr && nr < NR_OWN_FRAMES; at++, line = 0)
		nr = add_functions(p, p->frames[s->first + at], line, best, to, nr);
	while (nr < NR_OWN_FRAMES)
		to->functions[nr++] = PROFILE_NONE;
}

static bool is_row(const void *owner, uint32_t id, const void *key)
{
	const struct row *a = &((const struct rows *)owner)->all[id], *b = key;

	return a->state == b->state && a->syscall_nr == b->syscall_nr &&
	       !memcmp(a->functions, b->functions, sizeof(a->functions));
}

static int add_to_row(struct rows *rows, const struct row *more)
{
	uint64_t h = hash_mix((uint64_t)more->state, (uint64_t)more->syscall_nr);
	struct row *to;
	uint32_t at;
	int r;

	for (unsigned int i = 0; i < NR_OWN_FRAMES; i++)
		h = hash_mix(h, more->functions[i]);
	if (!idtable_find(&rows->index, h, is_row, rows, more, &at)) {
		r = ARRAY_RESERVE(rows->all, rows->cap, rows->nr + 1, MAX_ROWS);
		if (r == 0)
			r = idtable_reserve(&rows->index);
		if (r < 0)
			return r;
		at = rows->nr++;
		idtable_insert(&rows->index, h, at);
		rows->all[at] = *more;
		return 0;
	}
	to = &rows->all[at];
	to->sum.nr += more->sum.nr;
	to->sum.ns += more->sum.ns;
	if (more->sum.max_ns > to->sum.max_ns)
		to->sum.max_ns = more->sum.max_ns;
	return 0;
}

static int add_wait(const struct model *model, const struct model_wait *w, struct rows *rows)
{
	struct row row = { .syscall_nr = w->syscall_nr };
	int r = 0;

	find_functions(model->profile, w->stack, &row);
	for (unsigned int i = 0; i < PA_NR_WAIT_STATES && r == 0; i++) {
		if (!w->sums[i].nr)
			continue;
		row.state = (uint8_t)i;
		row.sum = w->sums[i];
		r = add_to_row(rows, &row);
	}
	return r;
}

static int compare_rows(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	if (a->sum.ns != b->sum.ns)
		return a->sum.ns < b->sum.ns ? 1 : -1;
	return memcmp(a->functions, b->functions, sizeof(a->functions));
}

/* Writes "read_all < load < main". */
static void write_functions(const struct profile *p, const struct row *row,
			    char text[SUMMARY_WAIT_SIZE])
{
	size_t len = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i < NR_OWN_FRAMES && row->functions[i] != PROFILE_NONE; i++) {
		int n = snprintf(text + len, SUMMARY_WAIT_SIZE - len, "%s%s", i ? " < " : "",
				 profile_str(p, p->functions[row->functions[i]].name));

		if (n < 0 || (size_t)n >= SUMMARY_WAIT_SIZE - len)
			return; /* the end of a long text is left out */
		len += (size_t)n;
	}
}

static void fill_wait(const struct profile *p, const struct row *row, struct pa_wait_stat *to,
		      char text[SUMMARY_WAIT_SIZE])
{
	write_functions(p, row, text);
	*to = (struct pa_wait_stat){
		.functions = text,
		.state = model_wait_state_name(row->state),
		.syscall = row->syscall_nr < 0 ? NULL : syscall_name(row->syscall_nr),
		.nr_intervals = row->sum.nr,
		.total_ns = row->sum.ns,
		.longest_ns = row->sum.max_ns,
	};
}

int summary_list_waits(const struct model *model, struct pa_wait_stat *to,
		       char (*texts)[SUMMARY_WAIT_SIZE], size_t max, struct pa_summary *summary)
{
	_cleanup_(rows_done) struct rows rows = { 0 };
	int r = 0;

	for (uint32_t i = 0; i < model->waits.nr && r == 0; i++)
		if (model->waits.all[i].is_known && !model->waits.all[i].is_inherited)
			r = add_wait(model, &model->waits.all[i], &rows);
	if (r < 0)
		return r;
	if (rows.nr)
		qsort(rows.all, rows.nr, sizeof(rows.all[0]), compare_rows);
	for (uint32_t i = 0; i < rows.nr; i++) {
		summary->off_cpu_ns += rows.all[i].sum.ns;
		summary->off_cpu_intervals += rows.all[i].sum.nr;
		if (i < max)
			fill_wait(model->profile, &rows.all[i], &to[summary->nr_waits++], texts[i]);
	}
	summary->waits_seen = rows.nr;
	return 0;
}
