/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal_text.h"
#include "tap.h"

/* What text_put() writes, and in *ret_cols what it says it used. */
static const char *put(const char *s, uint32_t max_cols, uint32_t *ret_cols)
{
	static char text[256];
	FILE *f = fmemopen(text, sizeof(text), "w");

	must(f);
	text[0] = '\0'; /* writing nothing writes no NUL either */
	*ret_cols = text_put(f, s, max_cols);
	must(fclose(f) == 0);
	return text;
}

static void check(const char *s, uint32_t max_cols, const char *expected, const char *what)
{
	uint32_t cols;
	const char *text = put(s, max_cols, &cols);

	ok(!strcmp(text, expected), "%s", what);
	ok(cols <= max_cols, "… and fits");
}

static void test_shortening(void)
{
	check("compute", 7, "compute", "a text that fits is unchanged");
	check("compute", 6, "com...", "a text that does not fit ends in dots");
	check("compute", 3, "...", "three columns are dots only");
	check("compute", 2, "co", "two columns have no room for dots");
	check("compute", 0, "", "no columns show nothing");
	check("compute", TEXT_NO_LIMIT, "compute", "without a limit nothing is truncated");
	check("", 10, "", "an empty text stays empty");
}

static void check_end(const char *s, uint32_t max_cols, const char *expected, const char *what)
{
	char text[256] = "";
	FILE *f = fmemopen(text, sizeof(text), "w");
	uint32_t cols;

	must(f);
	cols = text_put_end(f, s, max_cols);
	must(fclose(f) == 0);
	ok(!strcmp(text, expected) && cols == text_columns(expected), "keeping the end: %s", what);
}

static void test_keeping_the_end(void)
{
	check_end("compute", 7, "compute", "a text that fits is whole");
	check_end("compute", 6, "...ute", "a longer one begins with dots");
	check_end("compute", 3, "...", "three columns are dots only");
	check_end("compute", 2, "co", "two columns have no room for dots");
}

static void test_harmless(void)
{
	check("\x1b[31mred\x1b[0m", 40, "?[31mred?[0m", "an escape sequence is defused");
	check("a\nb\rc\td\x7f", 40, "a?b?c?d?", "control characters are defused");
	check("a\xff\xfe", 40, "a??", "bytes that are not a character are defused");
	check("a\xe2\x80", 40, "a??", "a character truncated at the end is defused");
}

static void test_utf8(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8")) {
		tap_skip("needs the C.UTF-8 locale");
		return;
	}
	check("gr\xc3\xb6\xc3\x9f"
	      "e",
	      5,
	      "gr\xc3\xb6\xc3\x9f"
	      "e",
	      "letters count as columns");
	check("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", 6, "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2",
	      "wide characters count twice");
	check("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", 5, "\xe6\xbc\xa2...",
	      "a wide character is never halved");
	check("a\xe2\x80\xae"
	      "b",
	      40, "a?b", "a reversal of direction is defused");
	check("a\xe2\x80\x8b"
	      "b",
	      40, "a?b", "an invisible space is shown");
	check("a\xc2\xa0\xe3\x80\x80\xe3\x85\xa4\xe2\xa0\x80"
	      "b",
	      40, "a????b", "what looks like a space and is none is shown");
	check("a\xf3\xa0\x84\x80\xef\xb8\x8f\xf0\x9d\x85\xb3"
	      "b",
	      40, "a???b", "a character that is invisible in other planes, too, is shown");
	check("e\xcc\x81\xcc\xa3x", 40, "e\xcc\x81\xcc\xa3x", "a letter keeps its accents");
	check("e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81x", 40, "e\xcc\x81\xcc\x81\xcc\x81??x",
	      "accents piled up on a letter are shown beside it");
	check("\xcc\x81x", 40, "?x",
	      "an accent without a letter is not put on what precedes the text");
	check("a\xc2\x9b"
	      "31m",
	      40, "a?31m", "a control character of the upper half is defused");
	check("a\xed\xa0\x80", 40, "a???", "a surrogate is not a character");
	check_end("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", 5, "...\xe6\xbc\xa2",
		  "a wide character is never split");
	setlocale(LC_CTYPE, "C");
}

static void test_other_encodings(void)
{
	if (!setlocale(LC_CTYPE, "en_US.ISO-8859-1") && !setlocale(LC_CTYPE, "de_DE.ISO-8859-1")) {
		tap_skip("needs a locale of ISO-8859-1");
		return;
	}
	check("gr\xc3\xb6\xc3\x9f"
	      "e",
	      40, "gr????e", "in a locale that is not UTF-8 only ASCII is shown");
	setlocale(LC_CTYPE, "C");
}

