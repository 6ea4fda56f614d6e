/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "elf/elf_symbols.h"
#include "elf_maker.h"

enum { TEXT = 1, DATA = 2 }; /* section numbers */

/* What the enumeration gave: names in one string. */
struct seen {
	char names[512];
	struct elf_symbol last;
	size_t len;     /* of the last name */
	char first;     /* its first byte */
	int stop_after; /* 0: never */
	int nr;
};

static int see(void *ctx, const struct elf_symbol *sym)
{
	struct seen *s = ctx;
	size_t n = strlen(s->names);

	snprintf(s->names + n, sizeof(s->names) - n, "%s,", sym->name);
	s->last = *sym;
	s->len = strlen(sym->name);
	s->first = sym->name[0];
	return ++s->nr == s->stop_after ? 42 : 0;
}

static void begin(struct elf_maker *m, struct sym_maker *s)
{
	maker_init(m);
	memset(s, 0, sizeof(*s));
	maker_section(m, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "code", 4);
	maker_section(m, ".data", SHT_PROGBITS, SHF_ALLOC, "data", 4);
}

static int each(struct elf_maker *m, struct seen *seen)
{
	struct elf_image *img = maker_open(m);
	int r = elf_symbols_each(img, see, seen);

	elf_image_free(img);
	return r;
}

static void test_only_defined_code(struct sym_maker *s)
{
	struct seen seen = { 0 };
	struct elf_maker m;

	begin(&m, s);
	sym_add(s, "func", 0x10, 8, STB_GLOBAL, STT_FUNC, TEXT);
	sym_add(s, "undefined", 0, 0, STB_GLOBAL, STT_FUNC, SHN_UNDEF);
	sym_add(s, "object", 0x20, 8, STB_GLOBAL, STT_OBJECT, DATA);
	sym_add(s, "ifunc", 0x30, 8, STB_GLOBAL, STT_GNU_IFUNC, TEXT);
	sym_add(s, "label", 0x40, 0, STB_LOCAL, STT_NOTYPE, TEXT);
	sym_add(s, "mark", 0x50, 0, STB_LOCAL, STT_NOTYPE, DATA);
	sym_add(s, "absolute", 0x60, 0, STB_LOCAL, STT_FUNC, SHN_ABS);
	sym_add(s, "", 0x70, 8, STB_GLOBAL, STT_FUNC, TEXT);
	sym_add(s, "$x", 0x80, 0, STB_LOCAL, STT_NOTYPE, TEXT);
	sym_end(s, &m, SHT_SYMTAB);
	maker_end(&m);
	ok(each(&m, &seen) == 0, "a valid table is read to its end");
	ok(strcmp(seen.names, "func,ifunc,label,$x,") == 0, "only code symbols are reported: %s",
	   seen.names);
	maker_ehdr(&m)->e_machine = EM_AARCH64;
	seen = (struct seen){ 0 };
	ok(each(&m, &seen) == 0 && strcmp(seen.names, "func,ifunc,label,") == 0,
	   "on AArch64 mapping symbols are left out: %s", seen.names);
	seen = (struct seen){ .stop_after = 1 };
	ok(each(&m, &seen) == 42 && seen.nr == 1,
	   "a nonzero result of the callback ends the iteration");
	ok(seen.last.addr == 0x10 && seen.last.size == 8 && seen.last.bind == STB_GLOBAL &&
		   seen.last.type == STT_FUNC,
	   "a symbol comes with its address, size, binding and type");
	maker_done(&m);
}

static void test_both_tables(struct sym_maker *s)
{
	struct seen seen = { 0 };
	struct elf_maker m;
	unsigned int table;

	begin(&m, s);
	sym_add(s, "dynamic", 0x10, 8, STB_GLOBAL, STT_FUNC, TEXT);
	sym_end(s, &m, SHT_DYNSYM);
	memset(s, 0, sizeof(*s));
	sym_add(s, "static", 0x20, 8, STB_GLOBAL, STT_FUNC, TEXT);
	table = sym_end(s, &m, SHT_SYMTAB);
	maker_end(&m);
	ok(each(&m, &seen) == 0 && strcmp(seen.names, "static,dynamic,") == 0,
	   ".symtab comes first: %s", seen.names);
	maker_shdr(&m, table)->sh_offset = 1ull << 40;
	seen = (struct seen){ 0 };
	ok(each(&m, &seen) == -EBADMSG && strcmp(seen.names, "dynamic,") == 0,
	   "a malformed .symtab is reported after .dynsym was read: %s", seen.names);
	maker_shdr(&m, table)->sh_offset = m.shdrs[table].sh_offset;
	maker_shdr(&m, table)->sh_flags = SHF_COMPRESSED;
	seen = (struct seen){ 0 };
	ok(each(&m, &seen) == -EBADMSG && seen.nr == 1,
	   "a compressed .symtab is reported after .dynsym was read");
	maker_done(&m);
}

