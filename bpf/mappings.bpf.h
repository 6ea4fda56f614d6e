/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a process has mapped, as user space told: searched by halving. */
#ifndef BPF_MAPPINGS_BPF_H
#define BPF_MAPPINGS_BPF_H

#include "maps.bpf.h"

#define MAPPING_STEPS 18 /* 2^17 mappings of one process, and one step to spare */

/* All ones if a < b, else 0. Both below 2^63. */
#define LESS_MASK(a, b) ((u64)((__s64)((a) - (b)) >> 63))

/* The last of the process's mappings that begins at or below addr; where all begin above it, the
 * first. NULL: it has none. */
static __always_inline struct pa_mapping *pa_find_mapping(const struct pa_process *p, u64 addr)
{
	u64 lo = 0, n = p->nr;
	u32 at;

	for (int i = 0; i < MAPPING_STEPS && n > 1; i++) {
		u64 half = n >> 1;
		struct pa_mapping *m;

		at = p->first + (u32)(lo + half);
		m = bpf_map_lookup_elem(&mappings, &at);
		if (!m)
			return NULL;
		lo += half & ~LESS_MASK(addr, m->start);
		n -= half;
	}
	at = p->first + (u32)lo;
	return n ? bpf_map_lookup_elem(&mappings, &at) : NULL;
}

#endif
