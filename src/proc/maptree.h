/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mappings of a process at one moment: a balanced tree by address, of ranges that do not
 * overlap. Nodes are shared between trees and counted; a change copies only the shared nodes on its
 * way (some tens), so that a fork, and every past state kept, costs next to nothing. Private to
 * proc/. One thread.
 */
#ifndef PROC_MAPTREE_H
#define PROC_MAPTREE_H

#include <stdint.h>

#include "proc/tracker.h"

/* A tree is its root; NULL is the empty tree. */
struct maptree_node {
	struct mapping m;
	struct maptree_node *left;  /* owned reference; next in the chain of spare nodes */
	struct maptree_node *right; /* owned reference */
	uint32_t refs;
	uint32_t nr; /* in this subtree */
	uint8_t height;
};

/* Where nodes come from. Changes take what they need before they begin: they either happen whole or
 * not at all. */
struct maptree_pool {
	struct filestore
		*files; /* borrowed; each node of a file's mapping holds it; NULL: none does */
	struct maptree_node *spare; /* owned, chained */
	uint32_t nr_spare;
	uint32_t nr_used;
};

/* Every tree must be unreferenced before. */
void maptree_pool_done(struct maptree_pool *pool);

struct maptree_node *maptree_ref(struct maptree_node *root);
void maptree_unref(struct maptree_pool *pool, struct maptree_node *root);

uint32_t maptree_nr(const struct maptree_node *root);
unsigned int maptree_height(const struct maptree_node *root);

/* The first mapping that ends after addr: it holds addr, or is the next one, or NULL. */
const struct mapping *maptree_at_or_after(const struct maptree_node *root, uint64_t addr);

/* What lies in [start, end) is removed; what reaches into it is cut. *root is the caller's
 * reference, before and after. -ENOMEM: unchanged. */
int maptree_cut(struct maptree_pool *pool, struct maptree_node **root, uint64_t start,
		uint64_t end);

/* The same, and *m takes the place. */
int maptree_put(struct maptree_pool *pool, struct maptree_node **root, const struct mapping *m);

#endif
