/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/unwind_tool/oracle.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/leb128.h"

#define MAX_FDES (16u << 20)

struct section {
	Elf_Data *data;
	uint64_t addr, offset;
	const unsigned char *ident;
	bool is_eh_frame;
};

static int find_section(Elf *elf, const char *name, struct section *ret)
{
	GElf_Shdr shdr;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return -ENOENT;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		const char *at = gelf_getshdr(scn, &shdr) ? elf_strptr(elf, names, shdr.sh_name)
							  : NULL;

		if (!at || strcmp(at, name) != 0 || shdr.sh_type == SHT_NOBITS)
			continue;
		if (shdr.sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0)
			return -EBADMSG;
		ret->data = elf_getdata(scn, NULL);
		ret->addr = shdr.sh_addr;
		ret->offset = shdr.sh_offset;
		ret->ident = (const unsigned char *)elf_getident(elf, NULL);
		return ret->data && ret->data->d_buf ? 0 : -EBADMSG;
	}
	return -ENOENT;
}

/* How the FDEs of a CIE write addresses: what 'R' of the augmentation says. */
static uint8_t encoding_of(const Dwarf_CIE *cie)
{
	struct cursor c = cursor_of(cie->augmentation_data, cie->augmentation_data_size);
	const char *a = cie->augmentation;

	if (!a || *a++ != 'z')
		return DW_EH_PE_absptr;
	for (; *a; a++) {
		if (*a == 'R')
			return cursor_u8(&c);
		if (*a == 'L')
			(void)cursor_u8(&c);
		if (*a == 'P')
			(void)cursor_take(&c, (cursor_u8(&c) & 7) == DW_EH_PE_udata4 ? 4 : 8);
	}
	return DW_EH_PE_absptr;
}

static uint64_t take_address(const struct section *s, struct cursor *c, uint8_t encoding)
{
	uint64_t base = (encoding & 0x70) == DW_EH_PE_pcrel
				? s->addr + (uint64_t)(c->at - (const uint8_t *)s->data->d_buf)
				: 0;

	switch (encoding & 15) {
	case DW_EH_PE_udata2:
		return base + cursor_u16(c);
	case DW_EH_PE_sdata2:
		return base + (uint64_t)(int16_t)cursor_u16(c);
	case DW_EH_PE_udata4:
		return base + cursor_u32(c);
	case DW_EH_PE_sdata4:
		return base + (uint64_t)(int64_t)cursor_s32(c);
	default:
		return base + cursor_u64(c);
	}
}

/* What libdw makes of the entry at an offset. */
static bool entry_at(const struct section *s, uint64_t offset, Dwarf_CFI_Entry *ret_entry,
		     Dwarf_Off *ret_next)
{
	return dwarf_next_cfi(s->ident, s->data, s->is_eh_frame, (Dwarf_Off)offset, ret_next,
			      ret_entry) == 0;
}

static int take_fde(struct oracle *o, const struct section *s, uint64_t offset, uint64_t next,
		    const Dwarf_FDE *fde, uint32_t *cap)
{
	struct cursor c = cursor_of(fde->start, (size_t)(fde->end - fde->start));
	struct oracle_fde at = { .offset = offset, .next = next, .cie = fde->CIE_pointer };
	Dwarf_CFI_Entry cie;
	Dwarf_Off cie_next;
	uint8_t encoding;
	int r;

	if (!entry_at(s, fde->CIE_pointer, &cie, &cie_next) || !dwarf_cfi_cie_p(&cie))
		return 0;
	at.cie_next = cie_next;
	encoding = encoding_of(&cie.cie);
	at.start = take_address(s, &c, encoding);
	at.end = at.start + take_address(s, &c, encoding & 15);
	if (c.bad)
		return 0;
	r = ARRAY_RESERVE(o->fdes, *cap, o->nr + 1, MAX_FDES);
	if (r < 0)
		return r;
	o->fdes[o->nr++] = at;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct oracle_fde *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int list_fdes(struct oracle *o, const struct section *s)
{
	Dwarf_Off offset = 0, next = 0;
	uint32_t cap = 0;
	int r = 0;

	for (; r == 0 && offset < s->data->d_size; offset = next) {
		Dwarf_CFI_Entry entry;

		if (!entry_at(s, offset, &entry, &next) || next == (Dwarf_Off)-1)
			break;
		if (!dwarf_cfi_cie_p(&entry))
			r = take_fde(o, s, offset, next, &entry.fde, &cap);
	}
	if (o->nr)
		qsort(o->fdes, o->nr, sizeof(*o->fdes), by_start);
	return r;
}

int oracle_open(Elf *elf, bool is_debug_frame, struct oracle *ret_oracle)
{
	struct oracle o = { .is_debug_frame = is_debug_frame };
	struct section s = { .is_eh_frame = !is_debug_frame };
	int r;

	r = find_section(elf, is_debug_frame ? ".debug_frame" : ".eh_frame", &s);
	if (r < 0)
		return r;
	o.section_offset = s.offset;
	if (is_debug_frame) {
		o.dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
		o.cfi = o.dwarf ? dwarf_getcfi(o.dwarf) : NULL;
	} else {
		o.cfi = dwarf_getcfi_elf(elf);
	}
	r = o.cfi ? list_fdes(&o, &s) : -EBADMSG;
	if (r < 0) {
		oracle_close(&o);
		return r;
	}
	*ret_oracle = o;
	return 0;
}

void oracle_close(struct oracle *o)
{
	if (o->cfi && !o->dwarf)
		(void)dwarf_cfi_end(o->cfi); /* nothing is left to be done about it */
	if (o->dwarf)
		(void)dwarf_end(o->dwarf); /* likewise */
	free(o->fdes);
	*o = (struct oracle){ 0 };
}

int oracle_row_at(const struct oracle *o, uint64_t pc, struct oracle_row *ret_row)
{
	Dwarf_Addr start, end;
	Dwarf_Frame *frame;
	bool is_signal;

	if (dwarf_cfi_addrframe(o->cfi, pc, &frame) != 0)
		return -ENOENT;
	if (dwarf_frame_info(frame, &start, &end, &is_signal) < 0) {
		free(frame);
		return -ENOENT;
	}
	*ret_row = (struct oracle_row){ start, end, is_signal, frame };
	return 0;
}
