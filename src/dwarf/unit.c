/* SPDX-License-Identifier: Apache-2.0 */
/* Units of .debug_info (DWARF 5, 7.5.1): the header and the first entry. */
#include "dwarf/internal.h"

#define HEADER_MAX_BYTES 40 /* of the longest: a type unit in the 64-bit format */

/* The length and its format. Returns the bytes that follow it. */
static uint64_t take_length(struct cursor *c, uint8_t *ret_offset_bytes)
{
	uint32_t n = cursor_u32(c);

	*ret_offset_bytes = n == UINT32_MAX ? 8 : 4;
	if (n == UINT32_MAX)
		return cursor_u64(c);
	if (n >= 0xfffffff0)
		c->bad = true; /* reserved */
	return n;
}

static uint64_t take_offset(struct cursor *c, const struct dw_unit *u)
{
	return u->offset_bytes == 8 ? cursor_u64(c) : cursor_u32(c);
}

/* The fields between the length and the first entry. */
static void take_fields(struct cursor *c, struct dw_unit *u)
{
	u->version = cursor_u16(c);
	u->type = DW_UT_compile;
	if (u->version < 5) {
		u->abbrev_offset = take_offset(c, u);
		u->addr_bytes = cursor_u8(c);
		return;
	}
	u->type = cursor_u8(c);
	u->addr_bytes = cursor_u8(c);
	u->abbrev_offset = take_offset(c, u);
	if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile) {
		u->dwo_id = cursor_u64(c);
	} else if (u->type == DW_UT_type || u->type == DW_UT_split_type) {
		(void)cursor_u64(c);
		(void)take_offset(c, u);
	}
}

/* bytes: of the section from offset on, at least the size of a header. */
static int parse_header(struct dw_unit *u, struct cursor c, uint64_t section_size)
{
	const uint8_t *start = c.at;
	uint64_t n = take_length(&c, &u->offset_bytes);
	uint64_t before = (uint64_t)(c.at - start);

	if (c.bad || n > section_size - u->offset - before)
		return -EBADMSG;
	u->end = u->offset + before + n;
	take_fields(&c, u);
	u->first_die = (uint32_t)(c.at - start);
	if (c.bad || u->first_die > u->end - u->offset)
		return -EBADMSG;
	return 0;
}

/* Units that are skipped are not malformed: another version, or another address size. */
static bool is_known(const struct dw_unit *u)
{
	return u->version >= 2 && u->version <= 5 && (u->addr_bytes == 4 || u->addr_bytes == 8) &&
	       u->end - u->offset <= DWARF_MAX_UNIT_BYTES;
}

static int view_header(struct dw_file *f, uint64_t offset, struct dw_view *ret_view)
{
	struct dw_section *s = &f->sections[DW_SEC_INFO];
	uint64_t left = offset < s->size ? s->size - offset : 0;

	return dw_section_view(f->d, s, offset, left < HEADER_MAX_BYTES ? left : HEADER_MAX_BYTES,
			       ret_view);
}

static int read_header(struct dw_unit *u)
{
	_cleanup_(dw_view_done) struct dw_view v = { 0 };
	int r = view_header(u->file, u->offset, &v);

	return r < 0 ? r
		     : parse_header(u, cursor_of(v.bytes, v.n),
				    u->file->sections[DW_SEC_INFO].size);
}

int dw_unit_peek(struct dw_file *f, uint64_t offset, uint64_t *ret_end, uint8_t *ret_type)
{
	struct dw_unit u = { .file = f, .offset = offset };
	int r = read_header(&u);

	if (r < 0)
		return r;
	*ret_end = u.end;
	*ret_type = u.type;
	return 0;
}

static struct dw_value *root_value(struct dw_root *root, uint16_t name)
{
	switch (name) {
	case DW_AT_low_pc:
		return &root->low_pc;
	case DW_AT_high_pc:
		return &root->high_pc;
	case DW_AT_ranges:
		return &root->ranges;
	case DW_AT_comp_dir:
		return &root->comp_dir;
	case DW_AT_name:
		return &root->name;
	case DW_AT_stmt_list:
		return &root->stmt_list;
	case DW_AT_language:
		return &root->language;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		return &root->dwo_name;
	case DW_AT_GNU_dwo_id:
		return &root->dwo_id;
	case DW_AT_str_offsets_base:
		return &root->str_offsets_base;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		return &root->addr_base;
	case DW_AT_rnglists_base:
		return &root->rnglists_base;
	case DW_AT_GNU_ranges_base:
		return &root->ranges_base;
	default:
		return NULL;
	}
}

