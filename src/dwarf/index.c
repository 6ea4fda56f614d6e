/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the unit that covers an address. Built from the units themselves: .debug_aranges is often
 * missing or incomplete.
 */
#include "base/array.h"
#include "base/bisect.h"
#include "dwarf/internal.h"

#define INDEX_MAX_RANGES (2u << 20) /* 64 MiB; a browser has one per function, a million */
#define WINDOW_BYTES 512
#define LARGE_WINDOW_BYTES (64u << 10) /* for a first entry that contains the command line */
#define MAX_TRIES 16                   /* units that claim one address */
#define MAX_STEPS 4096                 /* ranges examined for one address */

static int add_range(struct dwarf *d, const struct dw_range *range, uint32_t unit)
{
	int r = ARRAY_RESERVE(d->ranges, d->cap_ranges, d->nr_ranges + 1, INDEX_MAX_RANGES);

	if (r < 0)
		return r;
	d->ranges[d->nr_ranges++] =
		(struct dw_unit_range){ .start = range->start, .end = range->end, .unit = unit };
	return 0;
}

/* A unit without ranges of its own covers what its functions cover. */
static int add_functions(struct dwarf *d, uint32_t number, struct dw_ranges *to)
{
	struct dw_scopes *scopes;
	struct dw_unit *u, *split;
	int r = dw_unit_number(&d->main, number, &u);

	if (r < 0)
		return r;
	r = dw_split_of(u, &split);
	if (r < 0)
		return r;
	r = dw_scopes_new(split ? split : u, &scopes);
	if (r < 0)
		return r;
	r = dw_scopes_ranges(scopes, to);
	(void)dw_scopes_free(scopes);
	return r;
}

static bool has_functions(const struct dw_unit *u)
{
	return (u->root.has_children || u->root.dwo_name.form) && u->root.stmt_list.form &&
	       (u->root.tag == DW_TAG_compile_unit || u->root.tag == DW_TAG_skeleton_unit);
}

static int look_at(struct dwarf *d, uint32_t number, struct dw_ranges *to)
{
	struct dw_unit u = { 0 };
	uint64_t offset = d->main.units[number].offset;
	bool is_silent;
	int r = dw_unit_init(&u, &d->main, offset, WINDOW_BYTES);

	if (r == -EBADMSG) {
		dw_unit_done(&u);
		u = (struct dw_unit){ 0 };
		r = dw_unit_init(&u, &d->main, offset, LARGE_WINDOW_BYTES);
	}
	if (r == 0) {
		dw_unit_use_root(&u);
		r = dw_ranges_add(to, &u, &u.root.low_pc, &u.root.high_pc, &u.root.ranges);
	}
	/* DWARF 2 has no range lists: one range may be incomplete. */
	is_silent = r == 0 && !u.root.ranges.form && has_functions(&u) &&
		    (u.version == 2 || !u.root.high_pc.form);
	dw_unit_done(&u);
	return is_silent ? add_functions(d, number, to) : r;
}

/* Invalid units are skipped; the others are kept. */
static int add_unit(struct dwarf *d, uint32_t number)
{
	_cleanup_(dw_ranges_done) struct dw_ranges ranges = { 0 };
	int r = look_at(d, number, &ranges);

	if (r == -ENOMEM || r == -EAGAIN)
		return r;
	d->losses.is_damaged |= r == -EBADMSG;
	d->losses.is_over_budget |= r == -E2BIG;
	for (uint32_t i = 0; i < ranges.nr; i++) {
		r = add_range(d, &ranges.ranges[i], number);
		if (r == -ENOMEM)
			return r;
		d->losses.is_over_budget |= r < 0;
	}
	return 0;
}

static int by_start(const void *pa, const void *pb)
{
	const struct dw_unit_range *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	/* The first unit is asked first, which is the last one in this order. */
	return a->unit > b->unit ? -1 : a->unit < b->unit;
}

int dw_index_build(struct dwarf *d)
{
	uint64_t max_end = 0;
	int r = dw_file_scan_units(&d->main);

	/* Over the limit, every further unit would fail as well. */
	while (d->nr_indexed < d->main.nr_units && r == 0 && !dw_is_over(d)) {
		r = cancel_is_asked(d->files.cancel) ? -ECANCELED : add_unit(d, d->nr_indexed);
		d->nr_indexed += r == 0;
	}
	if (r == 0 && cancel_is_asked(d->files.cancel))
		r = -ECANCELED; /* the last one may be incomplete */
	if (r < 0)
		return r;
	if (d->nr_ranges)
		qsort(d->ranges, d->nr_ranges, sizeof(*d->ranges), by_start);
	for (uint32_t i = 0; i < d->nr_ranges; i++) {
		if (d->ranges[i].end > max_end)
			max_end = d->ranges[i].end;
		d->ranges[i].max_end = max_end;
	}
	return 0;
}

int dw_index_each(struct dwarf *d, uint64_t addr,
		  int (*fn)(void *ctx, struct dwarf *d, uint32_t unit), void *ctx)
{
	uint32_t nr = BISECT(i, d->nr_ranges, d->ranges[i].start <= addr);
	int nr_tries = 0, nr_steps = 0;

	/* Many small ranges may lie within a large one, before addr. */
	for (;
	     nr && d->ranges[nr - 1].max_end > addr && nr_tries < MAX_TRIES && nr_steps < MAX_STEPS;
	     nr--, nr_steps++) {
		int r;

		if (d->ranges[nr - 1].end <= addr)
			continue;
		nr_tries++;
		r = fn(ctx, d, d->ranges[nr - 1].unit);
		if (r != -ENOENT)
			return r;
	}
	return -ENOENT;
}
