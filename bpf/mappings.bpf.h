/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a process has mapped, as user space told: searched by halving. */
#ifndef BPF_MAPPINGS_BPF_H
#define BPF_MAPPINGS_BPF_H

#include "maps.bpf.h"

#define MAPPING_STEPS 18 /* 2^17 mappings of one process, and one step to spare */

/* All ones if a < b, else 0. Both below 2^63. */
#define LESS_MASK(a, b) ((u64)((__s64)((a) - (b)) >> 63))

/* Which of the process's mappings is the last that begins at or below addr; where all begin above it,
 * the first. */
static __always_inline u32 pa_find_mapping_nr(const struct pa_process *p, u64 addr)
{
	u64 lo = 0, n = p->nr;

	for (int i = 0; i < MAPPING_STEPS && n > 1; i++) {
		u64 half = n >> 1;
		u32 at = p->first + (u32)(lo + half);
		struct pa_mapping *m = bpf_map_lookup_elem(&mappings, &at);

		if (!m)
			return 0;
		lo += half & ~LESS_MASK(addr, m->start);
		n -= half;
	}
	return (u32)lo;
}

/* NULL: it has not so many. */
static __always_inline struct pa_mapping *pa_mapping_nr(const struct pa_process *p, u32 nr)
{
	u32 at = p->first + nr;

	return nr < p->nr ? bpf_map_lookup_elem(&mappings, &at) : NULL;
}

#endif
