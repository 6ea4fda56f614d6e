/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_fde.h"

#include <elf.h>
#include <errno.h>

#include "base/array.h"
#include "base/cursor.h"
#include "elf/elf_internal.h"

#define FDES_MAX (4u << 20) /* a browser has a quarter of that; 32 MiB */
#define CIE_READ_BYTES 256  /* header and augmentation; the instructions behind are not wanted */
#define FDE_READ_BYTES 24   /* length, CIE pointer, and two pointers of up to 8 bytes */
#define FDES_MAX_SAME_START 8
#define SCAN_MAX_ENTRIES (2 * FDES_MAX) /* CIEs and FDEs */
#define SCAN_PIECE_BYTES 65536

/* Pointer encodings (LSB Core 5.0, "DWARF Exception Header Encoding"). */
enum {
	PE_ABSPTR = 0x00,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT_MASK = 0x0f,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_BASE_MASK = 0x70,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

/* An entry of the search table: both relative to hdr_addr. */
struct entry {
	int32_t start;
	int32_t fde;
};
_Static_assert(sizeof(struct entry) == 8, "must match the file");

struct elf_fdes {
	const struct elf_image *img; /* borrowed from the caller until this is freed */
	uint64_t hdr_addr;           /* or that of .eh_frame, when that was scanned */
	uint64_t frame_addr;         /* 0: not said */
	struct entry *entries;       /* owned; sorted by start */
	size_t nr;
};

/* Bytes of a pointer; 0: none that linkers emit. */
static size_t pointer_bytes(uint8_t encoding)
{
	switch (encoding & PE_FORMAT_MASK) {
	case PE_UDATA2:
	case PE_SDATA2:
		return 2;
	case PE_UDATA4:
	case PE_SDATA4:
		return 4;
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return 8;
	default:
		return 0;
	}
}

/* The number as it stands, before any base is added. */
static uint64_t take_number(struct cursor *c, uint8_t format)
{
	switch (format) {
	case PE_UDATA2:
		return cursor_u16(c);
	case PE_SDATA2:
		return (uint64_t)(int64_t)(int16_t)cursor_u16(c);
	case PE_UDATA4:
		return cursor_u32(c);
	case PE_SDATA4:
		return (uint64_t)(int64_t)cursor_s32(c);
	default:
		return cursor_u64(c);
	}
}

static void skip_leb128(struct cursor *c)
{
	while (cursor_u8(c) & 0x80)
		;
}

/* Where .eh_frame_hdr lies. The program header is what the run-time uses, so it comes first. */
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

/* The pointer to .eh_frame, which stands 4 bytes into the header. */
static uint64_t take_frame_addr(struct cursor *c, uint64_t hdr_addr, uint8_t encoding)
{
	uint64_t at = hdr_addr + 4, v;

	if (encoding == PE_OMIT)
		return 0;
	v = take_number(c, encoding & PE_FORMAT_MASK);
	switch (encoding & ~PE_FORMAT_MASK) {
	case PE_ABSPTR:
		return v;
	case PE_PCREL:
		return at + v;
	case PE_DATAREL:
		return hdr_addr + v;
	default:
		return 0;
	}
}

/* The fixed part: where .eh_frame is, the number of entries, and how many bytes stand before. */
static int read_fixed_part(struct elf_fdes *f, const struct elf_segment *at, uint32_t *ret_nr,
			   size_t *ret_bytes)
{
	uint8_t bytes[16];
	size_t n = at->filesz < sizeof(bytes) ? at->filesz : sizeof(bytes);
	struct cursor c = cursor_of(bytes, n);
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	uint32_t nr;
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
	if (count_encoding != PE_UDATA4 || table_encoding != (PE_DATAREL | PE_SDATA4) ||
	    (frame_encoding != PE_OMIT && !pointer_bytes(frame_encoding)))
		return -ENOENT;
	f->frame_addr = take_frame_addr(&c, at->vaddr, frame_encoding);
	nr = cursor_u32(&c);
	if (c.bad)
		return -EBADMSG;
	*ret_nr = nr;
	*ret_bytes = (size_t)(c.at - bytes);
	return 0;
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
		return -ENOENT; /* its pointers have another size */
	r = find_header(img, &at);
	if (r < 0)
		return r;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->img = img;
	f->hdr_addr = at.vaddr;
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
	return f->hdr_addr + (uint64_t)(int64_t)f->entries[i].start;
}

/* Up to n bytes at a link-time address; fewer where the file ends. */
static int read_at(const struct elf_image *img, uint64_t addr, void *to, size_t n,
		   struct cursor *ret_cursor)
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
	r = elf_image_read(img, offset, to, n);
	if (r < 0)
		return r;
	*ret_cursor = cursor_of(to, n);
	return 0;
}

