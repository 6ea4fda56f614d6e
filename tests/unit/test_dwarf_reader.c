/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and inline chains from small DWARF, right and wrong. */
#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "dwarf/dwarf.h"
#include "dwarf_maker.h"
#include "patience.h"
#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_elf.h"

static struct dwarf_maker maker;
static struct dwarf_frame frames[DWARF_MAX_FRAMES];

struct opened {
	struct elf_maker elf;
	struct elf_image *img;
	struct dwarf *d;
	int result;
};

static void open_maker(struct opened *o)
{
	make_dwarf_elf(&o->elf, &maker);
	maker_end(&o->elf);
	o->img = maker_open(&o->elf);
	o->d = NULL;
	o->result = dwarf_open(&(struct dwarf_files){ .image = o->img, .debug = o->img }, &o->d);
}

static void close_maker(struct opened *o)
{
	dwarf_free(o->d);
	elf_image_free(o->img);
	maker_done(&o->elf);
}

/* "inner /src/inc/util.h:31 < outer …", or "" when nothing is known. */
static const char *text_at(struct opened *o, uint64_t addr)
{
	static char text[65536];
	uint32_t nr = 0;
	size_t len = 0;

	text[0] = '\0';
	if (!o->d || dwarf_resolve(o->d, addr, frames, &nr) < 0)
		return text;
	for (uint32_t i = 0; i < nr && len < sizeof(text); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %s:%" PRIu32,
					i ? " < " : "", frames[i].name ? frames[i].name : "?",
					frames[i].path ? frames[i].path : "?", frames[i].line);
	return text;
}

static bool is_at(struct opened *o, uint64_t addr, const char *expected)
{
	const char *text = text_at(o, addr);

	if (strcmp(text, expected) != 0)
		printf("# 0x%" PRIx64 " is \"%s\"\n", addr, text);
	return strcmp(text, expected) == 0;
}

static void test_chain(void)
{
	struct opened o;

	make_plain_dwarf(&maker);
	open_maker(&o);
	ok(o.result == 0, "a plain file opens");
	ok(is_at(&o, 0x1000, "outer /src/main.c:10"), "a function is found at its first address");
	ok(is_at(&o, 0x1020, "_Z6middlei /src/main.c:21 < outer /src/main.c:12"),
	   "an inlined function is found, with its call site");
	ok(is_at(&o, 0x105f,
		 "_ZN1n5innerEv /src/inc/util.h:31 < _Z6middlei /src/main.c:22 < outer "
		 "/src/main.c:12"),
	   "a nested inlined function has its linkage name and a file of another directory");
	ok(frames[0].start_line == 30 && frames[1].start_line == 20 && frames[2].start_line == 10 &&
		   frames[0].is_linkage_name && !frames[2].is_linkage_name,
	   "each function has its start line");
	ok(is_at(&o, 0x1060, "_Z6middlei /src/main.c:23 < outer /src/main.c:12"),
	   "after the inner function the outer ones continue");
	ok(is_at(&o, 0x1100, "other /src/main.c:41"),
	   "of two rows for one address the later counts");
	ok(is_at(&o, 0x1150, "? /src/main.c:41"), "a line without a function is found");
	ok(is_at(&o, 0x1180, ""), "no line after the end of the sequence");
	ok(is_at(&o, 0x1200, "") && is_at(&o, 0x10, ""), "nothing outside the unit");
	close_maker(&o);
}

