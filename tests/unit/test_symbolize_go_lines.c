/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a Go program without debug information; tests/oracle/go_lines.py asks the same of programs
 * that Go has built. */
#include <inttypes.h>

#include "elf_maker.h"
#include "forked_symbols.h"
#include "jit_maker.h"
#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_elf.h"
#include "tap.h"

#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u
#define CODE 0x1000ull
#define CODE_BYTES 0x40u
#define CALLS 0x1100ull /* go.func.*, in the same segment */
#define TABLE_ADDR 0x123000ull
#define MODULE_ADDR 0x125000ull
#define MODULE_CALLS_AT 320

/* Parts of the table, by where they are put. */
enum {
	NAMES = 72,
	UNITS = NAMES + 64,
	FILES = UNITS + 16,
	VALUES = FILES + 64,
	FUNCS = VALUES + 64,
	ENTRY = FUNCS + 16,
	TABLE_BYTES = ENTRY + 80,
};

struct program {
	uint32_t magic;
	uint8_t table[TABLE_BYTES];
	uint8_t code[0x200];
	uint8_t module[MODULE_CALLS_AT + 8];
	const char *module_section; /* NULL: there is none */
	struct elf_maker elf;
	struct elf_image *img;
	struct symbolizer *s;
};

static struct program p;

static void put32(size_t at, uint32_t v)
{
	must(at + 4 <= TABLE_BYTES);
	memcpy(p.table + at, &v, 4);
}

static void put64(size_t at, uint64_t v)
{
	memcpy(p.table + at, &v, 8);
}

/* 64 bytes of main.work (b.go): 16 at line 10, 16 inlined from line 11 (a.go:30, main.small, in which
 * nothing is inlined), the rest line 12. Values begin as -1; a change is doubled, and one less where it
 * is negative. */
static void begin(uint32_t magic)
{
	static const char names[] = "\0main.work\0main.small";
	static const char files[] = "/src/a.go\0/src/b.go";
	static const uint8_t lines[] = { 22, 16, 40, 16, 35, 32, 0 };
	static const uint8_t places[] = { 4, 16, 1, 16, 2, 32, 0 };
	static const uint8_t inlined[] = { 0, 16, 2, 16, 1, 32, 0 };
	static const int32_t call[] = { 0, 11, 15, 29 };
	bool is_old = magic == MAGIC_1_18;
	size_t rest = ENTRY + (is_old ? 36 : 40);
	uint64_t calls = CALLS;

	p = (struct program){ .magic = magic, .module_section = ".go.module" };
	put64(0, magic | 1ull << 48 | 8ull << 56);
	put64(8, 1);
	put64(16, 2);
	put64(24, CODE);
	put64(32, NAMES);
	put64(40, UNITS);
	put64(48, FILES);
	put64(56, VALUES);
	put64(64, FUNCS);
	memcpy(p.table + NAMES, names, sizeof(names));
	put32(UNITS + 4, 0); /* the unit begins at the second */
	put32(UNITS + 8, 10);
	memcpy(p.table + FILES, files, sizeof(files));
	memcpy(p.table + VALUES + 1, lines, sizeof(lines));
	memcpy(p.table + VALUES + 11, places, sizeof(places));
	memcpy(p.table + VALUES + 21, inlined, sizeof(inlined));
	put32(FUNCS, 0);
	put32(FUNCS + 4, ENTRY - FUNCS);
	put32(FUNCS + 8, CODE_BYTES);
	put32(ENTRY + 4, 1);   /* name */
	put32(ENTRY + 20, 11); /* files: 1, 0, 1 */
	put32(ENTRY + 24, 1);  /* lines */
	put32(ENTRY + 28, 3);  /* numbers of tables */
	put32(ENTRY + 32, 1);  /* unit */
	if (!is_old)
		put32(ENTRY + 36, 9);
	p.table[rest + 3] = 4;        /* kinds of what is in go.func.* */
	put32(rest + 4 + 8, 21);      /* inlined: -1, 0, -1 */
	put32(rest + 4 + 12 + 12, 0); /* calls */
	memcpy(p.code + (CALLS - CODE), call, sizeof(call));
	put64(24, CODE);
	memcpy(p.module, &(uint64_t){ TABLE_ADDR }, 8);
	memcpy(p.module + 8, &(uint64_t){ TABLE_ADDR + NAMES }, 8);
	memcpy(p.module + MODULE_CALLS_AT, &calls, 8);
}

