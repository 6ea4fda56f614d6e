/* SPDX-License-Identifier: Apache-2.0 */
/* The extract of the kernel's types again and again, with the n-th allocation failing. */
#include "failing_alloc.h"

#include <errno.h>

#include "btf_maker.h"

static int run(const struct btf *whole, unsigned long nth)
{
	struct buf out = BUF_INIT(2 * BTF_SUBSET_MAX_BYTES);
	struct btf_names names = { 0 };
	__u32 size;
	const void *bytes = btf__raw_data(whole, &size);
	int r;

	nr_allocations = 0;
	fail_at = nth;
	r = btf_names_of(whole, &names);
	if (r == 0)
		r = btf_subset(bytes, size, &names, &out);
	fail_at = 0;
	btf_names_done(&names);
	buf_done(&out);
	return r;
}

int main(void)
{
	struct btf *whole = make_whole();
	long before = nr_live;
	unsigned long nth = 1;
	int r = -ENOMEM;

	for (; r == -ENOMEM && nth < 1000; nth++)
		r = run(whole, nth);
	printf("# %lu allocations\n", nth - 2);
	ok(r == 0 && nth > 5, "every allocation may fail with -ENOMEM, until none does");
	ok(nr_live == before, "failed allocations leave nothing behind");
	btf__free(whole);
	return tap_done();
}
