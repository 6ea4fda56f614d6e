/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of a file's code: by its debug information, its symbols, its FDEs, or the plain address.
 * */
#include <elf.h>
#include <errno.h>

#include "dwarf/dwarf.h"
#include "elf/elf_fde.h"
#include "elf/elf_image.h"
#include "elf/elf_minidebug.h"
#include "symbolize/lines_clock.h"
#include "symbolize/symbolize_internal.h"

#define LINES_MIN_BYTES (64ull << 20) /* memory for lines, however much symbols use */
#define CHOSEN_MAX_BYTES 4096         /* of a stub's name, for an IRELATIVE function */

struct elf_symbolizer {
	struct symbolizer base;      /* first: shares its address */
	const struct elf_image *img; /* borrowed from the caller until this is freed */
	char *label;                 /* owned */
	struct symtab_index index;
	struct symtab_index mini_index; /* from .gnu_debugdata */
	struct symtab_index go_index;   /* from Go's runtime */
	struct symtab_index plt_index;  /* PLT stubs; empty: not tried yet, or there are none */
	bool has_tried_plt;
	struct elf_lines *lines;   /* owned; NULL: there are none */
	struct go_lines *go_lines; /* owned; NULL: not tried yet, or there are none */
	bool has_tried_go_lines;
	struct elf_fdes *fdes; /* owned; NULL: not tried yet, or there are none */
	bool has_tried_fdes;
	struct elf_sources src; /* borrowed, like the image */
	struct lines_clock clock;
	struct answer answer;
	struct symbol_frame frame; /* the outermost frame, if it has a line but no name */
};

/* Called for the first address without a symbol: many files never need FDEs. */
static int open_fdes(struct elf_symbolizer *e)
{
	int r;

	if (e->has_tried_fdes)
		return 0;
	r = elf_fdes_open(e->img, &e->fdes);
	if (r < 0 && r != -ENOMEM)
		r = elf_fdes_scan(e->img, &e->fdes);
	if (r == -ENOMEM)
		return r;
	e->has_tried_fdes = true;
	return 0;
}

/* Called for the first address without a symbol: no other symbol covers stubs. */
static int open_plt(struct elf_symbolizer *e)
{
	enum symtab_state state;
	int r;

	if (e->has_tried_plt)
		return 0;
	r = symtab_index_init(&e->plt_index, e->img, plt_names_each, &state);
	if (r < 0) {
		symtab_index_done(&e->plt_index);
		return r;
	}
	e->has_tried_plt = true;
	return 0;
}

static bool find_hit(const struct elf_symbolizer *e, uint64_t addr, struct symtab_hit *ret_hit)
{
	const struct symtab_index *in[] = { &e->index, &e->mini_index, &e->go_index };

	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
		if (symtab_index_find(in[i], addr, ret_hit))
			return true;
	return false;
}

/* The function that a label's code belongs to. FDEs begin where functions do: one that begins after
 * the label is another function, and one that contains a local label is the function that the label
 * lies in. */
static const char *name_of_label(const struct elf_symbolizer *e, const struct symtab_hit *label,
				 uint64_t addr)
{
	uint64_t start, end;
	struct symtab_hit outer;

	if (!e->fdes)
		return label->name;
	if (elf_fdes_start_before(e->fdes, addr, &start) == 0 && start > label->start)
		return NULL;
	if (label->is_local_label && elf_fdes_find(e->fdes, label->start, &start, &end) == 0 &&
	    find_hit(e, start, &outer) && outer.start == start)
		return outer.name;
	return label->name;
}

/* ret_symbol is NULL if there is none. */
static int find_own(struct elf_symbolizer *e, uint64_t addr, const char **ret_symbol)
{
	struct symtab_hit hit;
	int r;

	*ret_symbol = NULL;
	if (!find_hit(e, addr, &hit))
		return 0;
	r = hit.is_label ? open_fdes(e) : 0;
	if (r == 0)
		*ret_symbol = hit.is_label ? name_of_label(e, &hit, addr) : hit.name;
	return r;
}

/* The symbol of an IRELATIVE function is at its resolver's address: its stub gets that name, or
 * none. */
static int find_chosen(struct elf_symbolizer *e, const char *stub, const char **ret_symbol)
{
	const char *symbol;
	char name[CHOSEN_MAX_BYTES];
	uint32_t id;
	int r = find_own(e, strtoull(stub + strlen(PLT_CHOSEN), NULL, 16), &symbol);

	*ret_symbol = NULL;
	if (r < 0 || !symbol ||
	    (size_t)snprintf(name, sizeof(name), "%s" PLT_SUFFIX, symbol) >= sizeof(name))
		return r;
	r = strtab_intern(&e->answer.strings, name, &id);
	if (r == 0)
		*ret_symbol = strtab_get(&e->answer.strings, id);
	return r == -ENOMEM ? r : 0;
}

