/* SPDX-License-Identifier: Apache-2.0 */
/* The source of last resort: plain addresses. */
#include <errno.h>

#include "symbolize/symbolize_internal.h"

struct raw_symbolizer {
	struct symbolizer base; /* first: shares its address */
	struct answer answer;
};

static int raw_resolve(struct symbolizer *s, uint64_t addr, struct symbol_result *ret_result)
{
	struct raw_symbolizer *raw = (struct raw_symbolizer *)s;

	return answer_raw(&raw->answer, NULL, addr, ret_result);
}

static void raw_free(struct symbolizer *s)
{
	struct raw_symbolizer *raw = (struct raw_symbolizer *)s;

	answer_done(&raw->answer);
	free(raw);
}

static const struct symbolizer_ops raw_ops = { .resolve = raw_resolve, .free = raw_free };

bool symbolizer_is_raw(const struct symbolizer *s)
{
	return s->ops == &raw_ops;
}

int symbolizer_new_raw(struct symbolizer **ret_symbolizer)
{
	struct raw_symbolizer *raw = calloc(1, sizeof(*raw));
	int r;

	if (!raw)
		return -ENOMEM;
	raw->base.ops = &raw_ops;
	r = answer_init(&raw->answer);
	if (r < 0) {
		raw_free(&raw->base);
		return r;
	}
	*ret_symbolizer = &raw->base;
	return 0;
}
