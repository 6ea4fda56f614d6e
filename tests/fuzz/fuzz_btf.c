/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "collect/btf_subset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int silent(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static void add(struct name_set *to, const char *name)
{
	if (name_set_add(to, name, strlen(name)) < 0)
		abort();
}

static struct btf_names some_names(void)
{
	struct btf_names n = { 0 };

	add(&n.types, "task_struct");
	add(&n.types, "mm_struct");
	add(&n.types, "atomic_t");
	add(&n.types, "bpf_func_id");
	add(&n.types, "s");
	add(&n.members, "pid");
	add(&n.members, "mm");
	add(&n.members, "comm");
	add(&n.members, "next");
	return n;
}

/* What comes out is BTF, and has in it all that was asked for. */
static void check(const struct buf *subset, const struct btf_names *names)
{
	struct buf again = BUF_INIT(2 * BTF_SUBSET_MAX_BYTES);
	struct btf *b = btf__new(subset->data, (__u32)subset->len);

	if (libbpf_get_error(b) || btf_subset(subset->data, subset->len, names, &again) < 0 ||
	    again.len > subset->len)
		abort();
	btf__free(b);
	buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf subset = BUF_INIT(2 * BTF_SUBSET_MAX_BYTES);
	struct btf_names names = some_names();

	libbpf_set_print(silent);
	if (btf_subset(data, size, &names, &subset) == 0)
		check(&subset, &names);
	buf_done(&subset);
	btf_names_done(&names);
	return 0;
}
