/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/mount_ns.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "proc/procfs.h"

#define LINK_SIZE 32 /* "<pid>/ns/mnt" */

bool mount_ns_is_ours(const struct procfs *p, pid_t pid)
{
	_cleanup_(closep) int ns = -1, owner = -1;
	struct stat own, st;
	char link[LINK_SIZE];

	(void)snprintf(link, sizeof(link), "%d/ns/mnt", (int)pid);
	ns = openat(p->fd, link, O_RDONLY | O_CLOEXEC);
	if (ns < 0)
		return false;
	owner = ioctl(ns, NS_GET_USERNS);
	if (owner < 0 || fstat(owner, &st) < 0 || fstatat(p->fd, "self/ns/user", &own, 0) < 0)
		return false;
	return st.st_dev == own.st_dev && st.st_ino == own.st_ino;
}

bool mount_ns_is_own(const struct procfs *p, pid_t pid)
{
	struct stat own, st;
	char link[LINK_SIZE];

	(void)snprintf(link, sizeof(link), "%d/ns/mnt", (int)pid);
	return fstatat(p->fd, link, &st, 0) == 0 && fstatat(p->fd, "self/ns/mnt", &own, 0) == 0 &&
	       st.st_dev == own.st_dev && st.st_ino == own.st_ino;
}

char *mount_ns_root_path(const struct procfs *p, pid_t pid)
{
	char link[LINK_SIZE], path[PATH_MAX];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "%d/root", (int)pid);
	n = readlinkat(p->fd, link, path, sizeof(path));
	if (n <= 1 || (size_t)n == sizeof(path) || path[0] != '/')
		return NULL;
	return strndup(path, (size_t)n);
}
