/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One batch of symbolization: the addresses of one source of symbols (a file, the kernel, the
 * generated code of one process) and the reply. A batch is run by one thread and does not touch the
 * model: it has a copy of all that it needs, and the reply belongs to the batch until it is
 * applied.
 */
#ifndef NAMES_NAMING_BATCH_H
#define NAMES_NAMING_BATCH_H

#include "names/naming_budget.h"
#include "names/naming_job.h"
#include "names/naming_owners.h"
#include "symbolize/symbol_reply.h"

/* Whether a location was resolved. */
struct naming_outcome {
	bool is_named, is_raw;
	enum naming_failure failure; /* if it was not resolved */
};

/* Shared by all batches. */
struct naming_env {
	struct naming_job *job; /* borrowed */
	/* a batch has failed: the results of the others are not needed */
	atomic_bool is_over;
	struct naming_outcome *outcomes; /* by location; for naming_builtins; NULL: not needed */
	struct naming_budget budget;     /* has a lock of its own */
	struct naming_owners owners;     /* has a lock of its own */
	bool is_hasty;       /* the user waited from the beginning: names first, then lines */
	bool puts_off_lines; /* constant while batches run */
};

/* An address to be resolved. */
struct naming_item {
	uint64_t address;
	uint64_t version;  /* see struct profile_location */
	uint32_t location; /* number in the model */
	uint32_t rank;     /* of its mapping, by source */
	uint32_t
		/* number of its answer in the job's shared names, plus 1; 0: it has to be
		 * resolved */
		known;
};

/* The items of one mapping. */
struct naming_part {
	bool has_mapping;
	/* number of the mapping; for no mapping, one more than the last */
	uint32_t number;
	struct profile_mapping mapping; /* a copy */
	struct naming_item *items;      /* borrowed */
	uint32_t nr_items;
	uint32_t nr_asked;       /* of nr_items: to be resolved */
	struct naming_note note; /* why its addresses have no symbol */
};

struct naming_batch {
	struct naming_part *parts; /* borrowed; all of one source */
	uint32_t nr_parts;
	uint32_t nr_asked;   /* items of all parts that have to be resolved */
	uint64_t size_bytes; /* size of what is to be read, as far as known in advance */

	/* naming_known.c */
	bool is_shared;  /* answers may be kept for other models */
	uint64_t state;  /* state of the source, if is_shared */
	bool has_source; /* the shared names have the source, in that state: */
	uint32_t source;

	/* The outcome; belongs to the thread that runs the batch, then to the one that applies it. */
	int result;
	uint64_t nr_frames;        /* of samples, in its mappings; 0 unless the job is hasty */
	struct symbol_reply reply; /* answers in the order of the items; none: out of memory */
	/* why the answers without a symbol have none, unless their flags say more */
	enum naming_failure unnamed;
	uint64_t took_ns;   /* time without waiting for memory */
	uint64_t waited_ns; /* time spent waiting for memory */
	bool is_fallback;
	bool is_interrupted; /* by the deadline, before all of its symbols were read */
};

/* Prepares the source and runs its job; result is 0, -ECANCELED or an error that ends
 * symbolization. If memory runs out, only symbols are missing. If the batch has a reply already, that one
 * stays unless the new one is better. */
void naming_batch_run(struct naming_env *env, struct naming_batch *b);

/* True if there is debug information that was not read to its end, since the user waited. */
bool naming_batch_lacks_lines(const struct naming_batch *b);

/* For struct cancel: whether to read no more of a source, because symbolization was cancelled or its time is
 * over; and whether to read no more of its lines. */
bool naming_is_over_or_late(const void *env);
bool naming_lines_are_over(const void *env);

/* True if symbolization was cancelled, or has failed. */
bool naming_is_over(const struct naming_env *env);
bool naming_is_over_cb(const void *env); /* for struct cancel */

/* naming_builtins.c: symbols of code in files, from processes that list such code as their own. They are found
 * before any batch is run (-ENOMEM), and used for the addresses that files could not resolve, when all
 * batches are applied (-ECANCELED; NULL: none). If there is no memory, the file's names stay. */
#define NAMING_MAX_PROVIDERS 64 /* each holds two descriptors; further ones are not used */
struct naming_builtins;
int naming_builtins_new(struct naming_env *env, struct naming_builtins **ret_builtins);
int naming_builtins_ask(struct naming_builtins *t);
struct naming_builtins *naming_builtins_free(struct naming_builtins *t);
DEFINE_CLEANUP(struct naming_builtins *, naming_builtins_free)

/* An answer, from a reply or from the shared names. */
struct naming_answer {
	const struct symbol_reply_frame *frames;
	uint32_t nr_frames, flags;
	const char *strings;        /* the frames' strings, by offset; NULL: they are numbers */
	const struct strtab *table; /* of strings in this table */
};

/* Stores an answer in the model. -ENOMEM, -E2BIG. */
int naming_set_lines(struct profile *p, uint32_t location, const struct naming_answer *a);
int naming_apply_answer(struct profile *p, const struct symbol_reply *reply, uint32_t location,
			const struct symbol_answer *a);

/* Frees the results. */
void naming_batch_clear(struct naming_batch *b);

#endif
