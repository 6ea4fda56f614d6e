/* SPDX-License-Identifier: Apache-2.0 */
/* Go's own table of its functions, made by hand, and the rules that come of it. */
#include "cfi_maker.h"
#include "elf/go_table.h"
#include "elf_maker.h"
#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_elf.h"
#include "unwind/known_code.h"

#define MAX_FUNCS 16
#define FUNC_BYTES 64u     /* of code each; Go fills up with int3 */
#define TEXT (CODE + 0x40) /* where Go's code begins: something else may stand before it */
#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

#define RETURN "\x48\xc7\xc0\x0f\0\0\0\x0f\x05\xcd\x03"
#define PREEMPT "\x55\x48\x89\xe5\x9c\x90\x90"
#define PUSH_FP "\x55\x48\x89\xe5"

/* A Go program under construction. */
struct go_maker {
	uint8_t text[0x40 + MAX_FUNCS * FUNC_BYTES];
	uint8_t names[512], deltas[512];
	size_t names_len, deltas_len;
	struct {
		uint32_t name, deltas;
		uint8_t flags;
	} funcs[MAX_FUNCS];
	uint32_t nr;
	uint8_t quantum;
	uint64_t text_in_table; /* by the table */
};

static struct go_maker g;

/* deltas: as the table has them, ended by a zero that the literal brings along. */
static uint64_t add(const char *name, uint8_t flags, const void *code, size_t code_bytes,
		    const char *deltas)
{
	uint32_t i = g.nr++;

	must(i < MAX_FUNCS && code_bytes <= FUNC_BYTES);
	memcpy(g.text + 0x40 + i * FUNC_BYTES, code, code_bytes);
	g.funcs[i].name = (uint32_t)g.names_len;
	g.funcs[i].deltas = (uint32_t)g.deltas_len;
	g.funcs[i].flags = flags;
	memcpy(g.names + g.names_len, name, strlen(name) + 1);
	g.names_len += strlen(name) + 1;
	memcpy(g.deltas + g.deltas_len, deltas, strlen(deltas) + 1);
	g.deltas_len += strlen(deltas) + 1;
	return TEXT + i * FUNC_BYTES;
}

/* A program with what every one has: 1 byte at delta 0 (from -1: 2), 63 or so more at others. */
static void begin(void)
{
	memset(&g, 0, sizeof(g));
	memset(g.text, 0xcc, sizeof(g.text));
	g.names_len = g.deltas_len = 1; /* 0 is none */
	g.quantum = 1;
	add("runtime.sigreturn__sigaction", GO_ASM, BYTES(RETURN), "\x02\x0b");
	add("runtime.asyncPreempt", GO_ASM, BYTES(PREEMPT), "\x02\x01\x10\x04\x10\x02");
}

static void put(uint8_t *to, size_t *len, uint64_t v, size_t n)
{
	memcpy(to + *len, &v, n);
	*len += n;
}

/* The table's bytes; returns how many. */
static size_t make_table(uint32_t magic, uint8_t *to)
{
	uint64_t names = 72, deltas = names + g.names_len,
		 funcs = (deltas + g.deltas_len + 7) & ~7u;
	uint64_t entries = g.nr * 8 + 4, entry_bytes = 48;
	size_t len = 0;

	put(to, &len, magic | (uint64_t)g.quantum << 48 | 8ull << 56, 8);
	put(to, &len, g.nr, 8);
	put(to, &len, 0, 8);               /* files */
	put(to, &len, g.text_in_table, 8); /* 0 as of 1.26 */
	put(to, &len, names, 8);
	put(to, &len, deltas, 8); /* units: none */
	put(to, &len, deltas, 8); /* files: none */
	put(to, &len, deltas, 8);
	put(to, &len, funcs, 8);
	memcpy(to + len, g.names, g.names_len);
	memcpy(to + deltas, g.deltas, g.deltas_len);
	len = funcs;
	for (uint32_t i = 0; i < g.nr; i++) {
		put(to, &len, i * FUNC_BYTES, 4);
		put(to, &len, entries + i * entry_bytes, 4);
	}
	put(to, &len, g.nr * FUNC_BYTES, 4);
	for (uint32_t i = 0; i < g.nr; i++) {
		size_t at = funcs + entries + i * entry_bytes;
		uint32_t start = i * FUNC_BYTES;

		memset(to + at, 0, entry_bytes);
		memcpy(to + at, &start, 4);
		memcpy(to + at + 4, &g.funcs[i].name, 4);
		memcpy(to + at + 16, &g.funcs[i].deltas, 4);
		to[at + (magic == MAGIC_1_18 ? 37 : 41)] = g.funcs[i].flags;
		len = at + entry_bytes;
	}
	return len;
}

