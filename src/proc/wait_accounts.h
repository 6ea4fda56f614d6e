/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the agent may wait for whom. Every request to the reader has a payer, the user whose process or
 * root it is about, and the time that the reader slept in it is charged to him, whether it was answered
 * or not: a file system that is slow on purpose costs as much as a silent one. Of whoever has used up his
 * share no file is opened any more. Text of /proc about his processes is still read, with a short deadline,
 * until that itself has used up as much: without it his processes would have no mappings. All users but root
 * have a limit together; over it, those who have used more than an equal part of it have short deadlines, and
 * nobody is refused for what others have cost. Accounts recover slowly, so that nobody is refused for the
 * rest of a long capture.
 *
 * The table is never flushed: users who find no place share one account. Root and paths of our own root have
 * their own in any case. Any thread.
 */
#ifndef PROC_WAIT_ACCOUNTS_H
#define PROC_WAIT_ACCOUNTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "proc/reader.h"

#define WAIT_ACCOUNTS_MAX 64
#define WAIT_ROOTS_MAX 256

/* Payers: the number of a user, or one of these. */
#define PAYER_ROOT 0ull             /* the superuser; never refused */
#define PAYER_OWN_ROOT (1ull << 32) /* paths of our own root, of which nobody is to blame */
#define PAYER_OTHERS (1ull << 33)   /* who found no place, or is not known */

/* What a request is for. */
enum wait_kind {
	WAIT_FILE, /* opens or copies a file, or reads memory */
	WAIT_TEXT, /* reads text of /proc, which seldom sleeps unless somebody arranged that */
};

/* 0: the usual one. */
struct wait_limits {
	uint64_t user_ns;     /* asleep, for one user, and once more for text */
	uint64_t all_ns;      /* for all of them but root: then the slowest have short deadlines */
	uint64_t root_ns;     /* for root: then its deadlines are short */
	uint64_t hurry_ns;    /* for all, once the end is asked for */
	uint64_t deadline_ns; /* of one step of a request */
	uint64_t short_deadline_ns; /* the same over a limit or in a hurry */
};

struct wait_account {
	uint64_t payer;
	uint64_t slept_ns; /* less what has been forgiven */
	uint64_t text_ns;  /* of that, for text */
	bool is_told;      /* that it was refused */
};

struct wait_accounts {
	pthread_mutex_t lock; /* of all that follows but is_clean */
	struct wait_limits limits;
	struct wait_account items[WAIT_ACCOUNTS_MAX];
	uint32_t nr;
	uint64_t all_ns;   /* of all users but root */
	uint64_t hurry_ns; /* since the end is asked for */
	uint64_t last_ns;  /* when accounts were last forgiven something */
	uint64_t total_ns; /* ever */
	struct {
		int fd;
		uint64_t payer;
	} roots[WAIT_ROOTS_MAX];
	uint32_t nr_roots;
	atomic_bool is_clean; /* nobody has been charged so far: payers need not be found out */
	struct cancel hurry;  /* is_asked NULL: nobody can ask */
};

void wait_accounts_init(struct wait_accounts *a, const struct wait_limits *limits);
void wait_accounts_done(struct wait_accounts *a);

/* Before a request: what it may cost; -ETIMEDOUT: it is not to be made; -EDQUOT: nor is it, and that is to
 * be told, since it is the payer's first one. *ret_wait is then what the payer may cost with a request that is
 * made all the same: a short deadline. */
int wait_accounts_ask(struct wait_accounts *a, uint64_t payer, enum wait_kind kind,
		      struct reader_wait *ret_wait);

/* After it. */
void wait_accounts_charge(struct wait_accounts *a, uint64_t payer, enum wait_kind kind,
			  uint64_t slept_ns);

/* Who pays for a root that is held open and is not our own; PAYER_OTHERS where nobody was named. */
void wait_accounts_set_root(struct wait_accounts *a, int root_fd, uint64_t payer);
uint64_t wait_accounts_root_payer(struct wait_accounts *a, int root_fd);

/* All that was ever charged. */
uint64_t wait_accounts_total_ns(struct wait_accounts *a);

#endif
