/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/ksym_table.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/bisect.h"
#include "base/cleanup.h"
#include "base/hash.h"

/* No symbol says where the last function of a module ends, and anything may follow it. */
#define LAST_SYMBOL_BYTES 4096u
/* Code between two BPF functions need not belong to the first: no function is larger than this. */
#define MAX_FUNCTION_BYTES (256u << 10)
#define PAGE_BYTES 4096u

void ksym_table_init(struct ksym_table *t)
{
	*t = (struct ksym_table){ .names = BUF_INIT(KSYM_MAX_NAME_BYTES) };
}

void ksym_table_done(struct ksym_table *t)
{
	free(t->syms);
	buf_done(&t->names);
	ksym_table_init(t);
}

static int add_name(struct ksym_table *t, const struct ksym_text *text)
{
	int r = buf_reserve(&t->names, text->name_bytes + text->module_bytes + 2);
	char *to;

	if (r < 0)
		return r;
	to = t->names.data + t->names.len;
	memcpy(to, text->name, text->name_bytes);
	to += text->name_bytes;
	if (text->module_bytes) {
		*to++ = ' ';
		memcpy(to, text->module, text->module_bytes);
		to += text->module_bytes;
	}
	*to++ = '\0';
	t->names.len = (size_t)(to - t->names.data);
	return 0;
}

static int compare_syms(const void *pa, const void *pb)
{
	const struct ksym *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static uint32_t module_of(const struct ksym_text *text)
{
	if (!text->module_bytes)
		return 0;
	return (uint32_t)(hash_bytes(text->module, text->module_bytes) | 1) & 0x3fffffff;
}

int ksym_table_add(struct ksym_table *t, uint64_t addr, unsigned int rank,
		   const struct ksym_text *text)
{
	struct ksym sym = { .addr = addr, .name = (uint32_t)t->names.len, .rank = rank & 3 };
	int r = ARRAY_RESERVE(t->syms, t->cap, (size_t)t->nr + 1, KSYM_MAX_SYMBOLS);

	if (r == 0)
		r = add_name(t, text);
	if (r < 0)
		return r;
	sym.module = module_of(text);
	if (t->nr_sorted == t->nr && (!t->nr || t->syms[t->nr - 1].addr <= addr))
		t->nr_sorted++;
	t->syms[t->nr++] = sym;
	return 0;
}

/* Sorts. The kernel's own symbols come first, sorted, and are the majority: only the rest is
 * sorted, then merged from the end. Equal addresses in the first part are not sorted by rank yet,
 * which choose_names() does. */
static int sort_rest(struct ksym_table *t)
{
	_cleanup_(freep) struct ksym *rest = NULL;
	uint32_t left = t->nr_sorted, nr_rest = t->nr - left, to = t->nr;

	if (!nr_rest)
		return 0;
	rest = calloc(nr_rest, sizeof(*rest));
	if (!rest)
		return -ENOMEM;
	memcpy(rest, t->syms + left, nr_rest * sizeof(*rest));
	qsort(rest, nr_rest, sizeof(*rest), compare_syms);
	while (nr_rest) {
		bool is_first = left && t->syms[left - 1].addr > rest[nr_rest - 1].addr;

		t->syms[--to] = is_first ? t->syms[--left] : rest[--nr_rest];
	}
	return 0;
}

static void choose_names(struct ksym_table *t)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < t->nr; i++) {
		struct ksym *last = nr ? &t->syms[nr - 1] : NULL;

		if (!last || last->addr != t->syms[i].addr)
			t->syms[nr++] = t->syms[i];
		else if (compare_syms(last, &t->syms[i]) < 0)
			*last = t->syms[i];
	}
	t->nr = t->nr_sorted = nr;
}

int ksym_table_finish(struct ksym_table *t)
{
	int r = sort_rest(t);

	if (r == 0)
		choose_names(t);
	return r;
}

/* True if the function at i extends to addr, which lies before the next one. */
static bool reaches(const struct ksym_table *t, uint32_t i, uint64_t addr)
{
	const struct ksym *s = &t->syms[i];
	uint64_t last = (s->addr | (PAGE_BYTES - 1)) + LAST_SYMBOL_BYTES;

	if (i + 1 < t->nr && t->syms[i + 1].module == s->module)
		return addr - s->addr < MAX_FUNCTION_BYTES;
	return addr <= last || last < s->addr;
}

/* The number of functions that begin at addr or before. */
static uint32_t nr_before(const struct ksym_table *t, uint64_t addr)
{
	return BISECT(i, t->nr, t->syms[i].addr <= addr);
}

const char *ksym_table_find(const struct ksym_table *t, uint64_t addr, uint64_t *ret_start)
{
	uint32_t nr = nr_before(t, addr);

	if (nr == 0 || !reaches(t, nr - 1, addr))
		return NULL;
	*ret_start = t->syms[nr - 1].addr;
	return t->names.data + t->syms[nr - 1].name;
}

bool ksym_table_is_sure(const struct ksym_table *t, uint64_t addr)
{
	uint32_t nr = nr_before(t, addr);
	const struct ksym *s = nr ? &t->syms[nr - 1] : NULL;

	if (!s || !reaches(t, nr - 1, addr))
		return false;
	return (nr < t->nr && t->syms[nr].module == s->module) ||
	       (s->addr | (PAGE_BYTES - 1)) >= addr;
}