struct program {
	struct elf_maker elf;
	struct elf_image *img;
	struct known_code known;
	struct rule_dict dict;
	struct unwind_table *table;
};

/* module: what .go.module is to hold, or NULL. */
static void make_elf_with(struct elf_maker *e, uint32_t magic, const char *section,
			  const void *module, size_t module_size)
{
	uint8_t bytes[4096] = { 0 };
	size_t size = make_table(magic, bytes);

	maker_init(e);
	maker_segment(e, PT_LOAD, PF_R | PF_X, CODE, maker_bytes(e, g.text, sizeof(g.text)),
		      sizeof(g.text));
	maker_section(e, section, SHT_PROGBITS, SHF_ALLOC, bytes, size);
	if (module)
		maker_section(e, ".go.module", SHT_PROGBITS, SHF_ALLOC, module, module_size);
	maker_end(e);
}

static void make_elf(struct elf_maker *e, uint32_t magic, const char *section)
{
	make_elf_with(e, magic, section, NULL, 0);
}

static void open_image(struct program *p)
{
	p->img = maker_open(&p->elf);
	must(known_code_find(p->img, &p->known) == 0);
	must(rule_dict_init(&p->dict) == 0);
	must(unwind_compile_known(NULL, 0, &p->known, &p->dict, &p->table) == 0);
}

static void open_program(struct program *p, uint32_t magic, const char *section)
{
	make_elf(&p->elf, magic, section);
	open_image(p);
}

static void close_program(struct program *p)
{
	unwind_table_free(p->table);
	rule_dict_done(&p->dict);
	known_code_done(&p->known);
	elf_image_free(p->img);
	maker_done(&p->elf);
}

static pa_rule at(const struct program *p, uint64_t pc)
{
	return unwind_table_find(p->table, &p->dict, pc);
}

/* Leaves a frame of that many bytes, the return address not counted; its caller's frame pointer is
 * saved in it. */
static pa_rule frame(uint64_t bytes)
{
	pa_rule rule = PA_CFA_REG | 7u << PA_RULE_REG_SHIFT | (bytes + 8) << PA_RULE_CFA_SHIFT;

	return bytes ? rule | (pa_rule)PA_FP_AT_CFA << PA_RULE_FP_SHIFT |
			       -2ull << PA_RULE_SLOT_SHIFT
		     : rule;
}

static void test_a_function(uint32_t magic, const char *section, const char *what)
{
	struct program p;
	uint64_t f;

	begin();
	f = add("main.f", 0, BYTES(PUSH_FP), "\x02\x01\x10\x06\x40\x14\x3f\x02");
	open_program(&p, magic, section);
	ok(at(&p, f) == frame(0) && at(&p, f + 1) == frame(8) && at(&p, f + 6) == frame(8) &&
		   at(&p, f + 7) == frame(40),
	   "%s: the stack pointer delta, range by range", what);
	ok(at(&p, f + 27) == frame(8) && at(&p, f + FUNC_BYTES - 1) == frame(8) &&
		   at(&p, f + FUNC_BYTES) == PA_RULE_WORD_NONE,
	   "%s: up to the start of the next function", what);
	ok(at(&p, TEXT - 1) == (PA_CFA_SIGNAL | PA_RULE_SIGNAL) &&
		   at(&p, TEXT + 9) == (PA_CFA_SIGNAL | PA_RULE_SIGNAL),
	   "%s: the code that signal handlers return to keeps its rule", what);
	ok(at(&p, TEXT + FUNC_BYTES + 5) == (frame(16) | PA_RULE_SIGNAL),
	   "%s: a preempted function was interrupted", what);
	close_program(&p);
}

