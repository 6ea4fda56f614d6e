/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "elf/elf_fde.h"
#include "elf_maker.h"

/* The file: .eh_frame at 0x5000, .eh_frame_hdr at 0x6000, one PT_LOAD for each. */
#define FRAME_ADDR 0x5000u
#define HDR_ADDR 0x6000u

struct frame_maker {
	uint8_t frame[512];
	size_t frame_len;
	uint8_t hdr[256];
	size_t hdr_len;
	uint32_t nr;
	uint32_t cie; /* offset of the CIE in use */
	uint8_t encoding;
	bool is_augmented; /* its FDEs have augmentation data: none */
};

static void put(uint8_t *to, size_t *len, uint64_t v, size_t n)
{
	memcpy(to + *len, &v, n);
	*len += n;
}

static void begin(struct frame_maker *f)
{
	memset(f, 0, sizeof(*f));
	put(f->hdr, &f->hdr_len, 0x3b031b01, 4);
	put(f->hdr, &f->hdr_len, FRAME_ADDR - (HDR_ADDR + 4), 4);
	put(f->hdr, &f->hdr_len, 0, 4);
}

/* version 1, the given augmentation with its data; FDEs that follow use the encoding. */
static void cie(struct frame_maker *f, const char *augmentation, const void *data, size_t n,
		uint8_t encoding)
{
	size_t start = f->frame_len, length;

	f->cie = (uint32_t)start;
	f->encoding = encoding;
	f->is_augmented = augmentation[0] == 'z';
	put(f->frame, &f->frame_len, 0, 4);
	put(f->frame, &f->frame_len, 0, 4);
	put(f->frame, &f->frame_len, 1, 1);
	memcpy(f->frame + f->frame_len, augmentation, strlen(augmentation) + 1);
	f->frame_len += strlen(augmentation) + 1;
	put(f->frame, &f->frame_len, 0x107801, 3); /* alignments 1 and -8, return address 16 */
	if (augmentation[0] == 'z') {
		put(f->frame, &f->frame_len, n, 1);
		memcpy(f->frame + f->frame_len, data, n);
		f->frame_len += n;
	}
	length = f->frame_len - start - 4;
	memcpy(f->frame + start, &length, 4);
}

static size_t bytes_of(uint8_t encoding)
{
	return (encoding & 7) == 2 ? 2 : (encoding & 7) == 3 ? 4 : 8;
}

static void list_fde(struct frame_maker *f, uint64_t start, size_t at)
{
	put(f->hdr, &f->hdr_len, start - HDR_ADDR, 4);
	put(f->hdr, &f->hdr_len, FRAME_ADDR + at - HDR_ADDR, 4);
	f->nr++;
	memcpy(f->hdr + 8, &f->nr, 4);
}

static void fde(struct frame_maker *f, uint64_t start, uint64_t range)
{
	size_t at = f->frame_len, n = bytes_of(f->encoding);
	bool is_pcrel = (f->encoding & 0x70) == 0x10;

	put(f->frame, &f->frame_len, 4 + 2 * n + f->is_augmented, 4);
	put(f->frame, &f->frame_len, at + 4 - f->cie, 4);
	put(f->frame, &f->frame_len, is_pcrel ? start - (FRAME_ADDR + at + 8) : start, n);
	put(f->frame, &f->frame_len, range, n);
	put(f->frame, &f->frame_len, 0, f->is_augmented);
	list_fde(f, start, at);
}

/* One with a 64-bit length and CIE pointer. */
static void wide_fde(struct frame_maker *f, uint64_t start, uint64_t range)
{
	size_t at = f->frame_len, n = bytes_of(f->encoding);

	put(f->frame, &f->frame_len, 0xffffffff, 4);
	put(f->frame, &f->frame_len, 8 + 2 * n + f->is_augmented, 8);
	put(f->frame, &f->frame_len, at + 12 - f->cie, 8);
	put(f->frame, &f->frame_len, start - (FRAME_ADDR + at + 20), n);
	put(f->frame, &f->frame_len, range, n);
	put(f->frame, &f->frame_len, 0, f->is_augmented);
	list_fde(f, start, at);
}

