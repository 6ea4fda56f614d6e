/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#include "tap.h"
#include "unwind/rule_dict.h"

static void test_fixed(void)
{
	struct rule_dict d;

	must(rule_dict_init(&d) == 0);
	ok(d.rules[PA_RULE_ID_NONE] == PA_RULE_WORD_NONE, "rule 0 is none");
	ok(d.rules[PA_RULE_ID_USER] == PA_RULE_WORD_USER, "rule 1 is for user space");
	ok(d.nr == 2, "there are no other rules at first");
	rule_dict_done(&d);
}

static void test_intern(void)
{
	struct rule_dict d;
	uint16_t a, b, again;

	must(rule_dict_init(&d) == 0);
	must(rule_dict_intern(&d, 0x1234, &a) == 0 && rule_dict_intern(&d, 0x5678, &b) == 0);
	must(rule_dict_intern(&d, 0x1234, &again) == 0);
	ok(a == 2 && b == 3, "numbers are assigned in order");
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
	ok(d.nr_refused == 0, "no rule was refused so far");
	ok(rule_dict_intern(&d, 1ull << 60, &id) == 0 && id == PA_RULE_ID_USER,
	   "one rule more becomes a rule for user space");
	ok(d.nr_refused == 1 && d.nr == PA_MAX_RULES, "a refused rule is counted");
	ok(rule_dict_intern(&d, 1000u << 9, &id) == 0 && id == 1000, "known rules are still found");
	rule_dict_done(&d);
}

/* Many come and go, in no order; each stays found while it is held. */
static void test_let_go(void)
{
	enum { NR = 400 };
	struct rule_dict d;
	uint16_t ids[NR], id;
	bool is_held[NR] = { false };
	uint32_t nr_lost = 0, nr_held = 0, random = 1;

	must(rule_dict_init(&d) == 0);
	for (int i = 0; i < 100000; i++) {
		uint32_t k = (random = random * 1664525u + 1013904223u) >> 8, at = k % NR;
		pa_rule rule = (pa_rule)(at + 1) << 9;

		if (is_held[at])
			rule_dict_let_go(&d, ids[at]);
		else
			must(rule_dict_hold(&d, rule, &ids[at]) == 0);
		is_held[at] = !is_held[at];
		nr_held += is_held[at] ? 1 : -1u;
		at = (k >> 12) % NR;
		if (rule_dict_find(&d, (pa_rule)(at + 1) << 9, &id) != is_held[at] ||
		    (is_held[at] && id != ids[at]))
			nr_lost++;
	}
	ok(nr_lost == 0, "a rule is found while it is held, and not longer");
	ok(d.nr - d.nr_free == 2 + nr_held && d.nr <= 2 + NR, "freed numbers are reused");
	rule_dict_done(&d);
}

static void test_held_twice(void)
{
	struct rule_dict d;
	uint16_t a, b;

	must(rule_dict_init(&d) == 0);
	d.max = 3;
	must(rule_dict_hold(&d, 0x1234, &a) == 0 && rule_dict_hold(&d, 0x1234, &b) == 0 && a == b);
	rule_dict_let_go(&d, a);
	ok(rule_dict_hold(&d, 0x5678, &b) == 0 && b == PA_RULE_ID_USER,
	   "a rule with another holder stays");
	rule_dict_let_go(&d, b);
	rule_dict_let_go(&d, a);
	ok(rule_dict_hold(&d, 0x5678, &b) == 0 && b == a, "without a holder its number is reused");
	ok(d.rules[PA_RULE_ID_USER] == PA_RULE_WORD_USER, "the fixed rules are never freed");
	rule_dict_done(&d);
}

int main(void)
{
	test_fixed();
	test_intern();
	test_full();
	test_let_go();
	test_held_twice();
	return tap_done();
}
