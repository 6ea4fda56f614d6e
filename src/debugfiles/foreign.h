/* SPDX-License-Identifier: Apache-2.0 */
/* Files of untrusted owners: there may be any number of them, each as expensive as the limits of
 * one file allow. */
#ifndef DEBUGFILES_FOREIGN_H
#define DEBUGFILES_FOREIGN_H

#include <stdbool.h>
#include <sys/types.h>

struct file;

/* True if the owner of an open file is neither root nor the user who runs this, directly or by
 * sudo, or if its root may contain anyone's debug files, or its file system anyone's bytes.
 * *ret_owner: -1 if unknown. */
bool file_is_foreign(const struct file *f, uid_t *ret_owner);

#endif