static void end(struct frame_maker *f, struct elf_maker *m, bool by_section)
{
	uint64_t frame_at, hdr_at;

	maker_init(m);
	frame_at = maker_bytes(m, f->frame, f->frame_len);
	maker_segment(m, PT_LOAD, PF_R, FRAME_ADDR, frame_at, f->frame_len);
	if (by_section) {
		unsigned int i = maker_section(m, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, f->hdr,
					       f->hdr_len);

		m->shdrs[i].sh_addr = HDR_ADDR;
	} else {
		hdr_at = maker_bytes(m, f->hdr, f->hdr_len);
		maker_segment(m, PT_GNU_EH_FRAME, PF_R, HDR_ADDR, hdr_at, f->hdr_len);
	}
	maker_end(m);
	if (!by_section)
		maker_ehdr(m)->e_shoff = 0;
}

struct range {
	int r;
	uint64_t start, end;
};

/* The FDE at addr, or the error of opening or finding. */
static struct range find(struct frame_maker *f, uint64_t addr, bool by_section)
{
	struct range at = { 0 };
	struct elf_fdes *fdes;
	struct elf_image *img;
	struct elf_maker m;

	end(f, &m, by_section);
	img = maker_open(&m);
	at.r = elf_fdes_open(img, &fdes);
	if (at.r == 0) {
		at.r = elf_fdes_find(fdes, addr, &at.start, &at.end);
		elf_fdes_free(fdes);
	}
	elf_image_free(img);
	maker_done(&m);
	return at;
}

static bool is(struct range at, uint64_t start, uint64_t end_addr)
{
	return at.r == 0 && at.start == start && at.end == end_addr;
}

static void two_functions(struct frame_maker *f)
{
	begin(f);
	cie(f, "zR", "\x1b", 1, 0x1b);
	fde(f, 0x1000, 0x20);
	fde(f, 0x1040, 0x10);
}

static void test_ranges(void)
{
	struct frame_maker f;

	two_functions(&f);
	ok(find(&f, 0xfff, false).r == -ENOENT, "an address below the first FDE is not covered");
	ok(is(find(&f, 0x1000, false), 0x1000, 0x1020), "the first address is covered");
	ok(is(find(&f, 0x101f, false), 0x1000, 0x1020), "the last address is covered");
	ok(find(&f, 0x1020, false).r == -ENOENT, "an address in a gap is not covered");
	ok(is(find(&f, 0x1041, false), 0x1040, 0x1050), "the second FDE is found");
	ok(find(&f, 0x1050, false).r == -ENOENT, "the end of an FDE is not covered");
	ok(find(&f, UINT64_MAX, false).r == -ENOENT, "the end of the address space is not covered");
	ok(is(find(&f, 0x1041, true), 0x1040, 0x1050),
	   "the section suffices without PT_GNU_EH_FRAME");
}

static void test_encodings(void)
{
	static const uint8_t encodings[] = { 0x00, 0x02, 0x03, 0x04, 0x0b, 0x0c, 0x1b, 0x1c, 0x10 };
	struct frame_maker f;

	for (size_t i = 0; i < sizeof(encodings); i++) {
		begin(&f);
		cie(&f, "zR", &encodings[i], 1, encodings[i]);
		fde(&f, 0x1000, 0x20);
		ok(is(find(&f, 0x1010, false), 0x1000, 0x1020),
		   "pointers of encoding 0x%02x are read", encodings[i]);
	}
	begin(&f);
	cie(&f, "", NULL, 0, 0x00);
	fde(&f, 0x1000, 0x20);
	ok(is(find(&f, 0x1010, false), 0x1000, 0x1020), "no augmentation means absolute pointers");
	begin(&f);
	cie(&f, "zPLR", "\x9b\1\2\3\4\x1b\x1b", 7, 0x1b);
	fde(&f, 0x1000, 0x20);
	ok(is(find(&f, 0x1010, false), 0x1000, 0x1020),
	   "an encoding after a personality and an LSDA is found");
	begin(&f);
	cie(&f, "zRS", "\x1b", 1, 0x1b);
	fde(&f, 0x1000, 0x20);
	ok(is(find(&f, 0x1010, false), 0x1000, 0x1020), "an FDE of a signal frame is read");
}