static void open_program(void)
{
	maker_init(&p.elf);
	maker_segment(&p.elf, PT_LOAD, PF_R | PF_X, CODE,
		      maker_bytes(&p.elf, p.code, sizeof(p.code)), sizeof(p.code));
	maker_section(&p.elf, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, p.table, sizeof(p.table));
	if (p.module_section) {
		unsigned int at = maker_section(&p.elf, p.module_section, SHT_PROGBITS, SHF_ALLOC,
						p.module, sizeof(p.module));

		p.elf.shdrs[at].sh_addr = MODULE_ADDR;
		maker_segment(&p.elf, PT_LOAD, PF_R | PF_W, MODULE_ADDR, p.elf.shdrs[at].sh_offset,
			      sizeof(p.module));
	}
	maker_end(&p.elf);
	maker_shdr(&p.elf, 1)->sh_addr = TABLE_ADDR;
	p.img = maker_open(&p.elf);
	must(symbolizer_new_elf(&(struct elf_sources){ .image = p.img, .label = "prog" }, &p.s) ==
	     0);
}

static void close_program(void)
{
	symbolizer_free(p.s);
	elf_image_free(p.img);
	maker_done(&p.elf);
}

/* "inner file:line start < outer …" */
static bool is_at(uint64_t addr, const char *expected)
{
	char text[512] = "";
	struct symbol_result r;
	size_t len = 0;

	must(p.s->ops->resolve(p.s, addr, &r) == 0);
	for (uint32_t i = 0; i < r.nr_frames && len < sizeof(text); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"%s%s %s:%" PRIu32 " %" PRIu32, i ? " < " : "",
					r.frames[i].name,
					r.frames[i].filename ? r.frames[i].filename : "?",
					r.frames[i].line, r.frames[i].start_line);
	if (strcmp(text, expected) != 0)
		printf("# 0x%" PRIx64 " is \"%s\"\n", addr, text);
	return strcmp(text, expected) == 0;
}

static void test_lines(void)
{
	begin(MAGIC_1_20);
	open_program();
	ok(is_at(CODE, "main.work /src/b.go:10 9"), "a line at the start of a function");
	ok(is_at(CODE + 16, "main.small /src/a.go:30 29 < main.work /src/b.go:10 9"),
	   "an inlined function, and its call site");
	ok(is_at(CODE + 31, "main.small /src/a.go:30 29 < main.work /src/b.go:10 9"),
	   "an inlined function at its last byte");
	ok(is_at(CODE + 32, "main.work /src/b.go:12 9") &&
		   is_at(CODE + 63, "main.work /src/b.go:12 9"),
	   "after the inlined function the outer one continues");
	close_program();
}

static void test_module_in_data(void)
{
	begin(MAGIC_1_20);
	p.module_section = ".noptrdata";
	open_program();
	ok(is_at(CODE + 16, "main.small /src/a.go:30 29 < main.work /src/b.go:10 9"),
	   "before Go 1.26 the module data is found in the data");
	close_program();
	begin(MAGIC_1_20);
	p.module_section = ".noptrdata";
	p.module[8]++;
	open_program();
	ok(is_at(CODE + 16, "main.work /src/b.go:0 9"),
	   "similar data is not taken for the module data");
	close_program();
}

