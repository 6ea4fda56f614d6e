/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits how long the agent waits for each user. Every request to the reader has a payer, the user
 * of the process or root in question, and the reader's sleep is charged to that user, whether the
 * request was answered or not: a file system that is slow on purpose costs as much as a silent one.
 * When a user's account is used up, none of the user's files is opened any more. /proc text about
 * the user's processes is still read, with a short deadline, until that itself has cost as much:
 * without it the processes would have no mappings. All users but root also share a limit; beyond
 * it, users above an equal share of it have short deadlines, and no one is refused because of
 * others. Accounts (accounts.h) recover slowly, so that no one is refused for the rest of a long
 * capture. Any thread.
 */
#ifndef PROC_WAIT_ACCOUNTS_H
#define PROC_WAIT_ACCOUNTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "proc/accounts.h"
#include "proc/reader.h"

#define WAIT_ROOTS_MAX 256

/* The purpose of a request. */
enum wait_kind {
	WAIT_FILE, /* opens or copies a file, or reads memory */
	WAIT_TEXT, /* reads text of /proc, which rarely sleeps unless someone arranged that */
};

/* 0: the default. */
struct wait_limits {
	uint64_t user_ns; /* time asleep per user, and as much again for text */
	/* for all users but root; beyond it the slowest have short deadlines */
	uint64_t all_ns;
	uint64_t root_ns;     /* for root; beyond it its deadlines are short */
	uint64_t hurry_ns;    /* for all together, once the user has asked to finish */
	uint64_t deadline_ns; /* per step of a request */
	/* per step, over a limit or after the user has asked to finish */
	uint64_t short_deadline_ns;
};

struct wait_accounts {
	pthread_mutex_t lock; /* protects the members below, except is_clean */
	struct wait_limits limits;
	struct accounts users; /* time asleep, and the part of it for text */
	uint64_t all_ns;       /* of all users but root */
	uint64_t hurry_ns;     /* since the user has asked to finish */
	uint64_t last_ns;      /* time of the last credit */
	uint64_t total_ns;     /* in total */
	struct {
		int fd;
		uint64_t payer;
	} roots[WAIT_ROOTS_MAX];
	uint32_t nr_roots;
	atomic_bool is_clean; /* no one was charged yet: payers need not be determined */
	struct cancel hurry;  /* is_asked NULL: never */
};

void wait_accounts_init(struct wait_accounts *a, const struct wait_limits *limits);
void wait_accounts_done(struct wait_accounts *a);

/* Called before a request; returns what it may cost. -ETIMEDOUT: it must not be made; -EDQUOT: it
 * must not be made, and this is to be reported, since it is the payer's first refusal. *ret_wait is
 * then the limit for a request that is made nevertheless: a short deadline. */
int wait_accounts_ask(struct wait_accounts *a, uint64_t payer, enum wait_kind kind,
		      struct reader_wait *ret_wait);

/* Called after a request. */
void wait_accounts_charge(struct wait_accounts *a, uint64_t payer, enum wait_kind kind,
			  uint64_t slept_ns);

/* The payer for a root that is held open and is not our own; PAYER_OTHERS if none was set. */
void wait_accounts_set_root(struct wait_accounts *a, int root_fd, uint64_t payer);
uint64_t wait_accounts_root_payer(struct wait_accounts *a, int root_fd);

/* The total ever charged. */
uint64_t wait_accounts_total_ns(struct wait_accounts *a);

#endif
