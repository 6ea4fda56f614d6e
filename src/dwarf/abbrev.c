/* SPDX-License-Identifier: Apache-2.0 */
/* .debug_abbrev (DWARF 5, 7.5.3): which attributes the entries of a unit have, and in what form. */
#include "base/array.h"
#include "dwarf/internal.h"

#define ABBREVS_MAX (1u << 20)
#define ABBREVS_MAX_ATTRS (4u << 20)

static enum dw_kind kind_of(uint64_t tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_entry_point:
		return DW_KIND_FUNCTION;
	case DW_TAG_inlined_subroutine:
		return DW_KIND_INLINED;
	case DW_TAG_compile_unit:
	case DW_TAG_partial_unit:
	case DW_TAG_skeleton_unit:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_with_stmt:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return DW_KIND_SCOPE;
	default: /* types too: what is defined stands outside of them */
		return DW_KIND_LEAF;
	}
}

/* Where several entries have one code the first counts: sort by place, then keep it. */
static int by_code(const void *pa, const void *pb)
{
	const struct dw_abbrev *a = pa, *b = pb;

	if (a->code != b->code)
		return a->code < b->code ? -1 : 1;
	return a->first_attr < b->first_attr ? -1 : a->first_attr > b->first_attr;
}

static void count_bytes(struct dw_abbrev *abbrev, const struct dw_unit *u, uint16_t form)
{
	int n = dw_form_bytes(form, u);

	if (n < 0 || abbrev->fixed_bytes < 0)
		abbrev->fixed_bytes = -1;
	else
		abbrev->fixed_bytes += n;
}

static int add_attrs(struct dw_abbrevs *a, struct dw_abbrev *abbrev, struct cursor *c,
		     const struct dw_unit *u)
{
	for (;;) {
		uint64_t name = cursor_uleb128(c), form = cursor_uleb128(c);
		int64_t implicit = form == DW_FORM_implicit_const ? cursor_sleb128(c) : 0;
		int r;

		if (c->bad || form > UINT16_MAX)
			return -EBADMSG;
		if (name == 0 && form == 0)
			return 0;
		r = ARRAY_RESERVE(a->attrs, a->cap_attrs, a->nr_attrs + 1, ABBREVS_MAX_ATTRS);
		if (r < 0)
			return r;
		a->attrs[a->nr_attrs++] = (struct dw_attr){
			.name = name <= UINT16_MAX ? (uint16_t)name : 0,
			.form = (uint16_t)form,
			.implicit = implicit,
		};
		abbrev->nr_attrs++;
		abbrev->has_sibling |= name == DW_AT_sibling;
		count_bytes(abbrev, u, (uint16_t)form);
	}
}

static int add_abbrev(struct dw_abbrevs *a, uint64_t code, struct cursor *c,
		      const struct dw_unit *u)
{
	uint64_t tag = cursor_uleb128(c);
	struct dw_abbrev abbrev = {
		.code = code,
		.first_attr = a->nr_attrs,
		.tag = tag <= UINT16_MAX ? (uint16_t)tag : 0,
		.kind = kind_of(tag),
		.has_children = cursor_u8(c) != 0,
	};
	int r = add_attrs(a, &abbrev, c, u);

	if (r < 0)
		return r;
	r = ARRAY_RESERVE(a->abbrevs, a->cap, a->nr + 1, ABBREVS_MAX);
	if (r < 0)
		return r;
	a->abbrevs[a->nr++] = abbrev;
	return 0;
}

int dw_abbrevs_init(struct dw_abbrevs *a, struct cursor c, const struct dw_unit *u, uint64_t code)
{
	const uint8_t *start = c.at;
	bool is_sorted = true;

	*a = (struct dw_abbrevs){ 0 };
	for (uint64_t last = 0;;) {
		uint64_t next = cursor_uleb128(&c);
		int r;

		if (c.bad || next == 0)
			break;
		r = add_abbrev(a, next, &c, u);
		if (r < 0)
			return r;
		if (next == code)
			break;
		is_sorted &= next > last;
		last = next;
	}
	/* Every unit may name one table. */
	if (!dw_work(u->file->d, (uint64_t)(c.at - start)))
		return -E2BIG;
	if (!is_sorted)
		qsort(a->abbrevs, a->nr, sizeof(*a->abbrevs), by_code);
	return 0;
}

void dw_abbrevs_done(struct dw_abbrevs *a)
{
	free(a->abbrevs);
	free(a->attrs);
	*a = (struct dw_abbrevs){ 0 };
}

const struct dw_abbrev *dw_abbrevs_find(const struct dw_abbrevs *a, uint64_t code)
{
	uint32_t low = 0, high = a->nr;

	/* Compilers count from 1 without holes. */
	if (code - 1 < a->nr && a->abbrevs[code - 1].code == code &&
	    (code == 1 || a->abbrevs[code - 2].code != code))
		return &a->abbrevs[code - 1];
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (a->abbrevs[mid].code < code)
			low = mid + 1;
		else
			high = mid;
	}
	return low < a->nr && a->abbrevs[low].code == code ? &a->abbrevs[low] : NULL;
}
