/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <time.h>

#include "elf_maker.h"
#include "symbolize/symbolize_internal.h"
#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_elf.h"

#define TEXT 1 /* section number */

/* A file with symbols and the symbolizer over it. */
struct fixture {
	struct elf_maker elf;
	struct sym_maker syms;
	struct elf_image *img;
	struct symbolizer *s;
	struct symbol_result result;
};

static void begin(struct fixture *f)
{
	memset(&f->syms, 0, sizeof(f->syms));
	maker_init(&f->elf);
	maker_section(&f->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "code", 4);
}

static void func(struct fixture *f, const char *name, uint64_t addr, uint64_t size)
{
	sym_add(&f->syms, name, addr, size, STB_GLOBAL, STT_FUNC, TEXT);
}

static void end(struct fixture *f, uint32_t type)
{
	if (f->syms.nr)
		sym_end(&f->syms, &f->elf, type);
	maker_end(&f->elf);
	f->img = maker_open(&f->elf);
	must(symbolizer_new_elf(&(struct elf_sources){ .image = f->img, .label = "file" }, &f->s) ==
	     0);
}

static void done(struct fixture *f)
{
	symbolizer_free(f->s);
	elf_image_free(f->img);
	maker_done(&f->elf);
}

static const char *name_at(struct fixture *f, uint64_t addr)
{
	must(f->s->ops->resolve(f->s, addr, &f->result) == 0 && f->result.nr_frames == 1);
	return f->result.frames[0].name;
}

static bool is(struct fixture *f, uint64_t addr, const char *name)
{
	bool same = strcmp(name_at(f, addr), name) == 0;

	if (!same)
		printf("# 0x%" PRIx64 " is %s, not %s\n", addr, name_at(f, addr), name);
	return same && f->result.is_named == (strncmp(name, "0x", 2) != 0);
}

static void test_sizes_count(struct fixture *f)
{
	begin(f);
	func(f, "a", 0x100, 0x10);
	func(f, "b", 0x120, 0x10);
	func(f, "label", 0x140, 0);
	end(f, SHT_SYMTAB);
	ok(is(f, 0xff, "0xff"), "below the first symbol there is no name");
	ok(is(f, 0x100, "a") && is(f, 0x10f, "a"), "a symbol names its first and last address");
	ok(is(f, 0x110, "0x110"), "an address in no symbol is not named by a neighbour");
	ok(is(f, 0x140, "label"), "a symbol without a size names its own address");
	ok(is(f, 0x141, "0x141"), "a symbol without a size names no other address");
	ok(is(f, UINT64_MAX, "0xffffffffffffffff"), "the highest address is raw");
	done(f);
}

/* .text from 0x100 to 0x200. */
static void begin_with_text(struct fixture *f)
{
	static const char text[0x100];

	memset(&f->syms, 0, sizeof(f->syms));
	maker_init(&f->elf);
	maker_section(&f->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text,
		      sizeof(text));
	f->elf.shdrs[TEXT].sh_addr = 0x100;
}

static void label(struct fixture *f, const char *name, uint64_t addr, int bind)
{
	sym_add(&f->syms, name, addr, 0, bind, STT_NOTYPE, TEXT);
}

