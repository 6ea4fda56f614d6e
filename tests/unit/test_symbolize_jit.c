/* SPDX-License-Identifier: Apache-2.0 */
/* Code made at run time: what perf maps and jitdumps call it. */
#include <errno.h>

#include "jit_maker.h"
#include "patience.h"
#include "symbolize/jit_budget.h"
#include "symbolize/jit_cover.h"
#include "symbolize/jit_name.h"

static struct jit_counts counts;

static struct symbolizer *named_by(int map_fd, int dump_fd, struct jit_address *addrs, uint32_t nr)
{
	struct jit_sources src = { .told = { JIT_TOLD(map_fd, dump_fd) },
				   .nr_told = 1,
				   .addresses = addrs,
				   .nr_addresses = nr };
	struct symbolizer *s = NULL;

	counts = (struct jit_counts){ 0 };
	must(symbolizer_new_jit(&src, &counts, &s) == 0);
	if (map_fd >= 0)
		close(map_fd);
	if (dump_fd >= 0)
		close(dump_fd);
	return s;
}

/* "name|file|line" */
static const char *at(struct symbolizer *s, uint64_t addr)
{
	static char text[8192];
	struct symbol_result r;

	must(s->ops->resolve(s, addr, &r) == 0 && r.nr_frames == 1);
	must(r.is_named == (strncmp(r.frames[0].name, "0x", 2) != 0));
	snprintf(text, sizeof(text), "%s|%s|%u", r.frames[0].name,
		 r.frames[0].filename ? r.frames[0].filename : "", r.frames[0].line);
	return text;
}

static bool is(struct symbolizer *s, uint64_t addr, const char *expected)
{
	const char *found = at(s, addr);

	if (strcmp(found, expected) != 0)
		printf("# 0x%" PRIx64 " is %s, not %s\n", addr, found, expected);
	return strcmp(found, expected) == 0;
}

/* The addresses from 0x1000 on, 16 apart. */
static struct symbolizer *map_of(const char *text)
{
	struct jit_address addrs[256];

	for (uint32_t i = 0; i < 256; i++)
		addrs[255 - i] = (struct jit_address){ .addr = 0x1000 + i * 16 };
	return named_by(jit_file(text, strlen(text)), -1, addrs, 256);
}

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

static void test_map(void)
{
	struct symbolizer *s = map_of("1000 40 first\n"
				      "1040 20 py::f:/a.py\n"
				      "0x1060 0x20 with 0x\r\n"
				      "1080 10 \xff\xfe bytes\n"
				      "10f0 10 unfinished");

	ok(is(s, 0x1000, "first||0"), "map: the first address of a range");
	ok(is(s, 0x1030, "first||0"), "map: its last");
	ok(is(s, 0x1050, "f|/a.py|0"), "map: the next range, decoded");
	ok(is(s, 0x1070, "with 0x||0"), "map: 0x and a carriage return do no harm");
	ok(is(s, 0x1080, "\xff\xfe bytes||0"), "map: names are bytes");
	ok(is(s, 0x1090, "0x1090||0"), "map: behind the last range it is raw");
	ok(is(s, 0x10f0, "0x10f0||0"), "map: a line that is still being written does not count");
	ok(is(s, 0x5, "0x5||0"), "map: an address that was not announced is raw");
	ok(counts.nr_maps == 1 && counts.nr_map_lines == 4 && counts.nr_map_bad_lines == 0,
	   "map: four lines, all good");
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
	   "map: a later range covers all before it");
	ok(is(s, 0x1300, "last||0"), "map: except what comes after it");
	symbolizer_free(s);
	s = map_of("1000 100 old\n1040 40 new\n1000 10 again\n1200 100 same\n1200 100 replaced\n");
	ok(is(s, 0x1000, "again||0") && is(s, 0x1010, "old||0") && is(s, 0x1040, "new||0") &&
		   is(s, 0x1070, "new||0") && is(s, 0x1080, "old||0"),
	   "map: the last definition of each address counts, the rest of a range stays");
	ok(is(s, 0x1210, "replaced||0"), "map: of two equal ranges the later");
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
	   "map: the good one counts all the same");
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
	   "map: a name of 20,000 bytes is cut to 4,096");
	symbolizer_free(s);
	free(text);
}

/* ---- jitdumps ---- */

