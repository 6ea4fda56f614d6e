/* SPDX-License-Identifier: Apache-2.0 */
/* Names of Go's functions from its runtime's table, which survives stripping. */
#include <elf.h>
#include <errno.h>

#include "elf/elf_image.h"
#include "elf/elf_symbols.h"
#include "elf/go_search.h"
#include "elf/go_text.h"
#include "symbolize/symbolize_internal.h"

static int each_name(const struct elf_image *img, const struct go_table *t, elf_symbol_fn fn,
		     void *ctx)
{
	uint64_t text;
	int r = go_text_find(img, t, NULL, &text);

	for (uint32_t i = 0; i < t->nr_funcs && r == 0; i++) {
		const char *name;
		struct go_func f;

		if (go_table_func(t, i, &f) < 0)
			continue;
		name = go_func_name(t, &f);
		if (!name || !name[0])
			continue;
		r = fn(ctx, &(struct elf_symbol){ .addr = text + f.start,
						  .size = f.end - f.start,
						  .name = name,
						  .bind = STB_GLOBAL,
						  .type = STT_FUNC });
	}
	return r;
}

int go_names_each(const struct elf_image *img, elf_symbol_fn fn, void *ctx)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT(GO_MAX_TABLE_BYTES);
	struct go_table t;
	int r = go_search_load(img, &b, &t);

	return r < 0 ? r : each_name(img, &t, fn, ctx);
}

uint64_t go_names_cost_bytes(const struct elf_image *img)
{
	struct elf_section s;

	if (go_search(img, &s) < 0)
		return 0;
	return s.size < GO_MAX_TABLE_BYTES ? s.size : GO_MAX_TABLE_BYTES;
}
