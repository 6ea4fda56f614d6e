/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and inline chains of a file, with demangled names. */
#include <errno.h>

#include "dwarf/dwarf.h"
#include "elf/elf_image.h"
#include "symbolize/demangle.h"
#include "symbolize/symbolize_internal.h"

#define NO_NAME "[inlined]" /* name of a function that DWARF describes without a name */

struct elf_lines {
	struct dwarf *dwarf;  /* owned */
	struct answer *names; /* borrowed from the symbolizer */
	struct dwarf_frame found[DWARF_MAX_FRAMES];
	struct symbol_frame frames[DWARF_MAX_FRAMES];
};

struct elf_lines *elf_lines_free(struct elf_lines *l)
{
	if (l) {
		l->dwarf = dwarf_free(l->dwarf);
		free(l);
	}
	return NULL;
}

static bool has_info(const struct elf_image *img)
{
	return img && elf_image_debug_section(img, ".debug_info");
}

static enum symbol_why why_no_lines(int r)
{
	switch (r) {
	case -ENOENT:
		return WHY_NONE;
	case -ECANCELED:
		return WHY_LINES_CANCELLED;
	case -E2BIG:
		return WHY_LINES_TOO_LARGE;
	case -ENOMEM:
		return WHY_LINES_NO_MEMORY;
	default:
		return WHY_LINES_DAMAGED;
	}
}

static struct dwarf_files files_of(const struct elf_sources *src)
{
	return (struct dwarf_files){
		.image = src->image,
		.debug = has_info(src->debug) ? src->debug : src->image,
		.alt = src->alt,
		.has_split_files = src->has_split_files,
		.cancel = src->cancel,
		.max_cpu_ns = src->max_cpu_ns,
	};
}

uint64_t elf_lines_cost_bytes(const struct elf_sources *src)
{
	struct dwarf_files files = files_of(src);

	return dwarf_estimate_bytes(&files);
}

int elf_lines_new(const struct elf_sources *src, uint64_t max_bytes, struct answer *names,
		  struct elf_lines **ret_lines, enum symbol_why *ret_why)
{
	struct dwarf_files files = files_of(src);
	struct elf_lines *l = calloc(1, sizeof(*l));
	int r;

	files.max_bytes = max_bytes;
	r = l ? dwarf_open(&files, &l->dwarf) : -ENOMEM;
	*ret_why = r < 0 ? why_no_lines(r) : WHY_NONE;
	if (r < 0) {
		free(l);
		return r;
	}
	l->names = names;
	*ret_lines = l;
	return 0;
}

static int fill_frame(struct elf_lines *l, const struct dwarf_frame *from, struct symbol_frame *to)
{
	*to = (struct symbol_frame){
		.system_name = from->name,
		.filename = from->path,
		.line = from->line,
		.start_line = from->start_line,
	};
	if (from->name && from->scope)
		return answer_scoped(l->names, from->scope, from->scope_mangled_bytes, from->name,
				     &to->name);
	return from->name ? answer_readable(l->names, from->name, &to->name) : 0;
}

/*
 * The outermost function gets the name of its symbol, if there is one, as in perf, which knows no
 * other. Of several aliases, DWARF has the one that the source defines, often an internal one
 * ("__GI___clock_gettime").
 */
static int fill_outermost(struct elf_lines *l, const struct dwarf_frame *from, const char *symbol,
			  struct symbol_frame *to)
{
	int r = fill_frame(l, from, to);

	if (r < 0 || !symbol)
		return r;
	r = answer_readable(l->names, symbol, &to->name);
	if (r == 0)
		to->system_name = symbol;
	return r;
}

int elf_lines_resolve(struct elf_lines *l, uint64_t addr, const char *symbol,
		      struct symbol_result *ret_result)
{
	uint32_t nr;
	int r = dwarf_resolve(l->dwarf, addr, l->found, &nr);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i + 1 < nr && r == 0; i++)
		r = fill_frame(l, &l->found[i], &l->frames[i]);
	if (r == 0)
		r = fill_outermost(l, &l->found[nr - 1], symbol, &l->frames[nr - 1]);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < nr && nr > 1; i++)
		if (!l->frames[i].name)
			l->frames[i].name = l->frames[i].system_name = NO_NAME;
	*ret_result = (struct symbol_result){
		.frames = l->frames,
		.nr_frames = nr,
		.is_named = true,
	};
	return 0;
}

bool elf_lines_is_over(const struct elf_lines *l)
{
	return dwarf_losses(l->dwarf)->is_over_budget;
}

const char *elf_lines_needed_path(const struct elf_lines *l)
{
	return dwarf_needed_path(l->dwarf);
}

void elf_lines_supply(struct elf_lines *l, int fd)
{
	dwarf_supply(l->dwarf, fd);
}

enum symbol_why elf_lines_why(const struct elf_lines *l)
{
	const struct dwarf_losses *lost = dwarf_losses(l->dwarf);

	if (lost->is_interrupted)
		return WHY_SOME_LINES_CANCELLED;
	if (lost->is_over_budget)
		return WHY_SOME_LINES_TOO_LARGE;
	if (lost->nr_split_missing)
		return WHY_SPLIT_MISSING;
	return lost->is_damaged ? WHY_SOME_LINES_DAMAGED : WHY_NONE;
}
