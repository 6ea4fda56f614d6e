/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#include "tap.h"
#include "unwind/rule_dict.h"

static void test_fixed(void)
{
	struct rule_dict d;

	must(rule_dict_init(&d) == 0);
	ok(d.rules[PA_RULE_ID_NONE] == PA_RULE_WORD_NONE, "the first rule is none");
	ok(d.rules[PA_RULE_ID_USER] == PA_RULE_WORD_USER, "the second is for user space");
	ok(d.nr == 2, "there are no others at first");
	rule_dict_done(&d);
}

static void test_intern(void)
{
	struct rule_dict d;
	uint16_t a, b, again;

	must(rule_dict_init(&d) == 0);
	must(rule_dict_intern(&d, 0x1234, &a) == 0 && rule_dict_intern(&d, 0x5678, &b) == 0);
	must(rule_dict_intern(&d, 0x1234, &again) == 0);
	ok(a == 2 && b == 3, "numbers are given in order");
	ok(again == a && d.nr == 4, "a rule has one number");
	ok(rule_dict_find(&d, 0x5678, &again) && again == b, "a rule is found");
	ok(!rule_dict_find(&d, 0x9999, &again) && d.nr == 4, "finding adds nothing");
	rule_dict_done(&d);
}

static void test_full(void)
{
	struct rule_dict d;
	uint16_t id = 0;
	bool all = true;

	must(rule_dict_init(&d) == 0);
	for (uint64_t i = 2; i < PA_MAX_RULES; i++)
		all &= rule_dict_intern(&d, i << 9, &id) == 0 && id == i;
	ok(all && d.nr == PA_MAX_RULES, "65535 rules have a number each");
	ok(d.nr_refused == 0, "nothing was refused so far");
	ok(rule_dict_intern(&d, 1ull << 60, &id) == 0 && id == PA_RULE_ID_USER,
	   "one more becomes a rule for user space");
	ok(d.nr_refused == 1 && d.nr == PA_MAX_RULES, "which is counted");
	ok(rule_dict_intern(&d, 1000u << 9, &id) == 0 && id == 1000, "known ones are still found");
	rule_dict_done(&d);
}

int main(void)
{
	test_fixed();
	test_intern();
	test_full();
	return tap_done();
}
