/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "cli/duration.h"
#include "tap.h"

#define MS 1000000ull

static void test_good_ones(void)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{ "10s", 10 * NS_PER_S },
		{ "10", 10 * NS_PER_S },
		{ "1m30s", 90 * NS_PER_S },
		{ "250ms", 250 * MS },
		{ "1h", 3600 * NS_PER_S },
		{ "1.5s", 1500 * MS },
		{ "1.5", 1500 * MS },
		{ "0.25h", 900 * NS_PER_S },
		{ "1h2m3s4ms5us", 3723 * NS_PER_S + 4 * MS + 5000 },
		{ "0s1ms", MS },
		{ "0010s", 10 * NS_PER_S },
		{ "0.000000001s", 1 },
		{ "1.9999999999999999999999s", 1999999999 },
		{ "9223372036s", 9223372036 * NS_PER_S },
		{ "9223372036.854775807s", INT64_MAX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ns = 0;
		int r = duration_parse(cases[i].text, &ns);

		ok(r == 0 && ns == cases[i].ns, "'%s' is %llu ns", cases[i].text,
		   (unsigned long long)cases[i].ns);
	}
}

static void test_bad_ones(void)
{
	static const struct {
		const char *text;
		int result;
	} cases[] = {
		{ "", -EINVAL },
		{ "s", -EINVAL },
		{ "-1s", -EINVAL },
		{ "+1s", -EINVAL },
		{ " 1s", -EINVAL },
		{ "1s ", -EINVAL },
		{ "1 s", -EINVAL },
		{ "1x", -EINVAL },
		{ "1sec", -EINVAL },
		{ "1S", -EINVAL },
		{ "1m30", -EINVAL },
		{ "30s1m", -EINVAL },
		{ "1s1s", -EINVAL },
		{ ".5s", -EINVAL },
		{ "5.s", -EINVAL },
		{ "1.2.3s", -EINVAL },
		{ "0x10", -EINVAL },
		{ "1e3", -EINVAL },
		{ "inf", -EINVAL },
		{ "nan", -EINVAL },
		{ "1m/", -EINVAL },
		{ "0", -EDOM },
		{ "0s", -EDOM },
		{ "0.0000000001s", -EDOM },
		{ "0h0m0s", -EDOM },
		{ "292y", -EINVAL },
		{ "9223372037s", -ERANGE },
		{ "99999999999999999999s", -ERANGE },
		{ "18446744073709551615h", -ERANGE },
		{ "9223372036.854775808s", -ERANGE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ns = 4711;
		int r = duration_parse(cases[i].text, &ns);

		ok(r == cases[i].result && ns == 4711, "'%s' is refused with %s", cases[i].text,
		   strerrorname_np(-cases[i].result));
	}
}

static void test_formatting(void)
{
	static const char *const texts[] = { "10s",  "1m30s",   "250ms", "1h",
					     "1.5s", "1m1.25s", "5us",   "2562047h47m16.854s" };
	char again[DURATION_TEXT_SIZE];
	uint64_t ns;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		must(duration_parse(texts[i], &ns) == 0);
		duration_format(ns, again);
		ok(!strcmp(again, texts[i]), "'%s' is written as it was read (%s)", texts[i],
		   again);
	}
	ok(!strcmp(duration_format(1, again), "1us"), "a nanosecond is not written as nothing");
	ok(!strcmp(duration_format_brief(10054567890, again), "10.1s"),
	   "a brief duration is rounded to a tenth of a second");
	ok(!strcmp(duration_format_brief(999999999, again), "999ms"),
	   "a brief duration of less than a second keeps its milliseconds");
	ok(!strcmp(duration_format(10004567890, again), "10.004s"),
	   "a part of less than 1 ms is left out");
}

int main(void)
{
	test_good_ones();
	test_bad_ones();
	test_formatting();
	return tap_done();
}
