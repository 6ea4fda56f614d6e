/* SPDX-License-Identifier: Apache-2.0 */
/* Small DWARF 4 in memory, right or wrong as a test wants it. Code is at MAKER_CODE. */
#ifndef TESTS_UNIT_DWARF_MAKER_H
#define TESTS_UNIT_DWARF_MAKER_H

#include "elf_maker.h"

#define MAKER_CODE 0x1000u
#define MAKER_CODE_BYTES 0x10000u

struct bytes {
	uint8_t at[65536];
	size_t len;
};

__attribute__((unused)) static void put(struct bytes *b, uint64_t v, size_t n)
{
	must(b->len + n <= sizeof(b->at));
	memcpy(b->at + b->len, &v, n);
	b->len += n;
}

__attribute__((unused)) static void put_uleb(struct bytes *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		put(b, (v & 0x7f) | 0x80, 1);
	put(b, v, 1);
}

__attribute__((unused)) static void put_string(struct bytes *b, const char *s)
{
	must(b->len + strlen(s) + 1 <= sizeof(b->at));
	memcpy(b->at + b->len, s, strlen(s) + 1);
	b->len += strlen(s) + 1;
}

/* Kinds of entries, by their code in .debug_abbrev. */
enum {
	UNIT = 1,    /* name, comp_dir, low_pc, high_pc as a size, stmt_list */
	FUNCTION,    /* name, low_pc, size, line; children */
	INLINED,     /* origin, low_pc, size, call_file, call_line; children */
	ABSTRACT,    /* name, linkage name, line */
	OUT_OF_LINE, /* origin, low_pc, size */
	NAMESPACE,   /* children */
	STRUCT,      /* sibling; children */
	POINTER,     /* origin alone: an entry that only refers */
	SILENT_UNIT, /* name, stmt_list: no addresses */
	CPP_UNIT,    /* as UNIT, and language */
	NAMED_SPACE, /* namespace: name; children */
	NAMED_TYPE,  /* name; children */
	CLOSURE,     /* a type without a name: line; children */
	METHOD,      /* name alone */
	MANGLED,     /* a function: linkage name; children */
	SPECIFIED,   /* a function: specification; children */
	NR_ABBREVS,
};

struct dwarf_maker {
	struct bytes info, abbrev, line, str;
	size_t unit; /* where the unit that is being made begins */
};

__attribute__((unused)) static void make_abbrev(struct bytes *b, uint64_t code, uint64_t tag,
						bool has_children, const uint16_t *attrs)
{
	put_uleb(b, code);
	put_uleb(b, tag);
	put(b, has_children, 1);
	for (; *attrs; attrs += 2) {
		put_uleb(b, attrs[0]);
		put_uleb(b, attrs[1]);
	}
	put(b, 0, 2);
}

/* Attributes and forms by number: name 3/8 (string), low_pc 11/1 (addr), high_pc 12/7 (data8) … */
__attribute__((unused)) static void make_abbrevs(struct bytes *b)
{
	make_abbrev(b, UNIT, 0x11, true,
		    (uint16_t[]){ 0x03, 0x08, 0x1b, 0x08, 0x11, 0x01, 0x12, 0x07, 0x10, 0x17, 0 });
	make_abbrev(b, FUNCTION, 0x2e, true,
		    (uint16_t[]){ 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0x3b, 0x0f, 0 });
	make_abbrev(b, INLINED, 0x1d, true,
		    (uint16_t[]){ 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0x58, 0x0b, 0x59, 0x0f, 0 });
	make_abbrev(b, ABSTRACT, 0x2e, false,
		    (uint16_t[]){ 0x03, 0x08, 0x6e, 0x08, 0x3b, 0x0f, 0 });
	make_abbrev(b, OUT_OF_LINE, 0x2e, false,
		    (uint16_t[]){ 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0 });
	make_abbrev(b, NAMESPACE, 0x39, true, (uint16_t[]){ 0 });
	make_abbrev(b, STRUCT, 0x13, true, (uint16_t[]){ 0x01, 0x13, 0 });
	make_abbrev(b, POINTER, 0x2e, false, (uint16_t[]){ 0x31, 0x13, 0 });
	make_abbrev(b, SILENT_UNIT, 0x11, true, (uint16_t[]){ 0x03, 0x08, 0x10, 0x17, 0 });
	make_abbrev(b, CPP_UNIT, 0x11, true,
		    (uint16_t[]){ 0x03, 0x08, 0x1b, 0x08, 0x11, 0x01, 0x12, 0x07, 0x10, 0x17, 0x13,
				  0x0b, 0 });
	make_abbrev(b, NAMED_SPACE, 0x39, true, (uint16_t[]){ 0x03, 0x08, 0 });
	make_abbrev(b, NAMED_TYPE, 0x02, true, (uint16_t[]){ 0x03, 0x08, 0 });
	make_abbrev(b, CLOSURE, 0x13, true, (uint16_t[]){ 0x3b, 0x0f, 0 });
	make_abbrev(b, METHOD, 0x2e, false, (uint16_t[]){ 0x03, 0x08, 0 });
	make_abbrev(b, MANGLED, 0x2e, true, (uint16_t[]){ 0x6e, 0x08, 0 });
	make_abbrev(b, SPECIFIED, 0x2e, true, (uint16_t[]){ 0x47, 0x13, 0 });
	put(b, 0, 1);
}