static struct symbolizer *dump_of(const struct dump_maker *d, struct jit_address *addrs,
				  uint32_t nr)
{
	return named_by(-1, jit_file(d->bytes, d->len), addrs, nr);
}

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
	ok(is(s, 0x1010, "f|/a.py|0"), "dump: code that ran before it was told of");
	ok(is(s, 0x3000, "0x3000||0"), "dump: code that it does not tell of");
	ok(counts.nr_dumps == 1 && counts.nr_dump_records == 5 && counts.nr_dump_bad_records == 0,
	   "dump: five records, all good");
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
	ok(is(s, 0x1000, "mover|/m.x|3"), "dump: before it moved");
	ok(is(s, 0x5008, "mover|/m.x|3") && is(s, 0x5014, "mover|/m.x|4"),
	   "dump: what moved keeps its name and lines");
	ok(is(s, 0x6000, "0x6000||0"), "dump: what was never loaded has no name");
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
	ok(is(s, 0x3001, "bad||0"), "dump: a line outside of the function spoils all its lines");
	ok(is(s, 0x4001, "g|/a.js|7"), "dump: so does a name of freed memory; the name's stays");
	ok(is(s, 0x5001, "none||0"), "dump: lines belong to the next function only");
	ok(counts.nr_dump_bad_lines == 2, "dump: both are counted");
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
	   "dump: a last record without all of its code still has a name");
	symbolizer_free(s);
	d->len -= 5; /* the rest of the code */
	s = dump_of(d, a, 2);
	ok(is(s, 0x2000, "g||0"), "dump: nor does it need any code");
	symbolizer_free(s);
	d->len -= 1; /* the NUL */
	s = dump_of(d, a, 2);
	ok(is(s, 0x1000, "f||0") && is(s, 0x2000, "0x2000||0") && counts.nr_dump_bad_records == 1,
	   "dump: a name without its end is none, and the whole records count");
	symbolizer_free(s);
	s = named_by(jit_file(map, strlen(map)), jit_file(d->bytes, d->len), a, 2);
	ok(is(s, 0x1000, "f||0") && is(s, 0x2000, "by_map||0"), "a map tells what a dump does not");
	symbolizer_free(s);
	d->len = whole;
	dump_u32(d, 0);
	dump_u32(d, 3); /* smaller than its own head: there is no way on */
	dump_u64(d, 0);
	s = dump_of(d, a, 2);
	ok(is(s, 0x1000, "f||0") && counts.nr_dump_bad_records == 1, "dump: an impossible size");
	symbolizer_free(s);
	d->len = whole;
	dump_load(d, 10, UINT64_MAX - 4, 0x20, 1, "g");
	dump_load(d, 10, 0x2000, 0, 1, "g");
	s = dump_of(d, a, 2);
	ok(is(s, 0x2000, "0x2000||0") && counts.nr_dump_bad_records == 2,
	   "dump: impossible places");
	symbolizer_free(s);
	d->bytes[0] = 'J'; /* as a big-endian machine would have it */
	s = named_by(jit_file(map, strlen(map)), jit_file(d->bytes, d->len), a, 2);
	ok(is(s, 0x1000, "not_asked||0") && counts.nr_dumps_bad == 1,
	   "dump: another byte order is no dump; the map counts");
	symbolizer_free(s);
}

/* What a parent told counts after what its child tells, and until the fork. */
static void test_inherited(struct dump_maker *d)
{
	struct jit_address a[] = { { 0x1000, 50 }, { 0x2000, 50 }, { 0x3000, 50 }, { 0x4000, 50 } };
	struct jit_sources src = { .nr_told = 2, .addresses = a, .nr_addresses = 4 };
	static const char own[] = "1000 10 own\n",
			  parents[] = "4000 10 by_map\n1000 10 not_asked\n";
	struct symbolizer *s = NULL;

	dump_init(d, 0);
	dump_load(d, 10, 0x1000, 0x20, 1, "not_asked");
	dump_load(d, 20, 0x2000, 0x20, 2, "before");
	dump_load(d, 30, 0x2000, 0x20, 3, "after");
	dump_load(d, 30, 0x3000, 0x20, 4, "after");
	src.told[0] = JIT_TOLD(jit_file(own, strlen(own)), -1);
	src.told[1] = JIT_TOLD(jit_file(parents, strlen(parents)), jit_file(d->bytes, d->len));
	src.told[1].until_ns = 29;
	counts = (struct jit_counts){ 0 };
	must(symbolizer_new_jit(&src, &counts, &s) == 0);
	ok(is(s, 0x1000, "own||0"), "inherited: what a process tells itself comes first");
	ok(is(s, 0x2000, "before||0"), "inherited: then what its parent told until the fork");
	ok(is(s, 0x3000, "0x3000||0"), "inherited: what came later was never the child's");
	ok(is(s, 0x4000, "by_map||0"), "inherited: a map has no times");
	symbolizer_free(s);
	close(src.told[0].map_fd);
	close(src.told[1].map_fd);
	close(src.told[1].dump_fd);
}

