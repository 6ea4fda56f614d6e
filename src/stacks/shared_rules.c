/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/shared_rules.h"

#include <errno.h>

static void let_go(void *rules, const uint16_t *ids, uint32_t nr)
{
	struct shared_rules *s = rules;

	for (uint32_t i = 0; i < nr; i++)
		rule_dict_let_go(&s->dict, ids[i]);
}

int shared_rules_init(struct shared_rules *s, struct tables *tables)
{
	int r;

	*s = (struct shared_rules){ .tables = tables };
	r = rule_dict_init(&s->dict);
	if (r < 0 || !tables)
		return r;
	for (uint32_t id = 0; id < s->dict.nr; id++)
		tables_set_rule(tables, (uint16_t)id, s->dict.rules[id]);
	tables_on_let_go(tables, let_go, s);
	return 0;
}

void shared_rules_done(struct shared_rules *s)
{
	if (s->tables)
		tables_on_let_go(s->tables, NULL, NULL);
	rule_dict_done(&s->dict);
	*s = (struct shared_rules){ 0 };
}

/* The kernel's copy is written before the table that uses it. */
static int hold_rule(struct shared_rules *s, pa_rule word, uint16_t *ret_id)
{
	int r = rule_dict_hold(&s->dict, word, ret_id);

	if (r == 0 && s->tables)
		tables_set_rule(s->tables, *ret_id, s->dict.rules[*ret_id]);
	return r;
}

/* numbers: those of the dictionary, by index in words. */
static int hold_all(struct shared_rules *s, const struct unwind_table *t, const pa_rule *words,
		    uint16_t *numbers, struct held_rules *held)
{
	for (; held->nr < t->nr_rules; held->nr++) {
		uint16_t own = t->rules[held->nr];
		int r = hold_rule(s, words[own], &numbers[own]);

		if (r < 0)
			return r;
		held->ids[held->nr] = numbers[own];
		held->nr_refused += numbers[own] == PA_RULE_ID_USER;
	}
	return 0;
}

int shared_rules_enter(struct shared_rules *s, struct unwind_table *t, const pa_rule *words,
		       struct held_rules *ret_held)
{
	struct held_rules held = { .ids = calloc(t->nr_rules + 1, sizeof(*held.ids)) };
	/* room for any number that a row may have */
	uint16_t *numbers = calloc(UINT16_MAX + 1, sizeof(*numbers));
	int r = -ENOMEM;

	if (held.ids && numbers) {
		numbers[PA_RULE_ID_USER] = PA_RULE_ID_USER;
		r = hold_all(s, t, words, numbers, &held);
	}
	if (r < 0)
		shared_rules_leave(s, &held, NULL);
	else
		unwind_table_renumber(t, numbers);
	free(numbers);
	if (r == 0)
		*ret_held = held;
	return r;
}

void shared_rules_leave(struct shared_rules *s, struct held_rules *held,
			const struct table_slot *slot)
{
	if (slot) {
		tables_retire(s->tables, slot, held->ids, held->nr);
	} else {
		let_go(s, held->ids, held->nr);
		free(held->ids);
	}
	*held = (struct held_rules){ 0 };
}
