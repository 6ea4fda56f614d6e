/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that lies in a file, but is not the file's to name: V8 has its builtins in the library that it
 * is part of, without symbols, and lists them in the perf map like code that it made. The file is
 * asked first; what it cannot name is looked up where a process that has a map or a dump has it.
 */
#include <errno.h>

#include "agent/naming_batch.h"
#include "symbolize/symbolizer.h"

/* As the process sees it. */
static uint64_t told_address(const struct naming_part *part, uint32_t item)
{
	return part->items[item].address - part->mapping.start + part->told.start;
}

static uint32_t list_unnamed(const struct naming_part *part, const struct naming_answer *answers,
			     struct jit_address *to)
{
	uint32_t nr = 0;

	/* Names of files hold all the time, so of what was there in turn the last counts. */
	for (uint32_t i = 0; i < part->nr_items; i++)
		if (!answers[i].is_named)
			to[nr++] = (struct jit_address){ .addr = told_address(part, i),
							 .time_ns = UINT64_MAX };
	return nr;
}

static int take_answers(struct naming_batch *b, const struct naming_part *part,
			struct symbolizer *s, struct naming_answer *answers)
{
	int r = 0;

	for (uint32_t i = 0; i < part->nr_items && r == 0; i++) {
		struct symbol_result res;

		if (answers[i].is_named)
			continue;
		r = s->ops->resolve(s, told_address(part, i), &res);
		if (r == 0 && res.is_named)
			r = naming_batch_keep(b, &res, &answers[i]);
	}
	return r;
}

static int ask_part(struct naming_batch *b, const struct cancel *cancel,
		    const struct naming_part *part, struct naming_answer *answers)
{
	_cleanup_(freep) struct jit_address *addresses = calloc(part->nr_items, sizeof(*addresses));
	_cleanup_(symbolizer_freep) struct symbolizer *s = NULL;
	struct jit_counts counts = { 0 }; /* its own batch counts what it has */
	struct jit_sources src = { .told = { JIT_TOLD(part->told.map_fd, part->told.dump_fd) },
				   .nr_told = 1,
				   .addresses = addresses,
				   .cancel = cancel };
	int r;

	if (!addresses)
		return -ENOMEM;
	src.nr_addresses = list_unnamed(part, answers, addresses);
	if (!src.nr_addresses)
		return 0;
	r = symbolizer_new_jit(&src, &counts, &s);
	return r < 0 ? r : take_answers(b, part, s, answers);
}

/* What finds no room stays as the file has it. */
int naming_ask_told(const struct naming_env *env, struct naming_batch *b,
		    const struct cancel *cancel)
{
	struct naming_answer *answers = b->answers;

	for (uint32_t i = 0; i < b->nr_parts; i++) {
		const struct naming_part *part = &b->parts[i];

		if (naming_is_over(env))
			return -ECANCELED;
		if (part->told.map_fd >= 0 || part->told.dump_fd >= 0)
			(void)ask_part(b, cancel, part, answers);
		answers += part->nr_items;
	}
	return 0;
}
