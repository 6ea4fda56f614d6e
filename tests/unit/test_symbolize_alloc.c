/* SPDX-License-Identifier: Apache-2.0 */
/* Naming when memory runs out, and how many allocations it takes. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "dwarf/dwarf.h"
#include "dwarf_maker.h"
#include "failing_alloc.h"
#include "jit_maker.h"
#include "plt_maker.h"
#include "symbolize/kernel_cache.h"
#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_elf.h"
#include "symbolize/symbolizer_jit.h"
#include "symbolize/symbolizer_kernel.h"

#define MANY 20000
#define NR_SYMBOLS 300

static char path[] = "/tmp/test_symbolize_alloc.XXXXXX";
static char cache[sizeof(path) + 8]; /* beside it */

/* -EPROTO: the name at an address is another. */
static int expect(struct symbolizer *s, uint64_t addr, const char *name)
{
	struct symbol_result r;
	int res = s->ops->resolve(s, addr, &r);

	if (res == 0 && strcmp(r.frames[0].name, name) != 0)
		res = -EPROTO;
	return res;
}

static int open_list(void *ctx, int *ret_fd)
{
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

static int read_key(void *ctx, struct kernel_key *ret_key)
{
	*ret_key = (struct kernel_key){ .boot_id = "this boot" };
	return 0;
}

static int use_kernel(void *ctx)
{
	static const struct kernel_list list = { 1, "the list", open_list };
	struct kernel_sources src = {
		.lists = &list, .nr_lists = 1, .cache_path = ctx, .read_key = read_key
	};
	struct kernel_outcome outcome;
	struct symbolizer *s;
	int r = symbolizer_new_kernel(&src, &s, &outcome);

	if (r < 0)
		return r;
	r = expect(s, 0xffffffff81000000, "foo::bar");
	if (r == 0)
		r = expect(s, 0xabc, "0xabc");
	symbolizer_free(s);
	return r;
}

static int use_kernel_first(void *ctx)
{
	(void)unlink(cache);
	return use_kernel(ctx);
}

/* Many different names, so that the table of readable ones must grow while it is used. */
static int expect_all(struct symbolizer *s)
{
	int r = expect(s, 0x9004, "file+0x9000");

	for (unsigned int i = 0; r == 0 && i < NR_SYMBOLS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%03u()", i);
		r = expect(s, 0x1000 + 16 * i, name);
	}
	return r;
}

/* Names of a file: what `expects` says of them, or -ENOMEM. */
static int use_file(const struct elf_maker *m, int (*expects)(struct symbolizer *s))
{
	struct symbolizer *s;
	struct elf_image *img;
	int r = elf_image_open_mem(m->bytes, m->len, &img);

	if (r < 0)
		return r;
	r = symbolizer_new_elf(&(struct elf_sources){ .image = img, .label = "file" }, &s);
	if (r == 0) {
		r = expects(s);
		symbolizer_free(s);
	}
	elf_image_free(img);
	return r;
}

static int use_elf(void *ctx)
{
	return use_file(ctx, expect_all);
}

/* Without memory it is tried again. */
static int expect_again(struct symbolizer *s, uint64_t addr, const char *name)
{
	int r = expect(s, addr, name);

	return r == -ENOMEM ? expect(s, addr, name) : r;
}

static int expect_stub(struct symbolizer *s)
{
	int r = expect_again(s, PLT_ADDR + 8, "g()@plt");

	return r == 0 ? expect_again(s, PLT_ADDR + 16, "chosen@plt") : r;
}

static int use_plt(void *ctx)
{
	return use_file(ctx, expect_stub);
}

struct jit_files {
	int map_fd, dump_fd;
};

static int use_jit(void *ctx)
{
	const struct jit_files *f = ctx;
	struct jit_address addrs[NR_SYMBOLS + 1] = { { 0x7000, 30 } };
	struct jit_sources src = { .symbol_files = { JIT_SYMBOL_FILES(f->map_fd, f->dump_fd) },
				   .nr_symbol_files = 1,
				   .addresses = addrs,
				   .nr_addresses = NR_SYMBOLS + 1 };
	struct jit_counts counts = { 0 };
	struct symbolizer *s;
	int r;

	for (uint32_t i = 0; i < NR_SYMBOLS; i++)
		addrs[i + 1].addr = 0x100000 + 16 * i;
	r = symbolizer_new_jit(&src, &counts, &s);
	if (r < 0)
		return r;
	r = expect(s, 0x7000, "moved");
	for (unsigned int i = 0; r == 0 && i < NR_SYMBOLS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		r = expect(s, 0x100000 + 16 * i, name);
	}
	symbolizer_free(s);
	return r;
}

/* Refuses the first allocation, then the second …, until the work is done without a refusal. */
static bool survives(int (*use)(void *ctx), void *ctx, unsigned long *ret_nr)
{
	for (fail_at = 1;; fail_at++) {
		int r;

		nr_allocations = 0;
		r = use(ctx);
		if (nr_allocations < fail_at) {
			*ret_nr = nr_allocations;
			fail_at = 0;
			return r == 0;
		}
		if (r != -ENOMEM && r != 0) /* 0: it could do without */
			return false;
	}
}

static int make_map(int nr)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	must(fd >= 0);
	for (int i = 0; i < nr; i++)
		dprintf(fd, "%x 10 py::f%d:/a.py\n", 0x100000 + 16 * (i % MANY), i % MANY);
	return fd;
}