static pa_rule way(enum pa_switch to)
{
	return PA_CFA_SWITCH | (pa_rule)to << PA_RULE_REG_SHIFT;
}

/* The same to a frame of that many bytes on the other stack, and where this one holds the goroutine. */
static pa_rule way_to(enum pa_switch to, uint64_t bytes, uint64_t slot)
{
	return way(to) | (bytes + 8) << PA_RULE_CFA_SHIFT | slot / 8 << PA_RULE_SLOT_SHIFT;
}

static void test_ends(void)
{
	struct program p;
	uint64_t exit, tramp, mcall, more, go;

	begin();
	exit = add("runtime.goexit", GO_ASM | GO_TOP_FRAME, BYTES("\x90\xe8"), "\x02\x06");
	tramp = add("runtime.sigtramp", GO_ASM | GO_TOP_FRAME,
		    BYTES("\x48\x83\xec\x30\x48\x89\x6c\x24\x28\x48\x8d\x6c\x24\x28"),
		    "\x02\x04\x60\x20");
	mcall = add("runtime.mcall", GO_ASM | GO_SP_WRITE,
		    BYTES(PUSH_FP "\x90\x49\x8b\x66\x38\x50\xff\xd0"), "\x02\x01\x10\x09\x10\x10");
	more = add("runtime.morestack", GO_ASM | GO_SP_WRITE, BYTES("\x90\x90\x48\x8b\x63\x38\xe8"),
		   "\x02\x10");
	go = add("gogo", GO_ASM | GO_SP_WRITE, BYTES("\x48\x8b\x63\x38\xff\xe3"), "\x02\x10");
	open_program(&p, MAGIC_1_20, ".gopclntab");
	ok(at(&p, exit) == PA_CFA_END && at(&p, exit + 5) == PA_CFA_END,
	   "a TOPFRAME function is an outermost frame");
	ok(at(&p, tramp) == frame(0) && at(&p, tramp + 4) == frame(48),
	   "the signal handler is not an outermost frame");
	ok(at(&p, mcall) == frame(0) && at(&p, mcall + 1) == frame(8) &&
		   at(&p, mcall + 4) == PA_CFA_SWITCH,
	   "mcall is unwound normally until it leaves its stack");
	ok(at(&p, mcall + 8) == PA_CFA_SWITCH && at(&p, mcall + 9) == way(PA_SWITCH_MCALL) &&
		   at(&p, mcall + 12) == way(PA_SWITCH_MCALL),
	   "mcall's caller is the goroutine that was left, from then on");
	ok(at(&p, more + 5) == frame(0) && at(&p, more + 6) == way(PA_SWITCH_MORESTACK),
	   "morestack's caller is the goroutine that was left, from then on");
	ok(at(&p, go + 3) == frame(0) && at(&p, go + 4) == way(PA_SWITCH_LOST),
	   "behind gogo's switch nothing is claimed");
	close_program(&p);
}

