/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_names [FILE [ADDRESSES]]: what names cost, as CSV on standard output: step, value, unit. The
 * kernel's list (/proc/kallsyms, needs root for its addresses) is read and named by; FILE (default:
 * this program) gives the user addresses, taken evenly over its symbols' range.
 *
 * Budgets (design): a fresh list 60 ms per 100,000 lines, a cached one 10 ms.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/ksym_iter.h"
#include "elf/elf_image.h"
#include "symbolize/kernel_cache.h"
#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_elf.h"
#include "symbolize/symbolizer_kernel.h"
#include "tap.h"

#define ROUNDS 5 /* the best of them counts: the machine is shared */
#define NR_KERNEL_ADDRESSES 200000u

static char cache_path[] = "/tmp/bench_names.XXXXXX";

static int open_kallsyms(void *ctx, int *ret_fd)
{
	*ret_fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

static int open_iterator(void *ctx, int *ret_fd)
{
	return ksym_iter_open(NULL, ret_fd);
}

static int read_key(void *ctx, struct kernel_key *ret_key)
{
	*ret_key = (struct kernel_key){ .boot_id = "a benchmark" };
	return 0;
}

static const struct kernel_list kallsyms = { 1, "/proc/kallsyms", open_kallsyms };
static const struct kernel_list iterator = { 2, "the iterator", open_iterator };

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void report(const char *step, double value, const char *unit)
{
	printf("%s,%.3f,%s\n", step, value, unit);
	fflush(stdout);
}

static uint64_t count_lines(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	uint64_t nr = 0;
	int c;

	must(f);
	while ((c = getc_unlocked(f)) != EOF)
		nr += c == '\n';
	fclose(f);
	return nr;
}

/* CPU time of the quickest of some rounds; the last symbolizer is given back. */
static double load_ms(const struct kernel_list *list, const char *cache, struct symbolizer **ret,
		      struct kernel_outcome *outcome)
{
	struct kernel_sources src = {
		.lists = list, .nr_lists = 1, .cache_path = cache, .read_key = read_key
	};
	uint64_t best = UINT64_MAX;

	*ret = NULL;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t began = cpu_ns(), took;

		symbolizer_free(*ret);
		must(symbolizer_new_kernel(&src, ret, outcome) == 0);
		took = cpu_ns() - began;
		if (took < best)
			best = took;
	}
	return (double)best / NS_PER_MS;
}

/* Where the kernel was put at this boot. */
static uint64_t core_start(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[256];
	uint64_t addr = 0;

	must(f);
	while (!addr && fgets(line, sizeof(line), f))
		if (strstr(line, " _stext\n"))
			addr = strtoull(line, NULL, 16);
	fclose(f);
	must(addr);
	return addr;
}

static void bench_lookups(struct symbolizer *s)
{
	uint64_t at = 1, base = core_start(), began = cpu_ns();
	struct symbol_result r;

	for (uint32_t i = 0; i < NR_KERNEL_ADDRESSES; i++) {
		at = at * 6364136223846793005ull + 1442695040888963407ull;
		must(s->ops->resolve(s, base + (at >> 41), &r) == 0); /* in 8 MiB */
	}
	report("kernel_address", (double)(cpu_ns() - began) / NR_KERNEL_ADDRESSES, "ns");
}

static void bench_kernel(void)
{
	struct kernel_outcome outcome;
	struct symbolizer *s;
	uint64_t lines = count_lines();
	double ms = load_ms(&kallsyms, NULL, &s, &outcome);

	printf("# %" PRIu64 " lines; names: %s\n", lines, outcome.source);
	if (symbolizer_is_raw(s)) {
		symbolizer_free(s);
		return;
	}
	report("kallsyms_fresh", ms, "ms");
	report("kallsyms_fresh_rate", (double)lines / ms, "lines/ms");
	report("kallsyms_fresh_100k", ms * 1e5 / (double)lines, "ms");
	bench_lookups(s);
	symbolizer_free(s);
	(void)unlink(cache_path);
	(void)load_ms(&kallsyms, cache_path, &s, &outcome); /* writes it */
	symbolizer_free(s);
	ms = load_ms(&kallsyms, cache_path, &s, &outcome);
	must(outcome.is_cached);
	report("kallsyms_cached", ms, "ms");
	report("kallsyms_cached_rate", (double)lines / ms, "lines/ms");
	symbolizer_free(s);
	ms = load_ms(&iterator, NULL, &s, &outcome);
	if (symbolizer_is_raw(s))
		printf("# %s\n", outcome.source);
	else
		report("iterator_fresh", ms, "ms");
	symbolizer_free(s);
}

static void bench_pass(struct symbolizer *s, uint64_t from, uint64_t to, uint32_t nr,
		       uint64_t began, const char *step)
{
	uint32_t nr_named = 0;

	for (uint32_t i = 0; i < nr; i++) {
		struct symbol_result r;

		must(s->ops->resolve(s, from + (to - from) / nr * i, &r) == 0);
		nr_named += r.is_named;
	}
	report(step, (double)(cpu_ns() - began) / 1e3 / nr, "us");
	printf("# %u of %u have a name\n", nr_named, nr);
}

/* Cold: with opening the file and its symbols. Warm: the same addresses once more. */
static void bench_file(const char *path, uint32_t nr)
{
	uint64_t began = cpu_ns(), from = UINT64_MAX, to = 0;
	const struct elf_segment *loads;
	size_t nr_loads;
	struct elf_image *img;
	struct symbolizer *s;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(fd >= 0 && elf_image_open_fd(fd, &img) == 0);
	loads = elf_image_loads(img, &nr_loads);
	for (size_t i = 0; i < nr_loads; i++) {
		if (!(loads[i].flags & PF_X))
			continue;
		from = loads[i].vaddr < from ? loads[i].vaddr : from;
		to = loads[i].vaddr + loads[i].filesz > to ? loads[i].vaddr + loads[i].filesz : to;
	}
	must(from < to);
	must(symbolizer_new_elf(&(struct elf_sources){ .image = img, .label = "file" }, &s) == 0);
	bench_pass(s, from, to, nr, began, "user_address_cold");
	bench_pass(s, from, to, nr, cpu_ns(), "user_address_warm");
	symbolizer_free(s);
	elf_image_free(img);
	close(fd);
}

int main(int argc, char **argv)
{
	int fd = mkstemp(cache_path);

	must(fd >= 0);
	close(fd);
	printf("step,value,unit\n");
	bench_kernel();
	bench_file(argc > 1 ? argv[1] : "/proc/self/exe",
		   argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 2000);
	(void)unlink(cache_path);
	return 0;
}
