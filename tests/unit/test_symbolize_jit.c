/* SPDX-License-Identifier: Apache-2.0 */
/* Generated code: symbols from perf maps and jitdumps. */
#include "jit_named.h"
#include "symbolize/jit_cover.h"
#include "symbolize/jit_name.h"

static void test_decode(void)
{
	static const struct {
		const char *text, *name, *file;
		uint32_t line;
	} cases[] = {
		{ "JS:*innerLoop /tmp/spin.js:12:19", "innerLoop", "/tmp/spin.js", 12 },
		{ "JS:~f node:internal/fs:5:2", "f", "node:internal/fs", 5 },
		{ "JS:^get size /a b/c.js:7:1", "get size", "/a b/c.js", 7 },
		{ "JS:~ /tmp/spin.js:5:94", "(anonymous)", "/tmp/spin.js", 5 },
		{ "JS:+g file:///x.mjs:3:4", "g", "file:///x.mjs", 3 },
		{ "JS:*'work /w.js:1:2", "work", "/w.js", 1 },
		{ "JS:+'work /w.js:1:2", "work", "/w.js", 1 },
		{ "JS:o*spin /w.js:1:2", "spin", "/w.js", 1 },
		{ "JS:o+spin /w.js:1:2", "spin", "/w.js", 1 },
		{ "JS:o*'spin /w.js:1:2", "spin", "/w.js", 1 },
		{ "JS:~spin /w.js:1:2", "spin", "/w.js", 1 },
		{ "JS:^spin /w.js:1:2", "spin", "/w.js", 1 },
		{ "JS:spin /w.js:1:2", "spin", "/w.js", 1 },
		{ "JS:open /w.js:1:2", "open", "/w.js", 1 },
		{ "JS:^open /w.js:1:2", "open", "/w.js", 1 },
		{ "JS:o", "o", "", 0 },
		{ "JS:~'quoted /w.js:1:2", "'quoted", "/w.js", 1 },
		{ "JS:*' /w.js:1:2", "(anonymous)", "/w.js", 1 },
		{ "JS:o*'", "(anonymous)", "", 0 },
		{ "LazyCompile:o*'fn app.js:10:5", "fn", "app.js", 10 },
		{ "LazyCompile:*fn app.js:10:5", "fn", "app.js", 10 },
		{ "LazyCompile:~fn app.js:10", "fn", "app.js", 10 },
		{ "Function:~f /x.js:1", "f", "/x.js", 1 },
		{ "Script:~ /x.js:1:1", "(script)", "/x.js", 1 },
		{ "Eval:~ node:stream:1:1", "(script)", "node:stream", 1 },
		{ "JS:*nowhere", "nowhere", "", 0 },
		{ "JS:", "(anonymous)", "", 0 },
		{ "Builtin:ArrayMap", "ArrayMap", "", 0 },
		{ "Builtin:", "Builtin:", "", 0 },
		{ "BytecodeHandler:Add", "BytecodeHandler:Add", "", 0 },
		{ "RegExp:a+b:1", "RegExp:a+b:1", "", 0 },
		{ "py::Foo.method:/srv/a:b.py", "Foo.method", "/srv/a:b.py", 0 },
		{ "py::<module>:<frozen importlib._bootstrap>", "<module>",
		  "<frozen importlib._bootstrap>", 0 },
		{ "py::", "py::", "", 0 },
		{ "py:::x", "py:::x", "", 0 },
		{ "Ljava/lang/String;::hashCode", "Ljava/lang/String;::hashCode", "", 0 },
		{ "JS:*f x.js:4294967296:99999999999", "f x.js:4294967296:99999999999", "", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct jit_name n;

		jit_name_decode(cases[i].text, strlen(cases[i].text), &n);
		ok(n.name_len == strlen(cases[i].name) &&
			   memcmp(n.name, cases[i].name, n.name_len) == 0 &&
			   n.file_len == strlen(cases[i].file) &&
			   (!n.file_len || memcmp(n.file, cases[i].file, n.file_len) == 0) &&
			   n.line == cases[i].line,
		   "decode: %s", cases[i].text);
	}
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Against the plain way: every range written to every address it covers. */
static void test_cover(void)
{
	uint64_t addrs[37], last[37] = { 0 }, first[37] = { 0 };
	uint32_t state = 7, nr_wrong = 0;
	struct jit_cover c;

	for (uint32_t i = 0; i < 37; i++)
		addrs[i] = 100 + i * 3;
	must(jit_cover_init(&c, addrs, 37) == 0);
	for (uint64_t n = 1; n <= 500; n++) {
		uint64_t start = next_random(&state) % 250, end = start + next_random(&state) % 40;

		jit_cover_put(&c, start, end, n);
		for (uint32_t i = 0; i < 37; i++)
			if (addrs[i] >= start && addrs[i] < end) {
				last[i] = n;
				first[i] = first[i] ? first[i] : n;
			}
		for (uint32_t i = 0; i < 37; i++)
			nr_wrong += jit_cover_last(&c, i) != last[i] ||
				    jit_cover_first(&c, i) != first[i];
	}
	ok(nr_wrong == 0, "cover: 500 ranges over 37 addresses, %u answers differ", nr_wrong);
	jit_cover_done(&c);
}

static void test_anonymous(void)
{
	static const struct {
		const char *map, *expected;
	} cases[] = {
		{ "1000 40 JS:~ /app/srv.js:5:94\n", "(anonymous srv.js:5)|/app/srv.js|5" },
		{ "1000 40 JS:* node:internal/fs:7:2\n", "(anonymous fs:7)|node:internal/fs|7" },
		{ "1000 40 Script:~ x.js:1:1\n", "(script x.js:1)|x.js|1" },
		{ "1000 40 JS:*\n", "(anonymous)||0" },
		{ "1000 40 JS:*f /x.js:3:9\n", "f|/x.js|3" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct symbolizer *s = map_of(cases[i].map);

		ok(is(s, 0x1000, cases[i].expected),
		   "map: JavaScript without a name is called by its place: %s", cases[i].expected);
		symbolizer_free(s);
	}
}

static void test_map(void)
{
	struct symbolizer *s = map_of("1000 40 first\n"
				      "1040 20 py::f:/a.py\n"
				      "0x1060 0x20 with 0x\r\n"
				      "1080 10 \xff\xfe bytes\n"
				      "10f0 10 unfinished");

	ok(is(s, 0x1000, "first||0"), "map: the first address of a range");
	ok(is(s, 0x1030, "first||0"), "map: the last address of a range");
	ok(is(s, 0x1050, "f|/a.py|0"), "map: the next range, decoded");
	ok(is(s, 0x1070, "with 0x||0"), "map: 0x and a carriage return are accepted");
	ok(is(s, 0x1080, "\xff\xfe bytes||0"), "map: names are bytes");
	ok(is(s, 0x1090, "0x1090||0"), "map: after the last range an address is raw");
	ok(is(s, 0x10f0, "0x10f0||0"), "map: an incomplete last line does not count");
	ok(is(s, 0x5, "0x5||0"), "map: an address that was not announced is raw");
	ok(counts.nr_maps == 1 && counts.nr_map_lines == 4 && counts.nr_map_bad_lines == 0,
	   "map: four lines, all valid");
	symbolizer_free(s);
}

static void test_system_name(void)
{
	struct symbolizer *s = map_of("1000 40 JS:*f /x.js:3:9\n");
	struct symbol_result r;

	must(s->ops->resolve(s, 0x1000, &r) == 0);
	ok(strcmp(r.frames[0].system_name, "JS:*f /x.js:3:9") == 0 && r.frames[0].start_line == 3,
	   "map: the raw text is the system name; a function begins on its line");
	symbolizer_free(s);
}

static void test_overlap(void)
{
	struct symbolizer *s = map_of("1000 100 old\n"
				      "1040 40 new\n"
				      "1000 10 again\n"
				      "1200 100 same\n"
				      "1200 100 replaced\n"
				      "0 ffffffffffffffff all\n"
				      "1300 10 last\n");

	ok(is(s, 0x1050, "all||0") && is(s, 0x1000, "all||0") && is(s, 0x1210, "all||0"),
	   "map: a later range replaces all before it");
	ok(is(s, 0x1300, "last||0"), "map: a still later range replaces it in turn");
	symbolizer_free(s);
	s = map_of("1000 100 old\n1040 40 new\n1000 10 again\n1200 100 same\n1200 100 replaced\n");
	ok(is(s, 0x1000, "again||0") && is(s, 0x1010, "old||0") && is(s, 0x1040, "new||0") &&
		   is(s, 0x1070, "new||0") && is(s, 0x1080, "old||0"),
	   "map: the last definition of each address counts, the rest of a range stays");
	ok(is(s, 0x1210, "replaced||0"), "map: of two equal ranges the later counts");
	symbolizer_free(s);
}

static void test_garbage(void)
{
	struct symbolizer *s = map_of("garbage\n"
				      "\n"
				      "1000\n"
				      "1000 10\n"
				      "1000 10 \n"
				      "1000 0 empty\n"
				      "-1000 10 minus\n"
				      "ffffffffffffffff 10 overflow\n"
				      "11111111111111111 10 long\n"
				      "1010 10 good\n");

	ok(counts.nr_map_lines == 10 && counts.nr_map_bad_lines == 9,
	   "map: of ten lines nine are bad (%" PRIu64 ")", counts.nr_map_bad_lines);
	ok(is(s, 0x1000, "0x1000||0") && is(s, 0x1010, "good||0"),
	   "map: a valid line among invalid ones counts");
	symbolizer_free(s);
}

static void test_long_line(void)
{
	size_t n = 600000;
	char *text = malloc(n + 100);
	struct symbolizer *s;

	must(text);
	memset(text, 'x', n);
	memcpy(text, "1000 10 ", 8);
	strcpy(text + n, "\n1010 10 good\n");
	s = map_of(text);
	ok(is(s, 0x1010, "good||0") && is(s, 0x1000, "0x1000||0") && counts.nr_map_lines == 2 &&
		   counts.nr_map_bad_lines == 1,
	   "map: a line of 600,000 bytes is one bad line");
	symbolizer_free(s);
	strcpy(text + 20000, "\n1010 10 good\n");
	s = map_of(text);
	ok(is(s, 0x1010, "good||0") && strlen(at(s, 0x1000)) == 4096 + 3,
	   "map: a name of 20,000 bytes is truncated to 4,096");
	symbolizer_free(s);
	free(text);
}

/* ---- jitdumps ---- */

static void test_dump(struct dump_maker *d)
{
	struct jit_address a[] = { { 0x1000, 50 }, { 0x1010, 5 }, { 0x2000, 50 }, { 0x3000, 50 } };
	struct symbolizer *s;

	dump_init(d, 0);
	dump_load(d, 10, 0x1000, 0x20, 1, "py::f:/a.py");
	dump_head(d, 4, 8, 11); /* unwinding information, and a kind that nobody knows */
	dump_u64(d, 0);
	dump_head(d, 77, 0, 11);
	dump_load(d, 12, 0x2000, 0x20, 2, "g");
	dump_load(d, 60, 0x2000, 0x20, 3, "later");
	s = dump_of(d, a, 4);
	ok(is(s, 0x1000, "f|/a.py|0"), "dump: a function by name");
	ok(is(s, 0x2000, "g||0"), "dump: by the code that was there at the time");
	ok(is(s, 0x1010, "f|/a.py|0"), "dump: code that ran before its record");
	ok(is(s, 0x3000, "0x3000||0"), "dump: code without a record is raw");
	ok(counts.nr_dumps == 1 && counts.nr_dump_records == 5 && counts.nr_dump_bad_records == 0,
	   "dump: five records, all valid");
	symbolizer_free(s);
}

static void test_times(struct dump_maker *d)
{
	struct jit_address a[] = { { 0x1000, 15 }, { 0x1004, 25 }, { 0x1008, 35 }, { 0x100c, 5 } };
	struct symbolizer *s;

	dump_init(d, 0);
	dump_load(d, 10, 0x1000, 0x20, 1, "one");
	dump_load(d, 20, 0x1000, 0x20, 2, "two");
	dump_load(d, 30, 0x1000, 0x20, 3, "three");
	s = dump_of(d, a, 4);
	ok(is(s, 0x1000, "one||0") && is(s, 0x1004, "two||0") && is(s, 0x1008, "three||0") &&
		   is(s, 0x100c, "one||0"),
	   "dump: each address at its own time");
	symbolizer_free(s);
	d->bytes[32] = 1; /* flags: times of another clock */
	s = dump_of(d, a, 4);
	ok(is(s, 0x1000, "three||0") && is(s, 0x100c, "three||0"),
	   "dump: times of another clock are not compared, the last counts");
	symbolizer_free(s);
}

static void test_move(struct dump_maker *d)
{
	static const struct dump_line lines[] = { { 0x1000, 3, "/m.x" }, { 0x1010, 4, "\xff" } };
	struct jit_address a[] = { { 0x1000, 15 }, { 0x5008, 25 }, { 0x5014, 25 }, { 0x6000, 25 } };
	struct symbolizer *s;

	dump_init(d, 0);
	dump_load(d, 5, 0x9000, 0x20, 6, "other");
	dump_lines(d, 0x1000, lines, 2);
	dump_load(d, 10, 0x1000, 0x20, 7, "mover");
	dump_move(d, 20, 0x1000, 0x5000, 0x20, 7);
	dump_move(d, 21, 0x1000, 0x6000, 0x20, 99);
	s = dump_of(d, a, 4);
	ok(is(s, 0x1000, "mover|/m.x|3"), "dump: code before it moved");
	ok(is(s, 0x5008, "mover|/m.x|3") && is(s, 0x5014, "mover|/m.x|4"),
	   "dump: moved code keeps its name and lines");
	ok(is(s, 0x6000, "0x6000||0"), "dump: code that was never loaded has no name");
	symbolizer_free(s);
}

static void test_lines(struct dump_maker *d)
{
	static const struct dump_line lines[] = { { 0x1000, 10, "/a.py" },
						  { 0x1008, 11, "\xff" },
						  { 0x1010, 5, "/b.py" } };
	static const struct dump_line v8[] = { { 0x2040, 20, "/a.js" }, { 0x2048, 21, "/a.js" } };
	static const struct dump_line bad[] = { { 0x3000, 1, "/c" }, { 0x9999, 2, "/c" } };
	static const struct dump_line junk[] = { { 0x4000, 1,
						   "\x16"
						   "e\x03" } };
	struct jit_address a[] = { { 0x1004 }, { 0x1009 }, { 0x1018 }, { 0x2009 },
				   { 0x3001 }, { 0x4001 }, { 0x5001 } };
	struct symbolizer *s;

	dump_init(d, 0);
	dump_lines(d, 0x1000, lines, 3);
	dump_load(d, 10, 0x1000, 0x20, 1, "f");
	dump_lines(d, 0x2000, v8, 2);
	dump_load(d, 10, 0x2000, 0x20, 2, "JS:*f /a.js:19:1");
	dump_lines(d, 0x3000, bad, 2);
	dump_load(d, 10, 0x3000, 0x20, 3, "bad");
	dump_lines(d, 0x4000, junk, 1);
	dump_load(d, 10, 0x4000, 0x20, 4, "JS:*g /a.js:7:1");
	dump_load(d, 10, 0x5000, 0x20, 5, "none");
	s = dump_of(d, a, 7);
	ok(is(s, 0x1004, "f|/a.py|10") && is(s, 0x1009, "f|/a.py|11") && is(s, 0x1018, "f|/b.py|5"),
	   "dump: lines, with the file of the entry before and with another");
	ok(is(s, 0x2009, "f|/a.js|21"), "dump: V8's lines are 0x40 too high");
	ok(is(s, 0x3001, "bad||0"), "dump: a line outside the function discards all its lines");
	ok(is(s, 0x4001, "g|/a.js|7"),
	   "dump: a name in freed memory discards the lines; the name's line stays");
	ok(is(s, 0x5001, "none||0"), "dump: lines belong to the next function only");
	ok(counts.nr_dump_bad_lines == 2, "dump: discarded lines are counted");
	symbolizer_free(s);
}

static void test_bad_dumps(struct dump_maker *d)
{
	struct jit_address a[] = { { 0x1000, 50 }, { 0x2000, 50 } };
	static const char map[] = "2000 10 by_map\n1000 10 not_asked\n";
	struct symbolizer *s;
	size_t whole;

	dump_init(d, 0);
	dump_load(d, 10, 0x1000, 0x20, 1, "f");
	whole = d->len;
	dump_load(d, 10, 0x2000, 0x20, 1, "g");
	d->len -= 3;
	s = dump_of(d, a, 2);
	ok(is(s, 0x1000, "f||0") && is(s, 0x2000, "g||0") && counts.nr_dump_bad_records == 0,
	   "dump: a last record without all of its code has its name");
	symbolizer_free(s);
	d->len -= 5; /* the rest of the code */
	s = dump_of(d, a, 2);
	ok(is(s, 0x2000, "g||0"), "dump: a last record needs no code at all");
	symbolizer_free(s);
	d->len -= 1; /* the NUL */
	s = dump_of(d, a, 2);
	ok(is(s, 0x1000, "f||0") && is(s, 0x2000, "0x2000||0") && counts.nr_dump_bad_records == 1,
	   "dump: an unterminated name is dropped, and complete records count");
	symbolizer_free(s);
	s = named_by(jit_file(map, strlen(map)), jit_file(d->bytes, d->len), a, 2);
	ok(is(s, 0x1000, "f||0") && is(s, 0x2000, "by_map||0"),
	   "a map resolves what a dump does not");
	symbolizer_free(s);
	d->len = whole;
	dump_u32(d, 0);
	dump_u32(d, 3); /* smaller than its own head: there is no way on */
	dump_u64(d, 0);
	s = dump_of(d, a, 2);
	ok(is(s, 0x1000, "f||0") && counts.nr_dump_bad_records == 1,
	   "dump: an impossible size ends it");
	symbolizer_free(s);
	d->len = whole;
	dump_load(d, 10, UINT64_MAX - 4, 0x20, 1, "g");
	dump_load(d, 10, 0x2000, 0, 1, "g");
	s = dump_of(d, a, 2);
	ok(is(s, 0x2000, "0x2000||0") && counts.nr_dump_bad_records == 2,
	   "dump: impossible addresses are refused");
	symbolizer_free(s);
	d->bytes[0] = 'J'; /* as a big-endian machine would have it */
	s = named_by(jit_file(map, strlen(map)), jit_file(d->bytes, d->len), a, 2);
	ok(is(s, 0x1000, "not_asked||0") && counts.nr_dumps_bad == 1,
	   "dump: another byte order is refused; the map counts");
	symbolizer_free(s);
}

/* What a parent told counts after what its child tells, and until the fork. */
static void test_inherited(struct dump_maker *d)
{
	struct jit_address a[] = { { 0x1000, 50 }, { 0x2000, 50 }, { 0x3000, 50 }, { 0x4000, 50 } };
	struct jit_sources src = { .nr_symbol_files = 2, .addresses = a, .nr_addresses = 4 };
	static const char own[] = "1000 10 own\n",
			  parents[] = "4000 10 by_map\n1000 10 not_asked\n";
	struct symbolizer *s = NULL;

	dump_init(d, 0);
	dump_load(d, 10, 0x1000, 0x20, 1, "not_asked");
	dump_load(d, 20, 0x2000, 0x20, 2, "before");
	dump_load(d, 30, 0x2000, 0x20, 3, "after");
	dump_load(d, 30, 0x3000, 0x20, 4, "after");
	src.symbol_files[0] = JIT_SYMBOL_FILES(jit_file(own, strlen(own)), -1);
	src.symbol_files[1] =
		JIT_SYMBOL_FILES(jit_file(parents, strlen(parents)), jit_file(d->bytes, d->len));
	src.symbol_files[1].until_ns = 29;
	counts = (struct jit_counts){ 0 };
	must(symbolizer_new_jit(&src, &counts, &s) == 0);
	ok(is(s, 0x1000, "own||0"), "inherited: the process's own files come first");
	ok(is(s, 0x2000, "before||0"), "inherited: then the parent's, as of the fork");
	ok(is(s, 0x3000, "0x3000||0"), "inherited: later records of the parent do not count");
	ok(is(s, 0x4000, "by_map||0"), "inherited: a map has no times");
	symbolizer_free(s);
	close(src.symbol_files[0].map_fd);
	close(src.symbol_files[1].map_fd);
	close(src.symbol_files[1].dump_fd);
}

int main(void)
{
	struct dump_maker *d = malloc(sizeof(*d));

	must(d);
	test_decode();
	test_anonymous();
	test_cover();
	test_map();
	test_system_name();
	test_overlap();
	test_garbage();
	test_long_line();
	test_dump(d);
	test_times(d);
	test_move(d);
	test_lines(d);
	test_bad_dumps(d);
	test_inherited(d);
	free(d);
	return tap_done();
}