static void test_switches(void)
{
	struct program p;
	uint64_t now, old, plain, leaf;

	begin();
	now = add("runtime.systemstack", GO_ASM | GO_SP_WRITE,
		  BYTES(PUSH_FP "\x48\x8b\x62\x38\xff\xd7\x5d\xc3"), "\x02\x01\x10\x0a\x0f\x01");
	old = add("runtime.racecall", GO_ASM | GO_SP_WRITE, BYTES("\x90\x48\x89\xdc\xff\xd7"),
		  "\x02\x10");
	plain = add("some.asm", GO_ASM, BYTES("\x50\x90\x58\xc3"), "\x02\x01\x10\x02");
	leaf = add("time.now", GO_ASM | GO_SP_WRITE,
		   BYTES("\x48\x83\xec\x18\x48\x89\x6c\x24\x10\x48\x8d\x6c\x24\x10\x90"),
		   "\x02\x04\x30\x20");
	open_program(&p, MAGIC_1_20, ".gopclntab");
	ok(at(&p, now + 1) == frame(8) && at(&p, now + 4) == PA_CFA_SWITCH &&
		   at(&p, now + 10) == PA_CFA_SWITCH && at(&p, now + 11) == frame(0),
	   "a stack switch with its own frame pointer is unwound by it");
	ok(at(&p, old + 3) == frame(0) && at(&p, old + 4) == way(PA_SWITCH_LOST),
	   "behind a stack switch without one nothing is claimed");
	ok(at(&p, plain + 1) == (PA_CFA_REG | 7u << PA_RULE_REG_SHIFT | 16u << PA_RULE_CFA_SHIFT),
	   "assembly that saves no frame pointer has not changed it");
	ok(at(&p, leaf + 13) == frame(24) && at(&p, leaf + 14) == PA_CFA_SWITCH,
	   "the prologue of older versions");
	close_program(&p);
}

/* Older versions have no frame pointer of their own in these. */
static void test_known_switches(void)
{
	struct program p;
	uint64_t old, c, old_c, callback;

	begin();
	old = add("runtime.systemstack", GO_ASM | GO_SP_WRITE,
		  BYTES("\x90\x48\x89\xdc\xff\xd7\x48\x8b\x60\x38\x90\xc3"), "\x02\x10");
	c = add("runtime.asmcgocall", GO_ASM | GO_SP_WRITE,
		BYTES(PUSH_FP "\x48\x8b\x66\x38\x48\x89\x7c\x24\x08\xff\xd0\x48\x89\xf4\x5d\xc3"),
		"\x02\x01\x10\x13\x0f\x01");
	old_c = add("runtime.asmcgocall", GO_ASM | GO_SP_WRITE,
		    BYTES("\x48\x8b\x66\x38\x48\x89\x7c\x24\x30\xff\xd0\xc3"), "\x02\x10");
	callback = add("runtime.cgocallback", GO_ASM | GO_SP_WRITE,
		       BYTES(PUSH_FP "\x48\x89\xfc\xff\xd0\x48\x8b\x66\x38\x90"),
		       "\x02\x01\x10\x10");
	open_program(&p, MAGIC_1_20, ".gopclntab");
	ok(at(&p, old + 3) == frame(0) && at(&p, old + 4) == way_to(PA_SWITCH_SYSTEM, 0, 0) &&
		   at(&p, old + 9) == way_to(PA_SWITCH_SYSTEM, 0, 0) &&
		   at(&p, old + 10) == frame(0),
	   "the goroutine's registers lead behind systemstack, until it is back");
	ok(at(&p, c + 7) == PA_CFA_SWITCH && at(&p, c + 15) == way_to(PA_SWITCH_C, 8, 8) &&
		   at(&p, c + 20) == frame(0),
	   "asmcgocall's frame says who called it");
	ok(at(&p, old_c + 11) == way_to(PA_SWITCH_C, 0, 48),
	   "asmcgocall's frame says who called it before Go 1.21");
	ok(at(&p, callback + 6) == frame(8) &&
		   at(&p, callback + 9) == way_to(PA_SWITCH_CALLBACK, 8, 0) &&
		   at(&p, callback + 13) == frame(8),
	   "Go that C has called was called from the thread's own stack");
	close_program(&p);
}