/* Rows are to ascend within a sequence; a compiler that had them go back did mean something. */
static void test_rows_going_back(void)
{
	struct opened o;

	memset(&maker, 0, sizeof(maker));
	make_abbrevs(&maker.abbrev);
	unit_begin(&maker, MAKER_CODE, 0x40);
	add_function(&maker, "f", MAKER_CODE, 0x40, 10);
	end_children(&maker);
	unit_end(&maker);
	lines_begin(&maker);
	line_address(&maker, MAKER_CODE);
	line_row(&maker, 0, 10, 1);    /* 11 */
	line_row(&maker, 0x20, 10, 1); /* 21 */
	line_address(&maker, MAKER_CODE + 0x10);
	line_row(&maker, 0, 10, 1); /* 31 */
	line_end_sequence(&maker, 8);
	lines_end(&maker);
	open_maker(&o);
	ok(is_at(&o, MAKER_CODE, "f /src/main.c:11"), "a row before a backward step counts");
	ok(is_at(&o, MAKER_CODE + 0x12, "f /src/main.c:31"), "a row after a backward step counts");
	ok(is_at(&o, MAKER_CODE + 0x1c, "f /src/main.c:11"), "no row beyond its end");
	close_maker(&o);
}

/* Segments in any order, one within another. */
static void test_segments(void)
{
	struct opened o;

	make_plain_dwarf(&maker);
	make_dwarf_elf(&o.elf, &maker);
	maker_segment(&o.elf, PT_LOAD, PF_R | PF_X, MAKER_CODE + 0x20, 0, 0)->p_memsz = 0x10;
	maker_segment(&o.elf, PT_LOAD, PF_R | PF_X, 0x100, 0, 0)->p_memsz = 0x100;
	maker_segment(&o.elf, PT_LOAD, PF_R, 0x800000, 0, 0)->p_memsz = 0x100;
	maker_end(&o.elf);
	o.img = maker_open(&o.elf);
	must(dwarf_open(&(struct dwarf_files){ .image = o.img, .debug = o.img }, &o.d) == 0);
	ok(is_at(&o, 0x1100, "other /src/main.c:41") && is_at(&o, 0x1000, "outer /src/main.c:10"),
	   "code is found wherever its segment is among the others");
	close_maker(&o);
}

/* A unit that claims all, as one range, and small ones within it. */
static void test_nested_units(void)
{
	struct opened o;

	memset(&maker, 0, sizeof(maker));
	make_abbrevs(&maker.abbrev);
	unit_begin(&maker, MAKER_CODE, 0x1000);
	add_function(&maker, "large", MAKER_CODE, 0x1000, 10);
	end_children(&maker);
	unit_end(&maker);
	for (uint32_t i = 0; i < 100; i++) {
		unit_begin(&maker, MAKER_CODE + 0x10 * i, 8);
		add_function(&maker, "small", MAKER_CODE + 0x10 * i, 8, 20);
		end_children(&maker);
		unit_end(&maker);
	}
	lines_begin(&maker);
	lines_end(&maker);
	open_maker(&o);
	ok(is_at(&o, MAKER_CODE + 0x10, "small ?:0") && is_at(&o, MAKER_CODE + 0x18, "large ?:0"),
	   "of nested units the inner one is asked first");
	ok(is_at(&o, MAKER_CODE + 0xf00, "large ?:0"),
	   "after the inner units the outer one is asked");
	close_maker(&o);
}

static void test_silent_unit(void)
{
	struct opened o;

	make_plain_dwarf(&maker);
	maker.info.len = 0;
	unit_begin(&maker, 0, 0);
	add_function(&maker, "alone", MAKER_CODE + 0x20, 0x10, 1);
	end_children(&maker);
	unit_end(&maker);
	open_maker(&o);
	ok(is_at(&o, 0x1020, "alone main.c:21") && is_at(&o, 0x1030, ""),
	   "a unit without ranges is found by its functions");
	close_maker(&o);
}

static void test_references(void)
{
	struct opened o;
	uint32_t at;

	make_plain_dwarf(&maker);
	maker.info.len = 0;
	unit_begin(&maker, MAKER_CODE, 0x200);
	at = (uint32_t)(maker.info.len - maker.unit);
	add_pointer(&maker, at + 5); /* the next one, which refers back */
	add_pointer(&maker, at);
	for (uint32_t i = 0; i < 3; i++) {
		static const uint32_t origins[] = { 0, 0x7fffffff, 3 };

		put_uleb(&maker.info, OUT_OF_LINE);
		put(&maker.info, i == 0 ? at : origins[i], 4);
		put(&maker.info, MAKER_CODE + 0x10 * i, 8);
		put(&maker.info, 0x10, 4);
	}
	unit_end(&maker);
	open_maker(&o);
	ok(is_at(&o, 0x1000, "? /src/main.c:10"), "a loop of references ends");
	ok(is_at(&o, 0x1010, "? /src/main.c:10"), "a reference out of the unit gives no name");
	ok(is_at(&o, 0x1020, "? /src/main.c:21"),
	   "a reference into the unit's header gives no name");
	close_maker(&o);
}

