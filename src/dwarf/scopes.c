/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a unit and the calls inlined into them, as a flat list for binary search. The
 * tree of entries is traversed once. Ranges are then swept from low to high addresses, so that each
 * range gets the innermost function that covers it; this is linear for any input.
 */
#include "base/array.h"
#include "base/bisect.h"
#include "dwarf/tree.h"

#define SCOPES_MAX (2u << 20) /* per unit */
#define SCOPE_COST_BYTES 96   /* while it is built: scope, span, two pieces, and the open list */

/* A range of a scope's code. */
struct span {
	uint64_t start, end;
	uint32_t scope;
};

/* Code up to the next piece, and the innermost scope there. */
struct piece {
	uint64_t start;
	uint32_t scope;
};

struct dw_scopes {
	struct dw_scope *scopes; /* owned; in file order: parents come first */
	uint32_t nr, cap;
	struct span *spans; /* owned; only while it is built */
	uint32_t nr_spans, cap_spans;
	struct piece *pieces; /* owned; sorted by start */
	uint32_t nr_pieces, cap_pieces;
};

/* The attributes that make a scope. */
struct entry {
	struct dw_value low_pc, high_pc, ranges, sibling, call_file, call_line, declaration;
};

struct walk {
	struct dw_tree t;
	struct dw_scopes *s;
	struct dw_ranges ranges; /* of the current entry */
	uint32_t max_scopes;     /* memory limit */
};

struct dw_scopes *dw_scopes_free(struct dw_scopes *s)
{
	if (s) {
		free(s->scopes);
		free(s->spans);
		free(s->pieces);
		free(s);
	}
	return NULL;
}

uint64_t dw_scopes_bytes(const struct dw_scopes *s)
{
	return s->cap * sizeof(*s->scopes) + s->cap_pieces * sizeof(*s->pieces);
}

static struct dw_value *entry_value(struct entry *e, uint16_t name)
{
	switch (name) {
	case DW_AT_low_pc:
		return &e->low_pc;
	case DW_AT_high_pc:
		return &e->high_pc;
	case DW_AT_ranges:
		return &e->ranges;
	case DW_AT_sibling:
		return &e->sibling;
	case DW_AT_call_file:
		return &e->call_file;
	case DW_AT_call_line:
		return &e->call_line;
	case DW_AT_declaration:
		return &e->declaration;
	default:
		return NULL;
	}
}

static void read_entry(struct walk *w, const struct dw_abbrev *a, struct entry *ret_entry)
{
	*ret_entry = (struct entry){ 0 };
	for (uint32_t i = 0; i < a->nr_attrs; i++) {
		const struct dw_attr *attr = &w->t.u->abbrevs->attrs[a->first_attr + i];
		struct dw_value *to = entry_value(ret_entry, attr->name);

		if (to)
			dw_form_read(&w->t.c, w->t.u, attr, to);
		else
			dw_form_skip(&w->t.c, w->t.u, attr->form);
	}
}

static uint32_t number_of(const struct dw_value *v)
{
	uint64_t n;

	return dw_value_number(v, &n) && n <= UINT32_MAX ? (uint32_t)n : 0;
}

/* Scopes without code are left out; their contents belong to the enclosing scope. */
static int add_scope(struct walk *w, uint32_t die, const struct entry *e, bool is_inlined,
		     uint32_t *ret_scope)
{
	struct dw_scopes *s = w->s;
	int r;

	w->ranges.nr = 0;
	r = dw_ranges_add(&w->ranges, w->t.u, &e->low_pc, &e->high_pc, &e->ranges);
	if (r == -ENOMEM || r == -E2BIG)
		return r;
	if (!w->ranges.nr)
		return 0;
	r = ARRAY_RESERVE(s->scopes, s->cap, s->nr + 1, w->max_scopes);
	if (r == 0)
		r = ARRAY_RESERVE(s->spans, s->cap_spans, (size_t)s->nr_spans + w->ranges.nr,
				  w->max_scopes);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < w->ranges.nr; i++)
		s->spans[s->nr_spans++] =
			(struct span){ w->ranges.ranges[i].start, w->ranges.ranges[i].end, s->nr };
	*ret_scope = s->nr;
	s->scopes[s->nr++] = (struct dw_scope){
		.die = die,
		.parent = w->t.parents[w->t.depth],
		.call_file = number_of(&e->call_file),
		.call_line = number_of(&e->call_line),
		.depth = (uint16_t)w->t.depth,
		.is_inlined = is_inlined,
	};
	return 0;
}