/* The 'R' of an augmentation that begins with 'z'. */
static int find_pointer_encoding(struct cursor *c, const char *augmentation, uint8_t *ret_encoding)
{
	const char *a = augmentation + 1;
	uint8_t encoding;

	skip_leb128(c); /* length of the augmentation data */
	for (; *a && *a != 'R'; a++) {
		if (*a == 'L')
			(void)cursor_u8(c);
		else if (*a == 'P')
			(void)cursor_take(c, pointer_bytes(cursor_u8(c)));
		else if (*a != 'S' && *a != 'B' && *a != 'G')
			return -EBADMSG; /* nobody knows what follows */
	}
	encoding = *a == 'R' ? cursor_u8(c) : PE_ABSPTR;
	if (c->bad)
		return -EBADMSG;
	*ret_encoding = encoding;
	return 0;
}

/* How the FDEs of a CIE write their addresses. */
static int parse_cie(struct cursor *c, uint8_t *ret_encoding)
{
	const char *augmentation;
	uint8_t version;

	(void)cursor_u32(c); /* length */
	if (cursor_u32(c) != 0)
		return -EBADMSG; /* an FDE, not a CIE */
	version = cursor_u8(c);
	augmentation = cursor_str(c);
	if (!augmentation || (version != 1 && version != 3))
		return -EBADMSG;
	skip_leb128(c); /* code alignment */
	skip_leb128(c); /* data alignment */
	if (version == 1)
		(void)cursor_u8(c); /* return address register */
	else
		skip_leb128(c);
	if (augmentation[0] == 'z')
		return find_pointer_encoding(c, augmentation, ret_encoding);
	if (c->bad || augmentation[0] != '\0')
		return -EBADMSG;
	*ret_encoding = PE_ABSPTR;
	return 0;
}

static int read_cie(const struct elf_image *img, uint64_t addr, uint8_t *ret_encoding)
{
	uint8_t bytes[CIE_READ_BYTES];
	struct cursor c;
	int r;

	r = read_at(img, addr, bytes, sizeof(bytes), &c);
	return r < 0 ? r : parse_cie(&c, ret_encoding);
}

/* What follows the CIE pointer of the FDE at addr. */
static int parse_range(struct cursor *c, uint8_t encoding, uint64_t addr, uint64_t *ret_start,
		       uint64_t *ret_bytes)
{
	uint64_t begin, range;

	if ((encoding & PE_INDIRECT) || !pointer_bytes(encoding))
		return -EBADMSG;
	begin = take_number(c, encoding & PE_FORMAT_MASK);
	if ((encoding & PE_BASE_MASK) == PE_PCREL)
		begin += addr + 8;
	else if ((encoding & PE_BASE_MASK) != PE_ABSPTR)
		return -EBADMSG;
	range = take_number(c, encoding & PE_FORMAT_MASK);
	if (c->bad || range > UINT64_MAX - begin)
		return -EBADMSG;
	*ret_start = begin;
	*ret_bytes = range;
	return 0;
}

/* The bytes an FDE covers. It must agree with the search table about where it starts: -EBADMSG. */
static int read_fde(const struct elf_image *img, uint64_t addr, uint64_t start, uint64_t *ret_bytes)
{
	uint8_t bytes[FDE_READ_BYTES], encoding;
	uint32_t length, cie_delta;
	uint64_t begin, range;
	struct cursor c;
	int r;

	r = read_at(img, addr, bytes, sizeof(bytes), &c);
	if (r < 0)
		return r;
	length = cursor_u32(&c);
	cie_delta = cursor_u32(&c);
	/* 64-bit lengths (0xffffffff) exist on paper; no linker writes them into .eh_frame. */
	if (c.bad || length < 8 || length == UINT32_MAX || cie_delta == 0)
		return -EBADMSG;
	r = read_cie(img, addr + 4 - cie_delta, &encoding);
	if (r == 0)
		r = parse_range(&c, encoding, addr, &begin, &range);
	if (r < 0)
		return r;
	if (begin != start)
		return -EBADMSG;
	*ret_bytes = range;
	return 0;
}

/* .eh_frame from its beginning to its end, in pieces. */
struct scan {
	struct elf_fdes *f;
	const struct elf_section *section;
	uint64_t size; /* bytes of the section that the file has */
	uint32_t cap;
	bool has_cie;
	uint64_t cie; /* offset in the section of the CIE seen last, and what it says */
	uint8_t encoding;
	uint64_t piece; /* offset in the section of what is in bytes */
	size_t nr_bytes;
	uint8_t bytes[SCAN_PIECE_BYTES];
};

/* Up to n bytes at an offset; fewer where the section ends. */
static int scan_bytes(struct scan *s, uint64_t offset, size_t n, struct cursor *ret_cursor)
{
	int r;

	if (n > s->size - offset)
		n = s->size - offset;
	if (offset < s->piece || offset + n > s->piece + s->nr_bytes) {
		uint64_t left = s->size - offset;

		s->piece = offset;
		s->nr_bytes = left < SCAN_PIECE_BYTES ? left : SCAN_PIECE_BYTES;
		r = elf_image_read(s->f->img, s->section->offset + offset, s->bytes, s->nr_bytes);
		if (r < 0) {
			s->nr_bytes = 0;
			return r;
		}
	}
	*ret_cursor = cursor_of(s->bytes + (offset - s->piece), n);
	return 0;
}

