/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model: what was sampled, each item stored once, independent of formats. Mappings, locations,
 * functions, stacks, label sets and samples are numbered from 0 in the order in which they were
 * first seen; everything that refers to them does so by number. The session fills it, the naming
 * stage adds functions to locations at the end, and writers read it. Used by one thread at a time.
 */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/strtab.h"

#define PROFILE_NONE UINT32_MAX /* no such item: a location without a mapping */
#define PROFILE_NO_USER UINT32_MAX
#define PROFILE_MAX_LABELS 32   /* per sample */
#define PROFILE_MAX_FRAMES 4096 /* per stack */
#define PROFILE_MAX_LINES 1024  /* inline depth of one location */
#define PROFILE_MAX_COMMENTS 1056
#define PROFILE_MAX_THINGS (1u << 26)       /* of each kind: mappings, locations, samples … */
#define PROFILE_MAX_FRAMES_TOTAL (1u << 30) /* of all stacks together: 4 GiB */
#define PROFILE_MAX_VALUES_TOTAL (1u << 28) /* of all samples together: 2 GiB */

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
	uint32_t build_id;  /* string: hexadecimal; 0: none */
	bool has_functions; /* set by profile_set_lines() */
	bool has_filenames;
	bool has_line_numbers;
	bool has_inline_frames;
};

struct profile_function {
	uint32_t name;        /* string, for the user */
	uint32_t system_name; /* string, as in the symbol table */
	uint32_t filename;    /* string, 0: unknown */
	uint32_t start_line;  /* 0: unknown */
	uint32_t mapping;     /* or PROFILE_NONE; functions of two files are two functions */
};

struct profile_line {
	uint32_t function;
	uint32_t line; /* 0: unknown */
};

/* Identity is (mapping, address, version), and the kind and auxiliary words of code that is not machine code. */
struct profile_location {
	uint32_t mapping;    /* or PROFILE_NONE */
	uint32_t kind;       /* see sample/frame_type.h; 0: machine code */
	uint64_t address;    /* rebased to the mapping's start; for return addresses, minus 1 */
	uint64_t version;    /* for code that was replaced in place; 0: as it was seen first */
	uint64_t aux[2];     /* 0 if unused */
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

/* Identity is (stack, labels). Its values, one per type, add up: profile_value(). */
struct profile_sample {
	uint32_t stack;
	uint32_t labels;
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
	uint32_t *stack_users; /* user of each stack; not written to any format */
	struct profile_label *labels;
	struct profile_span *label_sets;
	int64_t *in_kernel; /* by label set: the number of events in kernel mode */
	struct profile_sample *samples;
	int64_t *values;    /* of all samples: nr_types each, in their order */
	uint32_t *comments; /* strings */
	uint32_t nr_mappings, cap_mappings;
	uint32_t nr_functions, cap_functions;
	uint32_t nr_lines, cap_lines;
	uint32_t nr_locations, cap_locations;
	uint32_t nr_frames, cap_frames;
	uint32_t nr_stacks, cap_stacks, cap_stack_users;
	uint32_t nr_labels, cap_labels;
	uint32_t nr_label_sets, cap_label_sets, cap_in_kernel;
	uint32_t nr_samples, cap_samples, cap_values;
	uint32_t nr_comments, cap_comments;

	struct profile_type *types;
	uint32_t nr_types, cap_types;
	uint32_t count_type;   /* index into types[]: how many events a sample stands for */
	uint32_t shown_type;   /* the one to show in formats with one value per stack */
	uint32_t default_type; /* the one that readers of all types should show first */
	struct profile_type period_type;
	int64_t period;
	uint32_t program; /* string: path or name of what was profiled; 0: unknown */
	int64_t time_ns;  /* CLOCK_REALTIME at the start */
	int64_t duration_ns;

	struct idtable mapping_index, function_index, location_index, stack_index, label_index,
		sample_index;
	uint64_t hash_seed; /* random: a target can choose its addresses, but not their hashes */
};

int profile_new(struct profile **ret_profile);
struct profile *profile_free(struct profile *p);
DEFINE_CLEANUP(struct profile *, profile_free)

/* Each of these finds or adds an item, and returns its number. -E2BIG: a limit of the model is
 * reached. -EINVAL: a number that is not in the model, an empty mapping, an address outside of its
 * mapping. If it fails the model is unchanged, except for strings. */
int profile_string(struct profile *p, const char *s, uint32_t *ret_id);
int profile_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *ret_id);
int profile_location(struct profile *p, uint32_t mapping, uint64_t address, uint32_t *ret_id);
int profile_location_version(struct profile *p, uint32_t mapping, uint64_t address,
			     uint64_t version, uint32_t *ret_id);
/* The location with this identity; it has no lines yet if it is new. */
int profile_place(struct profile *p, const struct profile_location *place, uint32_t *ret_id);
int profile_function(struct profile *p, const struct profile_function *f, uint32_t *ret_id);
int profile_stack(struct profile *p, const uint32_t *locations, uint32_t nr, uint32_t *ret_id);
/* As profile_stack(), for code that a user runs: equal stacks of two users are different, since
 * what one user's process says about its code applies to that user only. PROFILE_NO_USER:
 * unknown. */
int profile_stack_of(struct profile *p, uint32_t user, const uint32_t *locations, uint32_t nr,
		     uint32_t *ret_id);
int profile_label_set(struct profile *p, const struct profile_label *labels, uint32_t nr,
		      uint32_t *ret_id);

/* Adds values[nr_types] to the sample (stack, labels). -EOVERFLOW when a sum does not fit. */
int profile_add(struct profile *p, uint32_t stack, uint32_t labels, const int64_t *values);

/* Counts events with these labels that were in kernel mode, whether or not their stacks show it. */
void profile_count_in_kernel(struct profile *p, uint32_t labels, int64_t nr);

/* Adds a type of value; -EBUSY: there are samples already, which have no such value. */
int profile_add_type(struct profile *p, const char *type, const char *unit);

int profile_add_comment(struct profile *p, const char *text);

/* Names a location: nr >= 1 lines, innermost first. Once per location, then -EALREADY. Sets the
 * mapping's has_* flags (has_functions only when is_named). */
int profile_set_lines(struct profile *p, uint32_t location, const struct profile_line *lines,
		      uint32_t nr, bool is_named);

/* Removes the name of a location that was only an address, so that it counts as not named. */
void profile_unname(struct profile *p, uint32_t location);

/* Replaces each frame of each stack by the location that fn returns for it, because a location was
 * split. Afterwards stacks can be found only by number, not by their contents. */
typedef uint32_t (*profile_frame_fn)(void *ctx, uint32_t user, uint32_t location);
void profile_replace_frames(struct profile *p, profile_frame_fn fn, void *ctx);

/* The value of a sample of one type; 0 if the type does not exist. */
static inline int64_t profile_value(const struct profile *p, uint32_t sample, uint32_t type)
{
	return type < p->nr_types ? p->values[(size_t)sample * p->nr_types + type] : 0;
}

/* How many events a sample stands for. */
static inline int64_t profile_count(const struct profile *p, uint32_t sample)
{
	return profile_value(p, sample, p->count_type);
}

/* The string with that number. */
static inline const char *profile_str(const struct profile *p, uint32_t id)
{
	return strtab_get(&p->strings, id);
}

#endif
