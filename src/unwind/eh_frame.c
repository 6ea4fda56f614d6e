/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the section and sorts its FDEs by address. */
#include "unwind/eh_frame.h"

#include <elf.h>
#include <errno.h>

#include "elf/elf_fde.h"
#include "elf/elf_image.h"
#include "unwind/eh_frame_internal.h"

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
		elf_fdes_free(cfi->fdes);
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
	return cfi->frame.size;
}

const struct elf_image *cfi_image(const struct cfi *cfi)
{
	return cfi->img;
}

size_t cfi_nr_fdes(const struct cfi *cfi)
{
	return elf_fdes_nr(cfi->fdes);
}

size_t cfi_nr_damaged(const struct cfi *cfi)
{
	return elf_fdes_nr_damaged(cfi->fdes);
}

bool cfi_is_suspect(const struct cfi *cfi)
{
	return cfi->is_suspect;
}

size_t cfi_nr_fdes_to(const struct cfi *cfi, uint64_t addr)
{
	return elf_fdes_nr_to(cfi->fdes, addr);
}

static int collect_fdes(struct cfi *cfi)
{
	int r = elf_fdes_of_cfi(&cfi->frame, cfi->code_start, cfi->code_end, &cfi->fdes);

	if (r == 0 && elf_fdes_nr_damaged(cfi->fdes))
		cfi->is_suspect = true;
	return r;
}

int cfi_open_bytes(const struct cfi_bytes *in, struct cfi **ret_cfi)
{
	_cleanup_(cfi_freep) struct cfi *cfi = NULL;
	int r;

	if (in->size > ELF_CFI_MAX_BYTES)
		return -E2BIG;
	cfi = calloc(1, sizeof(*cfi));
	if (!cfi)
		return -ENOMEM;
	cfi->frame = (struct elf_cfi){ .bytes = in->bytes,
				       .size = in->size,
				       .addr = in->addr,
				       .is_debug_frame = in->is_debug_frame };
	cfi->arch = in->arch;
	cfi->code_start = in->code_start;
	cfi->code_end = in->code_end;
	if (cfi->code_end - cfi->code_start > CFI_MAX_SPAN_BYTES)
		cfi->code_end = cfi->code_start + CFI_MAX_SPAN_BYTES;
	r = collect_fdes(cfi);
	if (r < 0)
		return r;
	*ret_cfi = TAKE(cfi);
	return 0;
}

/* The range from the first to the last executable byte. -ENOENT if no segment is executable. */
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

/* Size of .eh_frame at addr: that of the section, if there is one, or the rest of the segment. */
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

/* Finds the FDEs by .eh_frame_hdr, as language runtimes do. */
static int load_by_table(struct cfi *cfi)
{
	uint64_t addr, offset, size;
	int r;

	r = elf_fdes_frame_addr(cfi->fdes, &addr);
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
	if (size > ELF_CFI_MAX_BYTES)
		return -E2BIG;
	cfi->owned = malloc(size);
	if (!cfi->owned)
		return -ENOMEM;
	cfi->frame = (struct elf_cfi){ .bytes = cfi->owned, .size = size, .addr = addr };
	return elf_image_read(cfi->img, offset, cfi->owned, size);
}

static int load_eh_frame(struct cfi *cfi)
{
	int r;

	r = elf_fdes_open(cfi->img, &cfi->fdes);
	if (r == 0)
		r = load_by_table(cfi);
	if (r == 0 || r == -ENOMEM)
		return r;
	/* there is no search table, or it is unusable */
	cfi->is_suspect = elf_image_section(cfi->img, ".eh_frame_hdr") != NULL;
	cfi->fdes = elf_fdes_free(cfi->fdes);
	free(TAKE(cfi->owned));
	r = elf_cfi_read_section(cfi->img, ".eh_frame", &cfi->frame, &cfi->owned);
	return r < 0 ? r : collect_fdes(cfi);
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
	r = elf_cfi_read_section(debug, ".debug_frame", &cfi->frame, &cfi->owned);
	if (r < 0)
		return r;
	cfi->frame.is_debug_frame = true;
	r = collect_fdes(cfi);
	if (r < 0)
		return r;
	*ret_cfi = TAKE(cfi);
	return 0;
}