/* FDEs of one CIE mostly stand together. Read apart from the pieces, which go forward only. */
static int scan_cie(struct scan *s, uint64_t offset)
{
	uint8_t bytes[CIE_READ_BYTES];
	size_t n = s->size - offset < sizeof(bytes) ? s->size - offset : sizeof(bytes);
	struct cursor c = cursor_of(bytes, n);
	int r;

	if (s->has_cie && s->cie == offset)
		return 0;
	s->has_cie = false;
	r = elf_image_read(s->f->img, s->section->offset + offset, bytes, n);
	if (r == 0)
		r = parse_cie(&c, &s->encoding);
	s->has_cie = r == 0;
	s->cie = offset;
	return r;
}

/* Adds the FDE at an offset, of which c has what follows the length. Damage in one is no error: its
 * neighbours are still good. */
static int scan_fde(struct scan *s, uint64_t offset, struct cursor *c)
{
	struct elf_fdes *f = s->f;
	uint32_t cie_delta = cursor_u32(c);
	uint64_t start, range;
	int64_t rel;
	int r;

	if (c->bad || cie_delta == 0 || cie_delta > offset + 4 ||
	    scan_cie(s, offset + 4 - cie_delta) < 0 ||
	    parse_range(c, s->encoding, f->hdr_addr + offset, &start, &range) < 0 || range == 0)
		return 0;
	rel = (int64_t)(start - f->hdr_addr);
	if (rel != (int32_t)rel)
		return 0;
	r = ARRAY_RESERVE(f->entries, s->cap, f->nr + 1, FDES_MAX);
	if (r < 0)
		return r;
	f->entries[f->nr++] = (struct entry){ (int32_t)rel, (int32_t)offset };
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->fde > y->fde) - (x->fde < y->fde);
}

/* What lies behind an entry of senseless length, or behind too many, is not found. */
static int scan_all(struct scan *s)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < SCAN_MAX_ENTRIES && at < s->size; i++) {
		struct cursor c;
		uint32_t length;
		int r = scan_bytes(s, at, FDE_READ_BYTES, &c);

		if (r < 0)
			break;
		length = cursor_u32(&c);
		if (c.bad || length == 0 || length == UINT32_MAX || length > s->size - at - 4)
			break;
		r = scan_fde(s, at, &c);
		if (r < 0)
			return r == -E2BIG ? 0 : r;
		at += 4 + (uint64_t)length;
	}
	return 0;
}

int elf_fdes_scan(const struct elf_image *img, struct elf_fdes **ret_fdes)
{
	_cleanup_(elf_fdes_freep) struct elf_fdes *f = NULL;
	_cleanup_(freep) struct scan *s = NULL;
	const struct elf_section *section = elf_image_section(img, ".eh_frame");
	int r;

	if (img->is_32 || !section || section->type == SHT_NOBITS ||
	    (section->flags & SHF_COMPRESSED))
		return -ENOENT;
	if (section->offset > img->size || section->size > INT32_MAX)
		return -EBADMSG;
	f = calloc(1, sizeof(*f));
	s = calloc(1, sizeof(*s));
	if (!f || !s)
		return -ENOMEM;
	f->img = img;
	f->hdr_addr = f->frame_addr = section->addr;
	s->f = f;
	s->section = section;
	s->size = section->size < img->size - section->offset ? section->size
							      : img->size - section->offset;
	r = scan_all(s);
	if (r < 0)
		return r;
	if (f->nr == 0)
		return -ENOENT;
	qsort(f->entries, f->nr, sizeof(*f->entries), compare_entries);
	*ret_fdes = TAKE(f);
	return 0;
}

/* Number of entries that start at or below addr. */
static size_t nr_at_or_below(const struct elf_fdes *f, uint64_t addr)
{
	int64_t rel = (int64_t)(addr - f->hdr_addr);
	size_t low = 0, high = f->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (f->entries[mid].start <= rel)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int elf_fdes_find(const struct elf_fdes *f, uint64_t addr, uint64_t *ret_start, uint64_t *ret_end)
{
	size_t n = nr_at_or_below(f, addr);

	/* An empty FDE may share its start with the one that counts. */
	for (size_t i = n; i > 0 && n - i < FDES_MAX_SAME_START; i--) {
		uint64_t start = entry_start(f, i - 1), bytes;
		uint64_t fde = f->hdr_addr + (uint64_t)(int64_t)f->entries[i - 1].fde;

		if (start != entry_start(f, n - 1))
			break;
		if (read_fde(f->img, fde, start, &bytes) == 0 && addr - start < bytes) {
			*ret_start = start;
			*ret_end = start + bytes;
			return 0;
		}
	}
	return -ENOENT;
}

int elf_fdes_start_before(const struct elf_fdes *f, uint64_t addr, uint64_t *ret_start)
{
	size_t n = nr_at_or_below(f, addr);

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
	*ret_fde = f->hdr_addr + (uint64_t)(int64_t)f->entries[i].fde;
}

int elf_fdes_frame_addr(const struct elf_fdes *f, uint64_t *ret_addr)
{
	if (!f->frame_addr)
		return -ENOENT;
	*ret_addr = f->frame_addr;
	return 0;
}