/* Skips to the entry after this one's children, if it has a sibling attribute. */
static bool jump_to_sibling(struct walk *w, const struct entry *e)
{
	struct dw_file *file;
	uint64_t offset;
	size_t here = (size_t)(w->t.c.at - w->t.u->view.bytes);

	if (!e->sibling.form || !dw_value_reference(w->t.u, &e->sibling, &file, &offset) ||
	    file != w->t.u->file || offset < w->t.u->offset + here ||
	    offset >= w->t.u->offset + w->t.u->view.n)
		return false;
	w->t.c.at = w->t.u->view.bytes + (offset - w->t.u->offset);
	return true;
}

/* Children that are of no interest. */
static int pass_over(struct walk *w, const struct entry *e)
{
	if (jump_to_sibling(w, e))
		return 0;
	if (w->t.muted_at == UINT32_MAX)
		w->t.muted_at = w->t.depth;
	return dw_tree_descend(&w->t, DW_NO_SCOPE);
}

static int visit_leaf(struct walk *w, const struct dw_abbrev *a)
{
	struct entry e = { 0 };

	if (a->has_children && a->has_sibling)
		read_entry(w, a, &e);
	else
		dw_tree_skip(&w->t, a);
	return a->has_children ? pass_over(w, &e) : 0;
}

static int visit_function(struct walk *w, const struct dw_abbrev *a, uint32_t die)
{
	uint32_t scope = w->t.parents[w->t.depth];
	struct entry e;
	int r;

	read_entry(w, a, &e);
	if (w->t.c.bad)
		return -EBADMSG;
	r = add_scope(w, die, &e, a->kind == DW_KIND_INLINED, &scope);
	if (r < 0 || !a->has_children)
		return r;
	return e.declaration.form ? pass_over(w, &e) : dw_tree_descend(&w->t, scope);
}

static int visit_scope(void *ctx, const struct dw_abbrev *a, uint32_t die)
{
	struct walk *w = ctx;

	if (a->kind == DW_KIND_LEAF || w->t.muted_at != UINT32_MAX)
		return visit_leaf(w, a);
	if (a->kind != DW_KIND_SCOPE)
		return visit_function(w, a, die);
	dw_tree_skip(&w->t, a);
	return a->has_children ? dw_tree_descend(&w->t, w->t.parents[w->t.depth]) : 0;
}

/* Of spans with the same start the outer one comes first; at the same depth the later scope, so
 * that the earlier one ends up on top. */
static int by_start(const void *pa, const void *pb, void *ctx)
{
	const struct span *a = pa, *b = pb;
	const struct dw_scope *scopes = ctx;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (scopes[a->scope].depth != scopes[b->scope].depth)
		return scopes[a->scope].depth < scopes[b->scope].depth ? -1 : 1;
	if (a->scope != b->scope)
		return a->scope > b->scope ? -1 : 1;
	return a->end > b->end ? -1 : a->end < b->end;
}

struct sweep {
	struct dw_scopes *s;
	uint32_t *open; /* owned: open spans, the innermost last */
	uint32_t nr_open;
	uint64_t pos; /* everything below is in pieces */
};

static void sweep_done(struct sweep *w)
{
	free(w->open);
}

static int emit_piece(struct sweep *w, uint32_t scope)
{
	struct dw_scopes *s = w->s;
	struct piece *last = s->nr_pieces ? &s->pieces[s->nr_pieces - 1] : NULL;
	int r;

	if (last && last->scope == scope)
		return 0;
	if (last && last->start == w->pos) {
		last->scope = scope;
		return 0;
	}
	r = ARRAY_RESERVE(s->pieces, s->cap_pieces, s->nr_pieces + 1, 2 * SCOPES_MAX + 1);
	if (r < 0)
		return r;
	s->pieces[s->nr_pieces++] = (struct piece){ w->pos, scope };
	return 0;
}