static void check_size(uint64_t size_bytes, const char *expected)
{
	char text[TEXT_SIZE_SIZE];

	ok(!strcmp(text_size(size_bytes, text), expected), "%llu bytes are %s (%s)",
	   (unsigned long long)size_bytes, expected, text);
}

static void test_sizes(void)
{
	check_size(0, "0 B");
	check_size(1023, "1023 B");
	check_size(1024, "1.0 KiB");
	check_size(12600, "12.3 KiB");
	check_size((1 << 20) - 1, "1.0 MiB");
	check_size(UINT64_MAX, "16.0 EiB");
}

static void check_path(const char *path, const char *expected, const char *what)
{
	char *text = text_path(path);

	ok(text && !strcmp(text, expected), "%s", what);
	free(text);
}

static void test_paths(void)
{
	check_path("/usr/lib/libc.so.6", "/usr/lib/libc.so.6", "a plain path is shown as it is");
	check_path("/a: fix: run x", "'/a: fix: run x'", "a path with spaces is quoted");
	check_path("/a' b'", "'/a? b?'", "a quote in a path does not end the quotes");
	check_path("/a'b", "'/a?b'", "a path with a quote alone is quoted, too");
	check_path("", "", "an empty path stays empty");
}

static void check_wrap(const char *text, uint32_t cols, const char *expected, const char *what)
{
	char *copy = strdup(text), *got = NULL;
	size_t len;
	FILE *f = open_memstream(&got, &len);

	must(copy && f);
	text_wrap(f, copy, cols, 2);
	must(fclose(f) == 0);
	if (!ok(!strcmp(got, expected), "%s", what))
		printf("# got '%s'\n", got);
	free(copy);
	free(got);
}

static void test_wrapping(void)
{
	check_wrap("one two", 7, "one two", "what fits is one line");
	check_wrap("one two", 6, "one\n  two", "a text that does not fit is wrapped");
	check_wrap("one two three", 8, "one two\n  three", "a line takes as many words as fit");
	check_wrap("a  b", 4, "a  b", "spaces are kept where nothing is broken");
	check_wrap("x far_too_long y", 8, "x\n  far_too_long\n  y",
		   "a word longer than a line is not split");
	check_wrap("one two\n", TEXT_NO_LIMIT, "one two?", "without a limit nothing is wrapped");
	check_wrap("", 3, "", "an empty text stays empty");
	check_wrap("     ", 3, "", "spaces alone are nothing");
}

static void test_file_names(void)
{
	static const char *const like_marks[] = { "/tmp/kernel",    "/tmp/Kernel.kallsyms",
						  "/tmp/[kernel]",  "/tmp/jit",
						  "/tmp/[vdso]",    "/tmp/unknown",
						  "/tmp/ kernel",   "/tmp/k\xd0\xb5rnel",
						  "/tmp/\x1bkernel" };
	unsigned int nr = 0;

	for (size_t i = 0; i < sizeof(like_marks) / sizeof(like_marks[0]); i++)
		nr += text_file_name(like_marks[i]) == like_marks[i];
	ok(nr == sizeof(like_marks) / sizeof(like_marks[0]),
	   "a file that could be taken for a mark keeps its path");
	ok(!strcmp(text_file_name("/usr/bin/app"), "app"), "any other one does not");
	ok(!strcmp(text_file_name("[kernel]"), "[kernel]"), "a mark stays one");
}

static void test_base_names(void)
{
	ok(!strcmp(text_base_name("/usr/bin/app"), "app"), "a path is shown by its last part");
	ok(!strcmp(text_base_name("[kernel]"), "[kernel]"),
	   "a label without a path is left as it is");
	ok(!strcmp(text_base_name("/usr/"), "/usr/"),
	   "a path without a last part is left as it is");
}

int main(void)
{
	test_shortening();
	test_keeping_the_end();
	test_harmless();
	test_utf8();
	test_other_encodings();
	test_paths();
	test_sizes();
	test_wrapping();
	test_base_names();
	test_file_names();
	char share[TEXT_SHARE_SIZE];

	ok(text_percent(1, 0) == 0, "a share of nothing is 0");
	ok(!strcmp(text_share(999999, 1000000, share), "99.9%") &&
		   !strcmp(text_share(5, 5, share), "100.0%"),
	   "only all is all");
	ok(!strcmp(text_share(1, 1000000, share), "<0.1%") &&
		   !strcmp(text_share(0, 5, share), "0.0%") &&
		   !strcmp(text_share(1, 1000, share), "0.1%"),
	   "only nothing is nothing");
	return tap_done();
}
