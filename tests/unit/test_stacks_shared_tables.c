/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of a file have one table. And a dictionary that is too small for the rules of all files: what
 * is dropped makes room in it, and not before the kernel has done with it. By a clock that is set by
 * hand. */
#include <time.h>

#include "bare_maker.h"
#include "base/clock.h"
#include "fake_maps.h"
#include "stacks/unwind_files.h"

#define NR_FILES 3
#define COPY 3 /* of file 0; one more is on the disk */
#define NR_ON_DISK 4
#define NR_RULES 20 /* of a file */
#define RSP 7

static time_t now_s = 1000;

int clock_gettime(clockid_t clock, struct timespec *to)
{
	*to = (struct timespec){ .tv_sec = now_s };
	return 0;
}

struct scene {
	struct test_world maps;
	struct fake fake;
	struct filestore *store;
	struct unwind_files u;
	struct mapping m[NR_ON_DISK];
	const pa_rule *kernel_rules;
};

/* Offsets of the CFA that no other file has. */
static int64_t offset_of(uint32_t file, uint32_t i)
{
	return 8 + 8 * (file * NR_RULES + i);
}

static void write_prog(const struct scene *s, const char *name, uint32_t file)
{
	static struct cfi_maker cfi;
	struct elf_maker m;
	unsigned int at;

	bare_begin(&m, BARE_BUILD_ID);
	bare_code(&m);
	cfi_begin(&cfi);
	cfi_cie_x86(&cfi);
	for (uint32_t i = 0; i < NR_RULES; i++) {
		uint64_t off = (uint64_t)offset_of(file, i);
		uint8_t program[] = { 0x0e, (uint8_t)(off & 0x7f) | 0x80, (uint8_t)(off >> 7) };

		cfi_fde(&cfi, CODE + 16 * i, 16, program, sizeof(program));
	}
	at = maker_section(&m, ".eh_frame", SHT_PROGBITS, 0, cfi.bytes, cfi.len);
	m.shdrs[at].sh_addr = MAKER_ADDR;
	bare_end(&m, &s->fake, name);
}

static void add_file(struct scene *s, uint32_t i)
{
	char name[16], link[64], target[PATH_MAX];
	struct file_hint hint = { .pid = 10, .start = 0x1000 * (i + 1), .end = 0x1000 * (i + 2) };
	struct file_key key;

	snprintf(name, sizeof(name), "prog%u", i);
	snprintf(link, sizeof(link), "10/map_files/%jx-%jx", (uintmax_t)hint.start,
		 (uintmax_t)hint.end);
	write_prog(s, name, i == COPY ? 0 : i);
	fake_link(&s->fake, link, fake_path(&s->fake, name, target));
	key = fake_key(&s->fake, name);
	s->m[i] = (struct mapping){ .kind = MAPPING_FILE };
	must(filestore_add(s->store, &key, target, NULL, &hint, &s->m[i].file) == 0);
	s->m[i].content = s->m[i].file;
}

/* With room for so many rules besides the fixed ones. */
static void begin(struct scene *s, uint32_t nr_rules)
{
	*s = (struct scene){ .maps = new_world(SIZE_MAX) };
	fake_init(&s->fake);
	must(filestore_new(&s->fake.procfs, NR_ON_DISK, &s->store) == 0);
	for (uint32_t i = 0; i < NR_ON_DISK; i++)
		add_file(s, i);
	must(unwind_files_init(&s->u, &(struct unwind_files_config){ .store = s->store,
								     .tables = s->maps.t,
								     .max_bytes = SIZE_MAX,
								     .is_inline = true }) == 0);
	s->u.tables.rules.dict.max = 2 + nr_rules;
	s->kernel_rules = mmap(NULL, (PA_MAX_RULES + 1) * sizeof(pa_rule), PROT_READ, MAP_SHARED,
			       s->maps.cfg.rules_fd, 0);
	must(s->kernel_rules != MAP_FAILED);
}

static void end(struct scene *s)
{
	munmap((void *)(uintptr_t)s->kernel_rules, (PA_MAX_RULES + 1) * sizeof(pa_rule));
	unwind_files_done(&s->u);
	filestore_free(s->store);
	fake_done(&s->fake);
	end_world(&s->maps);
}

/* A walk needs the file: compiled if need be, and in the kernel. */
static struct unwind_file *use(struct scene *s, uint32_t i)
{
	struct unwind_file *f;

	if (!unwind_files_ask(&s->u, &s->m[i]))
		must(unwind_files_wait(&s->u, UINT64_MAX));
	f = unwind_files_get(&s->u, &s->m[i]);
	must(f->state == UNWIND_READY && shared_tables_send(&s->u.tables, f->table));
	unwind_files_use(&s->u, &s->m[i], clock_mono_ns());
	return f;
}