static void test_jit(void)
{
	static const struct dump_line line = { 0x1000, 3, "/m.x" };
	static struct dump_maker d;
	struct jit_files f;
	unsigned long few = 0, many;
	bool pass;

	dump_init(&d, 0);
	dump_lines(&d, 0x1000, &line, 1);
	dump_load(&d, 10, 0x1000, 0x20, 7, "moved");
	dump_move(&d, 20, 0x1000, 0x7000, 0x20, 7);
	f = (struct jit_files){ make_map(NR_SYMBOLS), jit_file(d.bytes, d.len) };
	pass = survives(use_jit, &f, &few);
	ok(pass, "jit: any of %lu allocations may fail", few);
	close(f.map_fd);
	f.map_fd = make_map(2 * MANY);
	nr_allocations = 0;
	must(use_jit(&f) == 0);
	many = nr_allocations;
	ok(many == few, "jit: %d lines of a map cost %lu allocations, %d cost %lu", 2 * MANY, many,
	   NR_SYMBOLS, few);
	close(f.map_fd);
	close(f.dump_fd);
}

static void write_kallsyms(int nr)
{
	FILE *f = fopen(path, "w");

	must(f);
	fprintf(f, "ffffffff81000000 T _RNvC3foo3bar\n");
	for (int i = 1; i < nr; i++)
		fprintf(f, "%016" PRIx64 " T f_%d\t[m]\n",
			0xffffffff81000100 + 16 * (uint64_t)(i ^ 1), i);
	must(fclose(f) == 0);
}

static void test_kernel(void)
{
	unsigned long few = 0, many;
	bool pass;

	write_kallsyms(1000);
	pass = survives(use_kernel, NULL, &few);
	ok(pass, "kallsyms: any allocation may fail");
	pass = survives(use_kernel_first, cache, &few);
	ok(pass, "kallsyms: any allocation may fail while a cache is written");
	pass = survives(use_kernel, cache, &few);
	ok(pass, "kallsyms: any allocation may fail while a cache is read");
	must(unlink(cache) == 0);
	must(use_kernel(NULL) == 0);
	nr_allocations = 0;
	must(use_kernel(NULL) == 0);
	few = nr_allocations;
	write_kallsyms(1024 * 16);
	nr_allocations = 0;
	must(use_kernel(NULL) == 0);
	many = nr_allocations;
	/* Two arrays double their size four times; a line by itself costs nothing. */
	ok(many - few <= 2 * 4, "kallsyms: %d lines cost %lu allocations, 1,000 cost %lu",
	   1024 * 16, many, few);
}

/* Names that were asked for before: those of the table, a readable one, one that is none. */
static void test_kernel_lookups(void)
{
	static const struct kernel_list list = { 1, "the list", open_list };
	struct kernel_sources src = {
		.lists = &list, .nr_lists = 1, .cache_path = cache, .read_key = read_key
	};
	struct kernel_outcome outcome;
	struct symbolizer *s;
	unsigned long nr;

	write_kallsyms(MANY);
	for (int is_cached = 0; is_cached <= 1; is_cached++) {
		must(symbolizer_new_kernel(&src, &s, &outcome) == 0);
		must(outcome.is_cached == is_cached);
		must(expect(s, 0xffffffff81000000, "foo::bar") == 0);
		must(expect(s, 0xabc, "0xabc") == 0);
		nr_allocations = 0;
		for (uint64_t i = 1; i < MANY; i++) {
			struct symbol_result r;

			must(s->ops->resolve(s, 0xffffffff81000100 + 16 * (i ^ 1), &r) == 0 &&
			     r.is_named);
		}
		must(expect(s, 0xffffffff81000000, "foo::bar") == 0 &&
		     expect(s, 0xabc, "0xabc") == 0);
		nr = nr_allocations;
		ok(nr == 0, "kallsyms%s: %d look-ups cost %lu allocations",
		   is_cached ? ", cached" : "", MANY, nr);
		symbolizer_free(s);
	}
	must(unlink(cache) == 0);
}

