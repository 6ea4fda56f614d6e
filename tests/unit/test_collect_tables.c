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
static uint32_t nr_wrong(const struct test_world *w, const struct table_slot *slot,
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
	struct test_world w = new_world(SIZE_MAX);
	struct table_data d = make_table(300, 4096, 7);
	struct table_slot slot;

	ok(tables_add(w.t, &d, &slot) == 0 && nr_inserted == 3, "a big table takes three shards");
	ok(nr_wrong(&w, &slot, &d) == 0, "all rows of a big table are found");
	ok(tables_find(w.t, &slot, 0, 300 * (uint64_t)PA_BLOCK_SIZE) == PA_RULE_ID_NONE,
	   "nothing is found after the table");
	ok(tables_bytes(w.t) == d.nr_rows * sizeof(struct pa_row),
	   "the bytes of a table are counted");
	free_table(&d);
	end_world(&w);
}

static void test_no_shard(void)
{
	struct test_world w = new_world(SIZE_MAX);
	struct table_data d = make_table(4, 16, 7);
	struct table_slot slot;
	int fd;

	no_map = true;
	ok(tables_add(w.t, &d, &slot) == -ENOMEM, "no memory for a shard is an error");
	ok(tables_add(w.t, &d, &slot) == -ENOMEM, "a failed shard is not used later");
	no_map = false;
	no_insert = true;
	ok(tables_add(w.t, &d, &slot) == -ENOMEM, "a shard that cannot be published is an error");
	no_insert = false;
	ok(tables_add(w.t, &d, &slot) == 0 && nr_inserted == 1,
	   "a shard that cannot be published is not used");
	ok(nr_wrong(&w, &slot, &d) == 0, "after the failures the table is published");
	fd = memory(1);
	end_world(&w);
	ok(close(fd) == 0, "only its own descriptors are closed");
	free_table(&d);
}

static void test_limit(void)
{
	struct table_data d = make_table(4, 16, 7);
	struct test_world w = new_world(2 * d.nr_rows * sizeof(struct pa_row));
	struct table_data big = make_table(12, 16, 7),
			  wide = make_table(NR_BLOCKS / 4 * 3 + 1, 1, 7);
	struct table_slot slot;

	wide.nr_rows = 1;
	ok(tables_add(w.t, &big, &slot) == -E2BIG, "rows that can never fit have their own error");
	ok(tables_add(w.t, &wide, &slot) == -E2BIG,
	   "code that would leave nothing for others is refused");
	free_table(&big);
	free_table(&wide);
	must(tables_add(w.t, &d, &slot) == 0 && tables_add(w.t, &d, &slot) == 0);
	ok(tables_add(w.t, &d, &slot) == -ENOSPC, "no more rows than allowed are stored");
	tables_retire(w.t, &slot, NULL, 0);
	for (int i = 0; i < 10; i++)
		must(!tables_age(w.t));
	ok(tables_add(w.t, &d, &slot) == -ENOSPC,
	   "a retired table is not free at once, whatever the turns");
	now_s++;
	ok(tables_age(w.t) && tables_add(w.t, &d, &slot) == 0,
	   "a retired table is free after a second");
	free_table(&d);
	end_world(&w);
}

static uint32_t sum_let_go;

static void count_let_go(void *owner, const uint16_t *rules, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		*(uint32_t *)owner += rules[i];
}

static uint16_t *new_rules(uint16_t first, uint16_t second)
{
	uint16_t *rules = calloc(2, sizeof(*rules));

	must(rules);
	rules[0] = first;
	rules[1] = second;
	return rules;
}