static void test_dropped_code(void)
{
	struct opened o;

	make_plain_dwarf(&maker);
	maker.info.len = 0;
	unit_begin(&maker, MAKER_CODE, 0x200);
	add_function(&maker, "kept", MAKER_CODE, 0x10, 1);
	end_children(&maker);
	add_function(&maker, "dropped", 0, 0x8000, 1);
	end_children(&maker);
	unit_end(&maker);
	open_maker(&o);
	ok(is_at(&o, 0x1008, "kept /src/main.c:10") && is_at(&o, 0x1018, "? /src/main.c:10"),
	   "a function dropped by the linker covers nothing");
	close_maker(&o);
}

static void test_depth(void)
{
	struct opened o;

	make_plain_dwarf(&maker);
	maker.info.len = 0;
	unit_begin(&maker, MAKER_CODE, 0x200);
	add_function(&maker, "f", MAKER_CODE, 0x10, 1);
	end_children(&maker);
	for (int i = 0; i < 5000; i++)
		put_uleb(&maker.info, NAMESPACE);
	add_function(&maker, "g", MAKER_CODE + 0x10, 0x10, 1);
	open_maker(&o);
	unit_end(&maker);
	close_maker(&o);
	open_maker(&o);
	ok(is_at(&o, 0x1000, "f /src/main.c:10"), "entries before an unterminated tree are known");
	close_maker(&o);
}

static void test_long_chain(void)
{
	struct opened o;
	uint32_t origin, nr = 0;

	make_plain_dwarf(&maker);
	maker.info.len = 0;
	unit_begin(&maker, MAKER_CODE, 0x200);
	origin = add_abstract(&maker, "f", "f", 1);
	add_function(&maker, "outermost", MAKER_CODE, 0x10, 1);
	for (int i = 0; i < 600; i++)
		add_inlined(&maker, origin, MAKER_CODE, 0x10, 1);
	for (int i = 0; i <= 600; i++)
		end_children(&maker);
	unit_end(&maker);
	open_maker(&o);
	ok(dwarf_resolve(o.d, MAKER_CODE, frames, &nr) == 0 && nr == DWARF_MAX_FRAMES &&
		   strcmp(frames[nr - 1].name, "outermost") == 0,
	   "a chain that is too long keeps its outermost function");
	close_maker(&o);
}

static void test_siblings(void)
{
	struct opened o;
	size_t sibling;
	uint32_t at;

	make_plain_dwarf(&maker);
	maker.info.len = 0;
	unit_begin(&maker, MAKER_CODE, 0x200);
	put_uleb(&maker.info, STRUCT);
	sibling = maker.info.len;
	put(&maker.info, 0, 4);
	add_function(&maker, "method", MAKER_CODE, 0x10, 1);
	end_children(&maker);
	end_children(&maker);
	at = add_function(&maker, "behind", MAKER_CODE, 0x10, 1);
	end_children(&maker);
	unit_end(&maker);
	open_maker(&o);
	ok(is_at(&o, 0x1000, "behind /src/main.c:10"),
	   "a backward reference is not used as a sibling");
	close_maker(&o);
	memcpy(maker.info.at + sibling, &at, 4);
	open_maker(&o);
	ok(is_at(&o, 0x1000, "behind /src/main.c:10"),
	   "types are skipped by their sibling attribute");
	close_maker(&o);
}