/* What is not known must not be another function's line. */
static void test_calls_not_found(void)
{
	static const uint32_t bad[] = { 0x7fffffff, 64, 0xffffffff };

	begin(MAGIC_1_20);
	p.module_section = NULL;
	open_program();
	ok(is_at(CODE + 16, "main.work /src/b.go:0 9"),
	   "without the inlined calls, inlined code has no line");
	ok(is_at(CODE + 32, "main.work /src/b.go:12 9"),
	   "without the inlined calls, other code has its line");
	close_program();
	begin(MAGIC_1_18);
	open_program();
	ok(is_at(CODE + 16, "main.work /src/b.go:0 0"),
	   "with calls of Go 1.18, inlined code has no line");
	close_program();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin(MAGIC_1_20);
		memcpy(p.code + (CALLS - CODE) + 8, &bad[i], 4);
		open_program();
		ok(is_at(CODE + 16, "main.work /src/b.go:0 9"),
		   "with a call at 0x%x, inlined code has no line", bad[i]);
		close_program();
	}
	begin(MAGIC_1_20);
	memcpy(p.code + (CALLS - CODE) + 8, &(uint32_t){ 20 }, 4);
	open_program();
	ok(is_at(CODE + 16, "main.work /src/b.go:0 9"),
	   "with a call inside itself, inlined code has no line");
	close_program();
}

static void test_damage(void)
{
	begin(MAGIC_1_20);
	put32(UNITS + 8, 0xffffffff);
	open_program();
	ok(is_at(CODE, "main.work ?:0 9"), "a missing file has no name and no lines");
	close_program();
	begin(MAGIC_1_20);
	put32(ENTRY + 32, 0x40000000);
	open_program();
	ok(is_at(CODE, "main.work ?:0 9"), "a unit outside the table has no lines");
	close_program();
	begin(MAGIC_1_20);
	p.table[VALUES + 4] = 200; /* and so on: more bytes than the function has */
	p.table[VALUES + 5] = 200;
	open_program();
	ok(is_at(CODE, "main.work /src/b.go:10 9") && is_at(CODE + 32, "main.work /src/b.go:0 9"),
	   "lines end where their table is malformed");
	close_program();
}

/* Every byte of the table, each way; nothing to expect but an answer. */
static void test_every_byte(void)
{
	unsigned int nr = 0;

	for (size_t at = 0; at < TABLE_BYTES; at++) {
		static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
		struct symbol_result r;

		for (size_t i = 0; i < sizeof(values); i++) {
			begin(MAGIC_1_20);
			p.table[at] = values[i];
			open_program();
			for (uint64_t addr = CODE; addr < CODE + CODE_BYTES; addr += 8)
				nr += p.s->ops->resolve(p.s, addr, &r) == 0 && r.nr_frames > 0;
			close_program();
		}
	}
	ok(nr == TABLE_BYTES * 5 * 8,
	   "a malformed byte anywhere in the table still gives an answer");
}

/* A process that has only the file gives the same functions and lines. */
static void test_elsewhere(void)
{
	static struct symbol_item items[3];
	_cleanup_(buf_done) struct buf bytes = BUF_INIT(0);
	struct symbol_job job = SYMBOL_JOB(SYMBOL_JOB_FILE);
	struct symbol_reply reply;

	if (!can_empty_root()) {
		tap_skip("needs root or user namespaces, to have an empty root directory");
		return;
	}
	begin(MAGIC_1_20);
	open_program();
	for (uint64_t i = 0; i < 3; i++)
		items[i].offset = p.elf.phdrs[0].p_offset + 4 + 16 * i;
	job.fd = jit_file(p.elf.bytes, p.elf.len);
	job.items = items;
	job.nr_items = 3;
	job.label = "prog";
	ok(is_same_elsewhere(&job, &bytes),
	   "Go: a process with an empty root gives the same bytes");
	must(symbol_reply_read(&bytes, 3, &reply) == 0);
	ok(is_answer(&reply, 0, "main.work /src/b.go:10") &&
		   is_answer(&reply, 1, "main.small /src/a.go:30 < main.work /src/b.go:10"),
	   "Go: the reply has functions, lines and inlined calls");
	symbol_reply_done(&reply);
	close(job.fd);
	close_program();
	rmdir(empty_root);
}

int main(void)
{
	test_lines();
	test_module_in_data();
	test_calls_not_found();
	test_damage();
	test_every_byte();
	test_elsewhere();
	return tap_done();
}
