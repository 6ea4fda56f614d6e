/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few of the kernel's types, out of a hundred thousand, in the same format: BTF, as in
 * linux/btf.h. libbpf looks through all that it is given once for each type it relocates, which
 * takes longer than to load the programs.
 */
#ifndef COLLECT_BTF_SUBSET_H
#define COLLECT_BTF_SUBSET_H

#include <stddef.h>

#include "base/buf.h"
#include "collect/btf_names.h"

#define BTF_SUBSET_MAX_BYTES (1u << 20)

/*
 * Appends to ret_subset the types of those names (all of a name, if it is used twice) with the members
 * of those names and those without any, each where it is in the whole; and the types of these. What
 * is pointed to and was not asked for is only declared.
 * -EBADMSG: no BTF. -EOPNOTSUPP: of a kind that came later. -E2BIG, -ENOMEM.
 */
int btf_subset(const void *bytes, size_t size, const struct btf_names *names,
	       struct buf *ret_subset);

#endif