static int result_of_damage(struct bytes *b, size_t at, uint64_t v, size_t n, const char *expected)
{
	struct opened o;
	int r;

	memcpy(b->at + at, &v, n);
	open_maker(&o);
	r = o.result;
	if (r == 0 && expected && !is_at(&o, 0x1000, expected))
		r = -EPROTO;
	close_maker(&o);
	make_plain_dwarf(&maker);
	return r;
}

static void test_damage(void)
{
	size_t operands = 16; /* of line_range, in the table */

	make_plain_dwarf(&maker);
	ok(result_of_damage(&maker.info, 0, 0xffffff, 4, NULL) == -EBADMSG,
	   "a unit longer than the section is refused");
	ok(result_of_damage(&maker.info, 0, 0xfffffff5, 4, NULL) == -EBADMSG,
	   "a reserved length is refused");
	ok(result_of_damage(&maker.info, 4, 77, 2, "") == 0, "another version is skipped");
	ok(result_of_damage(&maker.info, 6, 0xffff, 4, NULL) == -EBADMSG,
	   "abbreviations outside their section are refused");
	ok(result_of_damage(&maker.line, operands - 2, 0, 1, "outer ?:0") == 0,
	   "a line range of 0 costs the lines");
	ok(result_of_damage(&maker.line, 6, 0xffffff, 4, "outer ?:0") == 0,
	   "a header longer than the table costs the lines");
	maker.line.len -= 3; /* the end of the last sequence */
	lines_end(&maker);
	ok(result_of_damage(&maker.line, 0, maker.line.len - 4, 4, "outer /src/main.c:10") == 0,
	   "a sequence without an end counts up to its last row");
}

static struct elf_image *open_with_symbols(struct elf_maker *m)
{
	struct sym_maker *syms = calloc(1, sizeof(*syms));
	struct elf_image *img;

	must(syms);
	make_plain_dwarf(&maker);
	make_dwarf_elf(m, &maker);
	sym_add(syms, "_ZN12_GLOBAL__N_15outerEv", 0x1000, 0x100, STB_LOCAL, STT_FUNC, 1);
	sym_add(syms, "other.cold", 0x1100, 0x40, STB_LOCAL, STT_FUNC, 1);
	sym_add(syms, "tail", 0x1140, 0x10, STB_LOCAL, STT_FUNC, 1);
	sym_end(syms, m, SHT_SYMTAB);
	maker_end(m);
	img = maker_open(m);
	free(syms);
	return img;
}

/* Through the symbolizer: what users see. */
static void test_symbolizer(void)
{
	struct symbol_result r;
	struct symbolizer *s;
	struct elf_maker m;
	struct elf_image *img = open_with_symbols(&m);

	must(symbolizer_new_elf(&(struct elf_sources){ .image = img, .label = "file" }, &s) == 0);
	must(s->ops->resolve(s, 0x1050, &r) == 0);
	ok(r.nr_frames == 3 && r.is_named && strcmp(r.frames[0].name, "n::inner()") == 0 &&
		   strcmp(r.frames[0].system_name, "_ZN1n5innerEv") == 0 &&
		   strcmp(r.frames[0].filename, "/src/inc/util.h") == 0 && r.frames[0].line == 31 &&
		   r.frames[0].start_line == 30,
	   "an inlined function is demangled and keeps its symbol");
	ok(strcmp(r.frames[2].name, "(anonymous namespace)::outer()") == 0,
	   "a mangled symbol is preferred to a short name");
	must(s->ops->resolve(s, 0x1100, &r) == 0);
	ok(strcmp(r.frames[0].name, "other.cold") == 0 &&
		   strcmp(r.frames[0].system_name, "other.cold") == 0 && r.frames[0].line == 41,
	   "a function has the name of its symbol, as in perf, and keeps its line");
	must(s->ops->resolve(s, 0x1148, &r) == 0);
	ok(strcmp(r.frames[0].name, "tail") == 0 && r.frames[0].line == 41 && r.is_named,
	   "a line without a function takes the symbol's name");
	must(s->ops->resolve(s, 0x1155, &r) == 0);
	ok(strcmp(r.frames[0].name, "0x1155") == 0 && r.frames[0].line == 41 && !r.is_named,
	   "a line without a function and symbol keeps its line");
	must(s->ops->resolve(s, 0x1300, &r) == 0);
	ok(strcmp(r.frames[0].name, "0x1300") == 0 && !r.frames[0].filename,
	   "an address without information has no name");
	symbolizer_free(s);
	elf_image_free(img);
	maker_done(&m);
}