/* ---- versions ---- */

#define MAX_ASKED 8

struct asked {
	uint64_t addr;
	uint64_t versions[MAX_ASKED]; /* by time */
	uint32_t nr;
	uint32_t stop_at; /* 0: never */
};

static int ask(void *ctx, uint32_t i, const struct jit_versions *v)
{
	struct asked *a = ctx;

	must(i == a->nr);
	if (i < MAX_ASKED)
		a->versions[i] = jit_versions_at(v, a->addr);
	a->nr++;
	return a->stop_at && a->nr == a->stop_at ? -EIO : 0;
}

/* The address's own time is 15. */
static int versions_of(const struct dump_maker *d, uint64_t addr, const uint64_t *times_ns,
		       uint32_t nr, struct asked *ret)
{
	struct jit_address a[] = { { 0x1000, 15 }, { 0x1010, 15 }, { 0x3000, 15 }, { addr, 15 } };
	int fd = jit_file(d->bytes, d->len);
	int r;

	*ret = (struct asked){ .addr = addr, .stop_at = ret->stop_at };
	r = jit_versions_each(fd, a, 4, times_ns, nr, ask, ret, NULL);
	close(fd);
	return r;
}

static void test_versions(struct dump_maker *d)
{
	static const uint64_t times[] = { 5, 10, 19, 20, 29, 30, 39, 40 };
	struct asked a = { 0 };

	dump_init(d, 0);
	dump_load(d, 10, 0x1000, 0x20, 1, "one");
	dump_load(d, 20, 0x1010, 0x20, 2, "two");
	dump_load(d, 30, 0x1000, 0x20, 3, "three");
	dump_move(d, 40, 0x1000, 0x1008, 0x10, 1);
	ok(versions_of(d, 0x1010, times, 8, &a) == 1 && a.nr == 8, "versions: each time is asked");
	ok(!a.versions[0] && !a.versions[1] && !a.versions[2],
	   "versions: 0 at its own time, and before, for nothing else was told of");
	ok(a.versions[3] && a.versions[3] == a.versions[4], "versions: another from then on");
	ok(a.versions[5] && a.versions[5] != a.versions[3] && a.versions[6] == a.versions[5] &&
		   a.versions[7] && a.versions[7] != a.versions[5],
	   "versions: and others, by loads and moves");
	ok(versions_of(d, 0x1000, times, 8, &a) == 1 && !a.versions[4] && a.versions[5] &&
		   a.versions[7] == a.versions[5],
	   "versions: code next to what is replaced stays");
	ok(versions_of(d, 0x1010, NULL, 0, &a) == 1 && a.nr == 0, "versions: of no time at all");
	a.stop_at = 3;
	ok(versions_of(d, 0x1010, times, 8, &a) == -EIO && a.nr == 3,
	   "versions: who asks may stop");
	a.stop_at = 0;
	d->bytes[32] = 1; /* flags: times of another clock */
	ok(versions_of(d, 0x1010, times, 8, &a) == 0 && a.nr == 0,
	   "versions: none where times are of another clock");
}

/* What a version is called, also next to the address's first. */
static void test_version_names(struct dump_maker *d)
{
	static const uint64_t times[] = { 25 };
	struct jit_address a[] = { { 0x1010, 15 }, { 0x1010, 0, 1 }, { 0x1010, 0, 77777 } };
	struct symbol_result res;
	struct asked asked = { 0 };
	struct symbolizer *s;

	dump_init(d, 0);
	dump_load(d, 10, 0x1000, 0x20, 1, "one");
	dump_load(d, 20, 0x1010, 0x20, 2, "two");
	must(versions_of(d, 0x1010, times, 1, &asked) == 1);
	a[1].version = asked.versions[0];
	s = dump_of(d, a, 3);
	ok(is(s, 0x1010, "one||0"), "versions: the first has its name");
	must(s->ops->resolve_version(s, 0x1010, asked.versions[0], &res) == 0);
	ok(strcmp(res.frames[0].name, "two") == 0, "versions: the other its own");
	must(s->ops->resolve_version(s, 0x1010, 77777, &res) == 0);
	ok(!res.is_named, "versions: one that the dump does not tell of has none");
	must(s->ops->resolve_version(s, 0x1010, 1, &res) == 0);
	ok(!res.is_named, "versions: nor has one that was not announced");
	symbolizer_free(s);
}

