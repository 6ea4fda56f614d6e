/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the section, and bringing its FDEs into the order of the code. */
#include "unwind/eh_frame.h"

#include <elf.h>
#include <errno.h>

#include "base/array.h"
#include "base/buf.h"
#include "elf/elf_fde.h"
#include "elf/elf_image.h"
#include "unwind/eh_frame_internal.h"

_Static_assert(CFI_MAX_SECTION_BYTES <= UINT32_MAX, "an offset has 32 bits in the index");
_Static_assert(CFI_MAX_SPAN_BYTES <= UINT32_MAX, "so has a start");

const struct unwind_arch *unwind_arch_of(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return &unwind_arch_x86;
	case EM_AARCH64:
		return &unwind_arch_arm64;
	default:
		return NULL;
	}
}

struct cfi *cfi_free(struct cfi *cfi)
{
	if (cfi) {
		elf_fdes_free(cfi->table);
		free(cfi->index);
		free(cfi->owned);
		free(cfi);
	}
	return NULL;
}

const struct unwind_arch *cfi_arch(const struct cfi *cfi)
{
	return cfi->arch;
}

size_t cfi_size_bytes(const struct cfi *cfi)
{
	return cfi->size;
}

const struct elf_image *cfi_image(const struct cfi *cfi)
{
	return cfi->img;
}

size_t cfi_nr_fdes(const struct cfi *cfi)
{
	return cfi->nr;
}

size_t cfi_nr_damaged(const struct cfi *cfi)
{
	return cfi->nr_damaged;
}

bool cfi_is_suspect(const struct cfi *cfi)
{
	return cfi->nr_damaged > 0 || cfi->is_table_lost;
}

static uint64_t start_of(const struct cfi *cfi, size_t i)
{
	uint64_t start, fde;

	if (!cfi->table)
		return cfi->code_start + (cfi->index[i] >> 32);
	elf_fdes_at(cfi->table, i, &start, &fde);
	return start;
}