static void test_labels_reach(struct fixture *f)
{
	begin_with_text(f);
	label(f, "first", 0x110, STB_GLOBAL);
	label(f, "first.loop", 0x118, STB_LOCAL);
	label(f, ".again", 0x11c, STB_LOCAL);
	label(f, "first.end", 0x11e, STB_LOCAL);
	label(f, "second", 0x120, STB_GLOBAL);
	label(f, "second_alias", 0x120, STB_LOCAL);
	func(f, "sized", 0x140, 0x10);
	label(f, "in_sized", 0x148, STB_GLOBAL);
	label(f, "helper", 0x160, STB_LOCAL);
	func(f, "typed", 0x180, 0);
	label(f, "at_end", 0x200, STB_GLOBAL);
	end(f, SHT_SYMTAB);
	ok(is(f, 0x10f, "0x10f"), "labels: code before the first label has no name");
	ok(is(f, 0x110, "first") && is(f, 0x117, "first"),
	   "labels: code after a label has its name");
	ok(is(f, 0x118, "first") && is(f, 0x11d, "first") && is(f, 0x11f, "first"),
	   "labels: labels with a dot belong to the one before");
	ok(is(f, 0x120, "second") && is(f, 0x13f, "second"),
	   "labels: a label ends at a sized symbol");
	ok(is(f, 0x148, "sized") && is(f, 0x14f, "sized"),
	   "labels: a label inside a sized symbol does not count");
	ok(is(f, 0x150, "0x150"), "labels: a label does not continue after a sized symbol");
	ok(is(f, 0x160, "helper") && is(f, 0x17f, "helper"), "labels: a local label counts");
	ok(is(f, 0x180, "typed") && is(f, 0x1ff, "typed"),
	   "labels: a label extends to the end of the section");
	ok(is(f, 0x200, "at_end") && is(f, 0x201, "0x201"),
	   "labels: a label does not extend beyond the section");
	done(f);
}

static void test_nested_and_overlapping(struct fixture *f)
{
	begin(f);
	func(f, "outer", 0x100, 0x100);
	func(f, "inner", 0x140, 0x20);
	func(f, "innermost", 0x150, 8);
	func(f, "overlap", 0x1f0, 0x20);
	func(f, "label", 0x120, 0);
	end(f, SHT_SYMTAB);
	ok(is(f, 0x13f, "outer"), "nested: before the inner symbol the outer one counts");
	ok(is(f, 0x140, "inner") && is(f, 0x14f, "inner"),
	   "nested: inside it the inner one counts");
	ok(is(f, 0x150, "innermost") && is(f, 0x157, "innermost"), "nested: and so on inwards");
	ok(is(f, 0x158, "inner"), "nested: after the innermost the inner one counts again");
	ok(is(f, 0x160, "outer"), "nested: after the inner one the outer one counts again");
	ok(is(f, 0x1f5, "overlap"), "overlap: the later start counts");
	ok(is(f, 0x20f, "overlap") && is(f, 0x210, "0x210"), "overlap: to its end and no further");
	ok(is(f, 0x120, "outer"), "a label does not tear an address out of a function");
	done(f);
}

static void test_ends_that_wrap(struct fixture *f)
{
	begin(f);
	func(f, "huge", 0x1000, UINT64_MAX);
	func(f, "top", UINT64_MAX - 0xf, 0x100);
	end(f, SHT_SYMTAB);
	ok(is(f, 0x2000, "huge"), "a size of 2^64 - 1 names what follows");
	ok(is(f, 0x200001000, "0x200001000"), "for 4 GiB");
	ok(is(f, UINT64_MAX - 1, "top"), "a symbol whose end wraps ends with the address space");
	done(f);
}

static void one_alias(struct fixture *f, const char *name, int bind, int type)
{
	sym_add(&f->syms, name, 0x100, 0x10, bind, type, TEXT);
}

static void test_aliases(struct fixture *f)
{
	begin(f);
	one_alias(f, "local", STB_LOCAL, STT_FUNC);
	one_alias(f, "a_weak", STB_WEAK, STT_FUNC);
	one_alias(f, "global_function", STB_GLOBAL, STT_FUNC);
	end(f, SHT_SYMTAB);
	ok(is(f, 0x100, "global_function"), "global comes before weak and local");
	done(f);

	begin(f);
	one_alias(f, "loc", STB_LOCAL, STT_FUNC);
	one_alias(f, "weak_function", STB_WEAK, STT_FUNC);
	end(f, SHT_SYMTAB);
	ok(is(f, 0x100, "loc"), "local comes before weak, as in perf");
	done(f);

	begin(f);
	one_alias(f, "n", STB_GLOBAL, STT_NOTYPE);
	one_alias(f, "function", STB_GLOBAL, STT_FUNC);
	end(f, SHT_SYMTAB);
	ok(is(f, 0x100, "function"), "a function comes before a label");
	done(f);

	begin(f);
	one_alias(f, "_w", STB_GLOBAL, STT_FUNC);
	one_alias(f, "__w", STB_GLOBAL, STT_FUNC);
	one_alias(f, "write", STB_GLOBAL, STT_FUNC);
	end(f, SHT_SYMTAB);
	ok(is(f, 0x100, "write"), "fewer leading underscores come first");
	done(f);

	begin(f);
	one_alias(f, "aa", STB_GLOBAL, STT_FUNC);
	one_alias(f, "ccc", STB_GLOBAL, STT_FUNC);
	one_alias(f, "bbb", STB_GLOBAL, STT_FUNC);
	end(f, SHT_SYMTAB);
	ok(is(f, 0x100, "ccc"),
	   "of two global aliases the longer name counts, then the first of the table, as in perf");
	done(f);
}