static void test_bad_versions(struct dump_maker *d)
{
	static const uint64_t times[] = { 5, 25, 35 };
	struct asked a = { 0 };

	dump_init(d, 0);
	dump_load(d, 10, 0x1000, 0x20, 1, "one");
	dump_load(d, 20, 0x3000, 0x20, 2, "else");
	ok(versions_of(d, 0x1010, times, 3, &a) == 0 && a.nr == 0,
	   "versions: nothing is asked where nothing was replaced");
	dump_load(d, 20, UINT64_MAX - 4, 0x20, 1, "overflow");
	dump_load(d, 30, 0x1000, 0x20, 2, "two");
	d->len -= 9;
	ok(versions_of(d, 0x1010, times, 3, &a) == 0,
	   "versions: a record without the end of its name is none");
	d->len += 9;
	ok(versions_of(d, 0x1010, times, 3, &a) == 1 && !a.versions[1] && a.versions[2],
	   "versions: what makes no sense costs nothing else");
	d->bytes[0] = 0;
	ok(versions_of(d, 0x1010, times, 3, &a) == -EBADMSG, "versions: not a dump");
}

/* A million times the same place: memory goes with the addresses. */
static void test_many_versions(struct dump_maker *d)
{
	enum { RECORDS = 1000000 };
	uint64_t *times = calloc(RECORDS, sizeof(*times)), nr_wrong = 0;
	int fd = memfd_create("dump", MFD_CLOEXEC);
	FILE *f = fdopen(dup(fd), "w");
	struct jit_address addr = { 0x1010, 1 };
	struct asked a = { .addr = 0x1010 };

	must(times && fd >= 0 && f);
	dump_init(d, 0);
	must(fwrite(d->bytes, 1, d->len, f) == d->len);
	for (uint64_t i = 0; i < RECORDS; i++) {
		d->len = 0;
		dump_load(d, 10 + i * 10, 0x1000, 0x20, i, "f");
		must(fwrite(d->bytes, 1, d->len, f) == d->len);
		times[i] = 15 + i * 10;
	}
	must(fclose(f) == 0);
	must(jit_versions_each(fd, &addr, 1, times, RECORDS, ask, &a, NULL) == 1);
	ok(a.nr == RECORDS, "versions: of a million records, at %u times", a.nr);
	for (uint32_t i = 1; i < MAX_ASKED; i++)
		nr_wrong += !a.versions[i] || a.versions[i] == a.versions[i - 1];
	ok(!a.versions[0] && nr_wrong == 0, "versions: each is another");
	close(fd);
	free(times);
}

/* Of a long list no more is read than was under way. */
static void test_cancelled_map(void)
{
	enum { LINES = 200000 };
	struct jit_address a = { .addr = 0x1000 };
	struct patience p = { .left = 3 };
	struct cancel wish = patience_wish(&p);
	struct jit_sources src = { .nr_told = 1, .addresses = &a, .nr_addresses = 1 };
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct symbolizer *s = NULL;
	FILE *f;

	src.told[0] = JIT_TOLD(fd, -1);
	f = fdopen(dup(fd), "w");
	must(fd >= 0 && f);
	for (unsigned int i = 0; i < LINES; i++)
		fprintf(f, "%x 10 function_%u\n", 0x1000 + i * 16, i);
	must(fclose(f) == 0);
	counts = (struct jit_counts){ 0 };
	src.cancel = &wish;
	ok(symbolizer_new_jit(&src, &counts, &s) == -ECANCELED, "reading a map can be cancelled");
	ok(counts.nr_map_lines > 0 && counts.nr_map_lines < LINES / 2,
	   "after %" PRIu64 " of %d lines", counts.nr_map_lines, LINES);
	src.cancel = NULL;
	must(symbolizer_new_jit(&src, &counts, &s) == 0);
	ok(is(s, 0x1000, "function_0||0"), "which else is read to its end");
	symbolizer_free(s);
	close(fd);
}

static int sized_list(off_t bytes, uid_t owner)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	must(fd >= 0 && ftruncate(fd, bytes) == 0);
	if (geteuid() == 0)
		must(fchown(fd, owner, owner) == 0);
	return fd;
}

