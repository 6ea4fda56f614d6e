/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/buf.h"
#include "tap.h"
#include "write/clean_text.h"

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
	ok(text_is_clean("plain"), "ASCII");
	ok(text_is_clean("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), "two, three and four bytes");
	ok(text_is_clean("\xf4\x8f\xbf\xbf"), "the last character, U+10FFFF");
	ok(!text_is_clean("\xf4\x90\x80\x80"), "a code point beyond U+10FFFF is invalid");
	ok(!text_is_clean("\xc0\xaf"), "an overlong slash is invalid");
	ok(!text_is_clean("\xe0\x80\xaf"), "an overlong slash of three bytes is invalid");
	ok(!text_is_clean("\xf0\x80\x80\xaf"), "an overlong slash of four bytes is invalid");
	ok(!text_is_clean("\xed\xa0\x80"), "a surrogate is invalid");
	ok(!text_is_clean("\x80"), "a continuation byte alone is invalid");
	ok(!text_is_clean("a\xe2\x82"), "a truncated character is invalid");
	ok(!text_is_clean("\xff"), "a byte that occurs in no character is invalid");
}

static void test_replacement(void)
{
	ok(becomes(text_append_clean, "a; \xc3\xa9", "a; \xc3\xa9"), "valid text is unchanged");
	ok(becomes(text_append_clean,
		   "a\xff"
		   "b",
		   "a\xef\xbf\xbd"
		   "b"),
	   "an invalid byte becomes U+FFFD");
	ok(becomes(text_append_clean, "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"),
	   "each of two invalid bytes becomes U+FFFD");
	ok(becomes(text_append_clean, "", ""), "an empty text stays empty");
}

static void test_controls(void)
{
	static const char *const dirty[] = {
		"\x01",
		"\t",
		"\n",
		"\r",
		"\x1b",
		"\x07",
		"\x7f",
		"\xc2\x80", /* U+0080, the first of C1 */
		"\xc2\x9b", /* U+009B, CSI */
		"\xc2\x9f",
		"\xc2\xad", /* a soft hyphen */
		"\xd8\x9c", /* U+061C */
		"\xe2\x80\x8b",
		"\xe2\x80\x8f", /* zero width, right-to-left mark */
		"\xe2\x80\xa8",
		"\xe2\x80\xae", /* line separator, right-to-left override */
		"\xe2\x81\xa6", /* an isolate */
		"\xef\xbb\xbf",
		"\xf3\xa0\x81\x81", /* a mark of byte order, a tag */
		"\xc2\xa0",
		"\xe3\x85\xa4",     /* a no-break space, a filler */
		"\xf3\xa0\x84\x80", /* a variation selector */
		"\xf0\x9d\x85\xb3", /* the beginning of a beam in music */
	};
	static const char *const clean[] = {
		" ", "~", "\xc2\xa1", "\xc2\xae", "\xe2\x80\x90", "\xe2\x80\xb0", "\xef\xbf\xbd"
	};
	unsigned int nr = 0;

	for (size_t i = 0; i < sizeof(dirty) / sizeof(dirty[0]); i++)
		nr += !text_is_clean(dirty[i]) && becomes(text_append_clean, dirty[i], "?") &&
		      becomes(text_append_frame, dirty[i], "?");
	ok(nr == sizeof(dirty) / sizeof(dirty[0]), "%u control characters become '?'", nr);
	nr = 0;
	for (size_t i = 0; i < sizeof(clean) / sizeof(clean[0]); i++)
		nr += text_is_clean(clean[i]) && becomes(text_append_clean, clean[i], clean[i]);
	ok(nr == sizeof(clean) / sizeof(clean[0]), "%u of their neighbours are unchanged", nr);
	ok(becomes(text_append_clean, "\x1b]52;c;aGk=\x07", "?]52;c;aGk=?"),
	   "an OSC sequence is made harmless");
}

static void test_frames(void)
{
	ok(becomes(text_append_frame, "a;b", "a:b"), "a semicolon cannot end a frame");
	ok(becomes(text_append_frame, "a\nb\rc\x7f", "a?b?c?"), "a newline cannot end a line");
	ok(becomes(text_append_frame, "\xc2\x85x", "?x"), "NEL, of two bytes, cannot end a line");
	ok(becomes(text_append_frame, "f(int, char) const", "f(int, char) const"),
	   "spaces are unchanged");
	ok(becomes(text_append_frame, "\xc3\xa9\xff", "\xc3\xa9\xef\xbf\xbd"),
	   "UTF-8 is unchanged");
}

int main(void)
{
	test_utf8();
	test_replacement();
	test_controls();
	test_frames();
	return tap_done();
}