static int read_root(struct dw_unit *u, struct cursor c)
{
	const struct dw_abbrev *a = dw_abbrevs_find(u->abbrevs, cursor_uleb128(&c));

	if (!a)
		return -EBADMSG;
	u->root.tag = a->tag;
	u->root.has_children = a->has_children;
	for (uint32_t i = 0; i < a->nr_attrs; i++) {
		const struct dw_attr *attr = &u->abbrevs->attrs[a->first_attr + i];
		struct dw_value *to = root_value(&u->root, attr->name), ignored;

		dw_form_read(&c, u, attr, to ? to : &ignored);
	}
	return c.bad ? -EBADMSG : 0;
}

/* The start of the entries after a header of .debug_str_offsets, if no attribute contains it: a
 * split unit has the section, or its part of it, to itself. */
static uint64_t default_str_offsets_base(const struct dw_unit *u)
{
	if (u->version < 5)
		return 0;
	return u->offset_bytes == 8 ? 16 : 8;
}

static uint64_t number_or(const struct dw_value *v, uint64_t otherwise)
{
	uint64_t n;

	return dw_value_number(v, &n) ? n : otherwise;
}

/* The start of the entries after a header of .debug_rnglists (length, version, two sizes, count of
 * offsets), if no attribute contains it. */
static uint64_t default_rnglists_base(const struct dw_unit *u)
{
	return u->offset_bytes == 8 ? 20 : 12;
}

void dw_unit_use_root(struct dw_unit *u)
{
	u->str_offsets_base += number_or(&u->root.str_offsets_base, default_str_offsets_base(u));
	u->rnglists_base += number_or(&u->root.rnglists_base, default_rnglists_base(u));
	u->addr_base = number_or(&u->root.addr_base, u->version < 5 ? 0 : 8);
	u->ranges_base = number_or(&u->root.ranges_base, 0);
	if (!u->dwo_id)
		u->dwo_id = number_or(&u->root.dwo_id, 0);
	(void)dw_value_address(u, &u->root.low_pc, &u->low_pc); /* 0 where there is none */
}

static int init_abbrevs(struct dw_unit *u, bool is_whole, uint64_t base)
{
	struct cursor die = cursor_of(u->view.bytes + u->first_die, u->view.n - u->first_die);
	/* If a unit is only scanned, the rest of the table is not needed. */
	int r = dw_abbrevs_get(u, base + u->abbrev_offset, is_whole ? 0 : cursor_uleb128(&die),
			       &u->abbrevs);

	return r < 0 ? r
		     : read_root(u,
				 cursor_of(u->view.bytes + u->first_die, u->view.n - u->first_die));
}

int dw_unit_init(struct dw_unit *u, struct dw_file *f, uint64_t offset, uint64_t window)
{
	uint64_t abbrev_base = u->abbrev_offset, n; /* of a .dwp, set before */
	int r;

	u->file = f;
	u->offset = offset;
	r = read_header(u);
	if (r < 0)
		return r;
	if (!is_known(u))
		return -EOPNOTSUPP;
	n = u->end - u->offset;
	if (window > n)
		window = n;
	if (window < u->first_die || u->abbrev_offset > UINT64_MAX - abbrev_base)
		return -EBADMSG;
	r = dw_section_view(f->d, &f->sections[DW_SEC_INFO], offset, window, &u->view);
	if (r < 0)
		return r;
	return init_abbrevs(u, window == n, abbrev_base);
}

void dw_unit_done(struct dw_unit *u)
{
	if (u->split) {
		dw_unit_done(u->split);
		free(TAKE(u->split));
	}
	u->split_file = dw_file_unref(u->split_file);
	u->lines = dw_lines_free(u->lines);
	u->scopes = dw_scopes_free(u->scopes);
	u->places = dw_places_free(u->places);
	u->abbrevs = dw_abbrevs_unref(u->abbrevs);
	dw_view_done(&u->view);
}
