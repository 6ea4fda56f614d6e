/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A jitdump (tools/perf/Documentation/jitdump-specification.txt of Linux): a header, then records,
 * each with its size and time. LOAD gives the address and name of a function, and contains its
 * code, which is skipped; MOVE gives a loaded function another address; DEBUG_INFO precedes the
 * LOAD to which its lines belong. This file handles addresses and times, not names.
 */
#ifndef SYMBOLIZE_JITDUMP_FILE_H
#define SYMBOLIZE_JITDUMP_FILE_H

#include "base/cursor.h"
#include "symbolize/jit_cover.h"
#include "symbolize/jit_internal.h"

#define JITDUMP_MAX_RECORDS (1u << 24)

#define JITDUMP_PREFIX_BYTES 16
#define JITDUMP_LOAD_BYTES (JITDUMP_PREFIX_BYTES + 40) /* then the name, then the code */

enum { JITDUMP_LOAD = 0, JITDUMP_MOVE = 1, JITDUMP_DEBUG = 2 };

struct jitdump_file {
	struct jit_reader reader;
	bool has_times;    /* on our clock */
	uint64_t first;    /* offset of the first record */
	uint64_t until_ns; /* later records are skipped; initially none */
};

struct jitdump_record {
	uint64_t offset;
	uint32_t id, size;
	uint64_t time_ns;
};

struct jitdump_code {
	uint64_t start, end; /* run-time addresses */
	uint64_t index;      /* the writer's number for it, at all its addresses */
};

/* -ENOMEM; -EBADMSG: not a jitdump. Call jitdump_close() in all cases. */
int jitdump_open(struct jitdump_file *f, int fd, const struct cancel *cancel);
void jitdump_close(struct jitdump_file *f);

struct cursor jitdump_bytes(struct jitdump_file *f, uint64_t offset, size_t want);

/* 1: there is a record; 0: end of the file; -EBADMSG: reading cannot continue. */
int jitdump_record_at(struct jitdump_file *f, uint64_t offset, struct jitdump_record *ret);

/* False: the record is invalid. */
bool jitdump_read_load(struct jitdump_file *f, const struct jitdump_record *rec,
		       struct jitdump_code *ret);
bool jitdump_read_move(struct jitdump_file *f, const struct jitdump_record *rec,
		       struct jitdump_code *ret);

/* Iterates over the pieces of code. */
struct jitdump_walk {
	struct jitdump_file *file; /* borrowed */
	struct jit_counts *counts; /* borrowed */
	uint64_t at;
	uint64_t debug; /* 1 + offset of the DEBUG_INFO that precedes its LOAD */
	uint32_t nr;
};

struct jitdump_change {
	struct jitdump_code code;
	uint64_t time_ns;
	/* 1 + offset of its LOAD, or of the DEBUG_INFO before it, or of the MOVE; increasing. */
	uint64_t number;
};

void jitdump_walk_init(struct jitdump_walk *w, struct jitdump_file *f, struct jit_counts *counts);
bool jitdump_walk_next(struct jitdump_walk *w, struct jitdump_change *ret);

/* The records that cover each of a few addresses. */
struct jitdump_hits {
	struct jit_cover cover; /* of all records */
	/* owned; by address: the record that applied at its time; 0: none */
	uint64_t *numbers;
};

/* Everything is borrowed until jitdump_hits_done(), which is needed in all cases; addrs: sorted.
 * Code that ran before its record belongs to the first record, since nothing else was there until
 * then. -ENOMEM. */
int jitdump_hits_init(struct jitdump_hits *h, struct jitdump_file *f, const uint64_t *addrs,
		      const uint64_t *times_ns, uint32_t nr, struct jit_counts *counts);
void jitdump_hits_done(struct jitdump_hits *h);

#endif
