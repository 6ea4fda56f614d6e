/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a trigger's samples. */
#ifndef SAMPLE_VALUE_TYPES_H
#define SAMPLE_VALUE_TYPES_H

#include <stdint.h>

struct value_type {
	const char *type, *unit; /* "cpu", "nanoseconds" */
};

/* In the order of the values. */
struct value_types {
	const struct value_type *types;
	uint32_t nr_types;
	/* Indexes into types[]: the number of events that a sample stands for; the value for
	 * formats that hold only one; the default of formats that hold all. */
	uint32_t count_type, shown_type, default_type;
	uint64_t period; /* sampling period, in units of default_type; 0: each sample has its own */
};

#endif
