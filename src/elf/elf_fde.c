/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_fde.h"

#include <elf.h>
#include <errno.h>

#include "base/array.h"
#include "base/bisect.h"
#include "elf/elf_cfi.h"
#include "elf/elf_internal.h"

#define FDES_MAX (8u << 20) /* 16 bytes each in ELF_CFI_MAX_BYTES; a browser has a million */
#define FDES_MAX_SAME_START 8

/* An entry of the binary search table, relative to start_base and fde_base. */
struct entry {
	int32_t start;
	int32_t fde;
};
_Static_assert(sizeof(struct entry) == 8, "must match the file");

struct elf_fdes {
	const struct elf_image *img; /* borrowed from the caller until this is freed; NULL: none */
	uint64_t start_base, fde_base;
	uint64_t frame_addr;   /* 0: not known */
	struct entry *entries; /* owned; sorted by start */
	size_t nr;
	uint32_t cap;
	size_t nr_damaged; /* FDEs skipped by a scan */
};

/* Finds .eh_frame_hdr. The program header comes first because the run-time uses it. */
static int find_header(const struct elf_image *img, struct elf_segment *ret_at)
{
	const struct elf_section *s;

	if (img->eh_frame_hdr.filesz) {
		*ret_at = img->eh_frame_hdr;
		return 0;
	}
	s = elf_image_section(img, ".eh_frame_hdr");
	if (!s || s->type == SHT_NOBITS || (s->flags & SHF_COMPRESSED))
		return -ENOENT;
	*ret_at = (struct elf_segment){ .vaddr = s->addr, .offset = s->offset, .filesz = s->size };
	return 0;
}

/* The pointer to .eh_frame, if there is one with a usable encoding. -ENOENT: it cannot be skipped
 * either. */
static int take_frame_addr(struct cursor *c, const struct elf_cfi *hdr, uint8_t encoding,
			   uint64_t *ret_addr)
{
	struct cursor before = *c;
	uint64_t number;

	*ret_addr = 0;
	if (encoding == ELF_PE_OMIT)
		return 0;
	if (elf_pointer_number(c, encoding, &number) < 0)
		return c->bad ? -EBADMSG : -ENOENT;
	if ((encoding & ~ELF_PE_FORMAT_MASK) == ELF_PE_DATAREL)
		*ret_addr = hdr->addr + number;
	else if (elf_cfi_pointer(hdr, &before, encoding, &number) == 0)
		*ret_addr = number;
	return 0;
}

/* The fixed part: address of .eh_frame, number of entries, and the number of bytes before them. */
static int read_fixed_part(struct elf_fdes *f, const struct elf_segment *at, uint32_t *ret_nr,
			   size_t *ret_bytes)
{
	uint8_t bytes[16];
	size_t n = at->filesz < sizeof(bytes) ? at->filesz : sizeof(bytes);
	struct elf_cfi hdr = { .bytes = bytes, .size = n, .addr = at->vaddr };
	struct cursor c = cursor_of(bytes, n);
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int r;

	r = elf_image_read(f->img, at->offset, bytes, n);
	if (r < 0)
		return r;
	version = cursor_u8(&c);
	frame_encoding = cursor_u8(&c);
	count_encoding = cursor_u8(&c);
	table_encoding = cursor_u8(&c);
	if (c.bad || version != 1)
		return -EBADMSG;
	if (count_encoding != ELF_PE_UDATA4 || table_encoding != (ELF_PE_DATAREL | ELF_PE_SDATA4))
		return -ENOENT;
	r = take_frame_addr(&c, &hdr, frame_encoding, &f->frame_addr);
	if (r < 0)
		return r;
	*ret_nr = cursor_u32(&c);
	*ret_bytes = (size_t)(c.at - bytes);
	return c.bad ? -EBADMSG : 0;
}

static bool is_sorted(const struct entry *entries, size_t nr)
{
	for (size_t i = 1; i < nr; i++)
		if (entries[i - 1].start > entries[i].start)
			return false;
	return true;
}

static int read_entries(struct elf_fdes *f, const struct elf_segment *at)
{
	size_t before;
	uint32_t nr;
	int r;

	r = read_fixed_part(f, at, &nr, &before);
	if (r < 0)
		return r;
	if (nr == 0)
		return -ENOENT;
	if (nr > FDES_MAX || nr > (at->filesz - before) / sizeof(*f->entries) ||
	    at->offset > f->img->size || at->filesz > f->img->size - at->offset)
		return -EBADMSG;
	f->entries = malloc(nr * sizeof(*f->entries));
	if (!f->entries)
		return -ENOMEM;
	r = elf_image_read(f->img, at->offset + before, f->entries, nr * sizeof(*f->entries));
	if (r < 0)
		return r;
	f->nr = nr;
	return is_sorted(f->entries, nr) ? 0 : -ENOENT;
}

