/* SPDX-License-Identifier: Apache-2.0 */
/* .debug_abbrev (DWARF 5, 7.5.3): the attributes of a unit's entries and their forms. */
#include "base/array.h"
#include "base/bisect.h"
#include "dwarf/internal.h"

#define ABBREVS_MAX (64u << 10) /* per table; link-time optimization produces some thousands */
#define ABBREVS_MAX_ATTRS (512u << 10)
#define ABBREV_MAX_ATTRS 128 /* per entry; compilers reach 30 */
/* Cost of reading an entry, and of each attribute, which is charged with the next entry. */
#define ABBREV_COST_BYTES 32

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
	default: /* types too: definitions are outside of them */
		return DW_KIND_LEAF;
	}
}

/* If several entries have one code, the first counts: sort by position and keep the first. */
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
		if (abbrev->nr_attrs == ABBREV_MAX_ATTRS)
			return -EBADMSG;
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

/* Reads one more entry. 1: end of the table. */
static int read_abbrev(struct dw_abbrevs *a, const struct dw_unit *u)
{
	uint64_t code = cursor_uleb128(&a->rest);
	int r;

	if (a->rest.bad || code == 0)
		return 1;
	if (!dw_work(u->file->d, ABBREV_COST_BYTES * (uint64_t)(1 + a->nr_attrs - a->nr_charged)))
		return -E2BIG;
	a->nr_charged = a->nr_attrs;
	r = add_abbrev(a, code, &a->rest, u);
	if (r < 0)
		return r;
	a->is_sorted &= code > a->last_code;
	a->last_code = code;
	return 0;
}

/* What cannot be read now cannot be read later: a table is not tried again for every unit. */
static int read_up_to(struct dw_abbrevs *a, const struct dw_unit *u, uint64_t code)
{
	uint32_t nr = a->nr;

	if (code && dw_abbrevs_find(a, code))
		return 0;
	while (a->error == 0 && !(code && a->nr > nr && a->last_code == code))
		a->error = read_abbrev(a, u);
	if (!a->is_sorted && a->nr > nr)
		qsort(a->abbrevs, a->nr, sizeof(*a->abbrevs), by_code);
	return a->error < 0 ? a->error : 0;
}

static bool is_table(const struct dw_abbrevs *a, const struct dw_unit *u, uint64_t offset)
{
	return a && a->offset == offset && a->version == u->version &&
	       a->addr_bytes == u->addr_bytes && a->offset_bytes == u->offset_bytes;
}

static int new_table(const struct dw_unit *u, uint64_t offset, struct dw_abbrevs **ret_abbrevs)
{
	struct dw_file *f = u->file;
	struct dw_abbrevs *a;
	struct cursor c;
	int r = dw_section_whole(f->d, &f->sections[DW_SEC_ABBREV], offset, &c);

	if (r < 0)
		return r;
	a = malloc(sizeof(*a));
	if (!a)
		return -ENOMEM;
	*a = (struct dw_abbrevs){ .nr_refs = 1,
				  .offset = offset,
				  .version = u->version,
				  .addr_bytes = u->addr_bytes,
				  .offset_bytes = u->offset_bytes,
				  .rest = c,
				  .is_sorted = true };
	*ret_abbrevs = a;
	return 0;
}

int dw_abbrevs_get(const struct dw_unit *u, uint64_t offset, uint64_t code,
		   struct dw_abbrevs **ret_abbrevs)
{
	struct dw_abbrevs **slot = &u->file->abbrevs[offset / 16 % DW_NR_ABBREVS];
	int r;

	if (!is_table(*slot, u, offset)) {
		*slot = dw_abbrevs_unref(*slot);
		r = new_table(u, offset, slot);
		if (r < 0)
			return r;
	}
	r = read_up_to(*slot, u, code);
	if (r == -ENOMEM) {
		*slot = dw_abbrevs_unref(*slot); /* so that it can be tried again */
		return r;
	}
	if (r < 0)
		return r;
	(*slot)->nr_refs++;
	*ret_abbrevs = *slot;
	return 0;
}

struct dw_abbrevs *dw_abbrevs_unref(struct dw_abbrevs *a)
{
	if (a && --a->nr_refs == 0) {
		free(a->abbrevs);
		free(a->attrs);
		free(a);
	}
	return NULL;
}

const struct dw_abbrev *dw_abbrevs_find(const struct dw_abbrevs *a, uint64_t code)
{
	uint32_t at;

	/* Compilers number codes from 1 without gaps. */
	if (code - 1 < a->nr && a->abbrevs[code - 1].code == code &&
	    (code == 1 || a->abbrevs[code - 2].code != code))
		return &a->abbrevs[code - 1];
	at = BISECT(i, a->nr, a->abbrevs[i].code < code);
	return at < a->nr && a->abbrevs[at].code == code ? &a->abbrevs[at] : NULL;
}
