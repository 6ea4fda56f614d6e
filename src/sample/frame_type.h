/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kind of frame that is not machine code: an interpreter's, for example. Its frames have an address
 * and up to two auxiliary words, whose meaning only the kind knows; together they are a place in a
 * program. A kind that the world does not know (world_add_frame_type()) is not a valid frame.
 */
#ifndef SAMPLE_FRAME_TYPE_H
#define SAMPLE_FRAME_TYPE_H

#include "sample/sample.h"

#define NR_FRAME_TYPES 32 /* kind 0 is machine code */

/* As in struct frame_type.name(); strings are borrowed until the next call. */
struct frame_name {
	const char *function;
	const char *file;    /* "": unknown */
	uint32_t line;       /* 0: unknown */
	uint32_t start_line; /* of the function; 0: unknown */
};

struct frame_type {
	/* in records: 1 to 31, which also says how many words a frame has (bpf/abi.h) */
	uint32_t kind;
	/* Names a place when a model sees it for the first time, because its data may be gone at
	 * the end. False: it is shown as an address. NULL: all places are. */
	bool (*name)(void *ctx, const struct sample *s, const struct frame *f,
		     struct frame_name *ret);
	void *ctx; /* borrowed */
};

#endif
