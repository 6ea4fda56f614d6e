/* SPDX-License-Identifier: Apache-2.0 */
/* Where an ELF file keeps its call frame information, and what damage there does. */
#include "cfi_maker.h"

#include "elf/elf_image.h"
#include "elf_maker.h"
#include "pack.h"

#define HDR_ADDR 0x7f0000u
#define TEXT_BYTES 0x1000u

static struct cfi_maker m;

struct table_entry {
	uint64_t start;
	size_t fde; /* offset in .eh_frame */
};

struct hdr {
	uint8_t bytes[256];
	size_t len;
};

static void hdr_put(struct hdr *h, uint64_t v, size_t n)
{
	memcpy(h->bytes + h->len, &v, n);
	h->len += n;
}

static struct hdr make_hdr(const struct table_entry *entries, uint32_t nr)
{
	struct hdr h = { .len = 0 };

	hdr_put(&h, 0x3b031b01, 4);
	hdr_put(&h, MAKER_ADDR - (HDR_ADDR + 4), 4);
	hdr_put(&h, nr, 4);
	for (uint32_t i = 0; i < nr; i++) {
		hdr_put(&h, entries[i].start - HDR_ADDR, 4);
		hdr_put(&h, MAKER_ADDR + entries[i].fde - HDR_ADDR, 4);
	}
	return h;
}

/* The file: code at CODE, .eh_frame at MAKER_ADDR, and .eh_frame_hdr if there is one. */
static void make_elf(struct elf_maker *e, const struct hdr *h)
{
	uint64_t text, frame, hdr;
	unsigned int i;

	maker_init(e);
	text = maker_bytes(e, NULL, 0);
	maker_segment(e, PT_LOAD, PF_R | PF_X, CODE, text, 0)->p_memsz = TEXT_BYTES;
	i = maker_section(e, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, m.bytes, m.len);
	frame = e->shdrs[i].sh_offset;
	e->shdrs[i].sh_addr = MAKER_ADDR;
	maker_segment(e, PT_LOAD, PF_R, MAKER_ADDR, frame, m.len);
	if (h) {
		i = maker_section(e, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, h->bytes, h->len);
		hdr = e->shdrs[i].sh_offset;
		e->shdrs[i].sh_addr = HDR_ADDR;
		maker_segment(e, PT_LOAD, PF_R, HDR_ADDR, hdr, h->len);
		maker_segment(e, PT_GNU_EH_FRAME, PF_R, HDR_ADDR, hdr, h->len);
	}
	maker_end(e);
}

struct opened {
	struct elf_maker elf;
	struct elf_image *img;
	struct compiled c;
};

static void open_elf(struct opened *o, const struct hdr *h, bool is_headless)
{
	const struct cfi *source;

	make_elf(&o->elf, h);
	if (is_headless)
		maker_ehdr(&o->elf)->e_shoff = 0;
	o->img = maker_open(&o->elf);
	must(rule_dict_init(&o->c.dict) == 0 && cfi_open_eh_frame(o->img, &o->c.cfi) == 0);
	source = o->c.cfi;
	must(unwind_compile(&source, 1, &o->c.dict, &o->c.table) == 0);
}

static void close_elf(struct opened *o)
{
	compiled_done(&o->c);
	elf_image_free(o->img);
	maker_done(&o->elf);
}

static bool has_rule(const struct opened *o, uint64_t pc)
{
	return rule_at(&o->c, pc) != PA_RULE_WORD_NONE;
}

static void begin(void)
{
	cfi_begin(&m);
	cfi_cie_x86(&m);
}

static void test_table(void)
{
	struct table_entry entries[2];
	struct opened o;
	struct hdr h;

	begin();
	entries[1] = (struct table_entry){ CODE + 0x80, cfi_fde(&m, CODE + 0x80, 0x20, BYTES("")) };
	entries[0] = (struct table_entry){ CODE, cfi_fde(&m, CODE, 0x20, BYTES("")) };
	h = make_hdr(entries, 2);
	open_elf(&o, &h, false);
	ok(has_rule(&o, CODE) && has_rule(&o, CODE + 0x80), "FDEs are found by the search table");
	close_elf(&o);
	open_elf(&o, &h, true);
	ok(has_rule(&o, CODE) && has_rule(&o, CODE + 0x80),
	   "FDEs are found without section headers");
	close_elf(&o);
	open_elf(&o, NULL, false);
	ok(has_rule(&o, CODE) && has_rule(&o, CODE + 0x80),
	   "FDEs are found without the search table");
	close_elf(&o);
}

