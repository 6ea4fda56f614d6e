/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rule of a frame: from the CPU's cache (struct pa_rule_cache), otherwise from the table. */
#ifndef BPF_RULE_CACHE_BPF_H
#define BPF_RULE_CACHE_BPF_H

#include "lookup.bpf.h"
#include "walk_policy.h"

static __always_inline struct pa_cached_rule *cached_rule_nr(struct pa_rule_cache *c, u64 at)
{
	at &= PA_CACHED_RULES - 1;
	PA_PIN(at);
	return &c->rules[at];
}

static __always_inline u16 *index_slot(struct pa_rule_cache *c, u64 pc)
{
	u64 at = (pc ^ (pc >> 13)) & (PA_CACHE_INDEX_SLOTS - 1);

	PA_PIN(at);
	return &c->index[at];
}

static __always_inline bool is_rule_of(const struct pa_cached_rule *r, const struct pa_walk *w,
				       u64 pc)
{
	return r->pc == pc && r->owner == w->rule_owner;
}

/* The cached rule of a pc, or NULL. It usually follows the rule of the previous frame. */
static __always_inline struct pa_cached_rule *find_cached(struct pa_rule_cache *c,
							  struct pa_walk *w, u64 pc)
{
	u32 at = w->cached_next;
	struct pa_cached_rule *r = cached_rule_nr(c, at);

	if (!is_rule_of(r, w, pc)) {
		at = *index_slot(c, pc);
		r = cached_rule_nr(c, at);
		if (!is_rule_of(r, w, pc))
			return NULL;
	}
	w->cached_next = at + 1;
	return r;
}

/* Replaces the oldest entry. Only the outermost level writes, so that an interrupting sample
 * neither sees nor leaves half an entry. */
static __always_inline void put_cached(struct pa_rule_cache *c, struct pa_walk *w, u64 pc,
				       pa_rule rule)
{
	u32 at = c->nr_put;
	struct pa_cached_rule *r = cached_rule_nr(c, at);

	if (w->level)
		return;
	*(volatile __u64 *)&r->owner = 0; /* the entry belongs to no process meanwhile */
	barrier();
	r->pc = pc;
	r->rule = rule;
	barrier();
	*(volatile __u64 *)&r->owner = w->rule_owner;
	*index_slot(c, pc) = (u16)at;
	c->nr_put = at + 1;
	w->cached_next = at + 1;
}

/* Looks the rule up in the table; the cache is not asked. */
static __always_inline u32 find_rule(struct pa_walk *w, u64 pc, pa_rule *rule)
{
	u32 stop;

	if (!is_in(&w->mapping, pc, w->process.generation)) {
		if (find_mapping(w, pc) || !is_in(&w->mapping, pc, w->process.generation))
			return PA_STOP_UNKNOWN_CODE;
	}
	stop = find_in_table(w, pc, rule);
	if (*rule == PA_RULE_WORD_NONE && w->mapping.nr_blocks)
		*rule = PA_RULE_WORD_GAP;
	else if (*rule == PA_RULE_WORD_NONE && w->mapping.first_block == PA_FIRST_BLOCK_RECORDS)
		*rule = PA_RULE_WORD_RECORDS;
	return stop;
}

static inline __attribute__((always_inline)) __u32 pa_walk_rule(struct pa_walk *w, __u64 pc,
								pa_rule *rule)
{
	struct pa_rule_cache *cache;
	struct pa_cached_rule *cached;
	u32 stop;

	*rule = PA_RULE_WORD_FP;
	if (!cfg.use_tables)
		return 0;
	cache = bpf_map_lookup_elem(&rule_cache, &w->cpu);
	if (!cache)
		return PA_STOP_NO_TABLE; /* impossible: there is one for each CPU */
	cached = find_cached(cache, w, pc);
	if (cached) {
		*rule = cached->rule;
		return 0;
	}
	stop = find_rule(w, pc, rule);
	if (stop)
		return stop;
	if (pa_is_after_call(w, pc, *rule))
		*rule |= PA_RULE_AFTER_CALL;
	put_cached(cache, w, pc, *rule);
	return 0;
}

#endif
