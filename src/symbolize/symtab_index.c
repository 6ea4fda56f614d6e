/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols may nest, overlap and share addresses; a profile needs one name per address. So the
 * symbols are sorted once and swept from low to high addresses into disjoint pieces, each with its
 * winner: the symbol with the greatest start among those that cover it, and of those with one start
 * the best alias. The sweep is linear for any table.
 *
 * A symbol without a size (a label: assemblers set none by themselves) counts only where no sized
 * symbol covers it, because a label inside a function must not tear an address out of it. It
 * extends to the next symbol or the end of its section. "f.loop", NASM's spelling of a label local
 * to f, is part of f, and so is ".loop". The caller checks where FDEs end a label earlier.
 */
#include <elf.h>
#include <errno.h>

#include "base/array.h"
#include "base/bisect.h"
#include "base/buf.h"
#include "elf/elf_symbols.h"
#include "symbolize/demangle.h"
#include "symbolize/symbolize_internal.h"

#define INDEX_MAX_SYMBOLS (4u << 20)               /* a browser has half of that; 64 MiB */
#define INDEX_MAX_PIECES (2ul * INDEX_MAX_SYMBOLS) /* a piece ends where a symbol begins or ends */
#define INDEX_MAX_NAME_BYTES (128u << 20)
/* Symbols may share one string, and a file may have holes, so its size does not limit the size of
 * its names. Only symbols certainly take room in it: this many bytes each, on average (C++ with the
 * longest names seen has 250), plus a constant. */
#define INDEX_NAME_BYTES_PER_SYMBOL 512u
#define INDEX_FIRST_NAME_BYTES (1u << 20)
#define NAME_MAX_BYTES 16384 /* longer names are truncated */

#define RANK_IS_TYPED 1
#define RANK_LOCAL 2
#define RANK_GLOBAL 4
#define RANK_IS_LABEL 0x20

struct symbol {
	uint64_t addr;
	uint32_t size; /* at most 4 GiB; of a label: bytes to the end of its section, or 0 */
	uint32_t name; /* in names: a rank byte, then this string */
};

/* An index while it is built. */
struct builder {
	struct symbol *symbols; /* owned */
	uint32_t nr;
	uint32_t cap;
	struct buf names;
	bool is_over_limit;
};

static void builder_done(struct builder *b)
{
	free(b->symbols);
	buf_done(&b->names);
}

/* Of two aliases the one with the higher rank is shown. Local ones come before weak ones because perf,
 * which has to show the same names, prefers every other symbol to a weak one. */
static char rank_of(const struct elf_symbol *sym)
{
	int binding = sym->bind == STB_LOCAL ? RANK_LOCAL : sym->bind == STB_WEAK ? 0 : RANK_GLOBAL;

	return (char)(binding | (sym->type != STT_NOTYPE ? RANK_IS_TYPED : 0) |
		      (sym->size ? 0 : RANK_IS_LABEL));
}

static bool is_label(const char *name)
{
	return name[-1] & RANK_IS_LABEL;
}

/* Not a function according to the symbol table: neither typed nor visible outside its object. */
static bool is_local_label(const char *name)
{
	return name[-1] == (RANK_IS_LABEL | RANK_LOCAL);
}

/* Length of a name without its symbol version: "name@VERSION", "name@@VERSION". */
static size_t name_bytes(const char *name)
{
	size_t n = strnlen(name, NAME_MAX_BYTES);
	const char *at = memchr(name, '@', n);

	/* "?…@@…" is another compiler's C++ mangling. */
	if (!at || at == name || name[0] == '?' || strcmp(at, PLT_SUFFIX) == 0)
		return n;
	return (size_t)(at - name);
}

static int add_name(struct builder *b, const struct elf_symbol *sym, uint32_t *ret_name)
{
	uint64_t limit = INDEX_FIRST_NAME_BYTES + (uint64_t)b->nr * INDEX_NAME_BYTES_PER_SYMBOL;
	size_t n = name_bytes(sym->name);
	char *to;
	int r;

	if (b->names.len + n + 2 > limit)
		return -E2BIG;
	r = buf_reserve(&b->names, n + 2);
	if (r < 0)
		return r;
	to = b->names.data + b->names.len;
	to[0] = rank_of(sym);
	memcpy(to + 1, sym->name, n);
	to[n + 1] = '\0';
	*ret_name = (uint32_t)b->names.len + 1;
	b->names.len += n + 2;
	return 0;
}