static bool has_table(struct scene *s, uint32_t i)
{
	return unwind_files_get(&s->u, &s->m[i])->state == UNWIND_READY;
}

/* Rules of the file by which the kernel's walker would go right; -1: by one it would go wrong. */
static int nr_right(struct scene *s, uint32_t i)
{
	const struct unwind_file *f = unwind_files_get(&s->u, &s->m[i]);
	int nr = 0;

	for (uint32_t k = 0; k < NR_RULES; k++) {
		uint16_t id =
			tables_find(s->maps.t, &f->table->slot, f->table->base, CODE + 16 * k);

		if (s->kernel_rules[id] == rule_reg(RSP, offset_of(i, k)))
			nr++;
		else if (s->kernel_rules[id] != PA_RULE_WORD_USER)
			return -1;
		if (shared_table_rule(&s->u.tables, f->table, CODE + 16 * k) != s->kernel_rules[id])
			return -1;
	}
	return nr;
}

/* As a session's turn, so many seconds later. */
static bool turn(struct scene *s, int seconds)
{
	bool is_gone;

	now_s += seconds;
	is_gone = unwind_files_trim(&s->u);
	(void)tables_age(s->maps.t);
	return is_gone;
}

/* The same file as processes of a root see it. */
static struct mapping place_of(struct scene *s, const char *name, uint32_t root)
{
	struct file_hint hint = { .pid = 10, .start = 0x1000, .end = 0x2000, .root = root };
	struct file_key key = fake_key(&s->fake, name);
	struct mapping m = { .kind = MAPPING_FILE };
	char target[PATH_MAX];

	fake_link(&s->fake, "10/map_files/1000-2000", fake_path(&s->fake, name, target));
	must(filestore_add(s->store, &key, target, NULL, &hint, &m.file) == 0);
	m.content = filestore_get(s->store, m.file)->content;
	return m;
}

static void test_other_places(void)
{
	const struct unwind_file *f;
	struct mapping here, there;
	struct elf_maker m;
	struct scene s;

	begin(&s, NR_ON_DISK * NR_RULES);
	bare_begin(&m, BARE_BUILD_ID);
	bare_code(&m);
	bare_frames(&m, false, CODE, BARE_BYTES, 16);
	bare_end(&m, &s.fake, "whole");
	here = place_of(&s, "whole", 0);
	there = place_of(&s, "whole", 7);
	ok(here.file != there.file && here.content == there.content,
	   "a file has one number per place");
	must(!unwind_files_ask(&s.u, &here) && unwind_files_wait(&s.u, UINT64_MAX));
	ok(unwind_files_ask(&s.u, &there), "a table compiled in one place is used in all");
	f = unwind_files_get(&s.u, &there);
	ok(f->table && f->table == s.u.files[here.file]->table && f->made.nr_loads &&
		   unwind_files_stats(&s.u).nr_compiled == 1,
	   "a file in several places is compiled once");
	there = place_of(&s, "prog0", 7);
	(void)use(&s, 0);
	ok(s.m[0].file != there.file && !unwind_files_ask(&s.u, &there),
	   "if a separate debug file may add something, each place is compiled");
	end(&s);
}

static void test_copy(void)
{
	struct scene s;
	const struct shared_table *t;

	begin(&s, NR_ON_DISK * NR_RULES);
	t = use(&s, 0)->table;
	ok(s.m[0].file != s.m[COPY].file && use(&s, COPY)->table == t,
	   "a copy of a file shares its table");
	ok(use(&s, 1)->table != t && nr_right(&s, 1) == NR_RULES && nr_right(&s, 0) == NR_RULES,
	   "another file with the same build-id does not share the table");
	ok(s.u.tables.bytes == 2 * t->bytes && tables_bytes(s.maps.t) < 2 * t->bytes,
	   "a shared table is stored once");
	s.u.tables.max_bytes = t->bytes * 3 / 2;
	now_s++;
	(void)use(&s, COPY);
	(void)turn(&s, 0);
	ok(has_table(&s, 0) && has_table(&s, COPY) && !has_table(&s, 1),
	   "using one file marks the shared table as used");
	s.u.tables.max_bytes = 1;
	ok(turn(&s, 0) && !has_table(&s, 0) && !has_table(&s, COPY) && s.u.tables.bytes == 0,
	   "an evicted shared table is gone for all files");
	s.u.tables.max_bytes = SIZE_MAX;
	ok(use(&s, COPY)->table == use(&s, 0)->table && nr_right(&s, 0) == NR_RULES,
	   "an evicted shared table comes back for all files");
	end(&s);
}

