/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_helper [-a ALT] [-d DEBUG] [-s] [-t] FILE: our lines and inlines as text. Reads an address per
 * line, answers one line: the frames, innermost first, separated by tabs, each "function file:line
 * start" with "?" for what is not known. Where DWARF has no function the symbol table's name is
 * given, as all others do. -s: what
 * the symbolizer makes of it, symbols as they stand; -r: as people read them. -t: only the time and memory that it took, for benchmarks.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "dwarf/dwarf.h"
#include "elf/elf_image.h"
#include "symbolize/symbolize_internal.h"

static const char *program; /* its path */

/* A split file from the file system as it is: tests trust what they have built. */
static int open_needed(const char *path)
{
	char dwp[4096];

	if (!path) {
		snprintf(dwp, sizeof(dwp), "%s.dwp", program);
		path = dwp;
	}
	return open(path, O_RDONLY | O_CLOEXEC);
}

static struct elf_image *open_image(const char *path)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct elf_image *img = NULL;

	if (path && (fd < 0 || elf_image_open_fd(fd, &img) < 0)) {
		fprintf(stderr, "dwarf_helper: %s cannot be read\n", path);
		exit(1);
	}
	return img;
}

static void print_frame(const struct dwarf_frame *f, bool is_first)
{
	printf("%s%s %s:%" PRIu32 " %" PRIu32, is_first ? "" : "\t", f->name ? f->name : "?",
	       f->path ? f->path : "?", f->line, f->start_line);
}

static int resolve(struct dwarf *d, uint64_t addr, struct dwarf_frame *frames, uint32_t *ret_nr)
{
	int r;

	while ((r = dwarf_resolve(d, addr, frames, ret_nr)) == -EAGAIN)
		dwarf_supply(d, open_needed(dwarf_needed_path(d)));
	return r;
}

static int answer(struct dwarf *d, const struct symtab_index *symbols, bool is_quiet)
{
	static struct dwarf_frame frames[DWARF_MAX_FRAMES];
	static char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		uint64_t addr = strtoull(line, NULL, 16);
		struct symtab_hit hit;
		uint32_t nr = 0;
		int r = resolve(d, addr, frames, &nr);

		if (r == -ENOMEM)
			return 1;
		if (r < 0)
			frames[nr++] = (struct dwarf_frame){ 0 };
		if (!frames[nr - 1].name && symtab_index_find(symbols, addr, &hit))
			frames[nr - 1].name = hit.name;
		for (uint32_t i = 0; i < nr && !is_quiet; i++)
			print_frame(&frames[i], i == 0);
		if (!is_quiet)
			printf("\n");
	}
	return 0;
}

/* As the agent shows them, or not demangled. */
static int answer_by_symbolizer(const struct dwarf_files *files, bool is_readable)
{
	struct elf_sources src = { .image = files->image,
				   .debug = files->debug,
				   .alt = files->alt,
				   .has_split_files = true,
				   .label = "file" };
	static char line[64];
	struct symbol_result res;
	struct symbolizer *s;

	if (symbolizer_new_elf(&src, &s) < 0)
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t addr = strtoull(line, NULL, 16);
		int r;

		while ((r = s->ops->resolve(s, addr, &res)) == -EAGAIN)
			symbolizer_elf_supply(s, open_needed(symbolizer_elf_needed_path(s)));
		if (r < 0)
			return 1;
		for (uint32_t i = 0; i < res.nr_frames; i++) {
			const struct symbol_frame *f = &res.frames[i];

			const char *name = is_readable ? f->name : f->system_name;

			print_frame(&(struct dwarf_frame){ res.is_named ? name : NULL, f->filename,
							   f->line, f->start_line },
				    i == 0);
		}
		printf("\n");
	}
	symbolizer_free(s);
	return 0;
}

int main(int argc, char **argv)
{
	const char *alt = NULL, *debug = NULL;
	struct dwarf_files files = { .has_split_files = true };
	uint64_t began = clock_ns(CLOCK_MONOTONIC), opened;
	struct symtab_index symbols = { 0 };
	enum symtab_state state;
	bool is_quiet = false, is_symbolizer = false, is_readable = false;
	struct dwarf *d;
	struct rusage used;
	int r;

	for (int c; (c = getopt(argc, argv, "a:d:rst")) != -1;) {
		if (c == 'a')
			alt = optarg;
		else if (c == 'd')
			debug = optarg;
		else if (c == 's' || c == 'r')
			is_symbolizer = true, is_readable = c == 'r';
		else if (c == 't')
			is_quiet = true;
		else
			return 2;
	}
	if (optind + 1 != argc)
		return 2;
	program = argv[optind];
	files.image = open_image(argv[optind]);
	files.debug = debug ? open_image(debug) : files.image;
	files.alt = open_image(alt);
	if (is_symbolizer)
		return answer_by_symbolizer(&files, is_readable);
	r = dwarf_open(&files, &d);
	if (r < 0) {
		fprintf(stderr, "dwarf_helper: %s: %s\n", argv[optind], strerror(-r));
		return 1;
	}
	if (symtab_index_init(&symbols, files.debug, elf_symbols_each, &state) < 0)
		return 1;
	opened = clock_ns(CLOCK_MONOTONIC);
	r = answer(d, &symbols, is_quiet);
	getrusage(RUSAGE_SELF, &used);
	if (is_quiet)
		printf("index_ms %.1f total_ms %.1f held_kb %" PRIu64 " rss_kb %ld cost_kb %" PRIu64
		       "\n",
		       (double)(opened - began) / 1e6,
		       (double)(clock_ns(CLOCK_MONOTONIC) - began) / 1e6,
		       dwarf_held_bytes(d) / 1024, used.ru_maxrss,
		       dwarf_estimate_bytes(&files) / 1024);
	fprintf(stderr, "losses: %s%s%u split\n", dwarf_losses(d)->is_damaged ? "damaged " : "",
		dwarf_losses(d)->is_over_budget ? "budget " : "",
		dwarf_losses(d)->nr_split_missing);
	dwarf_free(d);
	symtab_index_done(&symbols);
	return r;
}
