/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules, each kept once and known by a 16-bit number; one dictionary for the rules of a file, and one
 * for those of all. Numbers are given in order; those of rules that somebody holds come back when
 * nobody does any more, and are given again. All files of a machine (38 million rows) have about
 * 5,000 rules.
 */
#ifndef UNWIND_RULE_DICT_H
#define UNWIND_RULE_DICT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/rows.h"

/* One owner at a time. */
struct rule_dict {
	pa_rule *rules; /* owned; by number, PA_RULE_ID_NONE and PA_RULE_ID_USER first */
	uint32_t nr;    /* numbers that were ever given */
	uint32_t cap;
	uint32_t max;    /* of rules; PA_MAX_RULES unless somebody sets it */
	uint32_t *holds; /* owned; by number */
	uint32_t cap_holds;
	uint32_t nr_free;    /* numbers that came back */
	uint32_t first_free; /* of them; its word is the next one's number */
	uint16_t *slots;     /* owned; a power of two of them, at most half in use */
	uint32_t nr_slots;
	uint64_t nr_refused; /* times that a new rule found no room */
};

int rule_dict_init(struct rule_dict *d); /* -ENOMEM */
void rule_dict_done(struct rule_dict *d);

bool rule_dict_find(const struct rule_dict *d, pa_rule rule, uint16_t *ret_id);

/* The number of a rule, new if need be. PA_RULE_ID_USER, and counted, when there is no room. -ENOMEM. */
int rule_dict_intern(struct rule_dict *d, pa_rule rule, uint16_t *ret_id);

/* The same, and the number is held until it is let go as often. The two fixed ones stay anyway. */
int rule_dict_hold(struct rule_dict *d, pa_rule rule, uint16_t *ret_id);
void rule_dict_let_go(struct rule_dict *d, uint16_t id);

uint32_t rule_dict_room(const struct rule_dict *d); /* for how many new rules */

#endif
