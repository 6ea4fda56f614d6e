/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache file with the running kernel's permanent symbols: valid for one boot and one set of
 * modules. If in doubt it is ignored.
 */
#ifndef SYMBOLIZE_KERNEL_CACHE_H
#define SYMBOLIZE_KERNEL_CACHE_H

#include "base/error.h"
#include "symbolize/ksym_table.h"

#define KERNEL_BOOT_ID_SIZE 40 /* 36 digits and dashes, padded with NULs */

/* What the symbols depend on. */
struct kernel_key {
	char boot_id[KERNEL_BOOT_ID_SIZE];
	uint64_t modules; /* a hash of the modules and their addresses */
};

/* Fills an initialised table. *ret_list is the number of the list that the symbols came from: set
 * on success and with -ESTALE, when other modules are loaded now. -ENOENT: of another boot.
 * -EBADMSG: malformed. */
int kernel_cache_read(int fd, const struct kernel_key *key, struct ksym_table *t,
		      uint32_t *ret_list);

/* As kernel_cache_read(), for a path whose file must be ours alone: -EPERM if others own it or can
 * write to it. */
int kernel_cache_load(const char *path, const struct kernel_key *key, struct ksym_table *t,
		      uint32_t *ret_list);

/* Replaces the file; a concurrent reader sees the complete old one. */
int kernel_cache_store(const char *path, const struct kernel_key *key, const struct ksym_table *t,
		       uint32_t list, struct pa_error *err);

#endif
