/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shared_rules.h"

#include <errno.h>

#include "base/array.h"

#define MAX_RESTING (1u << 22)

int shared_rules_init(struct shared_rules *s, struct tables *tables)
{
	int r;

	*s = (struct shared_rules){ .tables = tables };
	r = rule_dict_init(&s->dict);
	if (r == 0 && tables)
		for (uint32_t id = 0; id < s->dict.nr; id++)
			tables_set_rule(tables, (uint16_t)id, s->dict.rules[id]);
	return r;
}

void shared_rules_done(struct shared_rules *s)
{
	for (uint32_t i = 0; i < s->nr_resting; i++)
		free(s->resting[i].held.ids);
	free(s->resting);
	rule_dict_done(&s->dict);
	*s = (struct shared_rules){ 0 };
}

static void let_go(struct shared_rules *s, struct held_rules *held)
{
	for (uint32_t i = 0; i < held->nr; i++)
		rule_dict_let_go(&s->dict, held->ids[i]);
	free(held->ids);
	*held = (struct held_rules){ 0 };
}

/* The kernel's copy is written before the table that names it. */
static int hold(struct shared_rules *s, pa_rule word, uint16_t *ret_id)
{
	int r = rule_dict_hold(&s->dict, word, ret_id);

	if (r == 0 && s->tables)
		tables_set_rule(s->tables, *ret_id, s->dict.rules[*ret_id]);
	return r;
}

/* numbers: by place in words. */
static int hold_all(struct shared_rules *s, const struct unwind_table *t, const pa_rule *words,
		    uint16_t *numbers, struct held_rules *held)
{
	for (; held->nr < t->nr_rules; held->nr++) {
		uint16_t own = t->rules[held->nr];
		int r = hold(s, words[own], &numbers[own]);

		if (r < 0)
			return r;
		held->ids[held->nr] = numbers[own];
		held->nr_refused += numbers[own] == PA_RULE_ID_USER;
	}
	return 0;
}

int shared_rules_enter(struct shared_rules *s, struct unwind_table *t, const pa_rule *words,
		       uint32_t nr, struct held_rules *ret_held)
{
	struct held_rules held = { .ids = calloc(t->nr_rules + 1, sizeof(*held.ids)) };
	uint16_t *numbers = calloc(nr, sizeof(*numbers));
	int r = -ENOMEM;

	if (held.ids && numbers) {
		numbers[PA_RULE_ID_USER] = PA_RULE_ID_USER;
		r = hold_all(s, t, words, numbers, &held);
	}
	if (r < 0)
		let_go(s, &held);
	else
		unwind_table_renumber(t, numbers);
	free(numbers);
	if (r == 0)
		*ret_held = held;
	return r;
}

void shared_rules_leave(struct shared_rules *s, struct held_rules *held, const uint64_t *ticket)
{
	if (!ticket) {
		let_go(s, held);
		return;
	}
	if (*ticket &&
	    ARRAY_RESERVE(s->resting, s->cap_resting, s->nr_resting + 1, MAX_RESTING) == 0)
		s->resting[s->nr_resting++] = (struct resting_rules){ *held, *ticket };
	else
		free(held->ids); /* the numbers are lost, nothing else */
	*held = (struct held_rules){ 0 };
}

void shared_rules_age(struct shared_rules *s)
{
	uint64_t due = s->tables ? tables_last_due(s->tables) : 0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->nr_resting; i++) {
		struct resting_rules *one = &s->resting[i];

		if (one->ticket <= due)
			let_go(s, &one->held);
		else
			s->resting[kept++] = *one;
	}
	s->nr_resting = kept;
}
