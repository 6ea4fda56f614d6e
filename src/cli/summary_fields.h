/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a summary and their names in JSON: one table for writing it and for tests that
 * read it back.
 */
#ifndef CLI_SUMMARY_FIELDS_H
#define CLI_SUMMARY_FIELDS_H

#include <perfagent/perfagent.h>

enum summary_field_type {
	FIELD_STRING, /* const char *; may be NULL */
	/* const char *, may be NULL; a path that readers of the summary may open */
	FIELD_USED_PATH,
	/* const char *, may be NULL; a message that may name members of pa_options */
	FIELD_ADVICE,
	FIELD_U64,
	FIELD_I64,
	FIELD_U64_OR_NULL, /* null for PA_UNKNOWN */
	FIELD_UINT,
	FIELD_PID,
	FIELD_BOOL,
};

struct summary_field {
	const char *name; /* NULL: the structure is this single value */
	enum summary_field_type type;
	size_t offset;
};

struct summary_structure;

/* An array of structures: a pointer to the first, and a size_t with their number. */
struct summary_list {
	const char *name;
	size_t offset, count_offset;
	const struct summary_structure *item;
};

struct summary_structure {
	size_t size,
		/* in this program; size_offset: the member of a summary with the library's size, 0:
		 * none */
		size_offset;
	const struct summary_field *fields;
	size_t nr_fields;
	const struct summary_list *lists;
	size_t nr_lists;
};

extern const struct summary_structure summary_structure; /* of struct pa_summary itself */

#endif