/* Start 0x1000 and size 0x20 as LEB128; the start in 2 + nr_padding bytes. */
static void leb_fde(struct frame_maker *f, size_t nr_padding)
{
	size_t at = f->frame_len;

	put(f->frame, &f->frame_len, 4 + 2 + nr_padding + 2 + 1, 4);
	put(f->frame, &f->frame_len, at + 4 - f->cie, 4);
	put(f->frame, &f->frame_len, 0x80, 1);
	put(f->frame, &f->frame_len, 0xa0, 1);
	for (size_t i = 0; i < nr_padding; i++)
		put(f->frame, &f->frame_len, i + 1 < nr_padding ? 0x80 : 0, 1);
	put(f->frame, &f->frame_len, 0x00a0, 2); /* 0x20, in two bytes */
	put(f->frame, &f->frame_len, 0, 1);
	list_fde(f, 0x1000, at);
}

static void test_lengths(void)
{
	struct frame_maker f;

	begin(&f);
	cie(&f, "zR", "\x1b", 1, 0x1b);
	wide_fde(&f, 0x1000, 0x20);
	fde(&f, 0x1040, 0x10);
	ok(is(find(&f, 0x101f, false), 0x1000, 0x1020), "a 64-bit length is read");
	ok(is(find(&f, 0x1040, false), 0x1040, 0x1050), "the entry after a 64-bit length is found");
	begin(&f);
	cie(&f, "zR", "\x01", 1, 0x01);
	leb_fde(&f, 1);
	ok(is(find(&f, 0x101f, false), 0x1000, 0x1020), "LEB128 addresses are read");
	begin(&f);
	cie(&f, "zR", "\x01", 1, 0x01);
	leb_fde(&f, 100);
	ok(find(&f, 0x1000, false).r == -ENOENT, "LEB128 addresses of any length are refused");
}

static void test_empty_fde_at_the_same_start(void)
{
	struct frame_maker f;

	begin(&f);
	cie(&f, "zR", "\x1b", 1, 0x1b);
	fde(&f, 0x1000, 0x20);
	fde(&f, 0x1000, 0);
	ok(is(find(&f, 0x1010, false), 0x1000, 0x1020), "an empty FDE does not hide another one");
}

static void test_damage(void)
{
	struct frame_maker f;

	two_functions(&f);
	f.hdr[0] = 2;
	ok(find(&f, 0x1000, false).r == -EBADMSG, "another header version is refused");
	two_functions(&f);
	f.hdr[3] = 0x1b;
	ok(find(&f, 0x1000, false).r == -ENOENT, "another table encoding means no table");
	two_functions(&f);
	f.hdr[2] = 0xff;
	ok(find(&f, 0x1000, false).r == -ENOENT, "no count means no table");
	two_functions(&f);
	f.hdr[11] = 0x7f;
	ok(find(&f, 0x1000, false).r == -EBADMSG, "an absurd count is refused");
	two_functions(&f);
	f.hdr_len = 10;
	ok(find(&f, 0x1000, false).r == -EBADMSG, "a truncated header is refused");
	begin(&f);
	cie(&f, "zR", "\x1b", 1, 0x1b);
	fde(&f, 0x1040, 0x10);
	fde(&f, 0x1000, 0x20);
	ok(find(&f, 0x1000, false).r == -ENOENT, "an unsorted table is not used");
	two_functions(&f);
	f.hdr[12] ^= 1;
	ok(find(&f, 0x1001, false).r == -ENOENT,
	   "an FDE that starts elsewhere than its entry says is refused");
	begin(&f);
	cie(&f, "zXR", "\x1b\x1b", 2, 0x1b);
	fde(&f, 0x1000, 0x20);
	ok(find(&f, 0x1000, false).r == -ENOENT, "an unknown augmentation is refused");
	begin(&f);
	cie(&f, "zR", "\x9b", 1, 0x9b);
	fde(&f, 0x1000, 0x20);
	ok(find(&f, 0x1000, false).r == -ENOENT, "indirect addresses are refused");
}