/* One list for what was replaced, in whatever order its parts come to an end. */
static void test_let_go(void)
{
	struct test_world w = new_world(SIZE_MAX);
	struct table_data d = make_table(4, 16, 7);
	struct pa_mapping m = { .start = 0x1000, .end = 0x2000 };
	struct table_slot slot;
	uint32_t generation, first;

	sum_let_go = 0;
	tables_on_let_go(w.t, count_let_go, &sum_let_go);
	must(tables_add(w.t, &d, &slot) == 0 &&
	     tables_set_process(w.t, 7, &m, 1, &generation) == 0);
	first = process.first;
	tables_retire(w.t, &slot, new_rules(30, 12), 2);
	tables_drop_process(w.t, 7);
	for (int i = 0; i < 3; i++)
		must(!tables_age(w.t));
	ok(w.mappings[first].generation == 0 && tables_has_retired(w.t) && sum_let_go == 0,
	   "a list that was replaced after a table is given back before it");
	now_s++;
	ok(!tables_age(w.t) && !tables_age(w.t) && sum_let_go == 0,
	   "a table also stays for as many turns as a list, and then as many again");
	ok(tables_age(w.t) && !tables_has_retired(w.t) && tables_bytes(w.t) == 0 &&
		   sum_let_go == 30 + 12,
	   "the rules of a table are let go with its room");
	must(tables_add(w.t, &d, &slot) == 0);
	tables_retire(w.t, &slot, new_rules(1, 2), 2);
	tables_on_let_go(w.t, NULL, NULL);
	now_s++;
	for (int i = 0; i < 6; i++)
		(void)tables_age(w.t);
	ok(!tables_has_retired(w.t) && sum_let_go == 30 + 12,
	   "an owner that has gone is not called");
	must(tables_add(w.t, &d, &slot) == 0);
	tables_retire(w.t, &slot, new_rules(1, 2), 2); /* freed with the tables */
	free_table(&d);
	end_world(&w);
}

static void test_lists(void)
{
	struct test_world w = new_world(SIZE_MAX);
	struct pa_mapping m[2] = { { .start = 0x1000, .end = 0x2000 },
				   { .start = 0x3000, .end = 0x4000 } };
	uint32_t first, generation = 0, before;

	must(tables_set_process(w.t, 7, m, 2, &generation) == 0);
	first = process.first;
	before = generation;
	ok(process.nr == 2 && process.generation == generation &&
		   w.mappings[first].generation == generation &&
		   w.mappings[first + 1].start == 0x3000,
	   "a list of mappings is written where its process points");
	ok(tables_has_process(w.t, 7, m, 2) && !tables_has_process(w.t, 8, m, 2),
	   "a published process is known");
	m[1].end = 0x5000;
	ok(!tables_has_process(w.t, 7, m, 2), "an unpublished process is not known");
	must(tables_set_process(w.t, 7, m, 2, &generation) == 0);
	ok(generation != before && process.first != first, "a new list goes to another place");
	must(!tables_age(w.t) && !tables_age(w.t));
	ok(w.mappings[first].generation == before, "the replaced list stays for two turns");
	must(!tables_age(w.t));
	ok(w.mappings[first].generation == 0 && w.mappings[first + 1].generation == 0,
	   "after two turns the replaced list is empty");
	must(tables_set_process(w.t, 8, m, 2, &generation) == 0);
	ok(process.first == first, "after that its room is reused");
	end_world(&w);
}

static void test_many_lists(void)
{
	struct test_world w = new_world(SIZE_MAX);
	struct pa_mapping m[NR_MAPPINGS] = { { 0 } };
	uint32_t generation;

	must(tables_set_process(w.t, 7, m, NR_MAPPINGS, &generation) == 0);
	ok(tables_set_process(w.t, 8, m, 1, &generation) == -ENOSPC,
	   "no room for a list is an error");
	tables_drop_process(w.t, 7);
	ok(!tables_has_process(w.t, 7, m, NR_MAPPINGS), "a process can be dropped");
	for (int i = 0; i < 3; i++)
		must(!tables_age(w.t));
	ok(tables_set_process(w.t, 8, m, NR_MAPPINGS, &generation) == 0,
	   "dropping a process makes room");
	end_world(&w);
}

int main(void)
{
	test_big();
	test_no_shard();
	test_limit();
	test_let_go();
	test_lists();
	test_many_lists();
	return tap_done();
}
