/* SPDX-License-Identifier: Apache-2.0 */
#include "names/jit_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"

#define MAX_PROGRAMS (1u << 20)
#define MAX_ADDRESSES (1u << 24) /* per program */
/* A quarter of an hour at 999 Hz on 4 CPUs; 40 bytes each. */
#define MAX_MOMENTS (1u << 22)

void jit_samples_init(struct jit_samples *j, uint32_t nr_values)
{
	*j = (struct jit_samples){ .nr_values = nr_values };
}

void jit_samples_done(struct jit_samples *j)
{
	for (uint32_t i = 0; i < j->nr_programs; i++) {
		free(j->programs[i].addresses);
		free(j->programs[i].moments);
	}
	free(j->programs);
	free(j->values);
	idtable_done(&j->by_id);
}

static bool is_program(const void *owner, uint32_t at, const void *key)
{
	return ((const struct jit_samples *)owner)->programs[at].id == *(const uint64_t *)key;
}

struct jit_program *jit_samples_find(const struct jit_samples *j, uint64_t program)
{
	uint32_t at;

	if (!idtable_find(&j->by_id, hash_mix(0, program), is_program, j, &program, &at))
		return NULL;
	return &j->programs[at];
}

static int find_or_add_program(struct jit_samples *j, uint64_t id, struct jit_program **ret)
{
	int r;

	*ret = jit_samples_find(j, id);
	if (*ret)
		return 0;
	r = ARRAY_RESERVE(j->programs, j->cap_programs, j->nr_programs + 1, MAX_PROGRAMS);
	if (r == 0)
		r = idtable_reserve(&j->by_id);
	if (r < 0)
		return r;
	*ret = &j->programs[j->nr_programs];
	**ret = (struct jit_program){ .id = id };
	idtable_insert(&j->by_id, hash_mix(0, id), j->nr_programs++);
	return 0;
}

int jit_samples_add_address(struct jit_samples *j, uint64_t program, const struct jit_address *a)
{
	struct jit_program *p;
	int r = find_or_add_program(j, program, &p);

	if (r == 0)
		r = ARRAY_RESERVE(p->addresses, p->cap_addresses, p->nr_addresses + 1,
				  MAX_ADDRESSES);
	if (r == 0)
		p->addresses[p->nr_addresses++] = *a;
	return r;
}

int jit_samples_keep(struct jit_samples *j, uint64_t program, const struct jit_moment *m,
		     const int64_t *values)
{
	struct jit_program *p;
	int r = j->nr_moments == MAX_MOMENTS ? -E2BIG : find_or_add_program(j, program, &p);

	if (r == 0)
		r = ARRAY_RESERVE(p->moments, p->cap_moments, p->nr_moments + 1, MAX_MOMENTS);
	if (r == 0)
		r = ARRAY_RESERVE(j->values, j->cap_values, (j->nr_moments + 1) * j->nr_values,
				  UINT32_MAX);
	if (r < 0)
		return r;
	memcpy(&j->values[j->nr_moments * j->nr_values], values, j->nr_values * sizeof(*j->values));
	p->moments[p->nr_moments] = *m;
	p->moments[p->nr_moments++].number = j->nr_moments++;
	return 0;
}

void jit_samples_drop_moments(struct jit_samples *j)
{
	for (uint32_t i = 0; i < j->nr_programs; i++) {
		free(TAKE(j->programs[i].moments));
		j->programs[i].nr_moments = j->programs[i].cap_moments = 0;
	}
	free(TAKE(j->values));
	j->nr_moments = j->cap_values = 0;
}