static void test_elf(struct sym_maker *syms)
{
	/* A CIE without augmentation; behind it an FDE for 0x9000 to 0x9010. */
	static const uint32_t eh_frame[] = { 12, 0, 0x78010001, 0x10, 20, 20, 0x9000, 0, 0x10, 0 };
	static const int32_t hdr[] = { 0x3b03ff01, 1, 0x1000, 0x5010 - 0x8000 };
	struct elf_maker m;
	unsigned long nr = 0;
	bool pass;

	maker_init(&m);
	maker_section(&m, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "code", 4);
	for (unsigned int i = 0; i < NR_SYMBOLS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "_Z4f%03uv", i);
		sym_add(syms, name, 0x1000 + 16 * i, 16, STB_GLOBAL, STT_FUNC, 1);
	}
	sym_end(syms, &m, SHT_SYMTAB);
	maker_segment(&m, PT_NOTE, PF_R, 0, maker_bytes(&m, "a note", 7), 7);
	maker_segment(&m, PT_LOAD, PF_R, 0x5000, maker_bytes(&m, eh_frame, sizeof(eh_frame)),
		      sizeof(eh_frame));
	maker_segment(&m, PT_GNU_EH_FRAME, PF_R, 0x8000, maker_bytes(&m, hdr, sizeof(hdr)),
		      sizeof(hdr));
	maker_end(&m);
	pass = survives(use_elf, &m, &nr);
	ok(pass, "elf: any of %lu allocations may fail", nr);
	maker_done(&m);
}

static void test_plt(void)
{
	static struct plt_maker p;
	unsigned long nr = 0;
	long before;
	bool pass;

	plt_begin(&p, EM_X86_64);
	plt_x86(&p, "", 0, PLT_SLOTS, "\x66\x90", 2);
	plt_x86(&p, "", 0, PLT_SLOTS + 8, "\x66\x90", 2);
	plt_slot(&p, PLT_SLOTS, R_X86_64_JUMP_SLOT, "f", 0);
	plt_x86(&p, "", 0, PLT_SLOTS + 16, "\x66\x90", 2);
	plt_slot(&p, PLT_SLOTS + 8, R_X86_64_JUMP_SLOT, "_Z1gv", 0);
	plt_slot(&p, PLT_SLOTS + 16, R_X86_64_IRELATIVE, NULL, 0xa000);
	sym_add(&p.syms, "chosen", 0xa000, 8, STB_GLOBAL, STT_GNU_IFUNC,
		plt_section(&p, ".plt.got"));
	plt_end(&p);
	before = nr_live;
	pass = survives(use_plt, &p.elf, &nr);
	ok(pass && nr > 10 && nr_live == before, "stubs: any of %lu allocations may fail", nr);
	maker_done(&p.elf);
}

/* -EPROTO: not the chain that the file has. */
static int use_dwarf(void *ctx)
{
	static struct dwarf_frame frames[DWARF_MAX_FRAMES];
	struct elf_maker *m = ctx;
	struct elf_image *img;
	struct dwarf *d;
	uint32_t nr;
	int r = elf_image_open_mem(m->bytes, m->len, &img);

	if (r < 0)
		return r;
	r = dwarf_open(&(struct dwarf_files){ .image = img, .debug = img }, &d);
	if (r < 0)
		d = NULL;
	for (int i = 0; r == 0 && i < 2; i++) /* the second time from the cache */
		r = dwarf_resolve(d, 0x1050, frames, &nr);
	if (r == 0 && (nr != 3 || strcmp(frames[0].name, "_ZN1n5innerEv") != 0 ||
		       frames[0].line != 31 || strcmp(frames[2].path, "/src/main.c") != 0))
		r = -EPROTO;
	dwarf_free(d);
	elf_image_free(img);
	return r;
}

/* What does not fit costs lines, never the symbolizer. */
static int use_lines(void *ctx)
{
	struct elf_maker *m = ctx;
	struct symbol_result res;
	struct symbolizer *s;
	struct elf_image *img;
	int r = elf_image_open_mem(m->bytes, m->len, &img);

	if (r < 0)
		return r;
	r = symbolizer_new_elf(&(struct elf_sources){ .image = img, .label = "file" }, &s);
	if (r == 0) {
		r = s->ops->resolve(s, 0x1050, &res);
		symbolizer_free(s);
	}
	elf_image_free(img);
	return r;
}

static void test_dwarf(void)
{
	static struct dwarf_maker d;
	struct elf_maker m;
	unsigned long nr = 0;
	long before;
	bool pass;

	make_plain_dwarf(&d);
	make_dwarf_elf(&m, &d);
	maker_end(&m);
	before = nr_live;
	pass = survives(use_dwarf, &m, &nr);
	ok(pass && nr > 20, "dwarf: any of %lu allocations may fail", nr);
	pass = survives(use_lines, &m, &nr);
	ok(pass, "dwarf: any allocation may fail below a symbolizer");
	ok(nr_live == before, "dwarf: failed allocations leave nothing behind");
	maker_done(&m);
}

int main(void)
{
	struct sym_maker *syms = calloc(1, sizeof(*syms));
	int fd = mkstemp(path);

	must(fd >= 0 && syms);
	close(fd);
	snprintf(cache, sizeof(cache), "%s.cache", path);
	test_kernel();
	test_kernel_lookups();
	test_elf(syms);
	test_plt();
	test_jit();
	test_dwarf();
	unlink(path);
	free(syms);
	return tap_done();
}
