/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules, each stored once and identified by a 16-bit number; one dictionary per file during
 * compilation, and one for all files. Numbers are assigned in order; numbers that nobody holds any
 * more are reused. All files of a machine (38 million rows) have about 5,000 rules.
 */
#ifndef UNWIND_RULE_DICT_H
#define UNWIND_RULE_DICT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/rows.h"

/* Used by one thread at a time. */
struct rule_dict {
	pa_rule *rules; /* owned; by number, PA_RULE_ID_NONE and PA_RULE_ID_USER first */
	uint32_t nr;    /* numbers assigned so far */
	uint32_t cap;
	uint32_t max;    /* limit on rules; PA_MAX_RULES by default */
	uint32_t *holds; /* owned; by number */
	uint32_t cap_holds;
	uint32_t nr_free;    /* freed numbers */
	uint32_t first_free; /* list of freed numbers; each word is the next number */
	uint16_t *slots;     /* owned; a power of two, at most half in use */
	uint32_t nr_slots;
	uint64_t nr_refused; /* times that a new rule found no room */
};

int rule_dict_init(struct rule_dict *d); /* -ENOMEM */
void rule_dict_done(struct rule_dict *d);

bool rule_dict_find(const struct rule_dict *d, pa_rule rule, uint16_t *ret_id);

/* The number of a rule, assigned if necessary. If there is no room, PA_RULE_ID_USER, which is
 * counted. -ENOMEM. */
int rule_dict_intern(struct rule_dict *d, pa_rule rule, uint16_t *ret_id);

/* As rule_dict_intern(), and also takes a hold on the number, which the caller must release. The
 * two fixed numbers are permanent. */
int rule_dict_hold(struct rule_dict *d, pa_rule rule, uint16_t *ret_id);
void rule_dict_let_go(struct rule_dict *d, uint16_t id);

uint32_t rule_dict_room(const struct rule_dict *d); /* number of new rules that would fit */

#endif