__attribute__((unused)) static void unit_begin(struct dwarf_maker *d, uint64_t low, uint64_t size)
{
	d->unit = d->info.len;
	put(&d->info, 0, 4); /* length, when it is known */
	put(&d->info, 4, 2);
	put(&d->info, 0, 4);
	put(&d->info, 8, 1);
	put_uleb(&d->info, size ? UNIT : SILENT_UNIT);
	put_string(&d->info, "main.c");
	if (size) {
		put_string(&d->info, "/src");
		put(&d->info, low, 8);
		put(&d->info, size, 8);
	}
	put(&d->info, 0, 4);
}

/* The same, in C++. */
__attribute__((unused)) static void cpp_unit_begin(struct dwarf_maker *d, uint64_t low,
						   uint64_t size, uint8_t language)
{
	size_t at;

	unit_begin(d, low, size);
	at = d->unit + 11; /* behind the header */
	must(d->info.at[at] == UNIT);
	d->info.at[at] = CPP_UNIT;
	put(&d->info, language, 1);
}

/* An entry of a kind that has one string or nothing. */
__attribute__((unused)) static uint32_t add_text(struct dwarf_maker *d, uint8_t kind,
						 const char *text)
{
	uint32_t at = (uint32_t)(d->info.len - d->unit);

	put_uleb(&d->info, kind);
	if (text)
		put_string(&d->info, text);
	return at;
}

__attribute__((unused)) static void unit_end(struct dwarf_maker *d)
{
	uint32_t n = (uint32_t)(d->info.len + 1 - d->unit - 4);

	put(&d->info, 0, 1); /* the unit's children end */
	memcpy(d->info.at + d->unit, &n, 4);
}

/* Each gives where the entry stands in its unit, for references. */
__attribute__((unused)) static uint32_t add_function(struct dwarf_maker *d, const char *name,
						     uint64_t low, uint32_t size, uint32_t line)
{
	uint32_t at = (uint32_t)(d->info.len - d->unit);

	put_uleb(&d->info, FUNCTION);
	put_string(&d->info, name);
	put(&d->info, low, 8);
	put(&d->info, size, 4);
	put_uleb(&d->info, line);
	return at;
}

__attribute__((unused)) static void add_inlined(struct dwarf_maker *d, uint32_t origin,
						uint64_t low, uint32_t size, uint32_t call_line)
{
	put_uleb(&d->info, INLINED);
	put(&d->info, origin, 4);
	put(&d->info, low, 8);
	put(&d->info, size, 4);
	put(&d->info, 1, 1);
	put_uleb(&d->info, call_line);
}

__attribute__((unused)) static uint32_t add_abstract(struct dwarf_maker *d, const char *name,
						     const char *linkage_name, uint32_t line)
{
	uint32_t at = (uint32_t)(d->info.len - d->unit);

	put_uleb(&d->info, ABSTRACT);
	put_string(&d->info, name);
	put_string(&d->info, linkage_name);
	put_uleb(&d->info, line);
	return at;
}

__attribute__((unused)) static uint32_t add_pointer(struct dwarf_maker *d, uint32_t origin)
{
	uint32_t at = (uint32_t)(d->info.len - d->unit);

	put_uleb(&d->info, POINTER);
	put(&d->info, origin, 4);
	return at;
}

__attribute__((unused)) static void end_children(struct dwarf_maker *d)
{
	put(&d->info, 0, 1);
}

