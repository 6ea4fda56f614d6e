/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/foreign.h"

#include <sys/stat.h>
#include <unistd.h>

#include "proc/filestore.h"
#include "proc/roots.h"

bool file_is_foreign(const struct file *f, uid_t *ret_owner)
{
	struct stat st;

	*ret_owner = fstat(f->fd, &st) < 0 ? (uid_t)-1 : st.st_uid;
	return f->root != ROOT_OWN || (*ret_owner != 0 && *ret_owner != geteuid());
}
