/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a pc to its rule: the last mapping, the process's mappings, the block, its rows, the
 * dictionary. Searches bisect by arithmetic instead of branches, and every index is
 * masked and pinned, so that the verifier sees one path and one bound with every compiler.
 */
#ifndef BPF_LOOKUP_BPF_H
#define BPF_LOOKUP_BPF_H

#include "mappings.bpf.h"

/* Finds the mapping of the process that may contain pc, and copies it to w->mapping. */
static __always_inline int find_mapping(struct pa_walk *w, u64 pc)
{
	struct pa_mapping *m = pa_mapping_nr(&w->process, pa_find_mapping_nr(&w->process, pc));

	if (!m)
		return -1;
	w->mapping = *m;
	return 0;
}

static __always_inline bool is_in(const struct pa_mapping *m, u64 pc, u32 generation)
{
	return pc >= m->start && pc < m->end && m->generation == generation;
}

/* Leaves w->mapping alone: the walk continues there. */
static inline __attribute__((always_inline)) __u32 pa_walk_code_kind(struct pa_walk *w, __u64 addr)
{
	struct pa_mapping *m = pa_mapping_nr(&w->process, pa_find_mapping_nr(&w->process, addr));

	if (!m || !is_in(m, addr, w->process.generation))
		return PA_CODE_NONE;
	return m->nr_blocks ? PA_CODE_TABLE : PA_CODE_BARE;
}

/* The rule of the last row of a block that begins at or below the key. */
static __always_inline u32 find_rule_id(const struct pa_block *b, u32 key)
{
	u32 shard = b->first / PA_SHARD_ROWS, zero = 0;
	u64 lo = b->first & (PA_SHARD_ROWS - 1), n = b->nr;
	void *inner = bpf_map_lookup_elem(&shards, &shard);
	struct pa_row *rows;

	if (!inner)
		return PA_RULE_ID_NONE;
	rows = bpf_map_lookup_elem(inner, &zero);
	if (!rows)
		return PA_RULE_ID_NONE;
	for (int i = 0; i < PA_BISECT_STEPS; i++) {
		u64 half = n >> 1, at = (lo + half) & (PA_SHARD_ROWS - 1);

		PA_PIN(at);
		lo += half & ~LESS_MASK((u64)key, (u64)rows[at].pc);
		n -= half;
	}
	lo &= PA_SHARD_ROWS - 1;
	PA_PIN(lo);
	return rows[lo].rule;
}

/* Looks pc up in the table of the file of w->mapping; pc lies in the mapping. */
static __always_inline u32 find_in_table(struct pa_walk *w, u64 pc, pa_rule *rule)
{
	u64 addr = pc - w->mapping.bias;
	u32 at = (u32)(addr >> PA_BLOCK_SHIFT) - w->mapping.block_nr0, id;
	struct pa_block *b;
	u64 *word;

	*rule = PA_RULE_WORD_NONE;
	if (w->mapping.nr_blocks == PA_BLOCKS_PENDING)
		return PA_STOP_NO_TABLE;
	if (at >= w->mapping.nr_blocks)
		return 0;
	at += w->mapping.first_block;
	b = bpf_map_lookup_elem(&blocks, &at);
	if (!b || !b->nr)
		return 0;
	id = find_rule_id(b, (u32)addr & 0xffff);
	word = bpf_map_lookup_elem(&rules, &id);
	if (word)
		*rule = *word;
	return 0;
}

#endif
