/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model: what was seen, each thing kept once, in no format. Mappings, locations, functions,
 * stacks, label sets and samples are numbered from 0 in the order of first sight; everything that
 * refers to them does so by number. Writers read it, the session fills it, the naming stage adds
 * functions to locations at the end. One thread at a time.
 */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/strtab.h"

#define PROFILE_NONE UINT32_MAX /* no such thing: a location without a mapping */
#define PROFILE_NO_USER UINT32_MAX
#define PROFILE_MAX_TYPES 2
#define PROFILE_MAX_LABELS 32   /* per sample */
#define PROFILE_MAX_FRAMES 4096 /* per stack */
#define PROFILE_MAX_LINES 1024  /* inline depth of one location */
#define PROFILE_MAX_COMMENTS 1024
#define PROFILE_MAX_THINGS (1u << 26)       /* of each kind: mappings, locations, samples … */
#define PROFILE_MAX_FRAMES_TOTAL (1u << 30) /* of all stacks together: 4 GiB */

enum profile_mapping_kind {
	PROFILE_MAPPING_FILE,
	PROFILE_MAPPING_KERNEL, /* "[kernel]" */
	PROFILE_MAPPING_JIT,    /* "[jit]": code without a file */
	PROFILE_MAPPING_VDSO,   /* "[vdso]" */
};

/* Identity is (kind, owner, offset, size): the same piece of the same file is one mapping in all
 * processes; the start seen first is the base of all its addresses. For JIT code the start belongs
 * to the identity: no file ties two places together. */
struct profile_mapping {
	enum profile_mapping_kind kind;
	uint64_t owner; /* who the bytes belong to: a file's number, for JIT code a process's */
	uint64_t start; /* run-time address */
	uint64_t limit; /* first address after it */
	uint64_t file_offset;
	uint32_t path;      /* string */
	uint32_t build_id;  /* string: hex, 0 when none */
	bool has_functions; /* set by profile_set_lines() */
	bool has_filenames;
	bool has_line_numbers;
	bool has_inline_frames;
};

struct profile_function {
	uint32_t name;        /* string, as people read it */
	uint32_t system_name; /* string, as the symbol table has it */
	uint32_t filename;    /* string, 0: not known */
	uint32_t start_line;  /* 0: not known */
	uint32_t mapping;     /* or PROFILE_NONE; functions of two files are two functions */
};

struct profile_line {
	uint32_t function;
	uint32_t line; /* 0: not known */
};

/* Identity is (mapping, address, version). */
struct profile_location {
	uint32_t mapping;    /* or PROFILE_NONE */
	uint64_t address;    /* rebased to the mapping's start; return addresses already minus 1 */
	uint64_t version;    /* of code that was replaced in its place; 0: as it was seen first */
	uint32_t first_line; /* index into lines[]: innermost first */
	uint32_t nr_lines;   /* 0: not named yet */
	bool is_named;       /* its name came from a symbol, not from an address */
};

struct profile_label {
	uint32_t key; /* string */
	uint32_t str; /* string, 0: the label is a number */
	int64_t num;
	uint32_t unit; /* string */
};

struct profile_span {
	uint32_t first; /* index into frames[] or labels[] */
	uint32_t nr;
};

/* Identity is (stack, labels); values add up. */
struct profile_sample {
	uint32_t stack;
	uint32_t labels;
	int64_t values[PROFILE_MAX_TYPES];
};

struct profile_type {
	uint32_t type; /* string: "samples" */
	uint32_t unit; /* string: "count" */
};

struct profile {
	struct strtab strings;

	struct profile_mapping *mappings;
	struct profile_function *functions;
	struct profile_line *lines;
	struct profile_location *locations;
	uint32_t *frames; /* location numbers of all stacks, leaf first */
	struct profile_span *stacks;
	uint32_t *stack_users; /* of each stack; not written anywhere */
	struct profile_label *labels;
	struct profile_span *label_sets;
	struct profile_sample *samples;
	uint32_t *comments; /* strings */
	uint32_t nr_mappings, cap_mappings;
	uint32_t nr_functions, cap_functions;
	uint32_t nr_lines, cap_lines;
	uint32_t nr_locations, cap_locations;
	uint32_t nr_frames, cap_frames;
	uint32_t nr_stacks, cap_stacks, cap_stack_users;
	uint32_t nr_labels, cap_labels;
	uint32_t nr_label_sets, cap_label_sets;
	uint32_t nr_samples, cap_samples;
	uint32_t nr_comments, cap_comments;