/* ret_symbol is NULL if there is none. */
static int find_symbol(struct elf_symbolizer *e, uint64_t addr, const char **ret_symbol)
{
	struct symtab_hit stub;
	int r = find_own(e, addr, ret_symbol);

	if (r == 0 && !*ret_symbol)
		r = open_plt(e);
	if (r < 0 || *ret_symbol || !symtab_index_find(&e->plt_index, addr, &stub))
		return r;
	if (strncmp(stub.name, PLT_CHOSEN, strlen(PLT_CHOSEN)) == 0)
		return find_chosen(e, stub.name, ret_symbol);
	*ret_symbol = stub.name;
	return 0;
}

static int name_by_fde(struct elf_symbolizer *e, uint64_t addr, struct symbol_result *ret_result)
{
	uint64_t start, end;
	int r = open_fdes(e);

	if (r < 0)
		return r;
	if (e->fdes && elf_fdes_find(e->fdes, addr, &start, &end) == 0)
		return answer_raw(&e->answer, e->label, start, ret_result);
	return answer_raw(&e->answer, NULL, addr, ret_result);
}

/* Why reading one of the files ended early. */
static enum work_end end_of(const struct elf_sources *src)
{
	enum work_end end = elf_image_end(src->image);

	return end == WORK_GOES_ON && src->debug ? elf_image_end(src->debug) : end;
}

static void note_limits(struct elf_symbolizer *e)
{
	enum work_end end = end_of(&e->src);

	if ((e->lines && elf_lines_is_over(e->lines)) ||
	    (e->go_lines && go_lines_is_over(e->go_lines)))
		e->base.limit = WHY_LINES_COST;
	if (end == WORK_OVER_BYTES || end == WORK_OVER_TIME)
		e->base.limit = WHY_FILE_COST;
}

/* Called for the first address without debug information. */
static int open_go_lines(struct elf_symbolizer *e)
{
	int r;

	if (e->has_tried_go_lines)
		return 0;
	r = go_lines_new(e->img, e->src.cancel, &e->go_lines);
	if (r == -ENOMEM)
		return r;
	e->has_tried_go_lines = true;
	return 0;
}

static int add_go_line(struct elf_symbolizer *e, uint64_t addr, struct symbol_result *result)
{
	int r;

	lines_clock_start(&e->clock);
	r = open_go_lines(e);
	if (r == 0 && e->go_lines)
		go_lines_add(e->go_lines, addr, result);
	lines_clock_stop(&e->clock);
	if (e->go_lines)
		note_limits(e);
	return r;
}

static int name_by_symbol(struct elf_symbolizer *e, uint64_t addr, const char *symbol,
			  struct symbol_result *ret_result)
{
	int r;

	if (!symbol)
		return name_by_fde(e, addr, ret_result);
	r = answer_named(&e->answer, symbol, answer_symbol_bytes(symbol), ret_result);
	return r < 0 ? r : add_go_line(e, addr, ret_result);
}

/* For a line without any function: the line stays, with the name of last resort. */
static int name_line(struct elf_symbolizer *e, uint64_t addr, struct symbol_result *result)
{
	struct symbol_frame line = result->frames[result->nr_frames - 1];
	struct symbol_result named;
	int r;

	if (line.name || result->nr_frames > 1)
		return 0;
	r = name_by_fde(e, addr, &named);
	if (r < 0)
		return r;
	line.name = named.frames[0].name;
	line.system_name = named.frames[0].system_name;
	e->frame = line;
	*result = (struct symbol_result){ .frames = &e->frame,
					  .nr_frames = 1,
					  .is_raw = named.is_raw };
	return 0;
}

static int resolve_line(struct elf_symbolizer *e, uint64_t addr, const char *symbol,
			struct symbol_result *ret_result)
{
	int r;

	lines_clock_start(&e->clock);
	r = elf_lines_resolve(e->lines, addr, symbol, ret_result);
	lines_clock_stop(&e->clock);
	return r;
}

static int elf_resolve(struct symbolizer *s, uint64_t addr, struct symbol_result *ret_result)
{
	struct elf_symbolizer *e = (struct elf_symbolizer *)s;
	const char *symbol;
	int r = find_symbol(e, addr, &symbol);

	if (r < 0)
		return r;
	r = e->lines ? resolve_line(e, addr, symbol, ret_result) : -ENOENT;
	if (e->lines)
		s->lines = elf_lines_why(e->lines);
	note_limits(e);
	if (r == -ENOENT)
		return name_by_symbol(e, addr, symbol, ret_result);
	return r < 0 ? r : name_line(e, addr, ret_result);
}

static void elf_free(struct symbolizer *s)
{
	struct elf_symbolizer *e = (struct elf_symbolizer *)s;

	e->lines = elf_lines_free(e->lines);
	e->go_lines = go_lines_free(e->go_lines);
	symtab_index_done(&e->index);
	symtab_index_done(&e->mini_index);
	symtab_index_done(&e->go_index);
	symtab_index_done(&e->plt_index);
	(void)elf_fdes_free(e->fdes);
	answer_done(&e->answer);
	free(e->label);
	free(e);
}

const char *symbolizer_elf_needed_path(const struct symbolizer *s)
{
	return elf_lines_needed_path(((const struct elf_symbolizer *)s)->lines);
}

