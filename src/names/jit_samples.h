/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a model in generated code, by program (see process_program()): the sampled addresses with
 * the time of their first sample, and the samples whose symbols depend on the time, which stay out of the
 * profile until they are resolved.
 */
#ifndef NAMES_JIT_SAMPLES_H
#define NAMES_JIT_SAMPLES_H

#include <stdint.h>

#include "base/idtable.h"
#include "symbolize/symbolizer_jit.h"

/* A sample in code that the runtime may have replaced since, and may report only later. */
struct jit_moment {
	uint64_t time_ns;
	uint32_t stack, labels; /* numbers in the profile */
	uint32_t number;        /* its values are those from number * nr_values on */
};

struct jit_program {
	uint64_t id;
	struct jit_address *addresses; /* owned */
	uint32_t nr_addresses, cap_addresses;
	struct jit_moment *moments; /* owned */
	uint32_t nr_moments, cap_moments;
};

struct jit_samples {
	struct jit_program *programs; /* owned */
	uint32_t nr_programs, cap_programs;
	struct idtable by_id;
	int64_t *values;    /* owned; values of all moments */
	uint32_t nr_values; /* per sample */
	uint32_t nr_moments, cap_values;
};

void jit_samples_init(struct jit_samples *j, uint32_t nr_values);
void jit_samples_done(struct jit_samples *j);

/* NULL if there are no samples in it. Valid until the next address or sample is added. */
struct jit_program *jit_samples_find(const struct jit_samples *j, uint64_t program);

/* On -ENOMEM or -E2BIG the address stays without a symbol. */
int jit_samples_add_address(struct jit_samples *j, uint64_t program, const struct jit_address *a);

/* -ENOMEM; -E2BIG: the limit for all programs together is reached. */
int jit_samples_keep(struct jit_samples *j, uint64_t program, const struct jit_moment *m,
		     const int64_t *values);

/* Called when all samples are in the profile. */
void jit_samples_drop_moments(struct jit_samples *j);

#endif
