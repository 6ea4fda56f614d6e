/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mappings of a process at one time: a balanced tree of disjoint ranges by address. Nodes are
 * shared between trees and reference-counted; a change copies only the shared nodes on its path
 * (some tens), so that a fork, and every past state, costs very little. Private to proc/. One
 * thread.
 */
#ifndef PROC_MAPTREE_H
#define PROC_MAPTREE_H

#include <stdint.h>

#include "proc/tracker.h"

/* A tree is its root; NULL is the empty tree. */
struct maptree_node {
	struct mapping m;
	struct maptree_node *left;  /* owned reference; in the free list: the next node */
	struct maptree_node *right; /* owned reference */
	uint32_t refs;
	uint32_t nr; /* nodes in this subtree */
	uint8_t height;
};

/* Allocates nodes. Changes reserve what they need before they begin: they happen completely or not
 * at all. */
struct maptree_pool {
	struct filestore *files;    /* borrowed; a file's nodes hold it; NULL: none do */
	struct maptree_node *spare; /* owned, chained */
	uint32_t nr_spare;
	uint32_t nr_used;
};

/* All trees must have been released before. */
void maptree_pool_done(struct maptree_pool *pool);

struct maptree_node *maptree_ref(struct maptree_node *root);
void maptree_unref(struct maptree_pool *pool, struct maptree_node *root);

uint32_t maptree_nr(const struct maptree_node *root);
unsigned int maptree_height(const struct maptree_node *root);

/* The first mapping that ends after addr: the one that contains addr, or the next one, or NULL. */
const struct mapping *maptree_at_or_after(const struct maptree_node *root, uint64_t addr);

/* Removes [start, end); mappings that overlap its ends are shortened. *root is the caller's
 * reference, before and after. -ENOMEM: unchanged. */
int maptree_remove(struct maptree_pool *pool, struct maptree_node **root, uint64_t start,
		   uint64_t end);

/* As maptree_remove(), and inserts *m there. */
int maptree_put(struct maptree_pool *pool, struct maptree_node **root, const struct mapping *m);

#endif
