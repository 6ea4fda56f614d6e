/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only a copy of a fetch process's result is used. The process may have passed a descriptor to a
 * process that outlives it, and no change of owner, mode or name revokes that: what was verified
 * must be a file that it never could open.
 */
#ifndef FETCH_NOBODY_DIR_H
#define FETCH_NOBODY_DIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cache;

/* True if a directory in the cache can be given to CHILD_NOBODY, and its contents read and removed
 * by us: neither a root without those capabilities nor every file system can do that. */
bool nobody_dir_is_possible(struct cache *c);

/* Copies CHILD_RESULT of the directory from_fd, if `owner` created it and it has no other name, to
 * the same name in to_fd, a directory of ours; returns a descriptor to read the copy, owned by the
 * caller, and its size. -ENOENT: no such file; -EFBIG: larger than max_bytes. After an error the
 * caller removes the partial copy. */
int nobody_dir_copy_result(int from_fd, uid_t owner, uint64_t max_bytes, int to_fd, int *ret_fd,
			   uint64_t *ret_bytes);

#endif
