/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extracts a few of the kernel's hundred thousand types, in the same format: BTF, as in
 * linux/btf.h. libbpf searches everything it is given once for each type it relocates, which takes
 * longer than loading the programs.
 */
#ifndef COLLECT_BTF_SUBSET_H
#define COLLECT_BTF_SUBSET_H

#include <stddef.h>

#include "base/buf.h"
#include "collect/btf_names.h"

#define BTF_SUBSET_MAX_BYTES (1u << 20)

/*
 * Appends to ret_subset the types of those names (all of a name, if it is used twice) with the
 * members of those names and unnamed ones, at their original offsets; and the types of these.
 * Pointer targets that were not requested are only declared. -EBADMSG: not BTF. -EOPNOTSUPP: an
 * unknown kind. -E2BIG, -ENOMEM.
 */
int btf_subset(const void *bytes, size_t size, const struct btf_names *names,
	       struct buf *ret_subset);

#endif