int elf_fdes_open(const struct elf_image *img, struct elf_fdes **ret_fdes)
{
	_cleanup_(elf_fdes_freep) struct elf_fdes *f = NULL;
	struct elf_segment at;
	int r;

	if (img->is_32)
		return -ENOENT; /* pointers have another size */
	r = find_header(img, &at);
	if (r < 0)
		return r;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->img = img;
	f->start_base = f->fde_base = at.vaddr;
	r = read_entries(f, &at);
	if (r < 0)
		return r;
	*ret_fdes = TAKE(f);
	return 0;
}

struct elf_fdes *elf_fdes_free(struct elf_fdes *f)
{
	if (f) {
		free(f->entries);
		free(f);
	}
	return NULL;
}

static uint64_t entry_start(const struct elf_fdes *f, size_t i)
{
	return f->start_base + (uint64_t)(int64_t)f->entries[i].start;
}

static uint64_t entry_fde(const struct elf_fdes *f, size_t i)
{
	return f->fde_base + (uint64_t)(int64_t)f->entries[i].fde;
}

/* The entry at a link-time address, read alone: up to n bytes, fewer at the end of the file. */
static int read_entry_at(const struct elf_image *img, uint64_t addr, uint8_t *bytes, size_t n,
			 struct elf_cfi *ret_frame, struct elf_cfi_entry *ret_entry)
{
	uint64_t offset;
	int r;

	r = elf_image_offset_of(img, addr, &offset);
	if (r < 0)
		return r;
	if (offset >= img->size)
		return -EBADMSG;
	if (n > img->size - offset)
		n = img->size - offset;
	r = elf_image_read(img, offset, bytes, n);
	if (r < 0)
		return r;
	*ret_frame =
		(struct elf_cfi){ .bytes = bytes, .size = n, .addr = addr, .is_excerpt = true };
	return elf_cfi_entry(ret_frame, 0, ret_entry);
}

/* The bytes an FDE covers. -EBADMSG: it disagrees with the search table about its start. */
static int read_fde(const struct elf_image *img, uint64_t addr, uint64_t start, uint64_t *ret_bytes)
{
	uint8_t fde_bytes[ELF_FDE_HEAD_MAX_BYTES], cie_bytes[ELF_CIE_HEAD_MAX_BYTES];
	struct elf_cfi at_fde, at_cie;
	struct elf_cfi_entry e, of;
	struct elf_cfi_cie cie;
	struct elf_cfi_fde fde;
	int r;

	r = read_entry_at(img, addr, fde_bytes, sizeof(fde_bytes), &at_fde, &e);
	if (r == 0)
		r = read_entry_at(img, addr + e.cie, cie_bytes, sizeof(cie_bytes), &at_cie, &of);
	if (r == 0)
		r = elf_cfi_cie(&at_cie, &of, &cie);
	if (r == 0)
		r = elf_cfi_fde(&at_fde, &e, cie.address_encoding, cie.has_augmentation_size, &fde);
	if (r == 0 && fde.start != start)
		r = -EBADMSG;
	if (r == 0)
		*ret_bytes = fde.end - fde.start;
	return r;
}

/* Reads a frame section from start to end. */
struct scan {
	struct elf_fdes *f;
	const struct elf_cfi *frame;
	uint64_t code_start, code_end;
	bool has_cie;
	uint64_t cie_offset; /* of the last CIE used: FDEs of one CIE are mostly adjacent */
	struct elf_cfi_cie cie;
};

static int scan_cie(struct scan *s, uint64_t offset)
{
	struct elf_cfi_entry e;
	int r;

	if (s->has_cie && s->cie_offset == offset)
		return 0;
	r = elf_cfi_entry(s->frame, offset, &e);
	if (r == 0)
		r = elf_cfi_cie(s->frame, &e, &s->cie);
	s->has_cie = r == 0;
	s->cie_offset = offset;
	return r;
}

/* Adds an FDE if it covers code. Functions dropped by the linker keep an FDE at address 0 in
 * .debug_frame. */
static int scan_fde(struct scan *s, const struct elf_cfi_entry *e)
{
	struct elf_cfi_fde fde;
	struct elf_fdes *f = s->f;
	int64_t rel;
	int r;

	r = scan_cie(s, e->cie);
	if (r == 0)
		r = elf_cfi_fde(s->frame, e, s->cie.address_encoding, s->cie.has_augmentation_size,
				&fde);
	if (r < 0)
		return r;
	rel = (int64_t)(fde.start - f->start_base);
	if (fde.start == 0 || fde.start < s->code_start || fde.start >= s->code_end ||
	    rel != (int32_t)rel)
		return 0;
	r = ARRAY_RESERVE(f->entries, f->cap, f->nr + 1, FDES_MAX);
	if (r == 0)
		f->entries[f->nr++] = (struct entry){ (int32_t)rel, (int32_t)e->offset };
	return r;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->fde > y->fde) - (x->fde < y->fde);
}

