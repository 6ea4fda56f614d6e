/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionary of rules that all tables share, here and in the kernel. A table enters with its
 * own numbers and gets those of the dictionary. When it is removed, and nothing in the kernel can
 * read it any more, rules that only it used make room for others. Used by the session's thread.
 */
#ifndef STACKS_SHARED_RULES_H
#define STACKS_SHARED_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/tables.h"
#include "unwind/rule_dict.h"
#include "unwind/table.h"

/* The numbers that a table holds in the dictionary. */
struct held_rules {
	uint16_t *ids; /* owned */
	uint32_t nr;
	uint32_t nr_refused; /* rules without room: their rows are left to user space */
};

struct shared_rules {
	struct rule_dict dict;
	struct tables *tables; /* borrowed; NULL: no kernel reads them */
};

/* s must not be moved until shared_rules_done(); tables may live longer. -ENOMEM. */
int shared_rules_init(struct shared_rules *s, struct tables *tables);
void shared_rules_done(struct shared_rules *s);

/* Renumbers the rows of a table from indexes into words to numbers of the dictionary; a row with an
 * invalid number gets no rule. -ENOMEM: the table is unusable then. */
int shared_rules_enter(struct shared_rules *s, struct unwind_table *t, const pa_rule *words,
		       struct held_rules *ret_held);

/* Releases a removed table's rules. slot: its place in the kernel, which is released as well; NULL:
 * it never was there. */
void shared_rules_leave(struct shared_rules *s, struct held_rules *held,
			const struct table_slot *slot);

#endif