/* Each name of a folded function is as true; llvm-symbolizer gives the last of the table. */
static void test_folded_rust(struct fixture *f)
{
	const char *v0[] = { "_RNvC1a1x", "_RNvC1a1z", "_RNvC1a1y" };
	const char *legacy[] = { "_ZN1a1x17h0123456789abcdefE", "_ZN1a1c17h0123456789abcdefE",
				 "_ZN1a2yy17h0123456789abcdefE.llvm.7" };

	begin(f);
	for (size_t i = 0; i < 3; i++) {
		sym_add(&f->syms, v0[i], 0x100, 0x10, STB_GLOBAL, STT_FUNC, TEXT);
		sym_add(&f->syms, legacy[i], 0x200, 0x10, STB_GLOBAL, STT_FUNC, TEXT);
		sym_add(&f->syms, v0[i], 0x300, 0x10, STB_GLOBAL, STT_FUNC, TEXT);
	}
	sym_add(&f->syms, "exported_name", 0x300, 0x10, STB_GLOBAL, STT_FUNC, TEXT);
	sym_add(&f->syms, v0[0], 0x300, 0x10, STB_GLOBAL, STT_FUNC, TEXT);
	end(f, SHT_SYMTAB);
	ok(is(f, 0x100, "a::y"), "aliases: of folded Rust functions the last in the table counts");
	ok(is(f, 0x200, "a::yy"), "aliases: also in the legacy mangling, with LLVM's suffix");
	ok(is(f, 0x300, "exported_name"), "aliases: an explicitly chosen name comes first");
	done(f);
}

static void test_alias_with_another_size(struct fixture *f)
{
	begin(f);
	sym_add(&f->syms, "whole", 0x100, 0x20, STB_LOCAL, STT_FUNC, TEXT);
	sym_add(&f->syms, "part", 0x100, 0x10, STB_GLOBAL, STT_FUNC, TEXT);
	sym_add(&f->syms, "entry", 0x100, 0, STB_GLOBAL, STT_NOTYPE, TEXT);
	end(f, SHT_SYMTAB);
	ok(is(f, 0x10f, "part"), "aliases: the better alias counts as far as it extends");
	ok(is(f, 0x110, "whole"), "aliases: after its end the other one counts");
	ok(is(f, 0x100, "part"), "aliases: one without a size gives way to sized ones");
	done(f);

	begin(f);
	func(f, "__label", 0x100, 0);
	func(f, "label", 0x100, 0);
	func(f, "_label", 0x100, 0);
	func(f, "next", 0x101, 1);
	end(f, SHT_SYMTAB);
	ok(is(f, 0x100, "label"), "aliases: of several without a size the best one is shown");
	ok(is(f, 0x101, "next"), "aliases: the next function is itself");
	done(f);
}

