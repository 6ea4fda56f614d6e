/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process of a fetch left is taken over as a copy. It may have handed a descriptor to a process
 * that outlives it, and no change of owner, mode or name takes that back: what was checked has to be a
 * file that it never could open.
 */
#ifndef FETCH_HANDOVER_H
#define FETCH_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cache;

/* Whether a folder in the cache can be given to CHILD_NOBODY, and what is in it be read and removed by us:
 * neither a root without those capabilities nor every file system can. */
bool handover_is_possible(struct cache *c);

/* Copies CHILD_RESULT of the folder from_fd, if `owner` made it and it has no other name, to the same
 * name in to_fd, a folder of ours; a descriptor to read the copy, the caller's, and its size.
 * -ENOENT: there is no such file; -EFBIG: it has more than max_bytes. What was copied until an error
 * is the caller's to remove. */
int handover_copy(int from_fd, uid_t owner, uint64_t max_bytes, int to_fd, int *ret_fd,
		  uint64_t *ret_bytes);

#endif