static void test_damage(void)
{
	struct program p;
	uint64_t bad, odd, huge, good;

	begin();
	bad = add("main.bad", 0, BYTES("\xc3"), "\x02\x01\x10\x7f"); /* longer than the function */
	odd = add("main.odd", 0, BYTES("\xc3"), "\x02\x01\x06\x08"); /* 3 bytes below */
	huge = add("main.huge", 0, BYTES("\xc3"),
		   "\x02\x01\x10\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x08");
	good = add("main.good", 0, BYTES("\xc3"), "\x02\x20");
	open_program(&p, MAGIC_1_20, ".gopclntab");
	ok(at(&p, bad) == frame(0) && at(&p, bad + 1) == PA_RULE_WORD_NONE &&
		   at(&p, odd + 1) == PA_RULE_WORD_NONE && at(&p, huge + 2) == PA_RULE_WORD_NONE,
	   "malformed ranges of a function have no rule");
	ok(at(&p, good) == frame(0), "the next function has its rules");
	close_program(&p);
	begin();
	open_program(&p, MAGIC_1_20 + 1, ".gopclntab");
	ok(p.known.nr == 1, "a table of another version is not read");
	close_program(&p);
	begin();
	memset(g.text + 0x40 + FUNC_BYTES, 0x90, 8);
	open_program(&p, MAGIC_1_20, ".gopclntab");
	ok(p.known.nr == 1, "a table for other code is not read");
	close_program(&p);
}

/* Byte i of a section, and every other time all behind it. False: it has none, and the file is done. */
static bool spoil(struct elf_maker *elf, uint32_t nr, size_t i)
{
	Elf64_Shdr *s = maker_shdr(elf, nr);

	if (i >= s->sh_size) {
		maker_done(elf);
		return false;
	}
	elf->bytes[s->sh_offset + i] ^= 0x81;
	if (i % 2)
		s->sh_size = i;
	return true;
}

/* Every prefix of the table, and every byte of it changed: nothing but values comes out. */
static void test_spoilt(void)
{
	unsigned int nr_tried = 0;

	begin();
	add("main.f", 0, BYTES(PUSH_FP), "\x02\x01\x10\x06\x40\x14");
	add("runtime.systemstack", GO_ASM | GO_SP_WRITE, BYTES(PUSH_FP "\x48\x8b\x62\x38"),
	    "\x02\x01\x10\x0a");
	for (size_t i = 0;; i++, nr_tried++) {
		struct program p;

		make_elf(&p.elf, MAGIC_1_20, ".gopclntab");
		if (!spoil(&p.elf, 1, i))
			break;
		open_image(&p);
		close_program(&p);
	}
	ok(nr_tried > 200, "a corrupt table is survived, %u ways", nr_tried);
}

/* ---- names, which symbolize/ takes from the same table ---- */

static bool has_name(const struct elf_image *img, uint64_t addr, const char *name)
{
	struct elf_sources src = { .image = img, .label = "file" };
	_cleanup_(symbolizer_freep) struct symbolizer *s = NULL;
	struct symbol_result r;

	must(symbolizer_new_elf(&src, &s) == 0 && s->ops->resolve(s, addr, &r) == 0);
	return r.is_named == !!name && (!name || strcmp(r.frames[0].name, name) == 0);
}

static void test_names(void)
{
	struct program p;
	uint64_t work, entry, text = TEXT;

	begin();
	entry = add("_rt0_amd64_linux", GO_ASM, BYTES("\xe9"), "\x02\x01");
	work = add("main.work[...]", 0, BYTES("\xc3"), "\x02\x01");
	make_elf(&p.elf, MAGIC_1_20, ".gopclntab");
	p.img = maker_open(&p.elf);
	ok(has_name(p.img, work, NULL), "names: none without a known text start");
	elf_image_free(p.img);
	((Elf64_Ehdr *)p.elf.bytes)->e_entry = entry;
	p.img = maker_open(&p.elf);
	ok(has_name(p.img, work, "main.work[...]") &&
		   has_name(p.img, work + FUNC_BYTES - 1, "main.work[...]"),
	   "names: the entry point gives the text start");
	ok(has_name(p.img, work + FUNC_BYTES, NULL), "names: none after the last function");
	elf_image_free(p.img);
	((Elf64_Ehdr *)p.elf.bytes)->e_entry = 0;
	memcpy(p.elf.bytes + maker_shdr(&p.elf, 1)->sh_offset + 24, &text, sizeof(text));
	p.img = maker_open(&p.elf);
	ok(has_name(p.img, work, "main.work[...]"), "names: the table gives the text start");
	elf_image_free(p.img);
	maker_done(&p.elf);
}