static void test_versions_and_demangling(struct fixture *f)
{
	const char *kept;

	begin(f);
	func(f, "memcpy@@GLIBC_2.14", 0x100, 0x10);
	func(f, "old@GLIBC_2.2.5", 0x110, 0x10);
	func(f, "_ZN2ns1fEi", 0x120, 0x10);
	func(f, "_Zebra", 0x130, 0x10);
	func(f, "?f@@YAXXZ", 0x140, 0x10);
	func(f, "@odd", 0x150, 0x10);
	end(f, SHT_SYMTAB);
	ok(is(f, 0x100, "memcpy"), "a default version is removed");
	ok(is(f, 0x110, "old"), "another version is removed");
	ok(is(f, 0x120, "ns::f(int)"), "a C++ name is demangled");
	kept = name_at(f, 0x120);
	ok(strcmp(f->result.frames[0].system_name, "_ZN2ns1fEi") == 0,
	   "a demangled symbol keeps its raw name");
	ok(is(f, 0x130, "_Zebra"), "an invalid mangled name is unchanged");
	ok(is(f, 0x140, "?f@@YAXXZ"), "another compiler's mangling has no version");
	ok(is(f, 0x150, "@odd"), "a name that begins with @ has no version");
	ok(strcmp(kept, "ns::f(int)") == 0, "a name returned earlier is still valid");
	ok(f->result.frames[0].filename == NULL && f->result.frames[0].line == 0,
	   "a symbol table knows no lines");
	done(f);
}

static void test_what_is_missing(struct fixture *f)
{
	begin(f);
	func(f, "a", 0x100, 0x10);
	end(f, SHT_SYMTAB);
	ok(f->s->missing == WHY_NOT_COVERED && !symbol_why_text(f->s->missing).advice,
	   "a file with .symtab is not called stripped");
	done(f);
	begin(f);
	func(f, "a", 0x100, 0x10);
	end(f, SHT_DYNSYM);
	ok(f->s->missing == WHY_ONLY_DYNSYM && symbol_why_text(f->s->missing).advice,
	   "a file with only .dynsym is called stripped, with the fix");
	ok(is(f, 0x100, "a"), "dynamic symbols are names");
	done(f);
	begin(f);
	end(f, SHT_DYNSYM);
	ok(f->s->missing == WHY_STRIPPED && symbol_why_text(f->s->missing).advice,
	   "a file without both is called stripped");
	ok(is(f, 0x100, "0x100"), "a file without both has raw addresses");
	done(f);
}

static void test_raw_labels(void)
{
	static const struct {
		const char *label, *expected;
	} cases[] = {
		{ "libz.so.1.2.13", "libz+0xaa60" },
		{ "libc.so", "libc+0xaa60" },
		{ "ld-linux-x86-64.so.2", "ld-linux-x86-64+0xaa60" },
		{ "libfoo.socket.so.5", "libfoo.socket+0xaa60" },
		{ "python3.11", "python3.11+0xaa60" },
		{ ".so", ".so+0xaa60" },
		{ NULL, "0xaa60" },
	};
	struct symbol_result r;
	struct answer a;

	must(answer_init(&a) == 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		must(answer_raw(&a, cases[i].label, 0xaa60, &r) == 0);
		ok(strcmp(r.frames[0].name, cases[i].expected) == 0,
		   "an address without a symbol in %s is called %s",
		   cases[i].label ? cases[i].label : "no file", r.frames[0].name);
	}
	answer_done(&a);
}

/* The file exports one function; its debug file, which has no DWARF, knows two. */
static void test_debug_file(struct fixture *f)
{
	struct sym_maker *syms = calloc(1, sizeof(*syms));
	struct elf_sources src = { .label = "file" };
	struct elf_image *debug;
	struct elf_maker m;

	must(syms);
	begin(f);
	func(f, "exported", 0x100, 0x10);
	end(f, SHT_DYNSYM);
	must(is(f, 0x110, "0x110"));
	symbolizer_free(f->s);
	maker_init(&m);
	maker_section(&m, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, NULL, 0);
	sym_add(syms, "exported", 0x100, 0x10, STB_GLOBAL, STT_FUNC, TEXT);
	sym_add(syms, "internal", 0x110, 0x10, STB_LOCAL, STT_FUNC, TEXT);
	sym_end(syms, &m, SHT_SYMTAB);
	maker_end(&m);
	debug = maker_open(&m);
	src.image = f->img;
	src.debug = debug;
	must(symbolizer_new_elf(&src, &f->s) == 0);
	ok(is(f, 0x110, "internal") && is(f, 0x100, "exported"),
	   "the symbols of a debug file are names, also where it has no lines");
	done(f);
	elf_image_free(debug);
	maker_done(&m);
	free(syms);
}

