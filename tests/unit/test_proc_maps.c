/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proc/procfs.h"
#include "tap.h"

#define MAX_SEEN 8

struct seen {
	struct maps_entry e[MAX_SEEN];
	char path[MAX_SEEN][256];
	int nr;
	int stop_after; /* 0: never */
};

static int see(void *ctx, const struct maps_entry *e)
{
	struct seen *s = ctx;

	if (s->nr < MAX_SEEN) {
		s->e[s->nr] = *e;
		snprintf(s->path[s->nr], sizeof(s->path[0]), "%s", e->path);
	}
	s->nr++;
	return s->stop_after && s->nr == s->stop_after ? 7 : 0;
}

/* In memory of exactly its size, so that a sanitizer sees one byte too many. */
static uint64_t parse_n(const char *text, size_t len, struct seen *s, int *ret_r)
{
	char *copy = malloc(len ? len : 1);
	uint64_t nr_bad = 99;

	must(copy);
	memcpy(copy, text, len);
	*ret_r = maps_parse(copy, len, see, s, &nr_bad);
	free(copy);
	return nr_bad;
}

static uint64_t parse(const char *text, struct seen *s)
{
	int r;
	uint64_t nr_bad;

	*s = (struct seen){ 0 };
	nr_bad = parse_n(text, strlen(text), s, &r);
	must(r == 0);
	return nr_bad;
}

static void test_fields(void)
{
	struct seen s;
	uint64_t nr_bad = parse("7f00a000-7f00b000 r-xp 0001f000 fd:1c 184467    /usr/lib/a.so\n"
				"7f00b000-7f00c000 rw-s 00000000 00:00 0 \n",
				&s);

	ok(nr_bad == 0 && s.nr == 2, "two lines are two entries");
	ok(s.e[0].start == 0x7f00a000 && s.e[0].end == 0x7f00b000, "the range is hexadecimal");
	ok(s.e[0].offset == 0x1f000, "the offset is hexadecimal");
	ok(s.e[0].major == 0xfd && s.e[0].minor == 0x1c, "the device is hexadecimal");
	ok(s.e[0].inode == 184467, "the inode is decimal");
	ok(s.e[0].is_exec && !s.e[1].is_exec, "x means executable");
	ok(strcmp(s.path[0], "/usr/lib/a.so") == 0, "the path follows the padding");
	ok(strcmp(s.path[1], "") == 0, "a missing path is empty");
}

static void test_odd_paths(void)
{
	struct seen s;

	parse("1000-2000 r-xp 0 0:0 1 /a b  c (deleted)\n", &s);
	ok(strcmp(s.path[0], "/a b  c (deleted)") == 0, "spaces belong to the path");
	parse("1000-2000 r-xp 0 0:0 1 /x\\012y\\012\n", &s);
	ok(strcmp(s.path[0], "/x\ny\n") == 0, "\\012 is a newline again");
	parse("1000-2000 r-xp 0 0:0 1 /x\\01\n", &s);
	ok(strcmp(s.path[0], "/x\\01") == 0, "half an escape is left unchanged");
	parse("1000-2000 r-xp 0 0:0 1 \\012", &s);
	ok(strcmp(s.path[0], "\n") == 0, "an escape may be the whole path");
	parse("1000-2000 r-xp 0 0:0 1 /\xff\xfe\x01\n", &s);
	ok(strcmp(s.path[0], "/\xff\xfe\x01") == 0, "any byte may be in a path");
	parse("1000-2000 r-xp 0 0:0 1 /no_newline", &s);
	ok(strcmp(s.path[0], "/no_newline") == 0, "a last line without newline has its whole path");
	parse("1000-2000 r-xp 0 0:0 1", &s);
	ok(s.nr == 1 && strcmp(s.path[0], "") == 0, "a last line without newline may lack a path");
}

static void test_bad_lines(void)
{
	static const char *const bad[] = {
		"x",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 ",
		"1000-2000 rwx",
		"1000-2000 rwxq 0 0:0 1",
		"1000-2000 qwxp 0 0:0 1",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0 0 1",
		"1000-2000 r-xp 0 0:0",
		"1000-2000 r-xp 0 0:0 ",
		"1000-2000 r-xp 0 0:0 1/path",
		"2000-1000 r-xp 0 0:0 1 /p",
		"1000-1000 r-xp 0 0:0 1 /p",
		"10000000000000000-20000000000000000 r-xp 0 0:0 1 /p",
		"1000-2000 r-xp 10000000000000000 0:0 1 /p",
		"1000-2000 r-xp 0 100000000:0 1 /p",
		"1000-2000 r-xp 0 0:0 18446744073709551616 /p",
		"-1000-2000 r-xp 0 0:0 1 /p",
		"1000-2000 r-xp 0 0:0 a /p",
		" 1000-2000 r-xp 0 0:0 1 /p",
	};
	struct seen s;
	int r;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(parse(bad[i], &s) == 1 && s.nr == 0, "refused: '%s'", bad[i]);
	ok(parse("1000-2000 r-xp 0 0:0 1 /a\n\nnonsense\n3000-4000 r-xp 0 0:0 1 /b\n", &s) == 2 &&
		   s.nr == 2,
	   "bad lines are counted and do not affect the others");
	ok(parse("0-ffffffffffffffff r-xp ffffffffffffffff ffffffff:ffffffff "
		 "18446744073709551615 /p",
		 &s) == 0,
	   "the largest numbers fit");
	s = (struct seen){ 0 };
	ok(parse_n("1000-2000 r-xp 0 0:0 1 /a\0b\n", 28, &s, &r) == 1 && s.nr == 0,
	   "a NUL in the text is refused");
	s = (struct seen){ 0 };
	ok(parse_n("", 0, &s, &r) == 0 && r == 0 && s.nr == 0, "an empty text has no entry");
}

static void test_ends_early(void)
{
	struct seen s = { .stop_after = 1 };
	int r;

	parse_n("1000-2000 r-xp 0 0:0 1 /a\n3000-4000 r-xp 0 0:0 1 /b\n", 52, &s, &r);
	ok(r == 7 && s.nr == 1, "the callback can stop, and its result is returned");
}

/* scanf as the second opinion, on the maps of this very process. */
static int compare(void *ctx, const struct maps_entry *e)
{
	FILE *f = ctx;
	uint64_t start, end, offset, inode;
	unsigned int major, minor;
	char perms[5], line[8192], path[4096] = "";

	must(fgets(line, sizeof(line), f));
	must(sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %4095[^\n]",
		    &start, &end, perms, &offset, &major, &minor, &inode, path) >= 7);
	return e->start == start && e->end == end && e->offset == offset && e->major == major &&
			       e->minor == minor && e->inode == inode &&
			       e->is_exec == (perms[2] == 'x') && strcmp(e->path, path) == 0
		       ? 0
		       : 1;
}

static void test_agrees_with_scanf(void)
{
	static char text[1 << 20], copy[1 << 20]; /* parsing modifies the text */
	FILE *f = fopen("/proc/self/maps", "re");
	FILE *again;
	uint64_t nr_bad;
	size_t n;

	if (!f) {
		tap_skip("needs /proc");
		return;
	}
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	must(n > 0 && n < sizeof(text));
	memcpy(copy, text, n);
	again = fmemopen(copy, n, "r");
	must(again);
	ok(maps_parse(text, n, compare, again, &nr_bad) == 0 && nr_bad == 0,
	   "our own maps are parsed as by scanf");
	fclose(again);
}

int main(void)
{
	test_fields();
	test_odd_paths();
	test_bad_lines();
	test_ends_early();
	test_agrees_with_scanf();
	return tap_done();
}