static int add_symbol(void *ctx, const struct elf_symbol *sym)
{
	struct builder *b = ctx;
	uint64_t size = sym->size ? sym->size : sym->section_bytes;
	struct symbol s = {
		.addr = sym->addr,
		.size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX,
	};
	int r = ARRAY_RESERVE(b->symbols, b->cap, (size_t)b->nr + 1, INDEX_MAX_SYMBOLS);

	if (r == 0)
		r = add_name(b, sym, &s.name);
	if (r == -E2BIG) {
		b->is_over_limit = true;
		return 1; /* ends the enumeration; what is there is used */
	}
	if (r < 0)
		return r;
	b->symbols[b->nr++] = s;
	return 0;
}

/* Negative if alias a is the worse one, by perf's rules. Both are names of one table. */
static int compare_aliases(const char *a, const char *b)
{
	size_t a_underscores = strspn(a, "_"), b_underscores = strspn(b, "_");
	size_t a_bytes, b_bytes;

	if (a[-1] != b[-1])
		return a[-1] < b[-1] ? -1 : 1;
	if (is_rust_symbol(a) != is_rust_symbol(b))
		return is_rust_symbol(a) ? -1 : 1;
	/* rustc folds identical functions; each name is valid, and llvm-symbolizer gives the last
	 * in the table. Names are stored in the order of the table. */
	if (is_rust_symbol(a))
		return a < b ? -1 : a > b;
	if (a_underscores != b_underscores)
		return a_underscores > b_underscores ? -1 : 1;
	a_bytes = strlen(a);
	b_bytes = strlen(b);
	if (a_bytes != b_bytes)
		return a_bytes < b_bytes ? -1 : 1;
	return a > b ? -1 : a < b; /* the first of the table */
}

/* Orders by address; at one address sized symbols first, and the best alias last. */
static int compare_symbols(const void *pa, const void *pb, void *names)
{
	const struct symbol *a = pa, *b = pb;
	const char *a_name = (const char *)names + a->name, *b_name = (const char *)names + b->name;
	int r;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (is_label(a_name) != is_label(b_name))
		return is_label(b_name) ? -1 : 1;
	r = compare_aliases(a_name, b_name);
	if (r)
		return r;
	return a->size < b->size ? -1 : a->size > b->size;
}

struct sweep {
	struct symtab_index *idx;
	const struct symbol *symbols;
	uint32_t nr;
	const char *names;
	uint32_t *open; /* owned: stack of symbols that may cover pos, the latest start on top */
	uint32_t nr_open;
	uint64_t pos; /* all addresses below are in pieces */
};

static void sweep_done(struct sweep *w)
{
	free(w->open);
}

static int emit_symbol(struct sweep *w, uint64_t end, uint32_t name)
{
	struct symtab_index *idx = w->idx;
	int r = ARRAY_RESERVE(idx->pieces, idx->cap_pieces, (size_t)idx->nr_pieces + 1,
			      INDEX_MAX_PIECES);

	if (r < 0)
		return r;
	idx->pieces[idx->nr_pieces++] = (struct symtab_piece){
		.start = w->pos,
		.bytes = (uint32_t)(end - w->pos), /* no symbol is longer than 32 bits */
		.name = name,
	};
	w->pos = end;
	return 0;
}

static uint64_t symbol_end(const struct symbol *s)
{
	return s->size > UINT64_MAX - s->addr ? UINT64_MAX : s->addr + s->size;
}

/* Creates pieces up to `to`. Afterwards the symbol on top, if any, covers `to`. */
static int sweep_to(struct sweep *w, uint64_t to)
{
	while (w->nr_open) {
		const struct symbol *top = &w->symbols[w->open[w->nr_open - 1]];
		uint64_t end = symbol_end(top);
		int r;

		if (end <= w->pos) {
			w->nr_open--;
			continue;
		}
		if (w->pos == to)
			return 0;
		r = emit_symbol(w, end < to ? end : to, top->name);
		if (r < 0)
			return r;
	}
	w->pos = to;
	return 0;
}

/* True for "f.loop" of "f", and for ".loop" of whatever precedes it. */
static bool is_part_of(const char *label, const char *name)
{
	size_t n = strlen(name);

	return label[0] == '.' || (strncmp(label, name, n) == 0 && label[n] == '.');
}