size_t cfi_nr_fdes_to(const struct cfi *cfi, uint64_t addr)
{
	size_t low = 0, high = cfi->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (start_of(cfi, mid) <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void sort_index(struct cfi *cfi)
{
	for (size_t i = 1; i < cfi->nr; i++)
		if (cfi->index[i - 1] > cfi->index[i]) {
			qsort(cfi->index, cfi->nr, sizeof(*cfi->index), compare_u64);
			return;
		}
}

/* Adds an FDE, if it is about code. Functions that the linker has dropped keep their FDE in
 * .debug_frame, at address 0. */
static int index_fde(struct cfi *cfi, const struct cfi_fde *fde, uint64_t offset, uint32_t *cap)
{
	int r;

	if (fde->start == 0 || fde->start < cfi->code_start || fde->start >= cfi->code_end)
		return 0;
	r = ARRAY_RESERVE(cfi->index, *cap, cfi->nr + 1, CFI_MAX_FDES);
	if (r < 0)
		return r;
	cfi->index[cfi->nr++] = (fde->start - cfi->code_start) << 32 | offset;
	return 0;
}

/* Damage in an FDE is no error: its neighbours are still good. */
static int build_index(struct cfi *cfi)
{
	_cleanup_(cfi_reader_freep) struct cfi_reader *rd = NULL;
	uint64_t offset = 0;
	struct cfi_fde fde;
	uint32_t cap = 0;
	int r;

	r = cfi_reader_new(cfi, false, &rd);
	while (r == 0) {
		r = cfi_reader_next(rd, &offset, &fde);
		if (r == 0)
			r = index_fde(cfi, &fde, fde.offset, &cap);
		if (r == -EBADMSG) {
			cfi->nr_damaged++;
			r = 0;
		}
	}
	if (r != -ENOENT)
		return r;
	sort_index(cfi);
	return 0;
}

int cfi_open_bytes(const struct cfi_bytes *in, struct cfi **ret_cfi)
{
	_cleanup_(cfi_freep) struct cfi *cfi = NULL;
	int r;

	if (in->size > CFI_MAX_SECTION_BYTES)
		return -E2BIG;
	cfi = calloc(1, sizeof(*cfi));
	if (!cfi)
		return -ENOMEM;
	cfi->bytes = in->bytes;
	cfi->size = in->size;
	cfi->addr = in->addr;
	cfi->is_debug_frame = in->is_debug_frame;
	cfi->arch = in->arch;
	cfi->code_start = in->code_start;
	cfi->code_end = in->code_end;
	if (cfi->code_end - cfi->code_start > CFI_MAX_SPAN_BYTES)
		cfi->code_end = cfi->code_start + CFI_MAX_SPAN_BYTES;
	r = build_index(cfi);
	if (r < 0)
		return r;
	*ret_cfi = TAKE(cfi);
	return 0;
}

/* The addresses between the first and the last executable byte. -ENOENT: there are none. */
static int find_code(const struct elf_image *img, uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t start = UINT64_MAX, end = 0;
	const struct elf_segment *loads;
	size_t nr;

	loads = elf_image_loads(img, &nr);
	for (size_t i = 0; i < nr; i++) {
		const struct elf_segment *s = &loads[i];

		if (!(s->flags & PF_X) || s->memsz > UINT64_MAX - s->vaddr)
			continue;
		if (s->vaddr < start)
			start = s->vaddr;
		if (s->vaddr + s->memsz > end)
			end = s->vaddr + s->memsz;
	}
	if (start >= end)
		return -ENOENT;
	*ret_start = start;
	*ret_end = end - start > CFI_MAX_SPAN_BYTES ? start + CFI_MAX_SPAN_BYTES : end;
	return 0;
}

static int new_for_image(const struct elf_image *img, struct cfi **ret_cfi)
{
	_cleanup_(cfi_freep) struct cfi *cfi = NULL;
	int r;

	cfi = calloc(1, sizeof(*cfi));
	if (!cfi)
		return -ENOMEM;
	cfi->img = img;
	cfi->arch = unwind_arch_of(elf_image_machine(img));
	if (!cfi->arch)
		return -EOPNOTSUPP;
	r = find_code(img, &cfi->code_start, &cfi->code_end);
	if (r < 0)
		return r;
	*ret_cfi = TAKE(cfi);
	return 0;
}

/* By the section of the name. */
static int load_section(struct cfi *cfi, const struct elf_image *img, const char *name)
{
	const struct elf_section *s = elf_image_debug_section(img, name);
	struct buf b = BUF_INIT(CFI_MAX_SECTION_BYTES);
	int r;

	if (!s || s->type == SHT_NOBITS)
		return -ENOENT;
	r = elf_image_read_section(img, s, &b);
	if (r < 0) {
		buf_done(&b);
		return r;
	}
	cfi->owned = b.data;
	cfi->bytes = cfi->owned;
	cfi->size = b.len;
	cfi->addr = s->addr;
	return 0;
}

/* How many bytes of .eh_frame there are at addr: the section's, if there is one, or all that the
 * segment has. */
static uint64_t frame_bytes(const struct elf_image *img, uint64_t addr)
{
	const struct elf_section *s = elf_image_section(img, ".eh_frame");
	const struct elf_segment *loads;
	size_t nr;

	if (s && s->type != SHT_NOBITS && s->addr == addr)
		return s->size;
	loads = elf_image_loads(img, &nr);
	for (size_t i = 0; i < nr; i++)
		if (addr >= loads[i].vaddr && addr - loads[i].vaddr < loads[i].filesz)
			return loads[i].filesz - (addr - loads[i].vaddr);
	return 0;
}

/* By .eh_frame_hdr, as the run-time does. */
static int load_by_table(struct cfi *cfi)
{
	uint64_t addr, offset, size;
	int r;

	r = elf_fdes_frame_addr(cfi->table, &addr);
	if (r < 0)
		return r;
	r = elf_image_offset_of(cfi->img, addr, &offset);
	if (r < 0)
		return r;
	size = frame_bytes(cfi->img, addr);
	if (size == 0 || offset > elf_image_size(cfi->img))
		return -EBADMSG;
	if (size > elf_image_size(cfi->img) - offset)
		size = elf_image_size(cfi->img) - offset;
	if (size > CFI_MAX_SECTION_BYTES)
		return -E2BIG;
	cfi->owned = malloc(size ? size : 1);
	if (!cfi->owned)
		return -ENOMEM;
	cfi->bytes = cfi->owned;
	cfi->size = size;
	cfi->addr = addr;
	cfi->nr = elf_fdes_nr(cfi->table);
	return elf_image_read(cfi->img, offset, cfi->owned, size);
}

static int load_eh_frame(struct cfi *cfi)
{
	int r;

	r = elf_fdes_open(cfi->img, &cfi->table);
	if (r == 0)
		r = load_by_table(cfi);
	if (r == 0 || r == -ENOMEM)
		return r;
	/* Without the table, or when it leads nowhere. */
	cfi->is_table_lost = elf_image_section(cfi->img, ".eh_frame_hdr") != NULL;
	cfi->table = elf_fdes_free(cfi->table);
	free(TAKE(cfi->owned));
	cfi->nr = 0;
	r = load_section(cfi, cfi->img, ".eh_frame");
	return r < 0 ? r : build_index(cfi);
}

int cfi_open_eh_frame(const struct elf_image *img, struct cfi **ret_cfi)
{
	_cleanup_(cfi_freep) struct cfi *cfi = NULL;
	int r;

	r = new_for_image(img, &cfi);
	if (r < 0)
		return r;
	r = load_eh_frame(cfi);
	if (r < 0)
		return r;
	*ret_cfi = TAKE(cfi);
	return 0;
}

int cfi_open_debug_frame(const struct elf_image *img, const struct elf_image *debug,
			 struct cfi **ret_cfi)
{
	_cleanup_(cfi_freep) struct cfi *cfi = NULL;
	int r;

	r = new_for_image(img, &cfi);
	if (r < 0)
		return r;
	cfi->is_debug_frame = true;
	r = load_section(cfi, debug, ".debug_frame");
	if (r < 0)
		return r;
	r = build_index(cfi);
	if (r < 0)
		return r;
	*ret_cfi = TAKE(cfi);
	return 0;
}
