/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The published mappings of a process, searched by bisection. */
#ifndef BPF_MAPPINGS_BPF_H
#define BPF_MAPPINGS_BPF_H

#include "maps.bpf.h"

#define MAPPING_STEPS 18 /* 2^17 mappings of one process, and one spare step */

/* All ones if a < b, else 0. Both below 2^63. */
#define LESS_MASK(a, b) ((u64)((__s64)((a) - (b)) >> 63))

/* The index of the last mapping of the process that begins at or below addr; of the first one if
 * all begin above addr. */
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

/* NULL if nr is out of range. */
static __always_inline struct pa_mapping *pa_mapping_nr(const struct pa_process *p, u32 nr)
{
	u32 at = p->first + nr;

	return nr < p->nr ? bpf_map_lookup_elem(&mappings, &at) : NULL;
}

#endif
