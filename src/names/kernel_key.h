/* SPDX-License-Identifier: Apache-2.0 */
/* The key of cached kernel symbols: what the addresses of kernel functions depend on, read from
 * /proc. */
#ifndef NAMES_KERNEL_KEY_H
#define NAMES_KERNEL_KEY_H

#include "proc/procfs.h"
#include "symbolize/kernel_cache.h"

/* The boot ID and the addresses of modules. A kernel without modules has the empty set. */
int kernel_key_read(const struct procfs *proc, struct kernel_key *ret_key);

/* A hash of the names, sizes, states and addresses in /proc/modules, without use counts and
 * dependants. */
uint64_t kernel_key_of_modules(const char *text, size_t n);

#endif
