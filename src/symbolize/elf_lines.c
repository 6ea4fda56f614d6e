/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and inline chains of a file, with names as people read them. */
#include <errno.h>

#include "dwarf/dwarf.h"
#include "elf/elf_image.h"
#include "symbolize/demangle.h"
#include "symbolize/symbolize_internal.h"

#define NO_NAME "[inlined]" /* a function that DWARF knows to be there, but not by name */

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

static const char *why(int r)
{
	switch (r) {
	case -ENOENT:
		return NULL;
	case -ECANCELED:
		return "reading its debug information was interrupted, so lines are left out";
	case -E2BIG:
		return "its debug information is larger than the limits, so lines are left out";
	case -ENOMEM:
		return "out of memory for its debug information, so lines are left out";
	default:
		return "its debug information is damaged, so lines are left out";
	}
}

static struct dwarf_files files_of(const struct elf_sources *src)
{
	return (struct dwarf_files){
		.image = src->image,
		.debug = has_info(src->debug) ? src->debug : src->image,
		.alt = src->alt,
		.opener = src->opener,
		.cancel = src->cancel,
		.max_cpu_ns = src->max_cpu_ns,
	};
}

uint64_t elf_lines_cost_bytes(const struct elf_sources *src)
{
	struct dwarf_files files = files_of(src);

	return dwarf_cost_bytes(&files);
}

int elf_lines_new(const struct elf_sources *src, uint64_t max_bytes, struct answer *names,
		  struct elf_lines **ret_lines, const char **ret_why)
{
	struct dwarf_files files = files_of(src);
	struct elf_lines *l = calloc(1, sizeof(*l));
	int r;

	files.max_bytes = max_bytes;
	r = l ? dwarf_open(&files, &l->dwarf) : -ENOMEM;
	*ret_why = r < 0 ? why(r) : NULL;
	if (r < 0) {
		free(l);
		return r;
	}
	l->names = names;
	*ret_lines = l;
	return 0;
}

static int fill(struct elf_lines *l, const struct dwarf_frame *from, struct symbol_frame *to)
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
 * The function that the others were inlined into has a symbol of its own. DWARF's name comes first;
 * where the compiler gave none, or only the short one (as GCC does for functions that are local to
 * a file: "f" for "(anonymous namespace)::f(int)"), the symbol says more. So it does for Rust, whose
 * DWARF is written before LLVM folds functions that are the same, and renames some ("….llvm.1234").
 */
static int fill_outermost(struct elf_lines *l, const struct dwarf_frame *from, const char *symbol,
			  struct symbol_frame *to)
{
	const char *readable;
	int r = fill(l, from, to);

	if (r < 0 || !symbol || (from->name && from->is_linkage_name && !is_rust_symbol(symbol)))
		return r;
	r = answer_readable(l->names, symbol, &readable);
	if (r < 0 || (from->name && readable == symbol))
		return r;
	to->name = readable;
	to->system_name = symbol;
	return 0;
}

int elf_lines_resolve(struct elf_lines *l, uint64_t addr, const char *symbol,
		      struct symbol_result *ret_result)
{
	uint32_t nr;
	int r = dwarf_resolve(l->dwarf, addr, l->found, &nr);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i + 1 < nr && r == 0; i++)
		r = fill(l, &l->found[i], &l->frames[i]);
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

const char *elf_lines_why(const struct elf_lines *l)
{
	const struct dwarf_losses *lost = dwarf_losses(l->dwarf);

	if (lost->is_interrupted)
		return "reading its debug information was interrupted, so some lines are left out";
	if (lost->is_over_budget)
		return "its debug information is larger than the limits, so some lines are left "
		       "out";
	if (lost->nr_split_missing)
		return "some of its .dwo files were not found or are of another build, so inlined "
		       "functions are left out";
	if (lost->is_damaged)
		return "some of its debug information is damaged, so some lines are left out";
	return NULL;
}
