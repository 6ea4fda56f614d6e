/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/roots.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/accounts.h"
#include "proc/mount_ns.h"
#include "proc/procfs.h"

void roots_done(struct roots *r)
{
	for (uint32_t i = 0; i < r->nr; i++) {
		if (r->items[i].fd >= 0)
			close(r->items[i].fd);
		free(r->items[i].prefix);
	}
	r->nr = 0;
}

/* The mount is 0 before Linux 5.8; roots with the same directory are then one. */
static int root_open(const struct procfs *p, pid_t pid, struct root *ret_root)
{
	struct stat st;
	uint64_t mount;
	int fd = procfs_open_root_at(p, pid, &st, &mount);

	if (fd < 0)
		return fd;
	*ret_root = (struct root){
		.dev = st.st_dev, .ino = st.st_ino, .user = st.st_uid, .mount = mount, .fd = fd
	};
	return 0;
}

static uint32_t find_root(const struct roots *r, const struct root *wanted)
{
	for (uint32_t i = 0; i < r->nr; i++) {
		const struct root *known = &r->items[i];

		if (known->dev == wanted->dev && known->ino == wanted->ino &&
		    known->mount == wanted->mount)
			return known->number;
	}
	return ROOT_UNKNOWN;
}

/* Our own root directory in a mount namespace that only a user privileged here can have arranged.
 * */
static bool is_like_own(const struct roots *r, const struct procfs *p, pid_t pid,
			const struct root *root)
{
	const struct root *own = &r->items[ROOT_OWN];

	return r->nr && root->dev == own->dev && root->ino == own->ino && mount_ns_is_ours(p, pid);
}

static bool has_room(const struct roots *r, uint64_t payer)
{
	uint32_t nr_own = 0;

	if (payer == PAYER_ROOT || payer == getuid())
		return r->nr < ROOTS_MAX;
	for (uint32_t i = 0; i < r->nr; i++)
		nr_own += r->items[i].payer == payer;
	return nr_own < (ROOTS_MAX - (r->nr - nr_own)) / 2;
}

static int add_pid(struct roots *r, const struct procfs *p, pid_t pid, uint32_t *ret_number)
{
	_cleanup_(closep) int fd = -1;
	struct root root;
	int res = root_open(p, pid, &root);
	pid_t thread = pid && res == -ENOENT ? procfs_other_thread(p, pid) : 0;

	if (thread) {
		pid = thread;
		res = root_open(p, pid, &root);
	}
	if (res < 0)
		return res;
	fd = root.fd;
	*ret_number = find_root(r, &root);
	if (*ret_number != ROOT_UNKNOWN)
		return 0;
	if (pid && procfs_payer(p, pid, &root.payer) < 0)
		return -ESRCH;
	if (!has_room(r, root.payer))
		return -E2BIG;
	root.number = is_like_own(r, p, pid, &root) ? ROOT_OWN : r->nr;
	if (root.number != ROOT_OWN) {
		root.prefix = mount_ns_root_path(p, pid); /* NULL: paths are used as they are */
		root.is_chroot = mount_ns_is_own(p, pid);
	}
	if (pid)
		procfs_keep_root(p, fd, pid);
	(void)TAKE_FD(fd); /* the table owns it now */
	r->items[r->nr++] = root;
	*ret_number = root.number;
	return 0;
}

uint32_t roots_of(struct roots *r, const struct procfs *p, pid_t pid)
{
	uint32_t number;

	if (!r->nr && add_pid(r, p, 0, &number) < 0)
		return ROOT_UNKNOWN; /* tried again next time */
	return pid > 0 && add_pid(r, p, pid, &number) == 0 ? number : ROOT_UNKNOWN;
}

int roots_fd(const struct roots *r, uint32_t number)
{
	return number < r->nr ? r->items[number].fd : -1;
}

uid_t roots_user(const struct roots *r, uint32_t number)
{
	return number < r->nr ? r->items[number].user : 0;
}

uint32_t roots_place(const struct roots *r, uint32_t number, const char **path)
{
	const struct root *root = number < r->nr ? &r->items[number] : NULL;
	size_t len;

	if (!root || !root->prefix)
		return number;
	len = strlen(root->prefix);
	if (strncmp(*path, root->prefix, len) == 0 && (*path)[len] == '/') {
		*path += len;
		return number;
	}
	return root->is_chroot ? ROOT_OWN : number;
}
