/* SPDX-License-Identifier: Apache-2.0 */
#include "debugfiles/foreign.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc/filestore.h"
#include "proc/roots.h"

/* SUDO_UID counts only for root, because anyone can set a variable. The caller's files may cost as
 * much as without sudo. */
static bool has_called_sudo(uid_t user)
{
	const char *text = geteuid() == 0 ? getenv("SUDO_UID") : NULL;
	unsigned long uid;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	uid = strtoul(text, &end, 10);
	return !errno && !*end && uid < UINT32_MAX && uid == user;
}

bool file_is_foreign(const struct file *f, uid_t *ret_owner)
{
	bool is_known = !f->is_copy; /* FUSE can report any owner; the copy is ours */
	struct stat st;

	*ret_owner = is_known && fstat(f->fd, &st) == 0 ? st.st_uid : (uid_t)-1;
	if (f->root != ROOT_OWN || f->is_copy)
		return true;
	return *ret_owner != 0 && *ret_owner != geteuid() && !has_called_sudo(*ret_owner);
}
