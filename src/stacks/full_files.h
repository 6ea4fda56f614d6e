/* SPDX-License-Identifier: Apache-2.0 */
/* The CFI of files, kept open for walks that track all registers. Such walks are rare, so few files
 * are kept. */
#ifndef STACKS_FULL_FILES_H
#define STACKS_FULL_FILES_H

#include <stdint.h>

struct cfi_full_row;
struct filestore;
struct full_files;
struct mapping;

int full_files_new(const struct filestore *store, struct full_files **ret_files);
struct full_files *full_files_free(struct full_files *f);

/* To be called when the store releases the file: its number will be reused. */
void full_files_forget(struct full_files *f, uint32_t file);

/* The complete row of the file behind m for a link-time address. -ENOENT: none, or the file cannot
 * be read any more; -EBADMSG: malformed; -ENOMEM. */
int full_files_rules_at(struct full_files *f, const struct mapping *m, uint64_t addr,
			struct cfi_full_row *ret_row);

#endif
