/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionary of rules that all tables share, here and in the kernel. A table enters with numbers of
 * its own and gets those of the dictionary; when it goes, and nothing in the kernel can read it any
 * more, what only it has used has room for others. Of the session's thread.
 */
#ifndef AGENT_SHARED_RULES_H
#define AGENT_SHARED_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/tables.h"
#include "unwind/rule_dict.h"
#include "unwind/table.h"

/* Numbers that a table in the dictionary holds. */
struct held_rules {
	uint16_t *ids; /* owned */
	uint32_t nr;
	uint32_t nr_refused; /* rules for which there was no room: their rows are for user space */
};

struct resting_rules {
	struct held_rules held;
	uint64_t ticket; /* of the table, see tables_retire() */
};

struct shared_rules {
	struct rule_dict dict;
	struct tables *tables;         /* borrowed; NULL: there is no kernel that reads them */
	struct resting_rules *resting; /* owned; of tables that the kernel may still read */
	uint32_t nr_resting, cap_resting;
};

int shared_rules_init(struct shared_rules *s, struct tables *tables); /* -ENOMEM */
void shared_rules_done(struct shared_rules *s);

/* Gives the rows of a table, whose numbers are places in words (nr of them), those of the dictionary.
 * -ENOMEM: the table is of no use then. */
int shared_rules_enter(struct shared_rules *s, struct unwind_table *t, const pa_rule *words,
		       uint32_t nr, struct held_rules *ret_held);

/* Of a table that is no more. ticket: of one that was in the kernel; NULL: it never was. */
void shared_rules_leave(struct shared_rules *s, struct held_rules *held, const uint64_t *ticket);

/* Once per turn, after tables_age(). */
void shared_rules_age(struct shared_rules *s);

#endif
