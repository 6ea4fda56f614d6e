/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the code at an address was replaced, according to a jitdump. The file is read twice: first
 * to see whether any address is concerned, and which code it had at its own time; then, if so, in
 * parallel with the times in question. A version's number is the position of its record in the
 * dump.
 */
#include <errno.h>

#include "symbolize/jitdump_file.h"

struct jit_versions {
	struct jitdump_file file;
	struct jit_list list;
	struct jitdump_hits hits; /* at the times of the list's addresses */
	struct jit_cover now;     /* what had been loaded at the time in question */
};

static void versions_done(struct jit_versions *v)
{
	jitdump_close(&v->file);
	jit_list_done(&v->list);
	jitdump_hits_done(&v->hits);
	jit_cover_done(&v->now);
}

static bool is_replaced(const struct jit_versions *v, uint32_t i)
{
	return jit_cover_first(&v->hits.cover, i) != jit_cover_last(&v->hits.cover, i);
}

static bool is_any_replaced(const struct jit_versions *v)
{
	for (uint32_t i = 0; i < v->list.nr; i++)
		if (is_replaced(v, i))
			return true;
	return false;
}

uint64_t jit_versions_at(const struct jit_versions *v, uint64_t addr)
{
	uint32_t i = jit_list_find(&v->list, addr, 0);
	uint64_t number;

	if (i == UINT32_MAX || !is_replaced(v, i))
		return 0;
	number = jit_cover_last(&v->now, i);
	if (!number)
		number = jit_cover_first(&v->hits.cover, i);
	return number == v->hits.numbers[i] ? 0 : number;
}

static int ask_each(struct jit_versions *v, const uint64_t *times_ns, uint32_t nr,
		    int (*fn)(void *ctx, uint32_t i, const struct jit_versions *v), void *ctx)
{
	struct jit_counts counts = { 0 }; /* not needed, since symbolization counts them */
	struct jitdump_walk w;
	struct jitdump_change change;
	uint32_t k = 0;
	int r = 0;

	jitdump_walk_init(&w, &v->file, &counts);
	while (r >= 0 && k < nr && jitdump_walk_next(&w, &change)) {
		for (; r >= 0 && k < nr && times_ns[k] < change.time_ns; k++)
			r = fn(ctx, k, v);
		jit_cover_put(&v->now, change.code.start, change.code.end, change.number);
	}
	for (; r >= 0 && k < nr && !cancel_is_asked(v->file.reader.cancel); k++)
		r = fn(ctx, k, v);
	return r < 0 ? r : k < nr ? -ECANCELED : 1;
}

int jit_versions_each(int dump_fd, struct jit_address *addresses, uint32_t nr_addresses,
		      const uint64_t *times_ns, uint32_t nr_times,
		      int (*fn)(void *ctx, uint32_t i, const struct jit_versions *v), void *ctx,
		      const struct cancel *cancel)
{
	_cleanup_(versions_done) struct jit_versions v = { 0 };
	struct jit_counts counts = { 0 };
	int r = jitdump_open(&v.file, dump_fd, cancel);

	if (r < 0)
		return r;
	if (!v.file.has_times)
		return 0;
	r = jit_list_init(&v.list, addresses, nr_addresses);
	if (r == 0)
		r = jitdump_hits_init(&v.hits, &v.file, v.list.addrs, v.list.times_ns, v.list.nr,
				      &counts);
	if (r == 0)
		r = jit_cover_init(&v.now, v.list.addrs, v.list.nr);
	if (r < 0)
		return r;
	if (cancel_is_asked(cancel))
		return -ECANCELED;
	return is_any_replaced(&v) ? ask_each(&v, times_ns, nr_times, fn, ctx) : 0;
}
