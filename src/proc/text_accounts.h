/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits how much of /proc/<pid>/maps is read per user. A process may have 65,530 mappings under
 * paths of 4 KiB, and forking it costs its user nothing: hundreds of megabytes of text each, and
 * the memory for what is stored of them. An ordinary list is always read; the rest is charged to
 * the user (accounts.h). Accounts recover, so that no one is refused for the rest of a long
 * capture. May be called by any thread.
 */
#ifndef PROC_TEXT_ACCOUNTS_H
#define PROC_TEXT_ACCOUNTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "proc/accounts.h"

#define TEXT_FREE_BYTES (64u << 10) /* per list: a browser's has 100 KiB, a shell's 3 */
#define TEXT_USER_BYTES (64ull << 20)
#define TEXT_BYTES_PER_S (1ull << 20) /* credited to a user's account */

struct text_accounts {
	pthread_mutex_t lock;  /* protects the members below */
	struct accounts users; /* costs[0]: bytes read */
	bool is_dirty;         /* someone was charged */
	uint64_t last_ns;      /* time of the last credit */
};

void text_accounts_init(struct text_accounts *a);
void text_accounts_done(struct text_accounts *a);

/* True if no one was charged: payers need not be determined. */
bool text_accounts_are_clean(struct text_accounts *a);

/* How long a list may be. */
uint64_t text_accounts_max_bytes(struct text_accounts *a, uint64_t payer);

/* Charges what was read. True if that was incomplete, and not reported for this payer before. */
bool text_accounts_charge(struct text_accounts *a, uint64_t payer, uint64_t bytes,
			  bool is_truncated);

#endif