static void test_cost_of_lines(void)
{
	uint64_t lines_ns = 0, opened_ns;
	struct symbol_result r;
	struct symbolizer *s;
	struct elf_maker m;
	struct elf_image *img = open_with_symbols(&m);

	elf_image_limit(img, NULL, NS_PER_S);
	must(symbolizer_new_elf(&(struct elf_sources){ .image = img,
						       .label = "file",
						       .max_cpu_ns = NS_PER_S,
						       .lines_cpu_ns = &lines_ns },
				&s) == 0);
	opened_ns = lines_ns;
	must(s->ops->resolve(s, 0x1148, &r) == 0);
	ok(r.frames[0].line == 41 && opened_ns && lines_ns > opened_ns,
	   "the cost of lines is counted at opening and at lookup");
	symbolizer_free(s);
	elf_image_free(img);
	maker_done(&m);
}

/* Between any two units. */
static void test_cancelled(void)
{
	struct opened o;
	struct patience p = { .left = UINT32_MAX };
	struct cancel cancel = patience_cancel(&p);
	struct dwarf_files files = { .cancel = &cancel };
	unsigned int asked, nr = 0;
	uint32_t nr_frames;

	make_plain_dwarf(&maker);
	open_maker(&o);
	must(o.result == 0);
	o.d = dwarf_free(o.d);
	files.image = files.debug = o.img;
	must(dwarf_open(&files, &o.d) == 0);
	asked = p.asked;
	p.left = 1;
	ok(dwarf_resolve(o.d, 0x1100, frames, &nr_frames) == -ENOENT,
	   "after a cancellation undecoded units are unknown");
	o.d = dwarf_free(o.d);
	for (unsigned int i = 1; i <= asked; i++) {
		p.left = i;
		nr += dwarf_open(&files, &o.d) < 0;
		must(!o.d);
	}
	ok(asked > 2 && nr == asked, "opening can be cancelled at any of %u moments", asked);
	close_maker(&o);
}

static bool has_scope(const struct dwarf_frame *f, const char *name, const char *scope,
		      uint32_t mangled)
{
	bool is_same = f->scope ? scope && strcmp(f->scope, scope) == 0 : !scope;

	if (!is_same)
		printf("# %s is in \"%s\"\n", f->name, f->scope ? f->scope : "nothing");
	return is_same && f->name && strcmp(f->name, name) == 0 &&
	       f->scope_mangled_bytes == mangled;
}

/* Returns where the methods are: in a namespace and a class; in a function; in a function in that;
 * right in the unit; in a namespace and a type without names. */
static void make_places(uint8_t language, uint32_t methods[5])
{
	make_plain_dwarf(&maker);
	maker.info.len = 0;
	cpp_unit_begin(&maker, MAKER_CODE, 0x200, language);
	add_text(&maker, NAMED_SPACE, "shop");
	add_text(&maker, NAMED_TYPE, "till");
	methods[0] = add_text(&maker, METHOD, "ring");
	end_children(&maker);
	end_children(&maker);
	add_text(&maker, MANGLED, "_Z4worki");
	put_uleb(&maker.info, CLOSURE);
	put_uleb(&maker.info, 17);
	methods[1] = add_text(&maker, METHOD, "operator()");
	end_children(&maker);
	put_uleb(&maker.info, SPECIFIED);
	put(&maker.info, methods[1], 4);
	put_uleb(&maker.info, CLOSURE);
	put_uleb(&maker.info, 18);
	methods[2] = add_text(&maker, METHOD, "operator()<int>");
	end_children(&maker);
	end_children(&maker);
	end_children(&maker);
	methods[3] = add_text(&maker, METHOD, "plain");
	put_uleb(&maker.info, NAMESPACE);
	put_uleb(&maker.info, CLOSURE);
	put_uleb(&maker.info, 19);
	methods[4] = add_text(&maker, METHOD, "run");
	end_children(&maker);
	end_children(&maker);
	add_function(&maker, "main", MAKER_CODE, 0x100, 1);
	for (uint32_t i = 0; i < 5; i++) {
		add_inlined(&maker, methods[i], MAKER_CODE + 0x10 * i, 0x10, 2);
		end_children(&maker);
	}
	end_children(&maker);
	unit_end(&maker);
}

