/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "proc/maptree.h"
#include "tap.h"

/* Small enough for an array with one cell per address to be the second opinion. */
#define NR_ADDRS 512
#define NR_ROUNDS 20000
#define NR_TREES 8

struct model {
	uint32_t file[NR_ADDRS]; /* 0: nothing there */
	uint64_t offset[NR_ADDRS];
};

struct pair {
	struct maptree_node *root;
	struct model model;
};

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static bool is_avl(const struct maptree_node *n)
{
	unsigned int hl, hr;

	if (!n)
		return true;
	hl = maptree_height(n->left);
	hr = maptree_height(n->right);
	return (hl > hr ? hl - hr : hr - hl) <= 1 && n->height == (hl > hr ? hl : hr) + 1 &&
	       is_avl(n->left) && is_avl(n->right);
}

/* Every address gives what the model has there; ranges are in order and apart. */
static bool agrees(const struct pair *p)
{
	uint64_t end = 0;
	uint32_t nr = 0;

	for (const struct mapping *m = maptree_at_or_after(p->root, 0); m;
	     m = maptree_at_or_after(p->root, m->end)) {
		if (m->start < end || m->start >= m->end)
			return false;
		end = m->end;
		nr++;
	}
	for (uint64_t a = 0; a < NR_ADDRS; a++) {
		const struct mapping *m = maptree_at_or_after(p->root, a);
		bool is_there = m && m->start <= a;

		if (is_there != (p->model.file[a] != 0))
			return false;
		if (is_there && (m->file != p->model.file[a] ||
				 m->offset + (a - m->start) != p->model.offset[a]))
			return false;
	}
	return nr == maptree_nr(p->root) && is_avl(p->root);
}

static void change(struct maptree_pool *pool, struct pair *p, uint32_t *state, uint32_t file)
{
	uint64_t start = next_random(state) % (NR_ADDRS - 1);
	uint64_t len = 1 + next_random(state) % (next_random(state) % 8 ? 8 : NR_ADDRS);
	uint64_t end = start + len < NR_ADDRS ? start + len : NR_ADDRS;
	bool is_split = next_random(state) % 4 == 0;
	struct mapping m = { .start = start, .end = end, .offset = file, .file = file };

	if (is_split)
		must(maptree_remove(pool, &p->root, start, end) == 0);
	else
		must(maptree_put(pool, &p->root, &m) == 0);
	for (uint64_t a = start; a < end; a++) {
		p->model.file[a] = is_split ? 0 : file;
		p->model.offset[a] = file + (a - start);
	}
}

/* Trees share nodes all the time: a change that leaks into another tree shows. */
static void test_random_changes_in_shared_trees(void)
{
	static struct pair pairs[NR_TREES];
	struct maptree_pool pool = { 0 };
	uint32_t state = 1;
	bool agree = true;
	unsigned int height = 0;

	for (uint32_t i = 1; i <= NR_ROUNDS && agree; i++) {
		struct pair *p = &pairs[next_random(&state) % NR_TREES];
		struct pair *q = &pairs[next_random(&state) % NR_TREES];

		if (next_random(&state) % 4 == 0 && p != q) {
			maptree_unref(&pool, q->root);
			*q = *p;
			(void)maptree_ref(q->root);
		}
		change(&pool, p, &state, i);
		agree = agrees(p) && agrees(q);
		if (maptree_height(p->root) > height)
			height = maptree_height(p->root);
	}
	for (int i = 0; i < NR_TREES; i++)
		agree = agree && agrees(&pairs[i]);
	ok(agree, "%d random changes in %d trees that share nodes equal those of an array",
	   NR_ROUNDS, NR_TREES);
	ok(height > 6, "the trees have some height (%u)", height);
	for (int i = 0; i < NR_TREES; i++)
		maptree_unref(&pool, pairs[i].root);
	ok(pool.nr_used == 0, "every node of random trees is freed");
	maptree_pool_done(&pool);
}

static uint64_t slot_of(uint32_t i, uint32_t nr, bool is_random)
{
	return is_random ? (i * 7919ull) % nr : i;
}

static void test_height(bool is_random)
{
	enum { NR = 100000 };
	struct maptree_pool pool = { 0 };
	struct maptree_node *root = NULL, *old;

	for (uint32_t i = 0; i < NR; i++) {
		uint64_t at = slot_of(i, NR, is_random) * 0x1000;
		struct mapping m = { .start = at, .end = at + 0x1000 };

		must(maptree_put(&pool, &root, &m) == 0);
	}
	ok(maptree_nr(root) == NR && is_avl(root),
	   "%d mappings in %s order make a balanced tree of height %u", NR,
	   is_random ? "mixed" : "ascending", maptree_height(root));
	old = maptree_ref(root);
	must(maptree_remove(&pool, &root, 0x800, (uint64_t)NR * 0x1000 - 0x800) == 0);
	ok(maptree_nr(root) == 2 && maptree_nr(old) == NR,
	   "a removal of nearly everything leaves the two ends, and the other tree unchanged");
	ok(pool.nr_used <= NR + 64, "two trees share what they can (%u nodes)", pool.nr_used);
	maptree_unref(&pool, old);
	maptree_unref(&pool, root);
	ok(pool.nr_used == 0, "every node of shared trees is freed");
	maptree_pool_done(&pool);
}

int main(void)
{
	test_random_changes_in_shared_trees();
	test_height(false);
	test_height(true);
	return tap_done();
}