/* The head of a line table with two files: /src/main.c and inc/util.h. */
__attribute__((unused)) static void lines_begin(struct dwarf_maker *d)
{
	static const uint8_t operands[] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };
	struct bytes *b = &d->line;
	size_t head;
	uint32_t n;

	put(b, 0, 4);
	put(b, 4, 2);
	head = b->len;
	put(b, 0, 4);
	put(b, 1, 1);    /* bytes of an instruction */
	put(b, 1, 1);    /* operations of one */
	put(b, 1, 1);    /* is_stmt */
	put(b, 0xfb, 1); /* line_base -5 */
	put(b, 14, 1);   /* line_range */
	put(b, 13, 1);   /* opcode_base */
	for (size_t i = 0; i < sizeof(operands); i++)
		put(b, operands[i], 1);
	put_string(b, "inc");
	put(b, 0, 1);
	put_string(b, "main.c");
	put(b, 0, 3);
	put_string(b, "util.h");
	put(b, 1, 3);
	put(b, 0, 1);
	n = (uint32_t)(b->len - head - 4);
	memcpy(b->at + head, &n, 4);
}

__attribute__((unused)) static void lines_end(struct dwarf_maker *d)
{
	uint32_t n = (uint32_t)(d->line.len - 4);

	memcpy(d->line.at, &n, 4);
}

__attribute__((unused)) static void line_address(struct dwarf_maker *d, uint64_t addr)
{
	put(&d->line, 0x020900, 3); /* extended, 9 bytes, set_address */
	put(&d->line, addr, 8);
}

/* A row some bytes on, so many lines down. */
__attribute__((unused)) static void line_row(struct dwarf_maker *d, uint32_t bytes, int32_t lines,
					     uint32_t file)
{
	put(&d->line, 2, 1);
	put_uleb(&d->line, bytes);
	put(&d->line, 3, 1);
	put(&d->line, (uint32_t)lines & 0x7f, 1); /* -64 … 63 */
	put(&d->line, 4, 1);
	put_uleb(&d->line, file);
	put(&d->line, 1, 1);
}

__attribute__((unused)) static void line_end_sequence(struct dwarf_maker *d, uint32_t bytes)
{
	put(&d->line, 2, 1);
	put_uleb(&d->line, bytes);
	put(&d->line, 0x010100, 3);
}

/* The file, with code and the sections. Symbols may be added before maker_end(). */
__attribute__((unused)) static void make_dwarf_elf(struct elf_maker *m, const struct dwarf_maker *d)
{
	maker_init(m);
	maker_segment(m, PT_LOAD, PF_R | PF_X, MAKER_CODE, maker_bytes(m, NULL, 0), 0)->p_memsz =
		MAKER_CODE_BYTES;
	maker_section(m, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, NULL, 0);
	maker_section(m, ".debug_info", SHT_PROGBITS, 0, d->info.at, d->info.len);
	maker_section(m, ".debug_abbrev", SHT_PROGBITS, 0, d->abbrev.at, d->abbrev.len);
	maker_section(m, ".debug_line", SHT_PROGBITS, 0, d->line.at, d->line.len);
}

/*
 * outer() at 0x1000–0x1100, with middle() inlined at 0x1020–0x1080 and inner() in that at
 * 0x1040–0x1060; other() at 0x1100–0x1140; lines for all of it, and none of code up to 0x1200.
 */
__attribute__((unused)) static void make_plain_dwarf(struct dwarf_maker *d)
{
	uint32_t middle, inner;

	memset(d, 0, sizeof(*d));
	make_abbrevs(&d->abbrev);
	unit_begin(d, MAKER_CODE, 0x200);
	middle = add_abstract(d, "middle", "_Z6middlei", 20);
	inner = add_abstract(d, "inner", "_ZN1n5innerEv", 30);
	put_uleb(&d->info, NAMESPACE);
	add_function(d, "outer", MAKER_CODE, 0x100, 10);
	add_inlined(d, middle, MAKER_CODE + 0x20, 0x60, 12);
	add_inlined(d, add_pointer(d, inner), MAKER_CODE + 0x40, 0x20, 22);
	end_children(d);
	end_children(d);
	end_children(d);
	end_children(d);
	add_function(d, "other", MAKER_CODE + 0x100, 0x40, 40);
	end_children(d);
	unit_end(d);
	lines_begin(d);
	line_address(d, 0); /* dropped by the linker */
	line_row(d, 0, 59, 1);
	line_end_sequence(d, 0x8000);
	line_address(d, MAKER_CODE);
	line_row(d, 0, 9, 1);     /* 10 */
	line_row(d, 0x20, 11, 1); /* 21 */
	line_row(d, 0x20, 10, 2); /* 31 */
	line_row(d, 0x20, -8, 1); /* 23 */
	line_row(d, 0x20, -9, 1); /* 14 */
	line_row(d, 0x80, 20, 1); /* 34, replaced by the next */
	line_row(d, 0, 7, 1);     /* 41, at 0x1100 */
	line_end_sequence(d, 0x80);
	lines_end(d);
}

#endif
