/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_unwind FILE…: what the CFI compiler costs, as CSV on standard output: file, FDEs, rows,
 * bytes per row (directory included), rules, CPU nanoseconds per FDE (best of five, warm), and the
 * same for libdw, asked for every row once.
 *
 * bench_unwind ours|libdw FILE: does it once, in compile_once() or ask_libdw(), for callgrind.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "elf/elf_image.h"
#include "oracle/unwind_tool/oracle.h"
#include "tap.h"
#include "unwind/eh_frame.h"
#include "unwind/rule_dict.h"
#include "unwind/table.h"

#define ROUNDS 5

/* Not static: callgrind counts inside these two. */
__attribute__((noinline)) void compile_once(int fd, struct rule_dict *dict,
					    struct unwind_table **ret_table);
__attribute__((noinline)) uint64_t ask_libdw(Elf *elf);

void compile_once(int fd, struct rule_dict *dict, struct unwind_table **ret_table)
{
	struct elf_image *img;
	const struct cfi *source;
	struct cfi *cfi;

	must(elf_image_open_fd(fd, &img) == 0);
	must(cfi_open_eh_frame(img, &cfi) == 0);
	source = cfi;
	must(unwind_compile(&source, 1, dict, ret_table) == 0);
	cfi_free(cfi);
	elf_image_free(img);
}

static void ask_row(const struct oracle_row *row)
{
	Dwarf_Op mem[3], *ops;
	size_t nr;

	must(dwarf_frame_cfa(row->frame, &ops, &nr) == 0);
	must(dwarf_frame_register(row->frame, 6, mem, &ops, &nr) == 0);
	must(dwarf_frame_register(row->frame, 16, mem, &ops, &nr) == 0);
}

/* What a compiler that stands on libdw would do. */
uint64_t ask_libdw(Elf *elf)
{
	struct oracle_row row;
	struct oracle o;
	uint64_t nr = 0;

	must(oracle_open(elf, false, &o) == 0);
	for (size_t i = 0; i < o.nr; i++)
		for (uint64_t pc = o.fdes[i].start; pc < o.fdes[i].end; pc = row.end) {
			must(oracle_row_at(&o, pc, &row) == 0);
			ask_row(&row);
			free(row.frame);
			nr++;
		}
	oracle_close(&o);
	return nr;
}

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static uint64_t best_of_ours(int fd, struct unwind_table **ret_table)
{
	struct unwind_table *t = NULL;
	struct rule_dict dict;
	uint64_t best = UINT64_MAX;

	must(rule_dict_init(&dict) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t began = cpu_ns();

		unwind_table_free(t);
		compile_once(fd, &dict, &t);
		if (cpu_ns() - began < best)
			best = cpu_ns() - began;
	}
	rule_dict_done(&dict);
	*ret_table = t;
	return best;
}

static uint64_t best_of_libdw(int fd)
{
	uint64_t began;
	Elf *elf;

	elf = elf_begin(fd, ELF_C_READ, NULL);
	must(elf);
	began = cpu_ns();
	(void)ask_libdw(elf);
	began = cpu_ns() - began;
	elf_end(elf);
	return began;
}

static void report(const char *path, int fd)
{
	struct unwind_table *t;
	uint64_t ns = best_of_ours(fd, &t), libdw_ns = best_of_libdw(fd);
	double bytes =
		(double)t->nr_rows * sizeof(*t->rows) + (double)t->nr_blocks * sizeof(*t->blocks);

	printf("%s,%u,%u,%.2f,%u,%" PRIu64 ",%" PRIu64 "\n", path, t->stats.nr_fdes, t->nr_rows,
	       bytes / t->nr_rows, t->nr_rules, ns / t->stats.nr_fdes, libdw_ns / t->stats.nr_fdes);
	fflush(stdout);
	unwind_table_free(t);
}

static int once(const char *who, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(fd >= 0);
	if (strcmp(who, "ours") == 0) {
		struct unwind_table *t;
		struct rule_dict dict;

		must(rule_dict_init(&dict) == 0);
		compile_once(fd, &dict, &t);
		printf("%u\n", t->stats.nr_fdes);
		unwind_table_free(t);
		rule_dict_done(&dict);
	} else {
		Elf *elf = elf_begin(fd, ELF_C_READ, NULL);

		must(elf);
		(void)ask_libdw(elf);
		elf_end(elf);
	}
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	(void)elf_version(EV_CURRENT); /* the one that it knows */
	if (argc == 3 && (strcmp(argv[1], "ours") == 0 || strcmp(argv[1], "libdw") == 0))
		return once(argv[1], argv[2]);
	printf("file,fdes,rows,bytes_per_row,rules,ns_per_fde,libdw_ns_per_fde\n");
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0) {
			printf("# %s: %s\n", argv[i], strerror(errno));
			continue;
		}
		report(argv[i], fd);
		close(fd);
	}
	return 0;
}