#define TABLE_ADDR 0x123000ull
#define MODULE_ADDR 0x125000ull
#define MODULE_TEXT_AT 176 /* in the description that the runtime has of itself */

/* Whether a name is found by what .go.module says, n bytes of it. */
static bool has_name_by_module(uint64_t table_addr, uint64_t text, size_t n, bool is_expected)
{
	uint8_t module[MODULE_TEXT_AT + 8] = { 0 };
	struct program p;
	uint64_t work;
	bool is;

	begin();
	work = add("main.work[...]", 0, BYTES("\xc3"), "\x02\x01");
	memcpy(module, &table_addr, sizeof(table_addr));
	memcpy(module + MODULE_TEXT_AT, &text, sizeof(text));
	make_elf_with(&p.elf, MAGIC_1_20, ".gopclntab", module, n);
	maker_shdr(&p.elf, 1)->sh_addr = TABLE_ADDR;
	p.img = maker_open(&p.elf);
	is = has_name(p.img, work, is_expected ? "main.work[...]" : NULL);
	elf_image_free(p.img);
	maker_done(&p.elf);
	return is;
}

static void test_module(void)
{
	ok(has_name_by_module(TABLE_ADDR, TEXT, MODULE_TEXT_AT + 8, true),
	   "names: the module data gives the text start");
	ok(has_name_by_module(TABLE_ADDR + 8, TEXT, MODULE_TEXT_AT + 8, false),
	   "names: not the module data of another table");
	ok(has_name_by_module(TABLE_ADDR, 0x999000, MODULE_TEXT_AT + 8, false),
	   "names: not if there is no code there");
	ok(has_name_by_module(TABLE_ADDR, TEXT, MODULE_TEXT_AT + 7, false),
	   "names: not if it is truncated");
}

/* The description holds zeros in the file, and relocations say what is filled in. */
static void test_module_filled_in(uint64_t table_addr, bool is_expected, const char *what)
{
	const Elf64_Rela relocs[] = {
		{ MODULE_ADDR, ELF64_R_INFO(0, R_X86_64_RELATIVE), (int64_t)table_addr },
		{ MODULE_ADDR + MODULE_TEXT_AT, ELF64_R_INFO(0, R_X86_64_RELATIVE), TEXT },
	};
	uint8_t bytes[4096] = { 0 }, module[MODULE_TEXT_AT + 8] = { 0 };
	unsigned int table, description;
	struct elf_image *img;
	struct elf_maker e;
	uint64_t work;
	size_t size;

	begin();
	work = add("main.work", 0, BYTES("\xc3"), "\x02\x01");
	maker_init(&e);
	maker_segment(&e, PT_LOAD, PF_R | PF_X, CODE, maker_bytes(&e, g.text, sizeof(g.text)),
		      sizeof(g.text));
	size = make_table(MAGIC_1_20, bytes);
	table = maker_section(&e, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, bytes, size);
	e.shdrs[table].sh_addr = TABLE_ADDR;
	description =
		maker_section(&e, ".go.module", SHT_PROGBITS, SHF_ALLOC, module, sizeof(module));
	e.shdrs[description].sh_addr = MODULE_ADDR;
	maker_section(&e, ".rela.dyn", SHT_RELA, SHF_ALLOC, relocs, sizeof(relocs));
	maker_end(&e);
	img = maker_open(&e);
	ok(has_name(img, work, is_expected ? "main.work" : NULL), "%s", what);
	elf_image_free(img);
	maker_done(&e);
}