static void test_damaged_table(void)
{
	struct table_entry entries[3], swapped[3];
	struct opened o;
	struct hdr h;

	begin();
	for (unsigned int i = 0; i < 3; i++)
		entries[i] = (struct table_entry){ CODE + i * 0x20,
						   cfi_fde(&m, CODE + i * 0x20, 0x20, BYTES("")) };
	memcpy(swapped, entries, sizeof(entries));
	swapped[1] = entries[2];
	swapped[2] = entries[1];
	h = make_hdr(swapped, 3);
	open_elf(&o, &h, false);
	ok(has_rule(&o, CODE) && has_rule(&o, CODE + 0x20) && has_rule(&o, CODE + 0x40),
	   "an unsorted search table is not used");
	close_elf(&o);

	entries[1].start += 4; /* the FDE says otherwise */
	h = make_hdr(entries, 3);
	open_elf(&o, &h, false);
	ok(!has_rule(&o, CODE + 0x24) && !has_rule(&o, CODE + 0x3f),
	   "an FDE that starts elsewhere is skipped, and not taken for padding");
	ok(has_rule(&o, CODE + 0x1f) && has_rule(&o, CODE + 0x40),
	   "the neighbours of an FDE that starts elsewhere are kept");
	ok(o.c.table->stats.nr_bad == 1, "an FDE that starts elsewhere is counted");
	close_elf(&o);
}

static void test_empty_fde_in_table(void)
{
	struct table_entry entries[1];
	struct opened o;
	struct hdr h;

	begin();
	entries[0] = (struct table_entry){ CODE, cfi_fde(&m, CODE, 0, BYTES("")) };
	cfi_fde(&m, CODE, 0x20, BYTES("\x0e\x10"));
	h = make_hdr(entries, 1);
	open_elf(&o, &h, false);
	ok(PA_RULE_CFA_OFF(rule_at(&o.c, CODE)) == 16,
	   "an empty FDE in the table does not hide the next one");
	close_elf(&o);
}

static int open_debug(const struct elf_maker *code, uint64_t flags, const void *bytes, size_t n,
		      struct cfi **ret_cfi)
{
	struct elf_maker debug, copy = *code;
	struct elf_image *img, *debug_img;
	int r;

	maker_init(&debug);
	maker_section(&debug, ".debug_frame", SHT_PROGBITS, flags, bytes, n);
	maker_end(&debug);
	img = maker_open(&copy);
	debug_img = maker_open(&debug);
	r = cfi_open_debug_frame(img, debug_img, ret_cfi);
	ok(r != 0 || cfi_nr_fdes(*ret_cfi) == 1, "an FDE of a dropped function is skipped");
	if (r == 0)
		cfi_free(*ret_cfi);
	elf_image_free(img);
	elf_image_free(debug_img);
	maker_done(&debug);
	return r;
}

static void test_debug_file(void)
{
	struct elf_maker code;
	struct packed p;
	struct cfi *cfi;

	begin();
	make_elf(&code, NULL);
	cfi_begin(&m);
	m.is_debug_frame = true;
	m.encoding = 0;
	cfi_cie(&m, 4, "", NULL, 0, 16, BYTES(X86_INITIAL));
	cfi_fde(&m, CODE, 0x20, BYTES(""));
	cfi_fde(&m, 0, 0x20, BYTES(""));
	ok(open_debug(&code, 0, m.bytes, m.len, &cfi) == 0,
	   ".debug_frame of a separate file is read");
	p = pack(ELFCOMPRESS_ZLIB, m.bytes, m.len, m.len);
	ok(open_debug(&code, SHF_COMPRESSED, p.bytes, p.len, &cfi) == 0,
	   "a compressed .debug_frame is read");
	free(p.bytes);
	maker_done(&code);
}

static int open_error(uint16_t machine, uint32_t flags)
{
	struct elf_image *img;
	struct elf_maker e;
	struct cfi *cfi;
	int r;

	begin();
	make_elf(&e, NULL);
	maker_ehdr(&e)->e_machine = machine;
	((Elf64_Phdr *)(e.bytes + sizeof(Elf64_Ehdr)))->p_flags = flags;
	img = maker_open(&e);
	r = cfi_open_eh_frame(img, &cfi);
	if (r == 0)
		cfi_free(cfi);
	elf_image_free(img);
	maker_done(&e);
	return r;
}

static void test_errors(void)
{
	ok(open_error(EM_X86_64, PF_R | PF_X) == 0, "a complete file opens");
	ok(open_error(EM_RISCV, PF_R | PF_X) == -EOPNOTSUPP,
	   "a file of another architecture does not open");
	ok(open_error(EM_X86_64, PF_R) == -ENOENT, "a file without code does not open");
}

int main(void)
{
	test_table();
	test_damaged_table();
	test_empty_fde_in_table();
	test_debug_file();
	test_errors();
	return tap_done();
}
