/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An AVL tree built on join_trees(): two trees and a mapping between them become one. Every
 * function that takes a node consumes the caller's reference and returns one.
 */
#include "proc/maptree.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/*
 * A change is two splits and up to four joins of their parts. A split copies the path and joins
 * along it; those joins descend at most twice the height together, and each level copies its node
 * and at most two for a rotation: about 10 nodes per level of height and split. Random changes of
 * fully shared trees needed 3 per level in total.
 */
#define NODES_PER_LEVEL 32
#define MAX_IDLE_NODES 4096

/* ---- nodes ---- */

static int pool_reserve(struct maptree_pool *pool, uint32_t nr)
{
	while (pool->nr_spare < nr) {
		struct maptree_node *n = malloc(sizeof(*n));

		if (!n)
			return -ENOMEM;
		n->left = pool->spare;
		pool->spare = n;
		pool->nr_spare++;
	}
	return 0;
}

static struct maptree_node *pool_take(struct maptree_pool *pool)
{
	struct maptree_node *n = pool->spare;

	assert(n); /* pool_reserve() was wrong, which is a bug */
	pool->spare = n->left;
	pool->nr_spare--;
	pool->nr_used++;
	return n;
}

/* True if a mapping shows a file, or may turn out to show one. */
static bool holds_file(const struct maptree_pool *pool, const struct mapping *m, uint32_t *ret_file)
{
	*ret_file = m->kind == MAPPING_FILE ? m->file : m->origin_file;
	return pool->files && (m->kind == MAPPING_FILE || m->has_origin);
}

static void hold_file(struct maptree_pool *pool, const struct mapping *m)
{
	uint32_t file;

	if (holds_file(pool, m, &file))
		filestore_ref(pool->files, file);
}

static void drop_file(struct maptree_pool *pool, const struct mapping *m)
{
	uint32_t file;

	if (holds_file(pool, m, &file))
		filestore_unref(pool->files, file);
}

static void pool_give(struct maptree_pool *pool, struct maptree_node *n)
{
	drop_file(pool, &n->m);
	pool->nr_used--;
	if (pool->nr_spare >= MAX_IDLE_NODES) {
		free(n);
		return;
	}
	n->left = pool->spare;
	pool->spare = n;
	pool->nr_spare++;
}

void maptree_pool_done(struct maptree_pool *pool)
{
	while (pool->spare) {
		struct maptree_node *n = pool->spare;

		pool->spare = n->left;
		free(n);
	}
	pool->nr_spare = 0;
}

struct maptree_node *maptree_ref(struct maptree_node *root)
{
	if (root)
		root->refs++;
	return root;
}

/* The recursion depth is the height of the tree: 30 at the limit of mappings. */
void maptree_unref(struct maptree_pool *pool, struct maptree_node *root)
{
	while (root && --root->refs == 0) {
		struct maptree_node *right = root->right;

		maptree_unref(pool, root->left);
		pool_give(pool, root);
		root = right;
	}
}

static struct maptree_node *new_node(struct maptree_pool *pool, const struct mapping *m)
{
	struct maptree_node *n = pool_take(pool);

	*n = (struct maptree_node){ .m = *m, .refs = 1, .nr = 1, .height = 1 };
	hold_file(pool, m);
	return n;
}

/* The node itself if it has no other reference, otherwise a writable copy. */
static struct maptree_node *own_node(struct maptree_pool *pool, struct maptree_node *n)
{
	struct maptree_node *copy;

	if (n->refs == 1)
		return n;
	copy = pool_take(pool);
	*copy = *n;
	copy->refs = 1;
	hold_file(pool, &copy->m);
	(void)maptree_ref(copy->left);
	(void)maptree_ref(copy->right);
	n->refs--;
	return copy;
}

/* ---- shape ---- */

uint32_t maptree_nr(const struct maptree_node *root)
{
	return root ? root->nr : 0;
}

unsigned int maptree_height(const struct maptree_node *root)
{
	return root ? root->height : 0;
}

/* n is owned, and so are the references to its new children. */
static struct maptree_node *link_children(struct maptree_node *n, struct maptree_node *left,
					  struct maptree_node *right)
{
	unsigned int hl = maptree_height(left), hr = maptree_height(right);

	n->left = left;
	n->right = right;
	n->nr = maptree_nr(left) + maptree_nr(right) + 1;
	n->height = (uint8_t)((hl > hr ? hl : hr) + 1);
	return n;
}

static struct maptree_node *rotate_left(struct maptree_pool *pool, struct maptree_node *n)
{
	struct maptree_node *up = own_node(pool, n->right);

	return link_children(up, link_children(n, n->left, up->left), up->right);
}

static struct maptree_node *rotate_right(struct maptree_pool *pool, struct maptree_node *n)
{
	struct maptree_node *up = own_node(pool, n->left);

	return link_children(up, up->left, link_children(n, up->right, n->right));
}

/* n is owned, and the heights of its children differ by at most two. */
static struct maptree_node *balance(struct maptree_pool *pool, struct maptree_node *n)
{
	unsigned int hl = maptree_height(n->left), hr = maptree_height(n->right);

