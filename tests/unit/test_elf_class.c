/* SPDX-License-Identifier: Apache-2.0 */
/* A 32-bit file is read like a 64-bit one. */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "elf/elf_fde.h"
#include "elf/elf_image.h"
#include "elf/elf_symbols.h"
#include "tap.h"

enum { NONE, TEXT, SYMTAB, STRTAB, PACKED, NAMES, NR_SECTIONS };

static const char section_names[] = "\0.text\0.symtab\0.strtab\0.debug_x\0.shstrtab";
static const char symbol_names[] = "\0first\0second";

/* The file: headers, then what the sections hold. */
struct file {
	Elf32_Ehdr ehdr;
	Elf32_Phdr phdr;
	Elf32_Shdr shdrs[NR_SECTIONS];
	char text[64];
	Elf32_Sym syms[3];
	char strings[sizeof(symbol_names)];
	char names[sizeof(section_names)];
	struct {
		Elf32_Chdr head;
		unsigned char bytes[64];
	} packed;
};

static void add_section(struct file *f, unsigned int i, uint32_t name, uint32_t type, size_t at,
			size_t size)
{
	f->shdrs[i] = (Elf32_Shdr){ .sh_name = name,
				    .sh_type = type,
				    .sh_offset = (uint32_t)at,
				    .sh_size = (uint32_t)size };
}

static void pack(struct file *f, const char *text)
{
	uLongf n = sizeof(f->packed.bytes);

	must(compress(f->packed.bytes, &n, (const Bytef *)text, strlen(text)) == Z_OK);
	f->packed.head = (Elf32_Chdr){ .ch_type = ELFCOMPRESS_ZLIB,
				       .ch_size = (uint32_t)strlen(text),
				       .ch_addralign = 1 };
	f->shdrs[PACKED].sh_flags = SHF_COMPRESSED;
	f->shdrs[PACKED].sh_size = (uint32_t)(sizeof(f->packed.head) + n);
}

static struct file make_file(void)
{
	struct file f = { 0 };

	memcpy(f.ehdr.e_ident, ELFMAG, SELFMAG);
	f.ehdr.e_ident[EI_CLASS] = ELFCLASS32;
	f.ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	f.ehdr.e_machine = EM_386;
	f.ehdr.e_entry = 0x8049000;
	f.ehdr.e_phoff = offsetof(struct file, phdr);
	f.ehdr.e_shoff = offsetof(struct file, shdrs);
	f.ehdr.e_phentsize = sizeof(f.phdr);
	f.ehdr.e_phnum = 1;
	f.ehdr.e_shentsize = sizeof(f.shdrs[0]);
	f.ehdr.e_shnum = NR_SECTIONS;
	f.ehdr.e_shstrndx = NAMES;
	f.phdr = (Elf32_Phdr){ .p_type = PT_LOAD,
			       .p_flags = PF_R | PF_X,
			       .p_vaddr = 0x8049000,
			       .p_offset = offsetof(struct file, text),
			       .p_filesz = sizeof(f.text),
			       .p_memsz = sizeof(f.text) };
	add_section(&f, TEXT, 1, SHT_PROGBITS, offsetof(struct file, text), sizeof(f.text));
	f.shdrs[TEXT].sh_addr = 0x8049000;
	f.shdrs[TEXT].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	add_section(&f, SYMTAB, 7, SHT_SYMTAB, offsetof(struct file, syms), sizeof(f.syms));
	f.shdrs[SYMTAB].sh_entsize = sizeof(f.syms[0]);
	f.shdrs[SYMTAB].sh_link = STRTAB;
	add_section(&f, STRTAB, 15, SHT_STRTAB, offsetof(struct file, strings), sizeof(f.strings));
	add_section(&f, PACKED, 23, SHT_PROGBITS, offsetof(struct file, packed), 0);
	add_section(&f, NAMES, 32, SHT_STRTAB, offsetof(struct file, names), sizeof(f.names));
	f.syms[1] = (Elf32_Sym){ 1, 0x8049000, 16, ELF32_ST_INFO(STB_GLOBAL, STT_FUNC), 0, TEXT };
	f.syms[2] = (Elf32_Sym){ 7, 0x8049010, 0, ELF32_ST_INFO(STB_LOCAL, STT_NOTYPE), 0, TEXT };
	memcpy(f.strings, symbol_names, sizeof(symbol_names));
	memcpy(f.names, section_names, sizeof(section_names));
	pack(&f, "debug information");
	return f;
}

struct seen {
	struct elf_symbol symbols[4];
	char names[4][16];
	unsigned int nr;
};

static int see(void *ctx, const struct elf_symbol *sym)
{
	struct seen *s = ctx;

	snprintf(s->names[s->nr], sizeof(s->names[0]), "%s", sym->name);
	s->symbols[s->nr++] = *sym;
	return s->nr == 4;
}

static void test_contents(const struct elf_image *img)
{
	struct buf b = BUF_INIT(1024);
	struct seen seen = { 0 };
	struct elf_fdes *fdes;
	uint64_t vaddr = 0;

	ok(elf_image_is_32(img) && elf_image_machine(img) == EM_386 &&
		   elf_image_entry(img) == 0x8049000,
	   "a 32-bit file: header");
	ok(elf_image_vaddr_of(img, offsetof(struct file, text) + 5, &vaddr) == 0 &&
		   vaddr == 0x8049005,
	   "a 32-bit file: segments");
	ok(elf_symbols_each(img, see, &seen) == 0 && seen.nr == 2 &&
		   strcmp(seen.names[0], "first") == 0 && seen.symbols[0].addr == 0x8049000 &&
		   seen.symbols[0].size == 16 && seen.symbols[0].type == STT_FUNC,
	   "a 32-bit file: symbols");
	ok(strcmp(seen.names[1], "second") == 0 && seen.symbols[1].section_bytes == 48,
	   "a 32-bit file: a symbol without a size extends to the end of its section");
	ok(elf_image_read_section(img, elf_image_section(img, ".debug_x"), &b) == 0 &&
		   b.len == strlen("debug information") &&
		   memcmp(b.data, "debug information", b.len) == 0,
	   "a 32-bit file: compressed sections");
	ok(elf_fdes_open(img, &fdes) == -ENOENT && elf_fdes_scan(img, &fdes) == -ENOENT,
	   "a 32-bit file is not unwound");
	buf_done(&b);
}

static bool opens(const struct file *f, size_t size)
{
	struct elf_image *img = NULL;
	int r = elf_image_open_mem(f, size, &img);

	elf_image_free(img);
	return r == 0;
}

static void test_refused(struct file *f)
{
	ok(!opens(f, sizeof(f->ehdr) - 1), "a truncated header is refused");
	f->ehdr.e_machine = EM_X86_64;
	ok(!opens(f, sizeof(*f)), "x32, which runs in 64-bit mode, is not taken for i386");
	f->ehdr.e_machine = EM_386;
	f->ehdr.e_phentsize = sizeof(Elf64_Phdr);
	ok(!opens(f, sizeof(*f)), "headers of the other class are refused");
}

int main(void)
{
	struct file f = make_file();
	struct elf_image *img;

	must(elf_image_open_mem(&f, sizeof(f), &img) == 0);
	test_contents(img);
	elf_image_free(img);
	test_refused(&f);
	return tap_done();
}