	struct profile_type types[PROFILE_MAX_TYPES];
	uint32_t nr_types;
	uint32_t default_type; /* index into types[] */
	struct profile_type period_type;
	int64_t period;
	int64_t time_ns; /* CLOCK_REALTIME at the start */
	int64_t duration_ns;

	struct idtable mapping_index, function_index, location_index, stack_index, label_index,
		sample_index;
	uint64_t hash_seed; /* random: a target chooses its addresses, not their hashes */
};

int profile_new(struct profile **ret_profile);
struct profile *profile_free(struct profile *p);
DEFINE_CLEANUP(struct profile *, profile_free)

/* Each finds or adds, and gives the number. -E2BIG: a limit of the model is reached. -EINVAL: a
 * number that is not in the model, an empty mapping, an address outside of its mapping. On failure
 * the model is as before, but for strings. */
int profile_string(struct profile *p, const char *s, uint32_t *ret_id);
int profile_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *ret_id);
int profile_location(struct profile *p, uint32_t mapping, uint64_t address, uint32_t *ret_id);
int profile_location_version(struct profile *p, uint32_t mapping, uint64_t address,
			     uint64_t version, uint32_t *ret_id);
int profile_function(struct profile *p, const struct profile_function *f, uint32_t *ret_id);
int profile_stack(struct profile *p, const uint32_t *locations, uint32_t nr, uint32_t *ret_id);
/* The same for code that a user runs: stacks of two users are two, since what one user tells about
 * code names his own alone. PROFILE_NO_USER: not known. */
int profile_stack_of(struct profile *p, uint32_t user, const uint32_t *locations, uint32_t nr,
		     uint32_t *ret_id);
int profile_label_set(struct profile *p, const struct profile_label *labels, uint32_t nr,
		      uint32_t *ret_id);

/* Adds values[nr_types] to the sample (stack, labels). -EOVERFLOW when a sum does not fit. */
int profile_add(struct profile *p, uint32_t stack, uint32_t labels, const int64_t *values);

/* Appends a sample type or a comment. */
int profile_add_type(struct profile *p, const char *type, const char *unit);
int profile_add_comment(struct profile *p, const char *text);

/* Names a location: nr >= 1 lines, innermost first. Once per location, then -EALREADY. Sets the
 * mapping's has_* flags (has_functions only when is_named). */
int profile_set_lines(struct profile *p, uint32_t location, const struct profile_line *lines,
		      uint32_t nr, bool is_named);

/* Takes back the name of a location that was only an address: it is not named so far. */
void profile_unname(struct profile *p, uint32_t location);

/* Each frame of each stack becomes the location that fn gives for it: one was split. Stacks are not
 * found again by what they are then, only by number. */
typedef uint32_t (*profile_frame_fn)(void *ctx, uint32_t user, uint32_t location);
void profile_replace_frames(struct profile *p, profile_frame_fn fn, void *ctx);

/* Adds everything of `from` to `to` (which may be the same model); both must have the same types,
 * else -EINVAL. Mappings are one when kind, path, build-id, offset and size agree (owners are
 * numbers of one session and are not compared, but for JIT code, where owner and start must agree
 * too); two mappings of `from` never become one. A location keeps its name in `to`, unless only
 * `from` has one from a symbol. Duration and time: the union of both spans; a period that differs
 * becomes 0, not known. When it fails, `to` holds a part of `from` and is only good for
 * profile_free(). */
int profile_merge(struct profile *to, const struct profile *from);

/* The string of a number. */
static inline const char *profile_str(const struct profile *p, uint32_t id)
{
	return strtab_get(&p->strings, id);
}

#endif
