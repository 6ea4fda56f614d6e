/* SPDX-License-Identifier: Apache-2.0 */
/* How CPU time is shared out among whoever has put files there. */
#include "agent/naming_owners.h"

#include <inttypes.h>

#include "tap.h"

#define A NAMING_SYMBOLS

static struct naming_owners o;

static void test_one(void)
{
	naming_owners_init(&o);
	ok(naming_owners_left_ns(&o, A, 0, 1000) == NAMING_OWNER_MAX_NS,
	   "one owner has a part of all");
	naming_owners_charge(&o, A, 0, 1000, NAMING_OWNER_MAX_NS - 5);
	ok(naming_owners_left_ns(&o, A, 0, 1000) == 5, "what was used is gone");
	naming_owners_charge(&o, A, 0, 1000, NS_PER_S);
	ok(naming_owners_left_ns(&o, A, 0, 1000) == 1, "nothing left is not no limit");
	ok(naming_owners_left_ns(&o, A, 0, 1001) == NAMING_OWNER_MAX_NS,
	   "another user has his own");
	ok(naming_owners_left_ns(&o, A, 3, 1000) == NAMING_OWNER_MAX_NS, "so has another root");
	naming_owners_done(&o);
}

static void test_all(void)
{
	uint64_t used = 0;

	naming_owners_init(&o);
	for (uint32_t root = 1; used < NAMING_OWNERS_MAX_NS; root++) {
		used += naming_owners_left_ns(&o, A, root, 0);
		naming_owners_charge(&o, A, root, 0, naming_owners_left_ns(&o, A, root, 0));
	}
	ok(used == NAMING_OWNERS_MAX_NS, "all together have no more than that");
	ok(naming_owners_left_ns(&o, A, 0, 1000) == NAMING_OWNER_MIN_NS,
	   "who comes last has a little");
	naming_owners_charge(&o, A, 0, 1000, NAMING_OWNER_MIN_NS / 2);
	ok(naming_owners_left_ns(&o, A, 0, 1000) == NAMING_OWNER_MIN_NS / 2, "once");
	naming_owners_done(&o);
}

static void test_many(void)
{
	uint64_t sum = 0;

	naming_owners_init(&o);
	for (uint32_t user = 1; user <= 4 * NAMING_MAX_OWNERS; user++) {
		uint64_t left = naming_owners_left_ns(&o, A, 0, user);

		sum += left;
		naming_owners_charge(&o, A, 0, user, left);
	}
	ok(sum <= NAMING_OWNERS_MAX_NS + NAMING_LATE_MAX_NS + 4ull * NAMING_MAX_OWNERS,
	   "however many owners there are, it ends: %llu ms", sum / NS_PER_MS);
	naming_owners_done(&o);
}

/* Of many who spend all they have, those who come later have something still. */
static void test_late(void)
{
	naming_owners_init(&o);
	naming_owners_charge(&o, A, 1, 0, NAMING_OWNERS_MAX_NS);
	for (uint32_t user = 1; user <= 64; user++)
		naming_owners_charge(&o, A, 0, user, naming_owners_left_ns(&o, A, 0, user));
	ok(naming_owners_left_ns(&o, A, 0, 1000) >= 4 * NS_PER_MS,
	   "the 65th has time for a small file: %" PRIu64 " us",
	   naming_owners_left_ns(&o, A, 0, 1000) / 1000);
	naming_owners_done(&o);
}

/* Large debug information must not take the symbols of the next file. */
static void test_accounts(void)
{
	naming_owners_init(&o);
	for (uint32_t user = 1000; user < 1010; user++)
		naming_owners_charge(&o, NAMING_LINES, 0, user, NAMING_OWNER_MAX_NS);
	ok(naming_owners_left_ns(&o, NAMING_LINES, 0, 1000) == 1, "lines take what is there");
	ok(naming_owners_left_ns(&o, NAMING_SYMBOLS, 0, 1000) == NAMING_OWNER_MAX_NS,
	   "of lines; symbols have their own");
	naming_owners_done(&o);
}

int main(void)
{
	test_accounts();
	test_one();
	test_all();
	test_many();
	test_late();
	return tap_done();
}
