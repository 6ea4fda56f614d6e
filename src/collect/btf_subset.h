/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extracts a few of the kernel's hundred thousand types, in the same format: BTF, as in
 * linux/btf.h. For each type that it relocates, libbpf searches all the types it is given, which
 * takes longer than loading the programs.
 */
#ifndef COLLECT_BTF_SUBSET_H
#define COLLECT_BTF_SUBSET_H

#include <stddef.h>

#include "base/buf.h"
#include "collect/btf_names.h"

#define BTF_SUBSET_MAX_BYTES (1u << 20)

/*
 * Appends to ret_subset all types with those names, and the types that they need. Of a struct, only
 * members with requested names and unnamed ones are kept, at their original offsets. Pointer
 * targets that were not requested are only declared. -EBADMSG: not BTF. -EOPNOTSUPP: an unknown
 * kind. -E2BIG, -ENOMEM.
 */
int btf_subset(const void *bytes, size_t size, const struct btf_names *names,
	       struct buf *ret_subset);

#endif
