/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the decoder. */
#ifndef READ_PPROF_DECODE_INTERNAL_H
#define READ_PPROF_DECODE_INTERNAL_H

#include <errno.h>

#include "base/idtable.h"
#include "read/pprof_decode.h"
#include "read/proto_wire.h"

/* Field numbers of Profile. */
enum {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING = 6,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_COMMENT = 13,
	PPROF_DEFAULT_TYPE = 14,
};

/* Things of the file that are referred to by an ID, in their order; IDs may be any numbers but 0. */
struct pprof_ids {
	const char *kind; /* "mapping" */
	uint64_t *ids;    /* owned */
	uint32_t nr, cap;
	struct idtable index;
};

/* A function belongs to no mapping before a location uses it. Members are strings of the model. */
struct pprof_function {
	uint32_t name, system_name, filename, start_line;
};

struct pprof_decoder {
	const uint8_t *bytes; /* borrowed, like name and err */
	size_t n;
	const char *name;
	struct pa_error *err;
	struct profile *p; /* owned */
	uint64_t max_model_bytes;
	uint64_t model_bytes; /* charged so far, like the next */
	uint64_t text_bytes;

	uint32_t *strings; /* owned: strings of the model, by their number in the file */
	uint32_t nr_strings, cap_strings;
	struct pprof_ids mapping_ids, function_ids, location_ids;
	struct profile_mapping
		*mappings; /* owned: as in the file; numbers are those of the model */
	uint32_t cap_mappings;
	struct pprof_function *functions; /* owned */
	uint32_t cap_functions;
	uint32_t *frame_texts; /* owned: by location, what it adds to the text of a stack */
	uint32_t cap_frame_texts;

	int64_t sums[PPROF_MAX_TYPES]; /* of all samples so far */

	/* Of the thing that is being read. */
	uint32_t frames[PROFILE_MAX_FRAMES];
	struct profile_label labels[PROFILE_MAX_LABELS];
	struct profile_line lines[PROFILE_MAX_LINES];
	int64_t values[PPROF_MAX_TYPES];
	char text[PPROF_MAX_STRING_BYTES];
};

typedef int (*pprof_field_fn)(struct pprof_decoder *d, struct proto_field *f);

/* Calls fn for every field of Profile that has this number. */
int pprof_each(struct pprof_decoder *d, uint32_t number, pprof_field_fn fn);

/* Sets the error "'name' is not a valid profile: …", and returns it. */
__attribute__((format(printf, 2, 3))) int pprof_invalid(const struct pprof_decoder *d,
							const char *fmt, ...);

/* Of a function of the model: 0, or sets an error. */
int pprof_checked(const struct pprof_decoder *d, int r);

/* Counts memory of the model before it is used. */
int pprof_charge(struct pprof_decoder *d, size_t nr_bytes);

/* Counts bytes of names that users of the model will read. A name is stored once, but a file may use it any
 * number of times. */
int pprof_charge_text(struct pprof_decoder *d, uint64_t nr_bytes);

/* What one use of a string of the model costs, to be charged. */
uint32_t pprof_text_bytes(const struct pprof_decoder *d, uint32_t string);

/* The string of the model for a number of the file. */
int pprof_string(const struct pprof_decoder *d, uint64_t number, uint32_t *ret_string);

/* Adds the next ID. */
int pprof_add_id(struct pprof_decoder *d, struct pprof_ids *ids, uint64_t id);

/* The position of an ID; user and number say who refers to it. */
int pprof_find_id(const struct pprof_decoder *d, const struct pprof_ids *ids, uint64_t id,
		  const char *user, uint32_t number, uint32_t *ret_position);

/* pprof_tables.c */
int pprof_read_string(struct pprof_decoder *d, struct proto_field *f);
int pprof_read_mapping(struct pprof_decoder *d, struct proto_field *f);
int pprof_read_function(struct pprof_decoder *d, struct proto_field *f);

/* pprof_locations.c: the first makes mappings large enough for their locations, then they are added to the
 * model, then the locations. */
int pprof_fit_mapping(struct pprof_decoder *d, struct proto_field *f);
int pprof_add_mappings(struct pprof_decoder *d);
int pprof_read_location(struct pprof_decoder *d, struct proto_field *f);

/* pprof_samples.c */
int pprof_read_sample(struct pprof_decoder *d, struct proto_field *f);

#endif
