/* SPDX-License-Identifier: Apache-2.0 */
#include "jit_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NR_TIMES 64

/* The addresses, and other versions of what is there. */
struct versions {
	struct jit_address addrs[2 * NR_ADDRESSES];
	uint32_t nr;
};

static int ask(void *ctx, uint32_t i, const struct jit_versions *v)
{
	struct versions *to = ctx;

	for (uint32_t k = 0; k < NR_ADDRESSES; k++) {
		struct jit_address a = { .addr = 0x1000 + (uint64_t)k * 8 };

		a.version = jit_versions_at(v, a.addr);
		if (a.version && to->nr < 2 * NR_ADDRESSES && (k + i) % 8 == 0)
			to->addrs[to->nr++] = a;
	}
	return 0;
}

static void find_versions(struct versions *v, int fd)
{
	uint64_t times_ns[NR_TIMES];

	v->nr = NR_ADDRESSES;
	for (uint64_t i = 0; i < NR_ADDRESSES; i++)
		v->addrs[i] = (struct jit_address){ 0x1000 + i * 8, i * 2 };
	for (uint64_t i = 0; i < NR_TIMES; i++)
		times_ns[i] = i * 3;
	if (jit_versions_each(fd, v->addrs, NR_ADDRESSES, times_ns, NR_TIMES, ask, v, NULL) <= 0 &&
	    v->nr != NR_ADDRESSES)
		abort(); /* found where none is */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct versions v;
	int fd = jit_file(data, size);
	struct jit_sources src = { .symbol_files = { JIT_SYMBOL_FILES(-1, fd) },
				   .nr_symbol_files = 1,
				   .addresses = v.addrs };
	struct jit_counts counts = { 0 };

	if (fd < 0)
		return 0;
	find_versions(&v, fd);
	src.nr_addresses = v.nr;
	jit_resolve(&src, &counts);
	if (counts.nr_dump_bad_records > counts.nr_dump_records)
		abort();
	close(fd);
	return 0;
}
