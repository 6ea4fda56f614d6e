/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/buf.h"
#include "tap.h"
#include "write/text.h"

static bool becomes(int (*append)(struct buf *, const char *), const char *s, const char *expected)
{
	struct buf b = BUF_INIT(1000);
	bool same;

	must(append(&b, s) == 0);
	same = b.len == strlen(expected) && (!b.len || memcmp(b.data, expected, b.len) == 0);
	buf_done(&b);
	return same;
}

static void test_utf8(void)
{
	ok(text_is_utf8("plain"), "ASCII");
	ok(text_is_utf8("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), "two, three and four bytes");
	ok(text_is_utf8("\xf4\x8f\xbf\xbf"), "the last character, U+10FFFF");
	ok(!text_is_utf8("\xf4\x90\x80\x80"), "one past it is none");
	ok(!text_is_utf8("\xc0\xaf"), "an overlong slash is none");
	ok(!text_is_utf8("\xe0\x80\xaf"), "an overlong slash of three bytes is none");
	ok(!text_is_utf8("\xf0\x80\x80\xaf"), "an overlong slash of four bytes is none");
	ok(!text_is_utf8("\xed\xa0\x80"), "a surrogate is none");
	ok(!text_is_utf8("\x80"), "a tail without a head is none");
	ok(!text_is_utf8("a\xe2\x82"), "a character cut short is none");
	ok(!text_is_utf8("\xff"), "a byte that is in no character");
}

static void test_replacement(void)
{
	ok(becomes(text_append_utf8, "a;\n\xc3\xa9", "a;\n\xc3\xa9"), "good text stays");
	ok(becomes(text_append_utf8,
		   "a\xff"
		   "b",
		   "a\xef\xbf\xbd"
		   "b"),
	   "a bad byte becomes U+FFFD");
	ok(becomes(text_append_utf8, "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"), "each of two does");
	ok(becomes(text_append_utf8, "", ""), "nothing stays nothing");
}

static void test_frames(void)
{
	ok(becomes(text_append_frame, "a;b", "a:b"), "a semicolon cannot end a frame");
	ok(becomes(text_append_frame, "a\nb\rc\x7f", "a?b?c?"), "a newline cannot end a line");
	ok(becomes(text_append_frame, "\xc2\x85x", "?x"), "nor can NEL, of two bytes");
	ok(becomes(text_append_frame, "f(int, char) const", "f(int, char) const"), "spaces stay");
	ok(becomes(text_append_frame, "\xc3\xa9\xff", "\xc3\xa9\xef\xbf\xbd"), "and so does UTF-8");
}

int main(void)
{
	test_utf8();
	test_replacement();
	test_frames();
	return tap_done();
}
