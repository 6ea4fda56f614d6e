/* SPDX-License-Identifier: Apache-2.0 */
/* Values of attributes (DWARF 5, 7.5.5 and 7.5.6). */
#include "dwarf/internal.h"

#define MAX_INDIRECTIONS 4 /* a DW_FORM_indirect that refers to itself */

int dw_form_bytes(uint16_t form, const struct dw_unit *u)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return u->addr_bytes;
	case DW_FORM_ref_addr: /* in DWARF 2 the size of an address */
		return u->version == 2 ? u->addr_bytes : u->offset_bytes;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return u->offset_bytes;
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_exprloc:
	case DW_FORM_string:
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_indirect:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return -1;
	default:
		return -2;
	}
}

static void skip_variable(struct cursor *c, const struct dw_unit *u, uint16_t form)
{
	switch (form) {
	case DW_FORM_block:
	case DW_FORM_exprloc:
		(void)cursor_take(c, cursor_uleb128(c));
		break;
	case DW_FORM_block1:
		(void)cursor_take(c, cursor_u8(c));
		break;
	case DW_FORM_block2:
		(void)cursor_take(c, cursor_u16(c));
		break;
	case DW_FORM_block4:
		(void)cursor_take(c, cursor_u32(c));
		break;
	case DW_FORM_string:
		(void)cursor_str(c);
		break;
	default: /* numbers; signed ones have the same size */
		(void)cursor_uleb128(c);
		break;
	}
}

/* The form that is stored in the entry itself. */
static uint16_t take_indirect(struct cursor *c)
{
	for (int i = 0; i < MAX_INDIRECTIONS; i++) {
		uint64_t form = cursor_uleb128(c);

		if (form != DW_FORM_indirect)
			return form <= UINT16_MAX && form != DW_FORM_implicit_const ? (uint16_t)form
										    : 0;
	}
	return 0;
}

void dw_form_skip(struct cursor *c, const struct dw_unit *u, uint16_t form)
{
	int n;

	if (form == DW_FORM_indirect)
		form = take_indirect(c);
	n = dw_form_bytes(form, u);
	if (n >= 0)
		(void)cursor_take(c, (size_t)n);
	else if (n == -1)
		skip_variable(c, u, form);
	else
		c->bad = true;
}

static uint64_t take_fixed(struct cursor *c, int n)
{
	uint64_t v = 0;

	switch (n) {
	case 1:
		return cursor_u8(c);
	case 2:
		return cursor_u16(c);
	case 4:
		return cursor_u32(c);
	case 8:
		return cursor_u64(c);
	case 3:
		cursor_copy(c, &v, 3);
		return v;
	default:
		(void)cursor_take(c, (size_t)n);
		return 0;
	}
}

static void read_variable(struct cursor *c, const struct dw_unit *u, struct dw_value *v)
{
	switch (v->form) {
	case DW_FORM_string:
		v->s = cursor_str(c);
		break;
	case DW_FORM_sdata:
		v->u = (uint64_t)cursor_sleb128(c);
		break;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		v->u = cursor_uleb128(c);
		break;
	default:
		skip_variable(c, u, v->form);
		break;
	}
}

void dw_form_read(struct cursor *c, const struct dw_unit *u, const struct dw_attr *attr,
		  struct dw_value *ret_value)
{
	struct dw_value v = { .form = attr->form };
	int n;

	if (v.form == DW_FORM_indirect)
		v.form = take_indirect(c);
	n = dw_form_bytes(v.form, u);
	if (v.form == DW_FORM_implicit_const)
		v.u = (uint64_t)attr->implicit;
	else if (v.form == DW_FORM_flag_present)
		v.u = 1;
	else if (n >= 0)
		v.u = take_fixed(c, n);
	else if (n == -1)
		read_variable(c, u, &v);
	else
		c->bad = true;
	*ret_value = v;
}

/* String `index` of .debug_str_offsets. */
static const char *string_by_index(const struct dw_unit *u, uint64_t index)
{
	struct dw_file *f = u->file;
	struct cursor c;
	uint64_t offset;

	if (index > UINT32_MAX ||
	    dw_section_whole(f->d, &f->sections[DW_SEC_STR_OFFSETS], u->str_offsets_base, &c) < 0)
		return NULL;
	(void)cursor_take(&c, index * u->offset_bytes);
	offset = u->offset_bytes == 8 ? cursor_u64(&c) : cursor_u32(&c);
	return c.bad ? NULL : dw_section_string(f->d, &f->sections[DW_SEC_STR], offset);
}

const char *dw_value_string(const struct dw_unit *u, const struct dw_value *v)
{
	struct dw_file *f = u->file;

	switch (v->form) {
	case DW_FORM_string:
		return v->s;
	case DW_FORM_strp:
		return dw_section_string(f->d, &f->sections[DW_SEC_STR], v->u);
	case DW_FORM_line_strp:
		return dw_section_string(f->d, &f->sections[DW_SEC_LINE_STR], v->u);
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
		return dw_section_string(f->d, &f->d->alt.sections[DW_SEC_STR], v->u);
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return string_by_index(u, v->u);
	default:
		return NULL;
	}
}

/* Address `index` of .debug_addr, which is in the program even for split units. */
bool dw_address_at(const struct dw_unit *u, uint64_t index, uint64_t *ret_addr)
{
	const struct dw_unit *owner = u->skeleton ? u->skeleton : u;
	struct dw_file *f = owner->file;
	struct cursor c;

	if (index > UINT32_MAX ||
	    dw_section_whole(f->d, &f->sections[DW_SEC_ADDR], owner->addr_base, &c) < 0)
		return false;
	(void)cursor_take(&c, index * owner->addr_bytes);
	*ret_addr = owner->addr_bytes == 8 ? cursor_u64(&c) : cursor_u32(&c);
	return !c.bad;
}

bool dw_value_address(const struct dw_unit *u, const struct dw_value *v, uint64_t *ret_addr)
{
	switch (v->form) {
	case DW_FORM_addr:
		*ret_addr = v->u;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return dw_address_at(u, v->u, ret_addr);
	default:
		return false;
	}
}

bool dw_value_number(const struct dw_value *v, uint64_t *ret_number)
{
	switch (v->form) {
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_implicit_const:
	case DW_FORM_sec_offset:
		*ret_number = v->u;
		return true;
	default:
		return false;
	}
}

bool dw_value_reference(const struct dw_unit *u, const struct dw_value *v,
			struct dw_file **ret_file, uint64_t *ret_offset)
{
	switch (v->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		*ret_file = u->file;
		*ret_offset = u->offset + v->u;
		return v->u < u->end - u->offset;
	case DW_FORM_ref_addr:
		*ret_file = u->file;
		*ret_offset = v->u;
		return true;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		*ret_file = &u->file->d->alt;
		*ret_offset = v->u;
		return true;
	default:
		return false;
	}
}