/* A malformed FDE is not an error: its neighbours are still usable. After an entry with an invalid
 * length nothing can be found; .eh_frame ends with a length of 0. */
static int scan_all(struct scan *s)
{
	struct elf_cfi_entry e;

	for (uint64_t at = 0;
	     elf_cfi_entry(s->frame, at, &e) == 0 && (!e.is_end || s->frame->is_debug_frame);
	     at = e.next) {
		int r = e.is_end || e.is_cie ? 0 : scan_fde(s, &e);

		s->f->nr_damaged += r == -EBADMSG;
		if (r < 0 && r != -EBADMSG)
			return r;
	}
	if (!is_sorted(s->f->entries, s->f->nr))
		qsort(s->f->entries, s->f->nr, sizeof(*s->f->entries), compare_entries);
	return 0;
}

static int scan_frame(const struct elf_cfi *frame, uint64_t start_base, uint64_t code_start,
		      uint64_t code_end, struct elf_fdes **ret_fdes)
{
	_cleanup_(elf_fdes_freep) struct elf_fdes *f = calloc(1, sizeof(*f));
	struct scan s = { .f = f, .frame = frame, .code_start = code_start, .code_end = code_end };
	int r;

	if (!f)
		return -ENOMEM;
	f->start_base = start_base;
	f->fde_base = f->frame_addr = frame->addr;
	r = scan_all(&s);
	if (r < 0)
		return r;
	*ret_fdes = TAKE(f);
	return 0;
}

int elf_fdes_of_cfi(const struct elf_cfi *frame, uint64_t code_start, uint64_t code_end,
		    struct elf_fdes **ret_fdes)
{
	return scan_frame(frame, code_start, code_start, code_end, ret_fdes);
}

int elf_fdes_scan(const struct elf_image *img, struct elf_fdes **ret_fdes)
{
	_cleanup_(elf_fdes_freep) struct elf_fdes *f = NULL;
	_cleanup_(freep) uint8_t *bytes = NULL;
	struct elf_cfi frame;
	int r;

	if (img->is_32)
		return -ENOENT;
	r = elf_cfi_read_section(img, ".eh_frame", &frame, &bytes);
	if (r == 0)
		r = scan_frame(&frame, frame.addr, 0, UINT64_MAX, &f);
	if (r < 0)
		return r;
	if (f->nr == 0)
		return -ENOENT;
	f->img = img;
	*ret_fdes = TAKE(f);
	return 0;
}

size_t elf_fdes_nr_to(const struct elf_fdes *f, uint64_t addr)
{
	int64_t rel = (int64_t)(addr - f->start_base);

	return BISECT(i, f->nr, f->entries[i].start <= rel);
}

int elf_fdes_find(const struct elf_fdes *f, uint64_t addr, uint64_t *ret_start, uint64_t *ret_end)
{
	size_t n = elf_fdes_nr_to(f, addr);

	/* An empty FDE may share its start with the one that counts. */
	for (size_t i = n; i > 0 && n - i < FDES_MAX_SAME_START; i--) {
		uint64_t start = entry_start(f, i - 1), bytes;

		if (start != entry_start(f, n - 1))
			break;
		if (read_fde(f->img, entry_fde(f, i - 1), start, &bytes) == 0 &&
		    addr - start < bytes) {
			*ret_start = start;
			*ret_end = start + bytes;
			return 0;
		}
	}
	return -ENOENT;
}

int elf_fdes_start_before(const struct elf_fdes *f, uint64_t addr, uint64_t *ret_start)
{
	size_t n = elf_fdes_nr_to(f, addr);

	if (!n)
		return -ENOENT;
	*ret_start = entry_start(f, n - 1);
	return 0;
}

size_t elf_fdes_nr(const struct elf_fdes *f)
{
	return f->nr;
}

void elf_fdes_at(const struct elf_fdes *f, size_t i, uint64_t *ret_start, uint64_t *ret_fde)
{
	*ret_start = entry_start(f, i);
	*ret_fde = entry_fde(f, i);
}

size_t elf_fdes_nr_damaged(const struct elf_fdes *f)
{
	return f->nr_damaged;
}

int elf_fdes_frame_addr(const struct elf_fdes *f, uint64_t *ret_addr)
{
	if (!f->frame_addr)
		return -ENOENT;
	*ret_addr = f->frame_addr;
	return 0;
}