void symbolizer_elf_supply(struct symbolizer *s, int fd)
{
	elf_lines_supply(((struct elf_symbolizer *)s)->lines, fd);
}

static const struct symbolizer_ops elf_ops = { .resolve = elf_resolve, .free = elf_free };

static bool has_section_of_type(const struct elf_image *img, uint32_t type)
{
	for (size_t i = 0; i < elf_image_nr_sections(img); i++)
		if (elf_image_section_at(img, i)->type == type)
			return true;
	return false;
}

static enum symbol_why why_missing(const struct elf_image *img, enum symtab_state state)
{
	if (state == SYMTAB_TOO_LARGE)
		return WHY_SYMTAB_TOO_LARGE;
	if (state == SYMTAB_DAMAGED)
		return WHY_SYMTAB_DAMAGED;
	if (elf_image_nr_sections(img) == 0)
		return WHY_NO_SECTIONS;
	if (state == SYMTAB_NONE)
		return WHY_STRIPPED;
	return has_section_of_type(img, SHT_SYMTAB) ? WHY_NOT_COVERED : WHY_ONLY_DYNSYM;
}

/* Adds the symbols that a stripped file has kept. If they are invalid, only they are missing. */
static int add_kept(struct elf_symbolizer *e, const struct elf_image *img)
{
	_cleanup_(elf_minidebug_freep) struct elf_minidebug *mini = NULL;
	enum symtab_state state;
	int r = elf_minidebug_open(img, &mini);

	if (r == 0)
		r = symtab_index_init(&e->mini_index, elf_minidebug_image(mini), elf_symbols_each,
				      &state);
	if (r != -ENOMEM)
		r = symtab_index_init(&e->go_index, img, go_names_each, &state);
	return r == -ENOMEM ? r : 0;
}

/* Indexes a debug file first, which has all symbols of the code; the code itself may have only
 * those that it exports. */
static int index_symbols(struct elf_symbolizer *e, const struct elf_sources *src)
{
	bool has_debug = src->debug && has_section_of_type(src->debug, SHT_SYMTAB);
	const struct elf_image *img = has_debug ? src->debug : src->image;
	enum symtab_state state;
	int r = symtab_index_init(&e->index, img, elf_symbols_each, &state);

	if (r < 0)
		return r;
	e->base.missing = why_missing(img, state);
	return has_section_of_type(img, SHT_SYMTAB) ? 0 : add_kept(e, src->image);
}

static uint64_t symtab_bytes(const struct elf_image *img)
{
	uint64_t sum = 0;

	for (size_t i = 0; img && i < elf_image_nr_sections(img); i++) {
		const struct elf_section *s = elf_image_section_at(img, i);

		if (s->type == SHT_SYMTAB || s->type == SHT_DYNSYM || s->type == SHT_STRTAB)
			sum += s->size < ELF_MAX_SECTION_BYTES ? s->size : ELF_MAX_SECTION_BYTES;
	}
	return sum;
}

uint64_t symbolizer_elf_cost_bytes(const struct elf_sources *src)
{
	return symtab_bytes(src->image) + symtab_bytes(src->debug) +
	       go_names_cost_bytes(src->image) + plt_names_cost_bytes(src->image) +
	       elf_lines_cost_bytes(src);
}

/* All memory for one file, symbols and lines, is limited together. */
static uint64_t lines_max_bytes(const struct elf_symbolizer *e)
{
	const struct symtab_index *in[] = { &e->index, &e->mini_index, &e->go_index };
	uint64_t held = 0;

	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
		held += in[i]->names_bytes + (uint64_t)in[i]->cap_pieces * sizeof(*in[i]->pieces);
	return held < DWARF_MAX_BYTES - LINES_MIN_BYTES ? DWARF_MAX_BYTES - held : LINES_MIN_BYTES;
}

/* Opens the lines; without them there are still symbols. */
static void open_lines(struct elf_symbolizer *e)
{
	int r;

	lines_clock_start(&e->clock);
	r = elf_lines_new(&e->src, lines_max_bytes(e), &e->answer, &e->lines, &e->base.lines);
	lines_clock_stop(&e->clock);
	if (r == -E2BIG)
		e->base.limit = WHY_LINES_COST;
	note_limits(e);
}

int symbolizer_new_elf(const struct elf_sources *src, struct symbolizer **ret_symbolizer)
{
	_cleanup_(symbolizer_freep) struct symbolizer *s = NULL;
	struct elf_symbolizer *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	s = &e->base;
	s->ops = &elf_ops; /* from here symbolizer_free() is safe */
	e->img = src->image;
	e->src = *src;
	lines_clock_init(&e->clock, src);
	e->label = strdup(src->label);
	if (!e->label)
		return -ENOMEM;
	r = answer_init(&e->answer);
	if (r == 0)
		r = index_symbols(e, src);
	if (r < 0)
		return r;
	/* Incomplete symbols after a cancellation are discarded. */
	if (end_of(src) == WORK_CANCELLED)
		return -ECANCELED;
	open_lines(e);
	*ret_symbolizer = TAKE(s);
	return 0;
}
