/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "dwarf/internal.h"
#include "elf/elf_image.h"

const char *const dw_section_names[DW_NR_SECTIONS] = {
	[DW_SEC_INFO] = ".debug_info",         [DW_SEC_ABBREV] = ".debug_abbrev",
	[DW_SEC_LINE] = ".debug_line",         [DW_SEC_STR] = ".debug_str",
	[DW_SEC_LINE_STR] = ".debug_line_str", [DW_SEC_STR_OFFSETS] = ".debug_str_offsets",
	[DW_SEC_ADDR] = ".debug_addr",         [DW_SEC_RANGES] = ".debug_ranges",
	[DW_SEC_RNGLISTS] = ".debug_rnglists", [DW_SEC_CU_INDEX] = ".debug_cu_index",
};

static const char *const split_names[DW_NR_SECTIONS] = {
	[DW_SEC_INFO] = ".debug_info.dwo",         [DW_SEC_ABBREV] = ".debug_abbrev.dwo",
	[DW_SEC_LINE] = ".debug_line.dwo",         [DW_SEC_STR] = ".debug_str.dwo",
	[DW_SEC_LINE_STR] = ".debug_line_str.dwo", [DW_SEC_STR_OFFSETS] = ".debug_str_offsets.dwo",
	[DW_SEC_ADDR] = ".debug_addr.dwo", /* does not exist: addresses are in the program */
	[DW_SEC_RANGES] = ".debug_ranges.dwo",     [DW_SEC_RNGLISTS] = ".debug_rnglists.dwo",
	[DW_SEC_CU_INDEX] = ".debug_cu_index",
};

void dw_file_init(struct dw_file *f, struct dwarf *d, const struct elf_image *img, bool is_split)
{
	*f = (struct dw_file){ .d = d, .img = img, .fd = -1, .is_split = is_split };
	f->serial = d->nr_files++;
	f->nr_refs = 1;
	for (size_t i = 0; i < DW_NR_SECTIONS; i++)
		dw_section_init(&f->sections[i], img,
				is_split ? split_names[i] : dw_section_names[i]);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Sections may have holes and share bytes: their sum is limited to the stored size. */
void dw_file_allow(struct dw_file *f)
{
	uint64_t stored = elf_image_stored_bytes(f->img), plain = 0, packed = 0, unpacked = 0;
	struct work *w = &f->d->work;

	for (size_t i = 0; i < DW_NR_SECTIONS; i++) {
		const struct dw_section *s = &f->sections[i];

		if (!s->at || s->error)
			continue;
		plain += s->is_packed ? 0 : smaller(s->size, stored);
		packed += s->is_packed ? smaller(s->at->size, stored) : 0;
		unpacked += s->is_packed ? s->size : 0; /* each is at most 2 GiB */
	}
	unpacked = smaller(unpacked, ELF_MAX_PACKED_TIMES * smaller(packed, stored));
	plain = smaller(plain, stored);
	w->left_bytes += smaller(DWARF_MAX_WORK_TIMES * (plain + unpacked), DWARF_MAX_WORK_BYTES);
}

void dw_file_done(struct dw_file *f)
{
	if (f->units)
		dw_cache_drop_file(f);
	free(f->units);
	for (size_t i = 0; i < DW_NR_ABBREVS; i++)
		f->abbrevs[i] = dw_abbrevs_unref(f->abbrevs[i]);
	free(TAKE(f->path));
	for (size_t i = 0; i < DW_NR_SECTIONS; i++)
		dw_section_done(f->d, &f->sections[i]);
	(void)elf_image_free(f->owned_img);
	closep(&f->fd);
	f->units = NULL;
	f->owned_img = NULL;
	f->fd = -1;
}

struct dw_file *dw_file_unref(struct dw_file *f)
{
	if (f && --f->nr_refs == 0) {
		dw_file_done(f);
		free(f);
	}
	return NULL;
}

int dw_file_new(struct dwarf *d, int fd, struct dw_file **ret_file)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(closep) int owned_fd = fd;
	struct dw_file *f;
	int r = elf_image_open_fd(fd, &img);

	if (r < 0)
		return r;
	f = malloc(sizeof(*f));
	if (!f)
		return -ENOMEM;
	dw_file_init(f, d, img, true);
	f->owned_img = TAKE(img);
	f->fd = TAKE_FD(owned_fd);
	*ret_file = f;
	return 0;
}

int dw_file_scan_units(struct dw_file *f)
{
	uint64_t offset = 0, end;
	uint8_t type;

	if (f->has_scanned_units)
		return 0;
	while (offset < f->sections[DW_SEC_INFO].size) {
		int r = cancel_is_asked(f->d->files.cancel) ? -ECANCELED
							    : dw_unit_peek(f, offset, &end, &type);

		if (r == 0)
			r = ARRAY_RESERVE(f->units, f->cap_units, f->nr_units + 1, DWARF_MAX_UNITS);
		if (r == -ENOMEM || r == -ECANCELED)
			return r;
		if (r < 0) {
			f->d->losses.is_damaged |= r != -E2BIG && !dw_is_over(f->d);
			f->d->losses.is_over_budget |= r == -E2BIG;
			break;
		}
		f->units[f->nr_units++] = (struct dw_unit_at){ .offset = offset };
		offset = end;
	}
	f->has_scanned_units = true;
	return 0;
}
