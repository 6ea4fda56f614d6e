/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Off-CPU time, summed up. The sample with its stack is delivered separately, before or after it,
 * with the same ID (sample.wait).
 */
#ifndef SAMPLE_WAIT_SUM_H
#define SAMPLE_WAIT_SUM_H

#include <stdint.h>

struct wait_sum {
	uint64_t wait;   /* the ID of the stack */
	uint8_t state;   /* enum pa_wait_state */
	uint64_t nr;     /* number of intervals */
	uint64_t ns;     /* total length */
	uint64_t max_ns; /* of a single one, since the capture began */
};

#endif
