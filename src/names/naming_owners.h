/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time for symbolizing files of other users. An owner is a user in one root. There is a limit for each
 * owner and one for all of them, so that a capture always ends; an owner that comes late still gets a small
 * share. Symbols and lines have separate accounts, because lines cost far more and must not use up the time
 * for the next file's symbols.
 */
#ifndef NAMES_NAMING_OWNERS_H
#define NAMES_NAMING_OWNERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"

enum naming_account {
	NAMING_SYMBOLS, /* with .gnu_debugdata, FDEs and the search for debug files */
	NAMING_LINES,
	NR_NAMING_ACCOUNTS,
};

#define NAMING_OWNER_MAX_NS (5 * NS_PER_S) /* these limits hold for each account */
#define NAMING_OWNER_MIN_NS (250 * NS_PER_MS)
#define NAMING_OWNERS_MAX_NS (12 * NS_PER_S)
/* For owners that come when NAMING_OWNERS_MAX_NS is used up: each gets at most one part of what is left. A
 * user with hundreds of owners (subordinate users, mount namespaces) gets small shares; the sum is limited. */
#define NAMING_LATE_MAX_NS (5 * NS_PER_S)
#define NAMING_LATE_PARTS 16
/* If the user has interrupted the capture and waits for its end, all of these limits are divided by
 * this. */
#define NAMING_INTERRUPTED_PART 20
#define NAMING_MAX_OWNERS 512 /* all further owners share one entry */

struct naming_owner {
	uint32_t root;
	uid_t user;
	uint64_t used_ns[NR_NAMING_ACCOUNTS];
};

struct naming_owners {
	pthread_mutex_t lock; /* protects the members below */
	struct naming_owner items[NAMING_MAX_OWNERS];
	uint32_t nr;
	uint64_t used_ns[NR_NAMING_ACCOUNTS];
	uint64_t part; /* the limits are divided by this */
};

void naming_owners_init(struct naming_owners *o, bool is_interrupted);
void naming_owners_done(struct naming_owners *o);

/* May be called by any thread. The result is never 0, because 0 means unlimited elsewhere. */
uint64_t naming_owners_left_ns(struct naming_owners *o, enum naming_account account, uint32_t root,
			       uid_t user);
void naming_owners_charge(struct naming_owners *o, enum naming_account account, uint32_t root,
			  uid_t user, uint64_t cpu_ns);

#endif
