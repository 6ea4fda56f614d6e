/* SPDX-License-Identifier: Apache-2.0 */
/* How CPU time is shared out among whoever has put files there. */
#include "names/naming_owners.h"

#include <inttypes.h>

#include "tap.h"

#define A NAMING_SYMBOLS

static struct naming_owners o;

static void test_one(void)
{
	naming_owners_init(&o, false);
	ok(naming_owners_left_ns(&o, A, 0, 1000) == NAMING_OWNER_MAX_NS,
	   "one owner gets a part of the common limit");
	naming_owners_charge(&o, A, 0, 1000, NAMING_OWNER_MAX_NS - 5);
	ok(naming_owners_left_ns(&o, A, 0, 1000) == 5, "used CPU time is deducted");
	naming_owners_charge(&o, A, 0, 1000, NS_PER_S);
	ok(naming_owners_left_ns(&o, A, 0, 1000) == 1,
	   "a used-up limit is not the same as no limit");
	ok(naming_owners_left_ns(&o, A, 0, 1001) == NAMING_OWNER_MAX_NS,
	   "another user has a separate limit");
	ok(naming_owners_left_ns(&o, A, 3, 1000) == NAMING_OWNER_MAX_NS,
	   "the same user in another root has a separate limit");
	naming_owners_done(&o);
}

static void test_all(void)
{
	uint64_t used = 0;

	naming_owners_init(&o, false);
	for (uint32_t root = 1; used < NAMING_OWNERS_MAX_NS; root++) {
		used += naming_owners_left_ns(&o, A, root, 0);
		naming_owners_charge(&o, A, root, 0, naming_owners_left_ns(&o, A, root, 0));
	}
	ok(used == NAMING_OWNERS_MAX_NS, "all owners together do not exceed the common limit");
	ok(naming_owners_left_ns(&o, A, 0, 1000) == NAMING_OWNER_MIN_NS,
	   "an owner that comes after the limit is used up still gets a little");
	naming_owners_charge(&o, A, 0, 1000, NAMING_OWNER_MIN_NS / 2);
	ok(naming_owners_left_ns(&o, A, 0, 1000) == NAMING_OWNER_MIN_NS / 2,
	   "that little is given once");
	naming_owners_done(&o);
}

static void test_many(void)
{
	uint64_t sum = 0;

	naming_owners_init(&o, false);
	for (uint32_t user = 1; user <= 4 * NAMING_MAX_OWNERS; user++) {
		uint64_t left = naming_owners_left_ns(&o, A, 0, user);

		sum += left;
		naming_owners_charge(&o, A, 0, user, left);
	}
	ok(sum <= NAMING_OWNERS_MAX_NS + NAMING_LATE_MAX_NS + 4ull * NAMING_MAX_OWNERS,
	   "the total is bounded for any number of owners: %llu ms", sum / NS_PER_MS);
	naming_owners_done(&o);
}

/* Of many who spend all they have, those who come later have something still. */
static void test_late(void)
{
	naming_owners_init(&o, false);
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
	naming_owners_init(&o, false);
	for (uint32_t user = 1000; user < 1010; user++)
		naming_owners_charge(&o, NAMING_LINES, 0, user, NAMING_OWNER_MAX_NS);
	ok(naming_owners_left_ns(&o, NAMING_LINES, 0, 1000) == 1,
	   "lines can use the whole allowance of lines");
	ok(naming_owners_left_ns(&o, NAMING_SYMBOLS, 0, 1000) == NAMING_OWNER_MAX_NS,
	   "lines do not reduce the allowance of symbols");
	naming_owners_done(&o);
}

static void test_interrupted(void)
{
	naming_owners_init(&o, true);
	ok(naming_owners_left_ns(&o, A, 0, 1000) == NAMING_OWNER_MAX_NS / NAMING_INTERRUPTED_PART,
	   "after an interrupt an owner gets a small part of the usual time");
	naming_owners_charge(&o, A, 1, 0, NAMING_OWNERS_MAX_NS / NAMING_INTERRUPTED_PART);
	ok(naming_owners_left_ns(&o, A, 0, 1000) == NAMING_OWNER_MIN_NS / NAMING_INTERRUPTED_PART,
	   "after an interrupt an owner that comes late gets the same part of its minimum");
	naming_owners_done(&o);
}

int main(void)
{
	test_interrupted();
	test_accounts();
	test_one();
	test_all();
	test_many();
	test_late();
	return tap_done();
}
