// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The walker in the kernel. */
#include "walk.bpf.h"
#include "lookup.bpf.h"
#include "maps.bpf.h"
#include "walk.h"

/* Whether the word there can be a return address. A global function for the same reason as the next. */
__attribute__((noinline)) int pa_return_at(__u64 addr)
{
	u32 zero = 0;
	struct pa_scratch *s = bpf_map_lookup_elem(&scratch, &zero);
	u64 word;

	if (!s || pa_walk_word(&s->walk, &word, addr))
		return 1;
	return pa_is_return_address(&s->walk, word, addr);
}

/*
 * One frame. A global function of default visibility is verified once, by itself, whatever calls it:
 * 512 frames then cost a few thousand verified instructions instead of hundreds of thousands. Its
 * state lives in the scratch map because older kernels pass such a function nothing but numbers.
 * Returns 1 while there is a caller.
 */
__attribute__((noinline)) int pa_walk_step(u32 unused)
{
	u32 zero = 0;
	struct pa_scratch *s = bpf_map_lookup_elem(&scratch, &zero);
	u32 at;

	if (!s)
		return 0;
	if (!pa_walk_frame(&s->walk))
		return 0;
	at = s->sample.nr_kernel + s->walk.nr - 1;
	s->sample.pcs[at & (PA_PCS_SLOTS - 1)] = s->walk.pc | (s->walk.is_exact ? PA_PC_EXACT : 0);
	if (s->walk.is_interrupted)
		s->sample.pcs[(at - 1) & (PA_PCS_SLOTS - 1)] |= PA_PC_EXACT;
	return 1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
