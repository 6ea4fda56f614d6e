/* SPDX-License-Identifier: Apache-2.0 */
/* Time is shared between the users of targets: in each round each of them may take a little of it, so
 * that slow processes of one user do not use up the time of the others. */
#ifndef AGENT_PYTHON_SHARES_H
#define AGENT_PYTHON_SHARES_H

#include <stdbool.h>
#include <stdint.h>

struct python_share {
	uint64_t payer, used_ns;
	uint32_t nr_unanswered;
};

struct python_shares {
	struct python_share *items; /* owned */
	uint32_t nr, cap;
};

#define PYTHON_NO_USER UINT32_MAX /* has no share, and all the time */

/* The index of a user (procfs_payer()). Beyond the limit they share the last one. */
uint32_t python_shares_of(struct python_shares *s, uint64_t payer);

void python_shares_new_round(struct python_shares *s);
bool python_shares_has_time(const struct python_shares *s, uint32_t user);
void python_shares_charge(struct python_shares *s, uint32_t user, uint64_t ns);

/* A process has not answered at all. A user who has several of those gets no more time: false. */
void python_shares_note_unanswered(struct python_shares *s, uint32_t user);
bool python_shares_is_served(const struct python_shares *s, uint32_t user);
void python_shares_done(struct python_shares *s);

#endif
