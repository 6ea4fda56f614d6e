/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time off the CPU, summed up. The sample with its stack comes separately, before or after it, and has
 * the same ID (sample.wait).
 */
#ifndef SAMPLE_WAIT_SUM_H
#define SAMPLE_WAIT_SUM_H

#include <stdint.h>

struct wait_sum {
	uint64_t wait; /* the ID */
	uint8_t state; /* enum pa_wait_state */
	uint64_t nr;   /* intervals */
	uint64_t ns;   /* their sum */
	uint64_t max_ns;
};

#endif
