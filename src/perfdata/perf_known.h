/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader of the file knows so far: processes, names of threads, mappings. What a sample needs
 * and is not known is written before it. It is a cache: what was not needed for a while is forgotten
 * and, when it is needed again, written again.
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
	KNOWN_MAPPING, /* likewise */
	KNOWN_TID,     /* 0: of whatever process */
};

/* Without padding: compared as bytes. */
struct known_key {
	uint64_t process;
	uint32_t kind;   /* enum known_kind */
	uint32_t number; /* THREAD, TID: its TID; MAPPING: its file and kind */
	uint64_t start, end, offset, since_ns; /* MAPPING */
};

struct known_item {
	struct known_key key;
	uint64_t used_ns;           /* the newest sample that needed it */
	uint64_t serial;            /* PROCESS: never the same again; TID: of its newest process */
	uint64_t exec_ns;           /* PROCESS: of its newest program */
	uint64_t end_ns;            /* PROCESS: its exit is due; 0: it is not */
	pid_t pid, parent;          /* PROCESS: of that exit */
	char comm[KNOWN_COMM_SIZE]; /* THREAD: its newest name */
};

struct known {
	struct idtable index;
	uint64_t seed;            /* of the index: programs choose their addresses */
	struct known_item *items; /* owned */
	uint32_t nr_items, cap_items;
	uint32_t nr_kept; /* when it was last cleared of old ones */
	uint64_t last_serial;
	uint64_t newest_ns;
};

void known_done(struct known *k);

/* The item, for a sample of that time; valid until the next call. *ret_is_new: was not known. -ENOMEM,
 * -E2BIG. */
int known_use(struct known *k, const struct known_key *key, uint64_t time_ns,
	      struct known_item **ret_item, bool *ret_is_new);

/* NULL: not known. */
struct known_item *known_find(const struct known *k, const struct known_key *key);

/* Between samples: forgets what was not needed for a while, if that is worth the work. */
void known_forget(struct known *k);

#endif
