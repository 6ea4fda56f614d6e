/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "collect/cpus.h"
#include "tap.h"

static void test_lists(void)
{
	struct cpus c;

	ok(cpus_parse("0-3,8\n", &c) == 0 && cpus_count(&c) == 5,
	   "ranges and single numbers are parsed");
	ok(cpus_has(&c, 3) && !cpus_has(&c, 4) && cpus_has(&c, 8),
	   "exactly the listed CPUs are set");
	ok(cpus_parse("0\n", &c) == 0 && cpus_count(&c) == 1, "one CPU");
	ok(cpus_parse("0-8191", &c) == 0 && cpus_count(&c) == CPUS_MAX,
	   "the largest list is parsed");
}

static void test_nonsense(void)
{
	static const char *const bad[] = {
		"", "\n", "a", "1-", "-1", "1,,2", "1 2", "8192", "99999999999999999999", "0-3x"
	};
	struct cpus c = { .bits = { 42 } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(cpus_parse(bad[i], &c) == -EBADMSG, "'%s' is refused", i == 1 ? "\\n" : bad[i]);
	ok(c.bits[0] == 42, "a refused list leaves the result unchanged");
}

int main(void)
{
	test_lists();
	test_nonsense();
	return tap_done();
}
