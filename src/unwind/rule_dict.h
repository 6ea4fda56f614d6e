/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of all binaries, each kept once and known by a 16-bit number. Numbers are given in
 * order and never taken back, so that whoever copies rules to the kernel copies from where it
 * stopped. All files of a machine (38 million rows) have about 5,000 rules.
 */
#ifndef UNWIND_RULE_DICT_H
#define UNWIND_RULE_DICT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/rows.h"

/* One owner at a time: the thread that compiles. */
struct rule_dict {
	pa_rule *rules; /* owned; by number, PA_RULE_ID_NONE and PA_RULE_ID_USER first */
	uint32_t nr;
	uint32_t cap;
	uint16_t *slots; /* owned; a power of two of them, at most half in use */
	uint32_t nr_slots;
	uint64_t nr_refused; /* times that a new rule found no room */
};

int rule_dict_init(struct rule_dict *d); /* -ENOMEM */
void rule_dict_done(struct rule_dict *d);

bool rule_dict_find(const struct rule_dict *d, pa_rule rule, uint16_t *ret_id);

/* The number of a rule, new if need be. PA_RULE_ID_USER, and counted, when PA_MAX_RULES are there. -ENOMEM. */
int rule_dict_intern(struct rule_dict *d, pa_rule rule, uint16_t *ret_id);

#endif