	if (hl > hr + 1) {
		n->left = own_node(pool, n->left);
		if (maptree_height(n->left->right) > maptree_height(n->left->left))
			n->left = rotate_left(pool, n->left);
		return rotate_right(pool, n);
	}
	if (hr > hl + 1) {
		n->right = own_node(pool, n->right);
		if (maptree_height(n->right->left) > maptree_height(n->right->right))
			n->right = rotate_right(pool, n->right);
		return rotate_left(pool, n);
	}
	return n;
}

/* All of left is before mid, all of right after it; mid is owned, and its children are ignored. */
static struct maptree_node *join_trees(struct maptree_pool *pool, struct maptree_node *left,
				       struct maptree_node *mid, struct maptree_node *right)
{
	unsigned int hl = maptree_height(left), hr = maptree_height(right);

	if (hl > hr + 1) {
		left = own_node(pool, left);
		link_children(left, left->left, join_trees(pool, left->right, mid, right));
		return balance(pool, left);
	}
	if (hr > hl + 1) {
		right = own_node(pool, right);
		link_children(right, join_trees(pool, left, mid, right->left), right->right);
		return balance(pool, right);
	}
	return link_children(mid, left, right);
}

/* Splits into mappings that start before addr, and the rest. */
static void split_tree(struct maptree_pool *pool, struct maptree_node *n, uint64_t addr,
		       struct maptree_node **ret_before, struct maptree_node **ret_rest)
{
	struct maptree_node *part;

	if (!n) {
		*ret_before = *ret_rest = NULL;
		return;
	}
	n = own_node(pool, n);
	if (n->m.start < addr) {
		split_tree(pool, n->right, addr, &part, ret_rest);
		*ret_before = join_trees(pool, n->left, n, part);
	} else {
		split_tree(pool, n->left, addr, ret_before, &part);
		*ret_rest = join_trees(pool, part, n, n->right);
	}
}

/* Removes the last node, which the caller then owns. */
static struct maptree_node *take_last(struct maptree_pool *pool, struct maptree_node *n,
				      struct maptree_node **ret_last)
{
	n = own_node(pool, n);
	if (!n->right) {
		*ret_last = n;
		return n->left;
	}
	link_children(n, n->left, take_last(pool, n->right, ret_last));
	return balance(pool, n);
}

/* ---- ranges ---- */

const struct mapping *maptree_at_or_after(const struct maptree_node *root, uint64_t addr)
{
	const struct mapping *best = NULL;

	while (root) {
		if (root->m.end > addr) {
			best = &root->m;
			root = root->left;
		} else {
			root = root->right;
		}
	}
	return best;
}

static const struct mapping *last_of(const struct maptree_node *root)
{
	while (root && root->right)
		root = root->right;
	return root ? &root->m : NULL;
}

/* The part of m from addr on. */
static struct mapping tail_of(const struct mapping *m, uint64_t addr)
{
	struct mapping tail = *m;

	tail.start = addr;
	if (m->kind == MAPPING_FILE)
		tail.offset += addr - m->start;
	return tail;
}

/* Opens a gap: the parts before it and after it remain. */
static void open_gap(struct maptree_pool *pool, struct maptree_node *root, uint64_t start,
		     uint64_t end, struct maptree_node **ret_before,
		     struct maptree_node **ret_after)
{
	struct maptree_node *before, *inside, *after, *last;
	const struct mapping *m;
	struct mapping tail = { 0 };

	split_tree(pool, root, start, &before, &inside);
	split_tree(pool, inside, end, &inside, &after);
	m = last_of(inside);
	if (m && m->end > end)
		tail = tail_of(m, end);
	maptree_unref(pool, inside);
	m = last_of(before);
	if (m && m->end > start) {
		if (m->end > end)
			tail = tail_of(m, end);
		before = take_last(pool, before, &last);
		last->m.end = start;
		before = join_trees(pool, before, last, NULL);
	}
	if (tail.end)
		after = join_trees(pool, NULL, new_node(pool, &tail), after);
	*ret_before = before;
	*ret_after = after;
}

static int reserve_for_change(struct maptree_pool *pool, const struct maptree_node *root)
{
	return pool_reserve(pool, NODES_PER_LEVEL * (maptree_height(root) + 2));
}

int maptree_remove(struct maptree_pool *pool, struct maptree_node **root, uint64_t start,
		   uint64_t end)
{
	struct maptree_node *before, *after, *last;
	int r = reserve_for_change(pool, *root);

	if (r < 0)
		return r;
	open_gap(pool, *root, start, end, &before, &after);
	if (before) {
		before = take_last(pool, before, &last);
		after = join_trees(pool, before, last, after);
	}
	*root = after;
	return 0;
}

int maptree_put(struct maptree_pool *pool, struct maptree_node **root, const struct mapping *m)
{
	struct maptree_node *before, *after;
	int r = reserve_for_change(pool, *root);

	if (r < 0)
		return r;
	open_gap(pool, *root, m->start, m->end, &before, &after);
	*root = join_trees(pool, before, new_node(pool, m), after);
	return 0;
}
