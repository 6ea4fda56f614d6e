/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One batch of naming: the addresses that one source names (a file, the kernel, a process's own
 * code), and what it answered. A batch is worked on by one thread and touches nothing of the model:
 * what it needs of it was copied before, and its answers are its own until they are applied.
 */
#ifndef AGENT_NAMING_BATCH_H
#define AGENT_NAMING_BATCH_H

#include "agent/capture.h"
#include "agent/naming_budget.h"
#include "agent/naming_owners.h"
#include "base/strtab.h"

/* What is known of a location that was named, or not. */
struct naming_outcome {
	bool is_named, is_raw;
	enum naming_failure failure; /* when it is not named */
};

/* What all batches have in common. */
struct naming_env {
	struct capture *c;               /* borrowed */
	const atomic_bool *cancel;       /* borrowed; NULL: nobody cancels */
	atomic_bool is_over;             /* one has failed: the others are of no use */
	struct naming_outcome *outcomes; /* by location; of naming_told; NULL: nobody asks */
	struct naming_budget budget;     /* has a lock of its own */
	struct naming_owners owners;     /* likewise */
	atomic_ullong hurried_ns; /* when it was first seen that somebody waits; 0: nobody does */
};

/* An address to be named. */
struct naming_item {
	uint64_t address;
	uint64_t version;  /* see struct profile_location */
	uint32_t location; /* of the model */
	uint32_t rank;     /* of its mapping, in the order of sources */
};

/* The items of one mapping. */
struct naming_part {
	bool has_mapping;
	uint32_t number;                /* of the mapping; without one the number after the last */
	struct profile_mapping mapping; /* a copy */
	const struct naming_item *items;
	uint32_t nr_items;
	struct naming_note note; /* of the answers */
};

/* One function at an address; strings are the batch's. */
struct naming_frame {
	uint32_t name, system_name, filename; /* filename 0: not known */
	uint32_t line, start_line;
};

struct naming_answer {
	uint32_t first_frame;
	uint32_t nr_frames; /* 0: there was no room for any */
	bool is_named, is_raw;
	enum naming_failure failure; /* when it is not named */
};

struct naming_batch {
	struct naming_part *parts; /* borrowed; of one source */
	uint32_t nr_parts;
	uint32_t nr_items;   /* of all parts */
	uint64_t size_bytes; /* of what is to be read, as far as known before */

	/* The outcome; of whoever runs the batch, then of whoever applies it. */
	int result;
	struct naming_answer *answers; /* owned; by item; NULL: there was no room for any */
	struct naming_frame *frames;   /* owned */
	uint32_t nr_frames, cap_frames;
	struct strtab strings;
	uint64_t took_ns;   /* without … */
	uint64_t waited_ns; /* for memory */
	bool is_fallback;
	const char *lines_why; /* see struct symbolizer */
	const char *limit_why; /* likewise */
	struct jit_counts jit_counts;
};

/* Opens the source and asks it; result is 0, -ECANCELED or an error that ends naming. What finds no
 * memory costs names only. */
void naming_batch_run(struct naming_env *env, struct naming_batch *b);

/* When reading a source is to be given up: nobody waits for it; or it takes long, and somebody does. */
struct naming_wish {
	const struct naming_env *env;
	uint64_t began_ns;
};
bool naming_is_wished(const void *wish); /* for struct cancel */

/* naming_moments.c: samples whose code had other names at other times go into the model. Before any
 * batch is planned. What takes too long or finds no room is named as it was first, and counted. */
void naming_place_moments(const struct naming_env *env);

/* Whether nobody waits for names any more. */
bool naming_is_over(const struct naming_env *env);

/* Copies what a source has found, whose strings last no longer than itself. -ENOMEM, -E2BIG. */
int naming_batch_keep(struct naming_batch *b, const struct symbol_result *res,
		      struct naming_answer *to);

/* naming_told.c: what processes tell about code that lies in files. Found out before any batch is run
 * (-ENOMEM), and asked for what files could not name when all are applied (-ECANCELED; NULL: nothing
 * is). What finds no room stays as the file has it. */
struct naming_told;
int naming_told_new(struct naming_env *env, struct naming_told **ret_told);
int naming_told_ask(struct naming_told *t);
struct naming_told *naming_told_free(struct naming_told *t);
DEFINE_CLEANUP(struct naming_told *, naming_told_free)

/* Puts an answer into the model. -ENOMEM, -E2BIG. */
int naming_apply_answer(struct profile *p, const struct naming_batch *b, uint32_t location,
			const struct naming_answer *a);

/* Frees what running it has made. */
void naming_batch_clear(struct naming_batch *b);

#endif
