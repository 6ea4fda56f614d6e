/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "tap.h"

static void test_stops_at_the_maximum(void)
{
	struct buf b = BUF_INIT(10);

	ok(buf_append(&b, "12345678", 8) == 0, "eight bytes fit into ten");
	ok(buf_append(&b, "abc", 3) == -E2BIG, "three more bytes do not fit");
	ok(b.len == 8 && memcmp(b.data, "12345678", 8) == 0, "a refused append changes nothing");
	ok(buf_append(&b, "ab", 2) == 0, "two more bytes fill the buffer");
	ok(buf_reserve(&b, SIZE_MAX) == -E2BIG, "a length near SIZE_MAX is refused");
	buf_done(&b);
}

static void test_printf_appends(void)
{
	struct buf b = BUF_INIT(100);

	ok(buf_printf(&b, "%s-%d", "a", 7) == 0 && buf_printf(&b, "!") == 0, "two prints succeed");
	ok(b.len == 4 && memcmp(b.data, "a-7!", 4) == 0, "two prints are concatenated");
	buf_done(&b);
}

int main(void)
{
	test_stops_at_the_maximum();
	test_printf_appends();
	return tap_done();
}
