/* SPDX-License-Identifier: Apache-2.0 */
/* Perf maps and jitdumps are read up to a limit per user, and not after that was cancelled. */
#include "jit_named.h"
#include "patience.h"
#include "symbolize/jit_budget.h"

/* Of a long list no more is read than was under way. */
static void test_cancelled_map(void)
{
	enum { LINES = 200000 };
	struct jit_address a = { .addr = 0x1000 };
	struct patience p = { .left = 3 };
	struct cancel cancel = patience_cancel(&p);
	struct jit_sources src = { .nr_symbol_files = 1, .addresses = &a, .nr_addresses = 1 };
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct symbolizer *s = NULL;
	FILE *f;

	src.symbol_files[0] = JIT_SYMBOL_FILES(fd, -1);
	f = fdopen(dup(fd), "w");
	must(fd >= 0 && f);
	for (unsigned int i = 0; i < LINES; i++)
		fprintf(f, "%x 10 function_%u\n", 0x1000 + i * 16, i);
	must(fclose(f) == 0);
	counts = (struct jit_counts){ 0 };
	src.cancel = &cancel;
	ok(symbolizer_new_jit(&src, &counts, &s) == -ECANCELED,
	   "limits: reading a map can be cancelled");
	ok(counts.nr_map_lines > 0 && counts.nr_map_lines < LINES / 2,
	   "after %" PRIu64 " of %d lines", counts.nr_map_lines, LINES);
	src.cancel = NULL;
	must(symbolizer_new_jit(&src, &counts, &s) == 0);
	ok(is(s, 0x1000, "function_0||0"),
	   "limits: a map that is not cancelled is read to its end");
	symbolizer_free(s);
	close(fd);
}

static int sized_list(off_t bytes, uid_t owner)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	must(fd >= 0 && ftruncate(fd, bytes) == 0);
	if (geteuid() == 0)
		must(fchown(fd, owner, owner) == 0);
	return fd;
}

/* Lists that many processes have in common, each larger than it looks. */
static void test_budget(void)
{
	struct jit_address a = { .addr = 0x1000 };
	struct jit_sources src = { .nr_symbol_files = 1, .addresses = &a, .nr_addresses = 1 };
	struct symbolizer *s = NULL;
	struct jit_budget b;
	uint64_t nr = 0;
	int fd = sized_list(100 << 20, 1000), small = jit_file("1000 10 f\n", 10);

	jit_budget_init(&b);
	while (jit_budget_take(&b, fd, JIT_FOR_CODE))
		nr++;
	ok(nr == 15, "a user's lists of 100 MiB are read %" PRIu64 " times", nr);
	src.symbol_files[0] = JIT_SYMBOL_FILES(fd, -1);
	jit_budget_limit(&b, &src.symbol_files[0], JIT_FOR_CODE);
	counts = (struct jit_counts){ 0 };
	must(symbolizer_new_jit(&src, &counts, &s) == 0);
	ok(counts.nr_maps_too_large == 1 && counts.nr_maps == 0,
	   "limits: maps over the limit are counted");
	symbolizer_free(s);
	if (geteuid() == 0) {
		src.symbol_files[0] = JIT_SYMBOL_FILES(small, -1);
		jit_budget_limit(&b, &src.symbol_files[0], JIT_FOR_CODE);
		must(symbolizer_new_jit(&src, &counts, &s) == 0);
		ok(is(s, 0x1000, "f||0"), "limits: other maps are read");
		symbolizer_free(s);
		for (uid_t uid = 2000; uid < 2100; uid++) {
			close(fd);
			fd = sized_list(100 << 20, uid);
			while (jit_budget_take(&b, fd, JIT_FOR_CODE))
				nr++;
		}
		ok(nr < 41, "a hundred users have a limit together: %" PRIu64, nr);
	} else {
		tap_skip("needs root, to have files of other users");
	}
	jit_budget_done(&b);
	close(fd);
	close(small);
}

/* A list is needed for several things; 40 workers are not an attack. */
static void test_budget_purposes(void)
{
	static const enum jit_purpose all[] = { JIT_FOR_MOMENTS, JIT_FOR_CODE, JIT_FOR_FILES };
	struct jit_budget b;
	uint32_t nr = 0, nr_left = 0;
	int fd;

	jit_budget_init(&b);
	fd = sized_list(600 << 20, 1000);
	for (size_t i = 0; i < 3; i++)
		nr += jit_budget_take(&b, fd, all[i]) > 600 << 20;
	ok(nr == 3, "limits: a map of 600 MB is read for each purpose: %u", nr);
	must(ftruncate(fd, 700 << 20) == 0);
	ok(jit_budget_take(&b, fd, JIT_FOR_CODE) > 700 << 20,
	   "limits: reading it again is charged");
	must(ftruncate(fd, 1000 << 20) == 0);
	ok(jit_budget_take(&b, fd, JIT_FOR_FILES) == (700 << 20) + 4096,
	   "limits: its growth is charged as well");
	close(fd);
	jit_budget_done(&b);
	jit_budget_init(&b);
	nr = 0;
	for (int i = 0; i < 40; i++) {
		fd = sized_list(30 << 20, 1000);
		nr += jit_budget_take(&b, fd, JIT_FOR_CODE) > 0;
		nr_left += jit_budget_take(&b, fd, JIT_FOR_FILES) == 0;
		close(fd);
	}
	ok(nr == 40 && !nr_left, "limits: 40 maps of 30 MiB of one user are read: %u", nr);
	jit_budget_done(&b);
}

static void test_cancelled_dump(struct dump_maker *d)
{
	struct jit_address a = { 0x1000, 50 };
	struct patience p = { .left = 1 };
	struct cancel cancel = patience_cancel(&p);
	struct jit_sources src = { .nr_symbol_files = 1, .addresses = &a, .nr_addresses = 1 };
	struct symbolizer *s = NULL;

	dump_init(d, 0);
	src.symbol_files[0] = JIT_SYMBOL_FILES(-1, jit_file(d->bytes, d->len));
	src.cancel = &cancel;
	ok(symbolizer_new_jit(&src, &counts, &s) == -ECANCELED,
	   "limits: reading a jitdump can be cancelled");
	close(src.symbol_files[0].dump_fd);
}

int main(void)
{
	struct dump_maker *d = malloc(sizeof(*d));

	must(d);
	test_cancelled_map();
	test_budget();
	test_budget_purposes();
	test_cancelled_dump(d);
	free(d);
	return tap_done();
}