/* ---- a table without a section of its own ---- */

#define RELRO_ADDR 0x200000ull
#define MAX_BEFORE_BYTES (40u << 10)
#define TEXT_AT 24 /* in the table */

/* What is special about a file whose table stands in .data.rel.ro among others' data. */
struct merged {
	uint16_t machine;
	const char *mark;  /* section that says that it is of Go; NULL: none */
	size_t before;     /* bytes of others */
	size_t nr_decoys;  /* words among them that look like a table's first */
	uint64_t addr;     /* of the section */
	uint64_t in_table; /* where code begins, by the table as it stands in the file */
	Elf64_Rela rela;   /* r_offset counts from the table */
	bool is_other_machines, has_wrong_func;
};

static const struct merged usual = { .machine = EM_X86_64,
				     .mark = ".go.buildinfo",
				     .before = 0x120,
				     .addr = RELRO_ADDR,
				     .in_table = TEXT };

static void make_merged(struct elf_maker *e, const struct merged *m)
{
	static uint8_t bytes[MAX_BEFORE_BYTES + 4096];
	uint64_t decoy = MAGIC_1_18 | 1ull << 48 | 8ull << 56;
	Elf64_Rela rela = m->rela;
	unsigned int section;
	size_t size;

	memset(bytes, 0, sizeof(bytes));
	must(m->before <= MAX_BEFORE_BYTES && m->nr_decoys * 8 <= m->before);
	for (size_t i = 0; i < m->nr_decoys; i++)
		memcpy(bytes + m->before % 8 + i * 8, &decoy, 8);
	g.quantum = (m->machine == EM_X86_64) != m->is_other_machines ? 1 : 4;
	g.text_in_table = m->in_table;
	size = m->before + make_table(MAGIC_1_18, bytes + m->before);
	if (m->has_wrong_func)
		bytes[size - 48]++; /* where the last one begins, by itself */
	maker_init(e);
	e->ehdr.e_machine = m->machine;
	maker_segment(e, PT_LOAD, PF_R | PF_X, CODE, maker_bytes(e, g.text, sizeof(g.text)),
		      sizeof(g.text));
	if (m->mark)
		maker_section(e, m->mark, SHT_PROGBITS, SHF_ALLOC, "", 1);
	rela.r_offset += m->addr + m->before;
	maker_section(e, ".rela.dyn", SHT_RELA, SHF_ALLOC, &rela, sizeof(rela));
	section = maker_section(e, ".data.rel.ro", SHT_PROGBITS, SHF_ALLOC, bytes, size);
	e->shdrs[section].sh_addr = m->addr;
	maker_end(e);
}

/* Whether a function has its name. */
static bool is_read(struct merged m)
{
	struct program p;
	uint64_t work;
	bool is;

	begin();
	work = add("main.work[...]", 0, BYTES("\xc3"), "\x02\x01");
	make_merged(&p.elf, &m);
	p.img = maker_open(&p.elf);
	is = has_name(p.img, work, "main.work[...]");
	must(is || has_name(p.img, work, NULL));
	elf_image_free(p.img);
	maker_done(&p.elf);
	return is;
}

static struct merged with_mark(const char *mark)
{
	struct merged m = usual;

	m.mark = mark;
	return m;
}

static struct merged behind(size_t before, size_t nr_decoys, uint64_t addr)
{
	struct merged m = usual;

	m.before = before;
	m.nr_decoys = nr_decoys;
	m.addr = addr;
	return m;
}