/* While it is not in the kernel. */
static void test_copy_here(void)
{
	struct scene s;

	begin(&s, NR_ON_DISK * NR_RULES);
	for (uint32_t i = 0; i < NR_ON_DISK; i++) {
		must(!unwind_files_ask(&s.u, &s.m[i]));
		must(unwind_files_wait(&s.u, UINT64_MAX));
	}
	ok(unwind_files_get(&s.u, &s.m[0])->table == unwind_files_get(&s.u, &s.m[COPY])->table &&
		   s.u.tables.nr == NR_FILES && s.u.tables.stats.nr_shared == 1,
	   "a copy shares the table even before the kernel has it");
	end(&s);
}

static void test_too_big(void)
{
	struct scene s;
	struct unwind_file *f;

	begin(&s, NR_ON_DISK * NR_RULES);
	(void)use(&s, 0);
	must(!unwind_files_ask(&s.u, &s.m[1]) && unwind_files_wait(&s.u, UINT64_MAX));
	f = unwind_files_get(&s.u, &s.m[1]);
	f->table->table->nr_blocks = NR_BLOCKS + 1;
	ok(!shared_tables_send(&s.u.tables, f->table) && s.u.tables.stats.nr_refused == 1,
	   "a table too big for the kernel stays in user space");
	(void)turn(&s, 1);
	ok(has_table(&s, 0) && has_table(&s, 1), "a table too big for the kernel evicts nothing");
	ok(shared_table_rule(&s.u.tables, f->table, CODE) == rule_reg(RSP, offset_of(1, 0)),
	   "a table too big for the kernel finishes walks");
	end(&s);
}

static void test_full(void)
{
	struct scene s;

	begin(&s, 2 * NR_RULES);
	(void)use(&s, 0);
	(void)use(&s, 1);
	ok(nr_right(&s, 0) == NR_RULES && nr_right(&s, 1) == NR_RULES &&
		   s.u.tables.stats.nr_short == 0,
	   "rules: two files fit");
	ok(use(&s, 2)->table->rules.nr_refused == NR_RULES && nr_right(&s, 2) == 0,
	   "rules: the rows of a third file are left to user space");
	ok(s.u.tables.stats.nr_short == 1, "rules: the refusal is counted");
	ok(!turn(&s, 1) && has_table(&s, 0) && has_table(&s, 1),
	   "rules: no table in use is evicted for them");
	end(&s);
}

static void test_refilled(void)
{
	struct scene s;

	begin(&s, 2 * NR_RULES);
	(void)use(&s, 0);
	(void)use(&s, 1);
	(void)use(&s, 2);
	now_s += 10;
	(void)use(&s, 1);
	(void)use(&s, 2);
	ok(turn(&s, 0) && !has_table(&s, 0) && has_table(&s, 1) && has_table(&s, 2),
	   "rules: a table that was not used for long is evicted");
	for (int i = 0; i < 10; i++)
		(void)turn(&s, 0);
	ok(rule_dict_room(&s.u.tables.rules.dict) == 0 && nr_right(&s, 1) == NR_RULES,
	   "rules: they stay while the kernel may read them");
	(void)turn(&s, 1);
	ok(rule_dict_room(&s.u.tables.rules.dict) == NR_RULES,
	   "rules: later they make room for others");
	ok(turn(&s, 0) && !has_table(&s, 2), "rules: the table that lacked some is compiled again");
	ok(!use(&s, 2)->table->rules.nr_refused && nr_right(&s, 2) == NR_RULES &&
		   nr_right(&s, 1) == NR_RULES,
	   "rules: it has all of them now, and others have not changed");
	ok(use(&s, 0)->table->rules.nr_refused == NR_RULES && nr_right(&s, 0) == 0,
	   "rules: the evicted table comes back lacking some");
	end(&s);
}

/* For much longer than there are numbers. */
static void test_for_long(void)
{
	struct scene s;
	int nr_wrong = 0;

	begin(&s, 2 * NR_RULES);
	for (uint32_t i = 0; i < 300; i++) {
		(void)use(&s, i % NR_FILES);
		nr_wrong += nr_right(&s, i % NR_FILES) < 0;
		for (int k = 0; k < 8; k++)
			(void)turn(&s, 2);
	}
	ok(nr_wrong == 0, "rules: no table ever has another one's rule");
	(void)use(&s, 0);
	for (int k = 0; k < 20; k++)
		(void)turn(&s, 2);
	ok(use(&s, 0)->table->rules.nr_refused == 0 && s.u.tables.rules.dict.nr <= 2 + 2 * NR_RULES,
	   "rules: a table in use gets all its rules in the end");
	end(&s);
}

int main(void)
{
	test_other_places();
	test_copy();
	test_copy_here();
	test_too_big();
	test_full();
	test_refilled();
	test_for_long();
	return tap_done();
}