/* How far label i extends: to the end of its section, or to the next symbol that is not a part of
 * it. Only the symbols within it are visited, and the sweep skips them afterwards. */
static uint64_t label_end(const struct sweep *w, uint32_t i)
{
	const struct symbol *s = &w->symbols[i];
	uint64_t reach = s->size ? s->size : 1;

	if (reach > UINT64_MAX - s->addr)
		reach = UINT64_MAX - s->addr;
	for (uint32_t k = i + 1; k < w->nr && w->symbols[k].addr - s->addr < reach; k++) {
		const char *next = w->names + w->symbols[k].name;

		if (!is_label(next) || !is_part_of(next, w->names + s->name))
			return w->symbols[k].addr;
	}
	return s->addr + reach;
}

/* Adds a label's piece. The last address is the end of the address space and has no piece of its
 * own. */
static int emit_label(struct sweep *w, uint32_t i)
{
	const struct symbol *s = &w->symbols[i];
	bool is_last_alias = i + 1 == w->nr || w->symbols[i + 1].addr != s->addr;

	if (w->nr_open || !is_last_alias || s->addr == UINT64_MAX)
		return 0;
	return emit_symbol(w, label_end(w, i), s->name);
}

static int sweep(struct symtab_index *idx, const struct symbol *symbols, uint32_t nr,
		 const char *names)
{
	_cleanup_(sweep_done) struct sweep w = {
		.idx = idx, .symbols = symbols, .nr = nr, .names = names
	};

	w.open = calloc(nr, sizeof(*w.open));
	if (!w.open)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		int r;

		if (symbols[i].addr < w.pos)
			continue; /* a part of a label that is in pieces */
		r = sweep_to(&w, symbols[i].addr);
		if (r == 0 && is_label(names + symbols[i].name))
			r = emit_label(&w, i);
		else if (r == 0)
			w.open[w.nr_open++] = i;
		if (r < 0)
			return r;
	}
	return sweep_to(&w, UINT64_MAX);
}

static int build_pieces(struct symtab_index *idx, struct builder *b)
{
	struct symtab_piece *fitting;
	int r;

	qsort_r(b->symbols, b->nr, sizeof(*b->symbols), compare_symbols, b->names.data);
	r = sweep(idx, b->symbols, b->nr, b->names.data);
	if (r < 0)
		return r;
	fitting = reallocarray(idx->pieces, idx->nr_pieces ? idx->nr_pieces : 1,
			       sizeof(*idx->pieces));
	if (fitting) { /* otherwise it stays larger than necessary */
		idx->pieces = fitting;
		idx->cap_pieces = idx->nr_pieces;
	}
	return 0;
}

int symtab_index_init(struct symtab_index *idx, const struct elf_image *img, symbols_each_fn each,
		      enum symtab_state *ret_state)
{
	_cleanup_(builder_done) struct builder b = { 0 };
	int r, found;

	*idx = (struct symtab_index){ 0 };
	b.names = BUF_INIT(INDEX_MAX_NAME_BYTES);
	found = each(img, add_symbol, &b);
	if (found == -ENOMEM)
		return found;
	if (b.nr) {
		r = build_pieces(idx, &b);
		if (r < 0)
			return r;
	}
	idx->names_bytes = b.names.len;
	idx->names = TAKE(b.names.data);
	*ret_state = b.is_over_limit    ? SYMTAB_TOO_LARGE
		     : found == -ENOENT ? SYMTAB_NONE
		     : found < 0        ? SYMTAB_DAMAGED
					: SYMTAB_OK;
	return 0;
}

void symtab_index_done(struct symtab_index *idx)
{
	free(idx->pieces);
	free(idx->names);
	*idx = (struct symtab_index){ 0 };
}

bool symtab_index_find(const struct symtab_index *idx, uint64_t addr, struct symtab_hit *ret_hit)
{
	uint32_t nr = BISECT(i, idx->nr_pieces, idx->pieces[i].start <= addr);
	const struct symtab_piece *p = nr ? &idx->pieces[nr - 1] : NULL;
	const char *name;

	if (!p || addr - p->start >= p->bytes)
		return false;
	name = idx->names + p->name;
	*ret_hit = (struct symtab_hit){ .name = name,
					.start = p->start,
					.is_label = is_label(name),
					.is_local_label = is_local_label(name) };
	return true;
}
