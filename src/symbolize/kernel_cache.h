/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lasting symbols of the running kernel in a file of our own: the boot and the set of modules
 * say whether it still holds. Anything else about it, and it is as good as not there.
 */
#ifndef SYMBOLIZE_KERNEL_CACHE_H
#define SYMBOLIZE_KERNEL_CACHE_H

#include "base/error.h"
#include "symbolize/ksym_table.h"

#define KERNEL_BOOT_ID_SIZE 40 /* 36 digits and dashes, filled up with NULs */

/* What the symbols depend on. */
struct kernel_key {
	char boot_id[KERNEL_BOOT_ID_SIZE];
	uint64_t modules; /* a hash of which are loaded where */
};

/* Fills an initialised table. *ret_list is the number of the list that the symbols came from: set
 * on success and with -ESTALE, when other modules are loaded now. -ENOENT: of another boot.
 * -EBADMSG: damaged. */
int kernel_cache_read(int fd, const struct kernel_key *key, struct ksym_table *t,
		      uint32_t *ret_list);

/* The same of a file that must be ours alone: -EPERM where others own it or could write to it. */
int kernel_cache_load(const char *path, const struct kernel_key *key, struct ksym_table *t,
		      uint32_t *ret_list);

/* Replaces the file; who reads it meanwhile sees the old one whole. */
int kernel_cache_store(const char *path, const struct kernel_key *key, const struct ksym_table *t,
		       uint32_t list, struct pa_error *err);

#endif
