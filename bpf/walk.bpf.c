// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The walker in the kernel. */
#include "walk.bpf.h"
#include "maps.bpf.h"
#include "rule_cache.bpf.h"
#include "walk_plain.h"

/*
 * A global function of default visibility is verified once, on its own, whatever calls it: 512 frames
 * then cost a few thousand verified instructions instead of hundreds of thousands. The state lives in the
 * scratch map because older kernels pass only numbers to such a function.
 */

/* True if the word at addr may be a return address. */
__attribute__((noinline)) int pa_return_at(u32 level, u64 addr)
{
	struct pa_scratch *s = bpf_map_lookup_elem(&scratch, &level);
	u64 word;

	if (!s || pa_walk_word(&s->walk, &word, addr))
		return 1;
	return pa_is_return_address(&s->walk, word, addr);
}

/* True if any of the next PA_LOOKED_WORDS words before `end` may be a return address. */
__attribute__((noinline)) int pa_return_within(u32 level, u64 from, u64 end)
{
	for (u32 i = 0; i < PA_LOOKED_WORDS && from < end; i++, from += sizeof(u64))
		if (pa_return_at(level, from))
			return 1;
	return 0;
}

/* pa_walk_load_window(), pa_can_return_to() and pa_walk_switch() of the walker in the kernel. */
__attribute__((noinline)) int pa_walk_load(u32 level, u64 frame_end)
{
	struct pa_scratch *s = bpf_map_lookup_elem(&scratch, &level);

	if (s)
		pa_walk_load_window(&s->walk, frame_end);
	return 0;
}

__attribute__((noinline)) int pa_returns_to(u32 level, u64 pc)
{
	struct pa_scratch *s = bpf_map_lookup_elem(&scratch, &level);

	return s && pa_walk_code_returns(&s->walk, pc);
}

__attribute__((noinline)) int pa_leave_stack(u32 level, u64 rule)
{
	struct pa_scratch *s = bpf_map_lookup_elem(&scratch, &level);

	return s && pa_walk_switch_stack(&s->walk, rule);
}

/* A cached rule by its position, without a lookup. */
PA_INLINE int pa_walk_rule_at(const struct pa_walk *w, struct pa_rule_cache *rules, __u32 at,
			      __u64 pc, pa_rule *rule)
{
	const struct pa_cached_rule *r = cached_rule_nr(rules, at);

	*rule = r->rule;
	return is_rule_of(r, w, pc);
}

/* The next frames, as long as they are plain. True if more may be. */
static __always_inline bool walk_plain(struct pa_scratch *s)
{
	struct pa_rule_cache *cache;
	u32 nr;

	if (!cfg.use_tables || !pa_walk_may_be_plain(&s->walk))
		return false;
	cache = bpf_map_lookup_elem(&rule_cache, &s->walk.cpu);
	if (!cache)
		return false; /* impossible: there is one for each CPU */
	nr = pa_walk_plain_frames(&s->walk, cache, s->words, s->at, s->limit - s->at);
	s->at += nr;
	return nr == PA_PLAIN_FRAMES;
}

/* One frame, or some plain ones. Returns 1 while there is a caller. */
__attribute__((noinline)) int pa_walk_step(u32 level)
{
	struct pa_scratch *s = bpf_map_lookup_elem(&scratch, &level);
	u32 at;

	if (!s)
		return 0;
	if (walk_plain(s))
		return 1;
	at = s->at;
	if (at >= s->limit)
		return pa_walk_end(&s->walk, PA_STOP_TOO_DEEP);
	if (!pa_walk_frame(&s->walk))
		return 0;
	s->words[at & (PA_WORD_SLOTS - 1)] = s->walk.pc | (s->walk.is_exact ? PA_PC_EXACT : 0);
	if (s->walk.is_interrupted)
		s->words[(at - 1) & (PA_WORD_SLOTS - 1)] |= PA_PC_EXACT;
	s->at = at + 1;
	return 1;
}

__attribute__((noinline)) int pa_walk_steps(u32 level)
{
	for (u32 i = 0; i < PA_STEPS; i++)
		if (!pa_walk_step(level))
			return 0;
	return 1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