static void test_scopes_of_names(void)
{
	uint32_t methods[5];
	struct opened o;

	make_places(0x21, methods);
	open_maker(&o);
	(void)text_at(&o, 0x1000);
	ok(has_scope(&frames[0], "ring", "shop::till", 0), "a method has its class as scope");
	ok(has_scope(&frames[1], "main", NULL, 0), "a free function has no scope");
	(void)text_at(&o, 0x1010);
	ok(has_scope(&frames[0], "operator()", "_Z4worki::{lambda:17}", 8),
	   "a lambda has its line and the linkage name of the enclosing function");
	(void)text_at(&o, 0x1020);
	ok(has_scope(&frames[0], "operator()<int>",
		     "_Z4worki::{lambda:17}::operator()::{lambda:18}", 8),
	   "a lambda in a lambda has both in its name");
	(void)text_at(&o, 0x1020);
	ok(has_scope(&frames[0], "operator()<int>",
		     "_Z4worki::{lambda:17}::operator()::{lambda:18}", 8),
	   "a lambda has the same name when asked again");
	(void)text_at(&o, 0x1030);
	ok(has_scope(&frames[0], "plain", NULL, 0), "an out-of-line function keeps its name");
	(void)text_at(&o, 0x1040);
	ok(has_scope(&frames[0], "run", "(anonymous namespace)::{unnamed type:19}", 0),
	   "an unnamed type is shown as such, not as a lambda");
	close_maker(&o);
	make_places(0x0c, methods);
	open_maker(&o);
	(void)text_at(&o, 0x1000);
	ok(has_scope(&frames[0], "ring", NULL, 0), "languages other than C++ have no scopes");
	close_maker(&o);
}

/* Each of two functions is declared in a type that stands in the other one. */
static void test_scopes_in_a_circle(void)
{
	uint32_t at[2], methods[2];
	struct opened o;

	make_plain_dwarf(&maker);
	maker.info.len = 0;
	cpp_unit_begin(&maker, MAKER_CODE, 0x200, 4);
	for (int i = 0; i < 2; i++) {
		at[i] = (uint32_t)(maker.info.len + 1);
		put_uleb(&maker.info, SPECIFIED);
		put(&maker.info, 0, 4);
		add_text(&maker, NAMED_TYPE, "t");
		methods[i] = add_text(&maker, METHOD, "f");
		end_children(&maker);
		end_children(&maker);
	}
	for (int i = 0; i < 2; i++)
		memcpy(maker.info.at + at[i], &methods[1 - i], 4);
	add_function(&maker, "main", MAKER_CODE, 0x100, 1);
	add_inlined(&maker, methods[0], MAKER_CODE, 0x10, 2);
	end_children(&maker);
	end_children(&maker);
	unit_end(&maker);
	open_maker(&o);
	ok(is_at(&o, 0x1000, "f /src/main.c:10 < main /src/main.c:2"),
	   "functions nested in each other keep their names");
	close_maker(&o);
}

int main(void)
{
	test_scopes_of_names();
	test_scopes_in_a_circle();

	test_cancelled();
	test_chain();
	test_rows_going_back();
	test_segments();
	test_nested_units();
	test_silent_unit();
	test_references();
	test_dropped_code();
	test_depth();
	test_long_chain();
	test_siblings();
	test_damage();
	test_symbolizer();
	test_cost_of_lines();
	return tap_done();
}
