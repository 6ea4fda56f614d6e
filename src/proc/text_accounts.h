/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of /proc/<pid>/maps is read for whom. A process may have 65,530 mappings under paths of 4 KiB,
 * and a fork of it costs its user nothing: hundreds of megabytes of text each, and what is kept of them.
 * An ordinary list is read in any case; what is beyond that is charged to the user (payer.h). Accounts
 * recover, so that nobody is refused for the rest of a long capture.
 *
 * Payers who find no place share the last account. Any thread.
 */
#ifndef PROC_TEXT_ACCOUNTS_H
#define PROC_TEXT_ACCOUNTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define TEXT_FREE_BYTES (64u << 10) /* of one list: a browser's has 100 KiB, a shell's 3 */
#define TEXT_USER_BYTES (64ull << 20)
#define TEXT_BYTES_PER_S (1ull << 20) /* that a user gets back */
#define TEXT_ACCOUNTS_MAX 64

struct text_account {
	uint64_t payer;
	uint64_t bytes; /* less what has been given back */
	bool is_told;
};

struct text_accounts {
	pthread_mutex_t lock; /* of all that follows */
	struct text_account items[TEXT_ACCOUNTS_MAX];
	uint32_t nr;
	uint64_t last_ns; /* when something was last given back */
};

void text_accounts_init(struct text_accounts *a);
void text_accounts_done(struct text_accounts *a);

/* Nobody owes anything: payers need not be found out. */
bool text_accounts_are_clean(struct text_accounts *a);

/* How long a list may be. */
uint64_t text_accounts_max_bytes(struct text_accounts *a, uint64_t payer);

/* What was read. True: it was not all of it, and that has not been told of this payer. */
bool text_accounts_charge(struct text_accounts *a, uint64_t payer, uint64_t bytes, bool is_cut);

#endif
