/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader of the file knows so far: processes, names of threads, mappings. What a sample
 * needs and a reader does not know yet is written before the sample. This is a cache: an item that
 * was not needed for a while is forgotten, and written again when it is needed again.
 */
#ifndef PERFDATA_PERF_KNOWN_H
#define PERFDATA_PERF_KNOWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/idtable.h"

#define KNOWN_COMM_SIZE 16

enum known_kind {
	KNOWN_PROCESS, /* process: its ID in the tracker */
	KNOWN_THREAD,  /* process: the serial of the process */
	KNOWN_MAPPING, /* process: the serial of the process */
	KNOWN_TID,     /* process: 0, since TIDs are independent of processes */
};

/* Has no padding, since keys are compared as bytes. */
struct known_key {
	uint64_t process;
	uint32_t kind;   /* enum known_kind */
	uint32_t number; /* THREAD, TID: the TID; MAPPING: its file and kind */
	uint64_t start, end, offset, since_ns; /* MAPPING */
};

struct known_item {
	struct known_key key;
	uint64_t used_ns; /* the newest sample that needed it */
	/* PROCESS: unique, never reused; TID: that of its newest process */
	uint64_t serial;
	uint64_t exec_ns; /* PROCESS: start of its newest program */
	/* PROCESS: the time of an exit that is still to be written; 0: none */
	uint64_t end_ns;
	pid_t pid, parent;          /* PROCESS: for that exit */
	char comm[KNOWN_COMM_SIZE]; /* THREAD: its last name */
};

struct known {
	struct idtable index;
	uint64_t seed;            /* of the index: programs choose the addresses */
	struct known_item *items; /* owned */
	uint32_t nr_items, cap_items;
	uint32_t nr_kept; /* number of items left by the last known_forget() */
	uint64_t last_serial;
	uint64_t newest_ns;
};

void known_done(struct known *k);

/* Returns the item for a sample of that time; valid until the next call. *ret_is_new: it was not
 * known before. -ENOMEM, -E2BIG. */
int known_use(struct known *k, const struct known_key *key, uint64_t time_ns,
	      struct known_item **ret_item, bool *ret_is_new);

/* NULL if not known. */
struct known_item *known_find(const struct known *k, const struct known_key *key);

/* Called between samples: forgets items that were not needed for a while, once that is worth the
 * work. */
void known_forget(struct known *k);

#endif
