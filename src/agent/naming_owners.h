/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time for names out of files that somebody else has put there, by whom: a user's files in one root.
 * One owner cannot take all of it, all together cannot keep a capture from ending, and whoever comes last
 * has a little at least. Symbols and lines have an account each: lines cost far more, and must
 * not take the next file's symbols.
 */
#ifndef AGENT_NAMING_OWNERS_H
#define AGENT_NAMING_OWNERS_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"

enum naming_account {
	NAMING_SYMBOLS, /* .gnu_debugdata, FDEs and the search for debug files are of these */
	NAMING_LINES,
	NR_NAMING_ACCOUNTS,
};

#define NAMING_OWNER_MAX_NS (5 * NS_PER_S) /* of each account, as all that follows */
#define NAMING_OWNER_MIN_NS (250 * NS_PER_MS)
#define NAMING_OWNERS_MAX_NS (12 * NS_PER_S)
/* For all who come when that is used up: each has at most this part of what is left of it. Who makes hundreds
 * of owners (subordinate users, mount namespaces) makes his own shares small; the sum stays what it is. */
#define NAMING_LATE_MAX_NS (5 * NS_PER_S)
#define NAMING_LATE_PARTS 16
#define NAMING_MAX_OWNERS 512 /* the rest are one */

struct naming_owner {
	uint32_t root;
	uid_t user;
	uint64_t used_ns[NR_NAMING_ACCOUNTS];
};

struct naming_owners {
	pthread_mutex_t lock; /* of all below */
	struct naming_owner items[NAMING_MAX_OWNERS];
	uint32_t nr;
	uint64_t used_ns[NR_NAMING_ACCOUNTS];
};

void naming_owners_init(struct naming_owners *o);
void naming_owners_done(struct naming_owners *o);

/* Any thread. What is left is never 0, which is no limit elsewhere. */
uint64_t naming_owners_left_ns(struct naming_owners *o, enum naming_account account, uint32_t root,
			       uid_t user);
void naming_owners_charge(struct naming_owners *o, enum naming_account account, uint32_t root,
			  uid_t user, uint64_t cpu_ns);

#endif