/* Lists that many processes have in common, each larger than it looks. */
static void test_budget(void)
{
	struct jit_address a = { .addr = 0x1000 };
	struct jit_sources src = { .nr_told = 1, .addresses = &a, .nr_addresses = 1 };
	struct symbolizer *s = NULL;
	struct jit_budget b;
	uint64_t nr = 0;
	int fd = sized_list(100 << 20, 1000), small = jit_file("1000 10 f\n", 10);

	jit_budget_init(&b);
	while (jit_budget_take(&b, fd, JIT_FOR_CODE))
		nr++;
	ok(nr == 15, "a user's lists of 100 MiB are read %" PRIu64 " times", nr);
	src.budget = &b;
	src.told[0] = JIT_TOLD(fd, -1);
	counts = (struct jit_counts){ 0 };
	must(symbolizer_new_jit(&src, &counts, &s) == 0);
	ok(counts.nr_maps_cut == 1 && counts.nr_maps == 0, "then they are counted");
	symbolizer_free(s);
	if (geteuid() == 0) {
		src.told[0] = JIT_TOLD(small, -1);
		must(symbolizer_new_jit(&src, &counts, &s) == 0);
		ok(is(s, 0x1000, "f||0"), "and others are read");
		symbolizer_free(s);
		for (uid_t uid = 2000; uid < 2100; uid++) {
			close(fd);
			fd = sized_list(100 << 20, uid);
			while (jit_budget_take(&b, fd, JIT_FOR_CODE))
				nr++;
		}
		ok(nr < 41, "a hundred users have a limit together: %" PRIu64, nr);
	} else {
		tap_skip("needs root, to have files of other users");
	}
	jit_budget_done(&b);
	close(fd);
	close(small);
}

/* A list is needed for several things; 40 workers are no attack. */
static void test_budget_purposes(void)
{
	static const enum jit_purpose all[] = { JIT_FOR_MOMENTS, JIT_FOR_CODE, JIT_FOR_FILES };
	struct jit_budget b;
	uint32_t nr = 0, nr_left = 0;
	int fd;

	jit_budget_init(&b);
	fd = sized_list(600 << 20, 1000);
	for (size_t i = 0; i < 3; i++)
		nr += jit_budget_take(&b, fd, all[i]) > 600 << 20;
	ok(nr == 3, "a list of 600 MB is read for each purpose: %u", nr);
	must(ftruncate(fd, 700 << 20) == 0);
	ok(jit_budget_take(&b, fd, JIT_FOR_CODE) > 700 << 20, "and again, which is charged");
	must(ftruncate(fd, 1000 << 20) == 0);
	ok(jit_budget_take(&b, fd, JIT_FOR_FILES) == (700 << 20) + 4096,
	   "what it has grown by meanwhile is charged as well");
	close(fd);
	jit_budget_done(&b);
	jit_budget_init(&b);
	nr = 0;
	for (int i = 0; i < 40; i++) {
		fd = sized_list(30 << 20, 1000);
		nr += jit_budget_take(&b, fd, JIT_FOR_CODE) > 0;
		nr_left += jit_budget_take(&b, fd, JIT_FOR_FILES) == 0;
		close(fd);
	}
	ok(nr == 40 && !nr_left, "40 maps of 30 MiB of one user are read: %u", nr);
	jit_budget_done(&b);
}

static void test_cancelled_dump(struct dump_maker *d)
{
	struct jit_address a = { 0x1000, 50 };
	struct patience p = { .left = 1 };
	struct cancel wish = patience_wish(&p);
	struct jit_sources src = { .nr_told = 1, .addresses = &a, .nr_addresses = 1 };
	struct symbolizer *s = NULL;

	dump_init(d, 0);
	src.told[0] = JIT_TOLD(-1, jit_file(d->bytes, d->len));
	src.cancel = &wish;
	ok(symbolizer_new_jit(&src, &counts, &s) == -ECANCELED, "so can reading a jitdump");
	close(src.told[0].dump_fd);
}

int main(void)
{
	struct dump_maker *d = malloc(sizeof(*d));

	must(d);
	test_decode();
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
	test_versions(d);
	test_version_names(d);
	test_bad_versions(d);
	test_many_versions(d);
	test_cancelled_map();
	test_budget();
	test_budget_purposes();
	test_cancelled_dump(d);
	free(d);
	return tap_done();
}
