/* SPDX-License-Identifier: Apache-2.0 */
/* Files that somebody else has put there: any number of them, each as costly as the limits of one allow. */
#ifndef AGENT_FOREIGN_H
#define AGENT_FOREIGN_H

#include <stdbool.h>
#include <sys/types.h>

struct file;

/* Whether the owner of an open file is neither root nor who runs this, himself or by sudo, or its root may
 * have anybody's debug files, or its file system anybody's bytes. *ret_owner: -1 where that is not known. */
bool file_is_foreign(const struct file *f, uid_t *ret_owner);

#endif
