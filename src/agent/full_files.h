/* SPDX-License-Identifier: Apache-2.0 */
/* The call frame information of files, kept open for walks that follow all registers. There are few
 * such walks, so that few files are kept. */
#ifndef AGENT_FULL_FILES_H
#define AGENT_FULL_FILES_H

#include <stdint.h>

struct cfi_full_row;
struct filestore;
struct full_files;
struct mapping;

int full_files_new(const struct filestore *store, struct full_files **ret_files);
struct full_files *full_files_free(struct full_files *f);

/* All that the file behind m says of a link-time address. -ENOENT: nothing, or there is no such
 * file to be read any more; -EBADMSG: it is damaged; -ENOMEM. */
int full_files_rules_at(struct full_files *f, const struct mapping *m, uint64_t addr,
			struct cfi_full_row *ret_row);

#endif