static void test_no_table(struct sym_maker *s)
{
	struct seen seen = { 0 };
	struct elf_maker m;

	begin(&m, s);
	maker_end(&m);
	ok(each(&m, &seen) == -ENOENT, "without a table there are no symbols");
	maker_done(&m);
}

static void test_broken_names(struct sym_maker *s)
{
	struct seen seen = { 0 };
	struct elf_maker m;
	unsigned int table;

	begin(&m, s);
	sym_add(s, "first", 0x10, 8, STB_GLOBAL, STT_FUNC, TEXT);
	sym_add(s, "outside", 0x20, 8, STB_GLOBAL, STT_FUNC, TEXT);
	s->syms[s->nr - 1].st_name = 0xffffff00;
	sym_add(s, "last", 0x30, 8, STB_GLOBAL, STT_FUNC, TEXT);
	s->names_len--; /* the NUL of "last" */
	table = sym_end(s, &m, SHT_SYMTAB);
	maker_end(&m);
	ok(each(&m, &seen) == 0 && strcmp(seen.names, "first,") == 0,
	   "names outside the strings or unterminated are skipped: %s", seen.names);
	maker_shdr(&m, table)->sh_link = 99;
	ok(each(&m, &seen) == -EBADMSG, "a table without strings is malformed");
	maker_shdr(&m, table)->sh_link = m.shdrs[table].sh_link;
	maker_shdr(&m, table)->sh_entsize = 0;
	ok(each(&m, &seen) == -EBADMSG, "a table with entries of another size is malformed");
	maker_done(&m);
}

static long peak_rss_kib(void)
{
	struct rusage ru;

	must(getrusage(RUSAGE_SELF, &ru) == 0);
	return ru.ru_maxrss;
}

/* A file of a few KiB, but for a hole in its string table; the last name is behind the hole. */
static int make_holey_file(struct sym_maker *s, uint64_t hole_bytes)
{
	int fd = memfd_create("holey", MFD_CLOEXEC);
	struct elf_maker m;
	unsigned int table;

	begin(&m, s);
	sym_add(s, "near", 0x10, 8, STB_GLOBAL, STT_FUNC, TEXT);
	sym_add(s, "far", 0x20, 8, STB_GLOBAL, STT_FUNC, TEXT);
	s->syms[s->nr - 1].st_name = (uint32_t)hole_bytes;
	table = sym_end(s, &m, SHT_SYMTAB);
	maker_end(&m);
	maker_shdr(&m, table - 1)->sh_offset = m.len; /* its strings: moved to the end */
	maker_shdr(&m, table - 1)->sh_size = hole_bytes + 4;
	must(fd >= 0 && pwrite(fd, m.bytes, m.len, 0) == (ssize_t)m.len);
	must(pwrite(fd, s->names, s->names_len, (off_t)m.len) == (ssize_t)s->names_len);
	must(pwrite(fd, "far", 4, (off_t)(m.len + hole_bytes)) == 4);
	maker_done(&m);
	return fd;
}

static void test_names_are_read_as_needed(struct sym_maker *s)
{
	struct seen seen = { 0 };
	struct elf_image *img;
	long before_kib, cost_kib;
	int fd = make_holey_file(s, 500u << 20);

	must(elf_image_open_fd(fd, &img) == 0);
	before_kib = peak_rss_kib();
	ok(elf_symbols_each(img, see, &seen) == 0 && strcmp(seen.names, "near,far,") == 0,
	   "names on both sides of a hole of 500 MiB are found: %s", seen.names);
	cost_kib = peak_rss_kib() - before_kib;
	ok(cost_kib < 8192, "a hole of 500 MiB costs %ld KiB of memory", cost_kib);
	elf_image_free(img);
	close(fd);
}

/* Names that lie across the pieces in which the table is read. */
static void test_names_of_all_lengths(struct sym_maker *s)
{
	char name[256];
	struct seen seen = { 0 };
	struct elf_maker m;
	bool same = true;

	begin(&m, s);
	for (unsigned int i = 1; i < 200; i++) {
		memset(name, 'a' + i % 26, i);
		name[i] = '\0';
		sym_add(s, name, 0x10 * i, 8, STB_GLOBAL, STT_FUNC, TEXT);
	}
	sym_end(s, &m, SHT_SYMTAB);
	maker_end(&m);
	for (unsigned int i = 1; i < 200; i++) {
		seen = (struct seen){ .stop_after = (int)i };
		(void)each(&m, &seen);
		same = same && seen.len == i && seen.first == 'a' + (char)(i % 26);
	}
	ok(same, "199 names in 20 KB are whole");
	maker_done(&m);
}

int main(void)
{
	struct sym_maker *s = calloc(1, sizeof(*s));

	must(s);
	test_only_defined_code(s);
	test_both_tables(s);
	test_no_table(s);
	test_broken_names(s);
	test_names_are_read_as_needed(s);
	test_names_of_all_lengths(s);
	free(s);
	return tap_done();
}
