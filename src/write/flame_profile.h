/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One profile in the data of a flame graph page. Its stacks are a list of steps through the tree
 * that they form, and its samples refer to nodes of that tree; docs/flame-graph.md describes both.
 * Memory: 8 bytes per sample, in addition to the tables.
 */
#ifndef WRITE_FLAME_PROFILE_H
#define WRITE_FLAME_PROFILE_H

#include "write/flame_tables.h"
#include "write/text_out.h"

/* The total of frames in all different stacks. Above this limit, samples with the smallest values
 * are left out and counted, because a browser must be able to open the page. 50,000 stacks of 60
 * frames are 3 million. */
#define FLAME_MAX_FRAMES (8u << 20)

struct flame_profile {
	const struct profile *p; /* borrowed */
	uint32_t *functions;     /* owned; number in the tables, by function of p */
	uint32_t *forms;         /* owned; form in the tables, by location of p */
	uint32_t *label_keys;    /* owned; strings of the tables, by label */
	uint32_t *label_values;  /* owned; strings of the tables, by label */
	uint32_t *comments;      /* owned; strings of the tables */
	uint32_t *types;         /* owned; strings of the tables, two per type */
	uint32_t program;        /* string of the tables */
	uint32_t *order;         /* owned: the samples that are written, sorted by their stacks */
	uint32_t nr_order;
	uint32_t *nodes;      /* owned; node by position in order[] */
	uint64_t nr_left_out; /* samples that are not written */
};

/* Adds the contents of p to the tables. max_frames: FLAME_MAX_FRAMES, or less in tests. p is
 * borrowed until flame_profile_done(). */
int flame_profile_init(struct flame_profile *f, const struct profile *p, struct flame_tables *t,
		       uint32_t max_frames);
void flame_profile_done(struct flame_profile *f);

/* Writes the profile as a JSON object. */
void flame_profile_write(struct flame_profile *f, const struct flame_tables *t,
			 struct text_out *out);

#endif