static void test_merged(void)
{
	struct merged foreign = usual, wrong = usual;

	foreign.is_other_machines = true;
	wrong.has_wrong_func = true;
	ok(is_read(usual) && is_read(with_mark(".note.go.buildid")),
	   "search: a table without its own section is found after other data");
	ok(!is_read(with_mark(NULL)), "search: not in a file that is not Go's");
	ok(is_read(behind(0, 0, RELRO_ADDR)) && is_read(behind(16384 - 8, 0, RELRO_ADDR)) &&
		   is_read(behind(16384, 0, RELRO_ADDR)) && is_read(behind(40000, 0, RELRO_ADDR)),
	   "search: wherever it begins");
	ok(is_read(behind(20, 0, RELRO_ADDR + 4)) && !is_read(behind(20, 0, RELRO_ADDR)),
	   "search: only at aligned addresses");
	ok(is_read(behind(504, 63, RELRO_ADDR)), "search: similar data is skipped");
	ok(!is_read(behind(512, 64, RELRO_ADDR)), "search: candidates are limited");
	ok(!is_read(foreign), "search: a table for another machine is refused");
	ok(!is_read(wrong), "search: a table whose functions disagree is refused");
}

static struct merged filled_in(uint16_t machine, uint64_t in_table, uint32_t type, uint64_t at)
{
	struct merged m = usual;

	m.machine = machine;
	m.in_table = in_table;
	m.rela = (Elf64_Rela){ at, ELF64_R_INFO(0, type), TEXT };
	return m;
}

static void test_filled_in(void)
{
	ok(is_read(filled_in(EM_X86_64, 0, R_X86_64_RELATIVE, TEXT_AT)),
	   "search: relocations give the text start");
	ok(is_read(filled_in(EM_X86_64, CODE + 0x10, R_X86_64_RELATIVE, TEXT_AT)) &&
		   is_read(filled_in(EM_AARCH64, CODE + 0x10, R_AARCH64_RELATIVE, TEXT_AT)),
	   "search: not the value before relocation");
	ok(is_read(filled_in(EM_AARCH64, 0, R_AARCH64_RELATIVE, TEXT_AT)),
	   "search: on AArch64 as well");
	ok(!is_read(filled_in(EM_X86_64, 0, R_X86_64_RELATIVE, TEXT_AT + 8)) &&
		   !is_read(filled_in(EM_X86_64, 0, R_X86_64_64, TEXT_AT)) &&
		   !is_read(filled_in(EM_AARCH64, 0, R_X86_64_RELATIVE, TEXT_AT)),
	   "search: not elsewhere, nor by another relocation");
}

static void test_merged_rules(void)
{
	struct program p;
	uint64_t f;

	begin();
	f = add("main.f", 0, BYTES(PUSH_FP), "\x02\x01\x10\x06\x40\x14\x3f\x02");
	make_merged(&p.elf, &usual);
	open_image(&p);
	ok(at(&p, f) == frame(0) && at(&p, f + 1) == frame(8) && at(&p, f + 7) == frame(40),
	   "search: a table without a section gives rules");
	close_program(&p);
}

/* Every byte of the section changed: nothing but values comes out. */
static void test_merged_spoilt(void)
{
	unsigned int nr_tried = 0, nr_read = 0;

	for (size_t i = 0;; i++, nr_tried++) {
		struct program p;

		begin();
		make_merged(&p.elf, &usual);
		if (!spoil(&p.elf, 3, i))
			break;
		open_image(&p);
		nr_read += p.known.nr > 1;
		close_program(&p);
	}
	ok(nr_tried > 500 && nr_read > 100 && nr_read < nr_tried,
	   "a corrupt section is survived, %u ways, and read %u times", nr_tried, nr_read);
}

int main(void)
{
	test_module_filled_in(TABLE_ADDR, true, "search: the module data may be relocated");
	test_module_filled_in(TABLE_ADDR + 8, false, "search: not with another table's address");
	test_merged();
	test_filled_in();
	test_merged_rules();
	test_merged_spoilt();
	test_names();
	test_module();
	test_a_function(MAGIC_1_20, ".gopclntab", "Go 1.20");
	test_a_function(MAGIC_1_18, ".data.rel.ro.gopclntab", "Go 1.18, position-independent");
	test_ends();
	test_switches();
	test_known_switches();
	test_damage();
	test_spoilt();
	return tap_done();
}
