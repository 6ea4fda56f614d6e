/* SPDX-License-Identifier: Apache-2.0 */
/* The units in memory: the most recently used, up to DWARF_CACHE_BYTES. */
#include "base/bisect.h"
#include "dwarf/internal.h"

static void unlink_unit(struct dwarf *d, struct dw_unit *u)
{
	*(u->newer ? &u->newer->older : &d->newest) = u->older;
	*(u->older ? &u->older->newer : &d->oldest) = u->newer;
}

static void link_newest(struct dwarf *d, struct dw_unit *u)
{
	u->newer = NULL;
	u->older = d->newest;
	*(d->newest ? &d->newest->newer : &d->oldest) = u;
	d->newest = u;
}

static struct dw_unit_at *slot_of(struct dw_file *f, uint64_t offset)
{
	uint32_t nr = BISECT(i, f->nr_units, f->units[i].offset <= offset);

	return nr ? &f->units[nr - 1] : NULL;
}

static void drop_unit(struct dwarf *d, struct dw_unit *u)
{
	unlink_unit(d, u);
	d->cached_bytes -= u->held_bytes;
	slot_of(u->file, u->offset)->unit = NULL;
	dw_unit_done(u);
	free(u);
}

/* The memory that sections held whole leave. */
static uint64_t cache_bytes(const struct dwarf *d)
{
	uint64_t left = dw_room_bytes(d) + d->cached_bytes;

	return left < DWARF_CACHE_BYTES ? left : DWARF_CACHE_BYTES;
}

static void make_room(struct dwarf *d, uint64_t bytes)
{
	struct dw_unit *u = d->oldest, *newer;

	for (; u && d->cached_bytes + bytes > cache_bytes(d); u = newer) {
		newer = u->newer;
		if (!u->nr_pins)
			drop_unit(d, u);
	}
}

void dw_cache_drop_file(struct dw_file *f)
{
	for (uint32_t i = 0; i < f->nr_units; i++)
		if (f->units[i].unit)
			drop_unit(f->d, f->units[i].unit);
}

void dw_unit_grew(struct dw_unit *u, uint64_t bytes)
{
	struct dw_unit *owner = u->skeleton ? u->skeleton : u;

	owner->held_bytes += bytes;
	owner->file->d->cached_bytes += bytes;
}

static uint64_t abbrev_bytes(const struct dw_abbrevs *a)
{
	return a->cap * sizeof(*a->abbrevs) + a->cap_attrs * sizeof(*a->attrs);
}

static int load_unit(struct dw_file *f, struct dw_unit_at *slot)
{
	struct dw_unit *u;
	uint64_t end;
	uint8_t type;
	int r = dw_unit_peek(f, slot->offset, &end, &type);

	if (r < 0)
		return r;
	make_room(f->d, end - slot->offset);
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	r = dw_unit_init(u, f, slot->offset, UINT64_MAX);
	if (r < 0) {
		dw_unit_done(u);
		free(u);
		return r;
	}
	dw_unit_use_root(u);
	slot->unit = u;
	link_newest(f->d, u);
	/* A table shared with other units is counted with one of them. */
	dw_unit_grew(u, sizeof(*u) + u->view.n +
				(u->abbrevs->nr_refs <= 2 ? abbrev_bytes(u->abbrevs) : 0));
	return 0;
}

static int use(struct dw_file *f, struct dw_unit_at *slot, struct dw_unit **ret_unit)
{
	int r = slot->unit ? 0 : load_unit(f, slot);

	if (r < 0)
		return r;
	unlink_unit(f->d, slot->unit);
	link_newest(f->d, slot->unit);
	*ret_unit = slot->unit;
	return 0;
}

int dw_unit_number(struct dw_file *f, uint32_t number, struct dw_unit **ret_unit)
{
	return use(f, &f->units[number], ret_unit);
}

int dw_unit_at(struct dw_file *f, uint64_t offset, struct dw_unit **ret_unit)
{
	struct dw_unit_at *slot;
	int r;

	if (f->is_split)
		return -ENOENT; /* their units refer to nothing outside themselves */
	r = dw_file_scan_units(f);
	if (r < 0)
		return r;
	slot = slot_of(f, offset);
	if (!slot)
		return -ENOENT;
	r = use(f, slot, ret_unit);
	if (r < 0)
		return r;
	return offset < (*ret_unit)->end ? 0 : -ENOENT;
}
