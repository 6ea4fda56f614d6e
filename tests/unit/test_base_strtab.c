/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/hash.h"
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
	ok(a == b, "equal strings have one number");
	ok(a != c, "a longer string has another number");
	ok(e == 0, "the empty string is number 0");
	ok(strcmp(strtab_get(&t, c), "mainly") == 0, "a number leads back to its string");
	strtab_done(&t);
}

/* Begins with what XXH3 without a seed multiplies by zero: the next 8 bytes have no effect on the hash. */
#define SAME_HASH "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe%08d0123456789abcdef"

/* How many strings have the hash that most of them have. */
static uint32_t nr_of_one_hash(const struct strtab *t)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < t->index.nr_slots; i++) {
		uint32_t nr = 0;

		for (uint32_t k = 0; k < t->index.nr_slots; k++)
			nr += t->index.slots[k].id_plus_1 &&
			      t->index.slots[k].hash == t->index.slots[i].hash;
		if (t->index.slots[i].id_plus_1 && nr > most)
			most = nr;
	}
	return most;
}

static void test_chosen_strings(void)
{
	struct strtab t;
	char s[64], other[64];
	uint32_t id;

	snprintf(s, sizeof(s), SAME_HASH, 1);
	snprintf(other, sizeof(other), SAME_HASH, 2);
	ok(hash_bytes(s, strlen(s)) == hash_bytes(other, strlen(other)),
	   "without a seed, strings can be chosen that have one hash");
	must(strtab_init(&t) == 0);
	for (int i = 0; i < 200; i++) {
		snprintf(s, sizeof(s), SAME_HASH, i);
		must(strtab_intern(&t, s, &id) == 0);
	}
	ok(nr_of_one_hash(&t) < 4, "in a table, they have many");
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
	   "a string longer than a chunk is stored whole");
	strtab_done(&t);
	free(big);
}

int main(void)
{
	test_equal_strings_are_one();
	test_chosen_strings();
	test_many_and_long();
	return tap_done();
}
