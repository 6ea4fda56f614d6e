/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/strtab.h"
#include "tap.h"

#define MANY 100000

static void test_equal_strings_are_one(void)
{
	struct strtab t;
	uint32_t a, b, c, e;

	must(strtab_init(&t) == 0);
	must(strtab_intern(&t, "main", &a) == 0 && strtab_intern_n(&t, "mainly", 4, &b) == 0);
	must(strtab_intern(&t, "mainly", &c) == 0 && strtab_intern(&t, "", &e) == 0);
	ok(a == b, "the same bytes have one number");
	ok(a != c, "a longer string has another");
	ok(e == 0, "the empty string is number 0");
	ok(strcmp(strtab_get(&t, c), "mainly") == 0, "a number leads back to its string");
	strtab_done(&t);
}

static void test_many_and_long(void)
{
	struct strtab t;
	char s[32], *big = malloc(200000);
	uint32_t id, first = 0;
	bool same = true;

	must(strtab_init(&t) == 0 && big);
	for (int i = 0; i < MANY; i++) {
		snprintf(s, sizeof(s), "function_%d", i);
		must(strtab_intern(&t, s, &id) == 0);
		first = i == 0 ? id : first;
	}
	for (int i = 0; i < MANY; i++) {
		snprintf(s, sizeof(s), "function_%d", i);
		must(strtab_intern(&t, s, &id) == 0);
		same = same && id == first + (uint32_t)i && strcmp(strtab_get(&t, id), s) == 0;
	}
	ok(same, "%d strings keep their numbers", MANY);
	memset(big, 'x', 199999);
	big[199999] = '\0';
	ok(strtab_intern(&t, big, &id) == 0 && strlen(strtab_get(&t, id)) == 199999,
	   "a string longer than a chunk is kept whole");
	strtab_done(&t);
	free(big);
}

int main(void)
{
	test_equal_strings_are_one();
	test_many_and_long();
	return tap_done();
}