/* The same frames found by scanning .eh_frame, with no header in the file. */
static struct range scan(struct frame_maker *f, uint64_t addr)
{
	struct range at = { 0 };
	struct elf_fdes *fdes;
	struct elf_image *img;
	struct elf_maker m;
	unsigned int i;

	maker_init(&m);
	i = maker_section(&m, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, f->frame, f->frame_len);
	m.shdrs[i].sh_addr = FRAME_ADDR;
	maker_segment(&m, PT_LOAD, PF_R, FRAME_ADDR, m.shdrs[i].sh_offset, f->frame_len);
	maker_end(&m);
	img = maker_open(&m);
	at.r = elf_fdes_open(img, &fdes) == -ENOENT ? elf_fdes_scan(img, &fdes) : -EPROTO;
	if (at.r == 0) {
		at.r = elf_fdes_find(fdes, addr, &at.start, &at.end);
		elf_fdes_free(fdes);
	}
	elf_image_free(img);
	maker_done(&m);
	return at;
}

static void test_scan(void)
{
	struct frame_maker f;

	begin(&f);
	cie(&f, "zR", "\x1b", 1, 0x1b);
	fde(&f, 0x1040, 0x10);
	fde(&f, 0x1000, 0x20);
	cie(&f, "zX", "\x1b", 1, 0x1b); /* an augmentation that nobody knows */
	fde(&f, 0x1080, 0x10);
	cie(&f, "zR", "\x03", 1, 0x03);
	fde(&f, 0x1060, 0x08);
	fde(&f, 0x1068, 0);
	ok(is(scan(&f, 0x101f), 0x1000, 0x1020), "scan: FDEs come in any order");
	ok(is(scan(&f, 0x1040), 0x1040, 0x1050), "scan: the first FDE of the file is found");
	ok(is(scan(&f, 0x1067), 0x1060, 0x1068), "scan: an FDE after another CIE is found");
	ok(scan(&f, 0x1068).r == -ENOENT, "scan: an empty FDE covers nothing");
	ok(scan(&f, 0x1080).r == -ENOENT, "scan: a malformed FDE is skipped");
	f.frame_len -= 4;
	ok(is(scan(&f, 0x1060), 0x1060, 0x1068), "scan: a truncated end spares the rest");
	f.frame_len = 0;
	ok(scan(&f, 0x1000).r == -ENOENT, "scan: an empty section has no FDE");
	two_functions(&f);
	memset(f.frame, 0, 4);
	ok(scan(&f, 0x1000).r == -ENOENT, "scan: a length of 0 is the end");
	begin(&f);
	cie(&f, "zR", "\x1b", 1, 0x1b);
	wide_fde(&f, 0x1000, 0x20);
	fde(&f, 0x1040, 0x10);
	ok(is(scan(&f, 0x1000), 0x1000, 0x1020), "scan: a 64-bit length is read");
	ok(is(scan(&f, 0x1040), 0x1040, 0x1050), "scan: the entry after a 64-bit length is found");
}

int main(void)
{
	test_ranges();
	test_encodings();
	test_lengths();
	test_empty_fde_at_the_same_start();
	test_damage();
	test_scan();
	return tap_done();
}
