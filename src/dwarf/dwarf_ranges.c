/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses that an entry covers: one range, or a list (DWARF 4, 2.17.3; DWARF 5, 7.25). */
#include "base/array.h"
#include "base/bisect.h"
#include "dwarf/internal.h"

/* Many entries may refer to one list, so the file's size is not a limit. */
#define RANGES_MAX (2u << 20)
/* An entry of two bytes becomes a range that is sorted. */
#define RANGE_COST_BYTES 32
#define CHARGE_EVERY 8 /* entries; most lists have few */

struct list {
	struct dw_ranges *to;
	const struct dw_unit *u;
	struct cursor c;
	uint64_t base;
	uint64_t nr_read;
};

/* Charged before entries are read: every entry of the file may refer to one list. */
static int list_charge(struct list *l)
{
	if (l->nr_read++ % CHARGE_EVERY)
		return 0;
	return dw_work(l->u->file->d, CHARGE_EVERY * RANGE_COST_BYTES) ? 0 : -E2BIG;
}

bool dw_is_code(const struct dwarf *d, uint64_t addr)
{
	uint32_t nr = BISECT(i, d->nr_code, d->code[i].start <= addr);

	return nr && addr < d->code[nr - 1].end;
}

/* Ranges of functions dropped by the linker begin at 0, 1 or at the end of the address space. */
static int add_code_range(struct dw_ranges *to, const struct dw_unit *u, uint64_t start,
			  uint64_t end)
{
	int r;

	if (start >= end || !dw_is_code(u->file->d, start))
		return 0;
	r = ARRAY_RESERVE(to->ranges, to->cap, to->nr + 1, RANGES_MAX);
	if (r < 0)
		return r;
	to->ranges[to->nr++] = (struct dw_range){ start, end };
	return 0;
}

static uint64_t take_addr(struct list *l)
{
	return l->u->addr_bytes == 8 ? cursor_u64(&l->c) : cursor_u32(&l->c);
}

static uint64_t take_addrx(struct list *l)
{
	uint64_t addr = 0;

	if (!dw_address_at(l->u, cursor_uleb128(&l->c), &addr))
		l->c.bad = true;
	return addr;
}

static int read_old_list(struct list *l)
{
	uint64_t highest = l->u->addr_bytes == 8 ? UINT64_MAX : UINT32_MAX;
	int r = 0;

	while (r == 0) {
		uint64_t start = take_addr(l), end = take_addr(l);

		r = list_charge(l);
		if (r < 0)
			return r;

		if (l->c.bad)
			return -EBADMSG;
		if (start == 0 && end == 0)
			return 0;
		if (start == highest)
			l->base = end;
		else if (start < end)
			r = add_code_range(l->to, l->u, l->base + start, l->base + end);
	}
	return r;
}

/* Reads one entry. 1: end of the list. */
static int read_entry(struct list *l)
{
	uint64_t start, end;

	switch (cursor_u8(&l->c)) {
	case DW_RLE_end_of_list:
		return 1;
	case DW_RLE_base_addressx:
		l->base = take_addrx(l);
		return 0;
	case DW_RLE_base_address:
		l->base = take_addr(l);
		return 0;
	case DW_RLE_startx_endx:
		start = take_addrx(l);
		end = take_addrx(l);
		break;
	case DW_RLE_startx_length:
		start = take_addrx(l);
		end = start + cursor_uleb128(&l->c);
		break;
	case DW_RLE_offset_pair:
		start = l->base + cursor_uleb128(&l->c);
		end = l->base + cursor_uleb128(&l->c);
		break;
	case DW_RLE_start_end:
		start = take_addr(l);
		end = take_addr(l);
		break;
	case DW_RLE_start_length:
		start = take_addr(l);
		end = start + cursor_uleb128(&l->c);
		break;
	default:
		return -EBADMSG;
	}
	return l->c.bad ? -EBADMSG : add_code_range(l->to, l->u, start, end);
}

static int read_list(struct list *l)
{
	int r;

	do {
		r = l->c.bad ? -EBADMSG : list_charge(l);
		if (r == 0)
			r = read_entry(l);
	} while (r == 0);
	return r < 0 ? r : 0;
}

/* The start of list number `index`, from the offsets at the base. */
static int find_listed(const struct dw_unit *u, uint64_t index, uint64_t *ret_offset)
{
	struct dw_file *f = u->file;
	struct cursor c;
	int r = dw_section_whole(f->d, &f->sections[DW_SEC_RNGLISTS], u->rnglists_base, &c);

	if (r < 0 || index > UINT32_MAX)
		return r < 0 ? r : -EBADMSG;
	(void)cursor_take(&c, index * u->offset_bytes);
	*ret_offset = u->rnglists_base + (u->offset_bytes == 8 ? cursor_u64(&c) : cursor_u32(&c));
	return c.bad ? -EBADMSG : 0;
}

static int add_list(struct dw_ranges *to, const struct dw_unit *u, const struct dw_value *v)
{
	/* GNU's split DWARF 4 leaves range lists in the program. */
	const struct dw_unit *owner = u->version < 5 && u->skeleton ? u->skeleton : u;
	struct dw_file *f = owner->file;
	struct list l = { .to = to, .u = u };
	uint64_t offset = v->u;
	int r = 0;

	l.base = u->skeleton ? u->skeleton->low_pc : u->low_pc;
	if (v->form == DW_FORM_rnglistx)
		r = find_listed(u, v->u, &offset);
	else if (owner != u)
		offset += owner->ranges_base;
	if (r < 0)
		return r;
	r = dw_section_whole(f->d, &f->sections[u->version < 5 ? DW_SEC_RANGES : DW_SEC_RNGLISTS],
			     offset, &l.c);
	if (r < 0)
		return r;
	return u->version < 5 ? read_old_list(&l) : read_list(&l);
}

int dw_ranges_add(struct dw_ranges *to, const struct dw_unit *u, const struct dw_value *low,
		  const struct dw_value *high, const struct dw_value *ranges)
{
	uint64_t start, end;

	if (ranges->form)
		return add_list(to, u, ranges);
	if (!low->form || !high->form || !dw_value_address(u, low, &start))
		return 0;
	if (dw_value_address(u, high, &end))
		return add_code_range(to, u, start, end);
	if (!dw_value_number(high, &end) || end > UINT64_MAX - start)
		return 0;
	return add_code_range(to, u, start, start + end);
}

void dw_ranges_done(struct dw_ranges *r)
{
	free(r->ranges);
	*r = (struct dw_ranges){ 0 };
}
