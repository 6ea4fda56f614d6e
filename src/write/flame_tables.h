/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data that all profiles of a flame graph page share: strings, functions and frames. Equal ones
 * are stored once, as far as a reader of the page can tell. A frame is a line of a function. A form
 * is the list of frames that a location stands for; addresses of the same source line have the same
 * form.
 */
#ifndef WRITE_FLAME_TABLES_H
#define WRITE_FLAME_TABLES_H

#include <stdatomic.h>

#include "base/buf.h"
#include "profile/profile.h"

enum flame_kind {
	FLAME_USER,
	FLAME_KERNEL,
	FLAME_JIT,
	FLAME_PYTHON,
};

struct flame_function {
	uint32_t name, file, module; /* strings */
	uint32_t start_line;         /* 0: unknown */
	uint32_t kind;               /* enum flame_kind */
};

struct flame_frame {
	uint32_t function;
	uint32_t line; /* 0: unknown */
	uint32_t is_inlined;
};

struct flame_tables {
	struct strtab strings; /* cleaned */
	struct flame_function *functions;
	struct flame_frame *frames;
	struct profile_span *forms; /* ranges of form_frames */
	uint32_t *form_frames;      /* outermost first */
	uint32_t nr_functions, cap_functions;
	uint32_t nr_frames, cap_frames;
	uint32_t nr_forms, cap_forms;
	uint32_t nr_form_frames, cap_form_frames;
	struct idtable function_index, frame_index, form_index;
	struct buf text;           /* the name that is being cleaned */
	const atomic_bool *cancel; /* borrowed; may be NULL */
};

int flame_tables_init(struct flame_tables *t);
void flame_tables_done(struct flame_tables *t);

/* Adds a string of any bytes. -ECANCELED: *cancel is true. */
int flame_tables_string(struct flame_tables *t, const char *s, uint32_t *ret_id);

/* Adds a function of p. -E2BIG, here and below: too many. */
int flame_tables_function(struct flame_tables *t, const struct profile *p, uint32_t function,
			  uint32_t *ret_id);

/* Adds the form of a location of p. functions: the number in the tables for each function of p. */
int flame_tables_form(struct flame_tables *t, const struct profile *p, const uint32_t *functions,
		      uint32_t location, uint32_t *ret_form);

#endif