/* Closes spans that end before `to`, and resumes those below them. */
static int sweep_to(struct sweep *w, uint64_t to)
{
	while (w->nr_open) {
		uint64_t end = w->s->spans[w->open[w->nr_open - 1]].end;
		uint32_t scope = DW_NO_SCOPE;
		int r;

		if (end > to)
			break;
		w->nr_open--;
		if (end < w->pos)
			continue;
		w->pos = end;
		while (w->nr_open && w->s->spans[w->open[w->nr_open - 1]].end <= end)
			w->nr_open--;
		if (w->nr_open)
			scope = w->s->spans[w->open[w->nr_open - 1]].scope;
		r = emit_piece(w, scope);
		if (r < 0)
			return r;
	}
	w->pos = to;
	return 0;
}

static int make_pieces(struct dw_scopes *s)
{
	_cleanup_(sweep_done) struct sweep w = { .s = s };

	if (!s->nr_spans)
		return 0;
	w.open = calloc(s->nr_spans, sizeof(*w.open));
	if (!w.open)
		return -ENOMEM;
	qsort_r(s->spans, s->nr_spans, sizeof(*s->spans), by_start, s->scopes);
	for (uint32_t i = 0; i < s->nr_spans; i++) {
		int r = sweep_to(&w, s->spans[i].start);

		if (r < 0)
			return r;
		w.open[w.nr_open++] = i;
		r = emit_piece(&w, s->spans[i].scope);
		if (r < 0)
			return r;
	}
	return sweep_to(&w, UINT64_MAX);
}

int dw_scopes_new(const struct dw_unit *u, struct dw_scopes **ret_scopes)
{
	_cleanup_(dw_scopes_freep) struct dw_scopes *s = calloc(1, sizeof(*s));
	_cleanup_(freep) struct walk *w = malloc(sizeof(*w));
	int r;

	if (!s || !w)
		return -ENOMEM;
	if (!dw_work(u->file->d, u->view.n))
		return -E2BIG;
	*w = (struct walk){ .s = s };
	dw_tree_init(&w->t, u, DW_NO_SCOPE);
	w->max_scopes = dw_room_for(u->file->d, SCOPE_COST_BYTES, SCOPES_MAX);
	r = dw_tree_walk(&w->t, visit_scope, w);
	if (w->t.c.bad)
		r = -EBADMSG;
	dw_ranges_done(&w->ranges);
	if (r == -ENOMEM)
		return r;
	u->file->d->losses.is_damaged |= r == -EBADMSG;
	u->file->d->losses.is_over_budget |= r == -E2BIG && !u->file->d->losses.is_interrupted;
	r = make_pieces(s);
	free(TAKE(s->spans));
	if (r < 0)
		return r;
	*ret_scopes = TAKE(s);
	return 0;
}

uint32_t dw_scopes_find(const struct dw_scopes *s, uint64_t addr)
{
	uint32_t nr = BISECT(i, s->nr_pieces, s->pieces[i].start <= addr);

	return nr ? s->pieces[nr - 1].scope : DW_NO_SCOPE;
}

const struct dw_scope *dw_scopes_get(const struct dw_scopes *s, uint32_t scope)
{
	return &s->scopes[scope];
}

int dw_scopes_ranges(const struct dw_scopes *s, struct dw_ranges *to)
{
	for (uint32_t i = 0; i + 1 < s->nr_pieces; i++) {
		int r;

		if (s->pieces[i].scope == DW_NO_SCOPE)
			continue;
		r = ARRAY_RESERVE(to->ranges, to->cap, to->nr + 1, 2 * SCOPES_MAX);
		if (r < 0)
			return r;
		to->ranges[to->nr++] =
			(struct dw_range){ s->pieces[i].start, s->pieces[i + 1].start };
	}
	return 0;
}
