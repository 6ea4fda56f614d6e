/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and lists of mappings, in memory instead of a kernel, by a clock that is set by hand. */
#include <time.h>

#include "fake_maps.h"

static time_t now_s = 1000;

int clock_gettime(clockid_t clock, struct timespec *to)
{
	*to = (struct timespec){ .tv_sec = now_s };
	return 0;
}

/* A table with `per_block` rows in every block; row i has rule (seed + i), below 0xffff. */
static struct table_data make_table(uint32_t nr_blocks, uint32_t per_block, uint32_t seed)
{
	uint32_t nr_rows = nr_blocks * per_block;
	struct pa_block *blocks = calloc(nr_blocks, sizeof(*blocks));
	struct pa_row *rows = calloc(nr_rows, sizeof(*rows));

	must(blocks && rows);
	for (uint32_t i = 0; i < nr_rows; i++) {
		uint32_t block = i / per_block;
		uint32_t at = i % per_block * (PA_BLOCK_SIZE / per_block);

		rows[i].pc = (uint16_t)(block * PA_BLOCK_SIZE + at);
		rows[i].rule = (uint16_t)((seed + i) % 0xffff);
	}
	for (uint32_t i = 0; i < nr_blocks; i++)
		blocks[i] = (struct pa_block){ i * per_block, per_block };
	return (struct table_data){ rows, nr_rows, blocks, nr_blocks };
}

static void free_table(struct table_data *d)
{
	free((void *)(uintptr_t)d->rows);
	free((void *)(uintptr_t)d->blocks);
}

/* Rows that are not found by their address. */
static uint32_t nr_wrong(const struct world *w, const struct table_slot *slot,
			 const struct table_data *d)
{
	uint32_t per_block = d->nr_rows / d->nr_blocks, wrong = 0;

	for (uint32_t i = 0; i < d->nr_rows; i++) {
		uint64_t addr = (uint64_t)(i / per_block) * PA_BLOCK_SIZE +
				i % per_block * (PA_BLOCK_SIZE / per_block);

		wrong += tables_find(w->t, slot, 0, addr) != d->rows[i].rule;
	}
	return wrong;
}

/* More rows than a shard has: pieces, none of which crosses a border. */
static void test_big(void)
{
	struct world w = new_world(SIZE_MAX);
	struct table_data d = make_table(300, 4096, 7);
	struct table_slot slot;

	ok(tables_add(w.t, &d, &slot) == 0 && nr_inserted == 3, "a big table takes three shards");
	ok(nr_wrong(&w, &slot, &d) == 0, "all of its rows are found");
	ok(tables_find(w.t, &slot, 0, 300 * (uint64_t)PA_BLOCK_SIZE) == PA_RULE_ID_NONE,
	   "nothing behind it");
	ok(tables_bytes(w.t) == d.nr_rows * sizeof(struct pa_row), "its bytes are counted");
	free_table(&d);
	end_world(&w);
}

static void test_no_shard(void)
{
	struct world w = new_world(SIZE_MAX);
	struct table_data d = make_table(4, 16, 7);
	struct table_slot slot;
	int fd;

	no_map = true;
	ok(tables_add(w.t, &d, &slot) == -ENOMEM, "no memory for a shard");
	ok(tables_add(w.t, &d, &slot) == -ENOMEM, "it is not taken for one later");
	no_map = false;
	no_insert = true;
	ok(tables_add(w.t, &d, &slot) == -ENOMEM, "a shard that the walker cannot be told of");
	no_insert = false;
	ok(tables_add(w.t, &d, &slot) == 0 && nr_inserted == 1, "is not used for rows");
	ok(nr_wrong(&w, &slot, &d) == 0, "the table is there at last");
	fd = memory(1);
	end_world(&w);
	ok(close(fd) == 0, "only its own descriptors are closed");
	free_table(&d);
}

static void test_limit(void)
{
	struct table_data d = make_table(4, 16, 7);
	struct world w = new_world(2 * d.nr_rows * sizeof(struct pa_row));
	struct table_data big = make_table(12, 16, 7),
			  wide = make_table(NR_BLOCKS / 4 * 3 + 1, 1, 7);
	struct table_slot slot;

	wide.nr_rows = 1;
	ok(tables_add(w.t, &big, &slot) == -E2BIG, "rows that can never fit are told apart");
	ok(tables_add(w.t, &wide, &slot) == -E2BIG, "so is code that leaves nothing for others");
	free_table(&big);
	free_table(&wide);
	must(tables_add(w.t, &d, &slot) == 0 && tables_add(w.t, &d, &slot) == 0);
	ok(tables_add(w.t, &d, &slot) == -ENOSPC, "not more rows than allowed");
	tables_retire(w.t, &slot);
	for (int i = 0; i < 10; i++)
		must(!tables_age(w.t));
	ok(tables_add(w.t, &d, &slot) == -ENOSPC, "what was retired now is not free, turns or not");
	now_s++;
	ok(tables_age(w.t) && tables_add(w.t, &d, &slot) == 0, "after a second it is");
	free_table(&d);
	end_world(&w);
}

static void test_lists(void)
{
	struct world w = new_world(SIZE_MAX);
	struct pa_mapping m[2] = { { .start = 0x1000, .end = 0x2000 },
				   { .start = 0x3000, .end = 0x4000 } };
	uint32_t first, generation = 0, before;

	must(tables_set_process(w.t, 7, m, 2, &generation) == 0);
	first = process.first;
	before = generation;
	ok(process.nr == 2 && process.generation == generation &&
		   w.mappings[first].generation == generation &&
		   w.mappings[first + 1].start == 0x3000,
	   "a list is written where its process says");
	ok(tables_has_process(w.t, 7, m, 2) && !tables_has_process(w.t, 8, m, 2), "and known");
	m[1].end = 0x5000;
	ok(!tables_has_process(w.t, 7, m, 2), "another one is not");
	must(tables_set_process(w.t, 7, m, 2, &generation) == 0);
	ok(generation != before && process.first != first, "it goes to another place");
	must(!tables_age(w.t) && !tables_age(w.t));
	ok(w.mappings[first].generation == before, "the list before stays for two turns");
	must(!tables_age(w.t));
	ok(w.mappings[first].generation == 0 && w.mappings[first + 1].generation == 0,
	   "then it is empty for whoever still has it");
	must(tables_set_process(w.t, 8, m, 2, &generation) == 0);
	ok(process.first == first, "and its room is used again");
	end_world(&w);
}

static void test_many_lists(void)
{
	struct world w = new_world(SIZE_MAX);
	struct pa_mapping m[NR_MAPPINGS] = { { 0 } };
	uint32_t generation;

	must(tables_set_process(w.t, 7, m, NR_MAPPINGS, &generation) == 0);
	ok(tables_set_process(w.t, 8, m, 1, &generation) == -ENOSPC, "no room for a list");
	tables_drop_process(w.t, 7);
	ok(!tables_has_process(w.t, 7, m, NR_MAPPINGS), "a process is dropped");
	for (int i = 0; i < 3; i++)
		must(!tables_age(w.t));
	ok(tables_set_process(w.t, 8, m, NR_MAPPINGS, &generation) == 0, "then there is room");
	end_world(&w);
}

int main(void)
{
	test_big();
	test_no_shard();
	test_limit();
	test_lists();
	test_many_lists();
	return tap_done();
}
