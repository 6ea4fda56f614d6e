/* SPDX-License-Identifier: Apache-2.0 */
/* Which tables go when there is no room for all, and where a file's code lies in a mapping. */
#include "stacks/unwind_files.h"

#include "base/clock.h"
#include "fake_maps.h"

#define NR_FILES 4
#define BYTES 1000

/* Files with tables of one size, the first one used longest ago; [in_kernel] is in the kernel. */
static void fill(struct unwind_files *u, struct tables *tables, uint32_t in_kernel)
{
	struct unwind_files_config cfg = { .tables = tables,
					   .max_bytes = NR_FILES * BYTES,
					   .is_inline = true };
	struct shared_tables *s = &u->tables;

	must(unwind_files_init(u, &cfg) == 0);
	s->all = calloc(NR_FILES, sizeof(*s->all));
	must(s->all);
	for (uint32_t i = 0; i < NR_FILES; i++) {
		struct mapping m = { .kind = MAPPING_FILE, .file = i, .content = i };
		struct unwind_file *f = unwind_files_get(u, &m);
		struct shared_table *t = calloc(1, sizeof(*t));

		must(f && t);
		*t = (struct shared_table){ .nr_files = 1,
					    .bytes = BYTES,
					    .used_ns = 10 * NS_PER_S + i,
					    .is_in_kernel = i == in_kernel };
		f->state = UNWIND_READY;
		f->table = s->all[s->nr++] = t;
		s->bytes += BYTES;
	}
}

static bool has(const struct unwind_files *u, uint32_t file)
{
	return u->files[file]->state == UNWIND_READY;
}

static void test_trim(void)
{
	struct test_world w = new_world(SIZE_MAX);
	struct unwind_files u;

	fill(&u, w.t, NR_FILES);
	ok(!unwind_files_trim(&u) && u.tables.stats.nr_evicted == 0,
	   "below the limit no table is evicted");
	u.tables.max_bytes = 2 * BYTES + BYTES / 2;
	ok(!unwind_files_trim(&u) && !has(&u, 0) && !has(&u, 1) && has(&u, 2) && has(&u, 3),
	   "the least recently used tables are evicted first");
	ok(u.tables.bytes == 2 * BYTES, "eviction stops below the limit");
	unwind_files_done(&u);

	fill(&u, w.t, 0);
	u.tables.max_bytes = 3 * BYTES + BYTES / 2;
	ok(!unwind_files_trim(&u) && has(&u, 0) && !has(&u, 1),
	   "tables in the kernel stay for a while longer");
	u.files[2]->table->used_ns = u.files[3]->table->used_ns += 2 * NS_PER_S;
	u.tables.max_bytes = 2 * BYTES + BYTES / 2;
	ok(unwind_files_trim(&u) && !has(&u, 0) && has(&u, 2),
	   "tables in the kernel do not stay forever, which is reported");
	unwind_files_done(&u);
	end_world(&w);
}

static void test_kernel_is_full(void)
{
	struct test_world w = new_world(SIZE_MAX);
	struct unwind_files u;

	fill(&u, w.t, NR_FILES);
	u.tables.needs_room = true;
	(void)unwind_files_trim(&u);
	ok(u.tables.stats.nr_evicted == 1 && !has(&u, 0),
	   "when the kernel has no room, one table is evicted");
	(void)unwind_files_trim(&u);
	ok(u.tables.stats.nr_evicted == 1, "one table is evicted for each refusal");
	tables_retire(w.t, &(struct table_slot){ 0, 0 }, NULL, 0);
	u.tables.needs_room = true;
	(void)unwind_files_trim(&u);
	ok(u.tables.stats.nr_evicted == 1,
	   "no table is evicted while the room of another is not free yet");
	unwind_files_done(&u);
	end_world(&w);
}

/* Two segments of code in one file, which share a page of it and lie apart in memory. */
static void test_bias(void)
{
	struct elf_segment loads[] = {
		{ .offset = 0x1000, .vaddr = 0x401000, .filesz = 0x1234 },
		{ .offset = 0x2234, .vaddr = 0x405234, .filesz = 0x1000 },
	};
	struct unwind_file f = { .made = { .loads = loads, .nr_loads = 2 } };
	struct mapping first = { .start = 0x7f0000001000, .end = 0x7f0000003000, .offset = 0x1000 };
	struct mapping second = { .start = 0x7f0000005000,
				  .end = 0x7f0000007000,
				  .offset = 0x2000 };
	struct mapping other = { .start = 0x7f0000009000, .end = 0x7f000000a000, .offset = 0x9000 };
	uint64_t bias = 0;

	ok(unwind_file_bias(&f, &first, &bias) == 0 && bias == 0x7f0000001000 - 0x401000,
	   "a mapping shows the segment that it was created for");
	ok(unwind_file_bias(&f, &second, &bias) == 0 && bias == 0x7f0000005000 - 0x405000,
	   "a mapping does not show the end of the segment before");
	ok(unwind_file_bias(&f, &other, &bias) == -ENOENT,
	   "a mapping of something else shows no segment");
}

int main(void)
{
	test_trim();
	test_kernel_is_full();
	test_bias();
	return tap_done();
}