static void test_hostile_nesting_is_cheap(struct fixture *f)
{
	struct timespec before, after;
	double s;

	begin(f);
	for (unsigned int i = 0; i < 4000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%u", i);
		func(f, name, 0x1000 + i, 0x100000 - 2 * i); /* each inside the one before */
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	end(f, SHT_SYMTAB);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	s = (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
	ok(s < 1, "4,000 symbols inside each other take %.3f s", s);
	ok(is(f, 0x1000 + 3999, "n3999") && is(f, 0x1000 + 0x100000 - 1, "n0"),
	   "4,000 nested symbols are told apart");
	done(f);
}

/* CPU time of a table of labels that all are part of the one before. */
static double seconds_of_labels(struct fixture *f, unsigned int nr, unsigned int step)
{
	struct timespec before, after;

	begin(f);
	f->elf.shdrs[TEXT].sh_size = 1 << 20;
	func(f, "around", 0x100, step ? 0x10000 : 1);
	for (unsigned int i = 0; i < nr; i++) {
		label(f, ".x", 0x200 + i * step, STB_LOCAL);
		f->syms.syms[f->syms.nr - 1].st_name = f->syms.syms[2].st_name;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	end(f, SHT_SYMTAB);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	done(f);
	return (double)(after.tv_sec - before.tv_sec) +
	       (double)(after.tv_nsec - before.tv_nsec) / 1e9;
}

static void test_hostile_labels_are_cheap(struct fixture *f)
{
	for (unsigned int step = 0; step < 2; step++) {
		double few = seconds_of_labels(f, 3750, step);
		double many = seconds_of_labels(f, 15000, step);

		/* 4 if it is linear, 16 if it is quadratic */
		ok(many < 8 * (few > 5e-4 ? few : 5e-4),
		   "labels: four times as many parts %s take %.1f times as long",
		   step ? "inside a function" : "at one address", many / few);
	}
}

static void test_many_long_names_are_bounded(struct fixture *f)
{
	char name[20001];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	begin(f);
	func(f, name, 0x100, 1);
	for (unsigned int i = 1; i < 2000; i++) {
		func(f, "y", 0x100 + i, 1);
		f->syms.syms[f->syms.nr - 1].st_name = 1; /* all share the long one */
	}
	end(f, SHT_SYMTAB);
	ok(strlen(name_at(f, 0x100)) == 16384, "a name of 20,000 bytes is truncated");
	ok(f->s->missing == WHY_SYMTAB_TOO_LARGE,
	   "more bytes of names than so many symbols can need are left out");
	ok(is(f, 0x100 + 1999, "0x8cf"), "left out names give raw addresses");
	done(f);
}

static void test_raw(void)
{
	struct symbol_result r;
	struct symbolizer *s;

	must(symbolizer_new_raw(&s) == 0);
	must(s->ops->resolve(s, 0xabc, &r) == 0);
	ok(strcmp(r.frames[0].name, "0xabc") == 0 && !r.is_named, "raw names are addresses");
	ok(s->missing == WHY_NONE, "the reason for raw names is known only to the caller");
	symbolizer_free(s);
}

int main(void)
{
	struct fixture *f = calloc(1, sizeof(*f));

	must(f);
	test_sizes_count(f);
	test_labels_reach(f);
	test_nested_and_overlapping(f);
	test_ends_that_wrap(f);
	test_aliases(f);
	test_folded_rust(f);
	test_alias_with_another_size(f);
	test_versions_and_demangling(f);
	test_what_is_missing(f);
	test_debug_file(f);
	test_hostile_nesting_is_cheap(f);
	test_hostile_labels_are_cheap(f);
	test_many_long_names_are_bounded(f);
	test_raw();
	test_raw_labels();
	free(f);
	return tap_done();
}
