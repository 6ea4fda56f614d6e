/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of addresses, kept from one model of a session for the next: models have most of their
 * code in common, and reading a file's symbols costs far more than looking up an answer. Only
 * answers that depend on nothing but the source are kept: a file, the vDSO, the kernel. Names of
 * generated code depend on the time of the samples, so each model resolves them itself.
 *
 * Used by the thread that symbolizes, except shared_names_forget_file().
 */
#ifndef NAMES_SHARED_NAMES_H
#define NAMES_SHARED_NAMES_H

#include "names/naming_job.h"
#include "symbolize/symbol_reply.h"

/* Above this size nothing is added, and the next model begins with an empty store. */
#define SHARED_NAMES_MAX_BYTES (64ull << 20)

struct shared_source {
	uint64_t state; /* what its answers depend on besides its contents; see naming_known.c */
	struct naming_note note;
};

struct shared_name {
	uint64_t place; /* offset in the file or the vDSO; address in the kernel */
	uint32_t source;
	uint32_t first_frame;
	uint16_t nr_frames;
	uint8_t flags;   /* enum symbol_answer_flags */
	uint8_t failure; /* enum naming_failure if it has no symbol */
};

struct shared_names;

int shared_names_new(struct shared_names **ret_names);
struct shared_names *shared_names_free(struct shared_names *s);
DEFINE_CLEANUP(struct shared_names *, shared_names_free)

void shared_names_clear(struct shared_names *s);
/* True if SHARED_NAMES_MAX_BYTES are in use, or the `max_bytes` that a test has set. */
bool shared_names_is_full(const struct shared_names *s);
void shared_names_limit(struct shared_names *s, uint64_t max_bytes);
uint64_t shared_names_bytes(const struct shared_names *s);
uint32_t shared_names_nr(const struct shared_names *s); /* number of answers */

/* To be called before the number of a file is reused. May be called by any thread. */
void shared_names_forget_file(struct shared_names *s, uint32_t file);

/* The number of a mapping's source. False if there is none. */
bool shared_names_find_source(struct shared_names *s, const struct profile_mapping *m,
			      uint32_t *ret_source);
/* Adds a source, or replaces the existing one. -ENOMEM, -E2BIG. */
int shared_names_add_source(struct shared_names *s, const struct profile_mapping *m,
			    uint32_t *ret_source);
/* Valid until the next source is added. */
struct shared_source *shared_names_source(const struct shared_names *s, uint32_t source);

/* The outcome of reading the list that the kernel's answers are from. */
struct kernel_outcome *shared_names_kernel(struct shared_names *s);

/* The number of an answer. False if there is none. */
bool shared_names_find(const struct shared_names *s, uint32_t source, uint64_t place,
		       uint32_t *ret_name);
/* Copies an answer of a reply; an existing one stays. -ENOMEM; -E2BIG: the store is full. */
int shared_names_add(struct shared_names *s, uint32_t source, uint64_t place,
		     const struct symbol_reply *reply, const struct symbol_answer *a,
		     enum naming_failure failure);

/* Both are valid until the next answer is added. The strings of frames are numbers in the table. */
const struct shared_name *shared_names_get(const struct shared_names *s, uint32_t name);
const struct symbol_reply_frame *shared_names_frames(const struct shared_names *s,
						     const struct shared_name *name);
const struct strtab *shared_names_strings(const struct shared_names *s);

#endif
