/* SPDX-License-Identifier: Apache-2.0 */
/* What the addresses of the kernel's functions depend on, from /proc. */
#ifndef AGENT_KERNEL_KEY_H
#define AGENT_KERNEL_KEY_H

#include "proc/procfs.h"
#include "symbolize/kernel_cache.h"

/* The boot, and which modules lie where. A kernel without modules has the empty set. */
int kernel_key_read(const struct procfs *proc, struct kernel_key *ret_key);

/* Pure: a hash of what /proc/modules says of names, sizes, states and addresses; not of who uses
 * them. */
uint64_t kernel_key_of_modules(const char *text, size_t n);

#endif
