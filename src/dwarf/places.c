/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The position of functions in the tree of a unit: their enclosing namespaces, types and functions.
 * Built only for units with a function without a linkage name, by a second traversal, because this
 * one must enter types, which contain most entries in C++.
 */
#include "base/array.h"
#include "base/bisect.h"
#include "dwarf/tree.h"

#define PLACES_MAX (4u << 20) /* per unit */
#define NO_PLACE UINT32_MAX

struct place {
	uint32_t die;    /* bytes from the start of the unit */
	uint32_t parent; /* the enclosing place */
};

struct dw_places {
	struct place *places; /* owned; in file order, which is the order of the DIEs */
	uint32_t nr, cap;
};

struct walk {
	struct dw_tree t;
	struct dw_places *p;
	uint32_t max_places;
};

struct dw_places *dw_places_free(struct dw_places *p)
{
	if (p) {
		free(p->places);
		free(p);
	}
	return NULL;
}

uint64_t dw_places_bytes(const struct dw_places *p)
{
	return p->cap * sizeof(*p->places);
}

static bool is_type(uint16_t tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static bool is_place(const struct dw_abbrev *a)
{
	return a->kind == DW_KIND_FUNCTION || a->tag == DW_TAG_namespace || is_type(a->tag);
}

static int add_place(struct walk *w, uint32_t die, uint32_t *ret_place)
{
	struct dw_places *p = w->p;
	int r = ARRAY_RESERVE(p->places, p->cap, p->nr + 1, w->max_places);

	if (r < 0)
		return r;
	*ret_place = p->nr;
	p->places[p->nr++] = (struct place){ die, w->t.parents[w->t.depth] };
	return 0;
}

static int visit_place(void *ctx, const struct dw_abbrev *a, uint32_t die)
{
	struct walk *w = ctx;
	bool is_muted = w->t.muted_at != UINT32_MAX;
	uint32_t place = w->t.parents[w->t.depth];
	int r = is_muted || !is_place(a) ? 0 : add_place(w, die, &place);

	dw_tree_skip(&w->t, a);
	if (r < 0 || !a->has_children)
		return r;
	if (!is_muted && a->kind == DW_KIND_LEAF && !is_type(a->tag))
		w->t.muted_at = w->t.depth;
	return dw_tree_descend(&w->t, place);
}

int dw_places_new(const struct dw_unit *u, struct dw_places **ret_places)
{
	_cleanup_(dw_places_freep) struct dw_places *p = calloc(1, sizeof(*p));
	_cleanup_(freep) struct walk *w = malloc(sizeof(*w));

	if (!p || !w)
		return -ENOMEM;
	if (!dw_work(u->file->d, u->view.n))
		return -E2BIG;
	*w = (struct walk){ .p = p };
	dw_tree_init(&w->t, u, NO_PLACE);
	w->max_places = dw_room_for(u->file->d, sizeof(struct place), PLACES_MAX);
	if (dw_tree_walk(&w->t, visit_place, w) ==
	    -ENOMEM) /* what was found before the error is kept */
		return -ENOMEM;
	*ret_places = TAKE(p);
	return 0;
}

static uint32_t find_place(const struct dw_places *p, uint32_t die)
{
	uint32_t nr = BISECT(i, p->nr, p->places[i].die <= die);

	return nr && p->places[nr - 1].die == die ? nr - 1 : NO_PLACE;
}

bool dw_places_around(const struct dw_places *p, uint32_t die, uint32_t *ret_die)
{
	uint32_t place = find_place(p, die);
	uint32_t parent = place == NO_PLACE ? NO_PLACE : p->places[place].parent;

	if (parent == NO_PLACE)
		return false;
	*ret_die = p->places[parent].die;
	return true;
}
