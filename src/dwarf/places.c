/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where functions stand in the tree of a unit: in which namespaces, types and other functions. Made
 * for units in which a function has no linkage name, and by one more walk, because this one must go
 * into types, which hold most of the entries of C++.
 */
#include "base/array.h"
#include "dwarf/internal.h"

#define PLACES_MAX (4u << 20) /* of one unit */
#define PLACES_MAX_DEPTH 1024 /* of the tree; compilers reach 50 */
#define CHARGE_EVERY 4096     /* attributes */
#define NO_PLACE UINT32_MAX

struct place {
	uint32_t die;    /* bytes from the beginning of the unit */
	uint32_t parent; /* the place around it */
};

struct dw_places {
	struct place *places; /* owned; in the order of the file, which is that of the dies */
	uint32_t nr, cap;
};

struct walk {
	const struct dw_unit *u;
	struct dw_places *p;
	struct cursor c;
	uint32_t depth;
	uint32_t
		muted_at; /* below this depth there is nothing of interest; UINT32_MAX: not muted */
	uint32_t parents[PLACES_MAX_DEPTH];
	uint32_t max_places;
	uint64_t nr_uncharged; /* attributes that were read */
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
	p->places[p->nr++] = (struct place){ die, w->parents[w->depth] };
	return 0;
}

static int visit(struct walk *w, const struct dw_abbrev *a, uint32_t die)
{
	bool is_muted = w->muted_at != UINT32_MAX;
	uint32_t place = w->parents[w->depth];
	int r = is_muted || !is_place(a) ? 0 : add_place(w, die, &place);

	if (a->fixed_bytes >= 0)
		(void)cursor_take(&w->c, (size_t)a->fixed_bytes);
	for (uint32_t i = 0; i < a->nr_attrs && a->fixed_bytes < 0; i++)
		dw_form_skip(&w->c, w->u, w->u->abbrevs->attrs[a->first_attr + i].form);
	if (r < 0 || !a->has_children)
		return r;
	if (w->depth + 1 >= PLACES_MAX_DEPTH)
		return -E2BIG;
	if (!is_muted && a->kind == DW_KIND_LEAF && !is_type(a->tag))
		w->muted_at = w->depth;
	w->parents[++w->depth] = place;
	return 0;
}

static void ascend(struct walk *w)
{
	if (w->depth)
		w->depth--;
	if (w->muted_at == w->depth)
		w->muted_at = UINT32_MAX;
}

static int charge_entry(struct walk *w, const struct dw_abbrev *a)
{
	uint64_t nr = w->nr_uncharged += a->nr_attrs;

	if (nr < CHARGE_EVERY)
		return 0;
	w->nr_uncharged = 0;
	return dw_work(w->u->file->d, nr) ? 0 : -E2BIG;
}

/* What was found before damage is kept. */
static int walk_entries(struct walk *w)
{
	int r = 0;

	while (r == 0 && !w->c.bad && cursor_left(&w->c)) {
		uint32_t die = (uint32_t)(w->c.at - w->u->view.bytes);
		uint64_t code = cursor_uleb128(&w->c);
		const struct dw_abbrev *a;

		if (code == 0) {
			ascend(w);
			continue;
		}
		a = dw_abbrevs_find(w->u->abbrevs, code);
		r = a ? charge_entry(w, a) : -EBADMSG;
		if (r == 0)
			r = visit(w, a, die);
	}
	return r;
}

int dw_places_new(const struct dw_unit *u, struct dw_places **ret_places)
{
	_cleanup_(dw_places_freep) struct dw_places *p = calloc(1, sizeof(*p));
	_cleanup_(freep) struct walk *w = malloc(sizeof(*w));

	if (!p || !w)
		return -ENOMEM;
	if (!dw_work(u->file->d, u->view.n))
		return -E2BIG;
	*w = (struct walk){ .u = u, .p = p, .muted_at = UINT32_MAX };
	w->max_places = dw_room_for(u->file->d, sizeof(struct place), PLACES_MAX);
	w->parents[0] = NO_PLACE;
	w->c = cursor_of(u->view.bytes + u->first_die, u->view.n - u->first_die);
	if (walk_entries(w) == -ENOMEM)
		return -ENOMEM;
	*ret_places = TAKE(p);
	return 0;
}

static uint32_t find_place(const struct dw_places *p, uint32_t die)
{
	uint32_t low = 0, high = p->nr;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (p->places[mid].die <= die)
			low = mid + 1;
		else
			high = mid;
	}
	return low && p->places[low - 1].die == die ? low - 1 : NO_PLACE;
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
