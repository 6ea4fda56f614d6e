/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/payer.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "proc/procfs.h"

#define LINK_SIZE 32     /* "<pid>/ns/user" */
#define MAX_NESTED_NS 40 /* the kernel allows 33 */

static bool is_same(int fd, const struct stat *own)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == own->st_dev && st.st_ino == own->st_ino;
}

uint64_t payer_of(const struct procfs *p, pid_t pid, uid_t uid)
{
	_cleanup_(closep) int ns = -1;
	char link[LINK_SIZE];
	struct stat own;
	uid_t owner;

	(void)snprintf(link, sizeof(link), "%d/ns/user", (int)pid);
	ns = openat(p->fd, link, O_RDONLY | O_CLOEXEC);
	if (ns < 0 || fstatat(p->fd, "self/ns/user", &own, 0) < 0 || is_same(ns, &own))
		return uid;
	for (int i = 0; i < MAX_NESTED_NS; i++) {
		int parent = ioctl(ns, NS_GET_PARENT); /* fails for namespaces above ours */
		bool is_outermost = parent < 0 || is_same(parent, &own);

		if (is_outermost) {
			closep(&parent);
			return ioctl(ns, NS_GET_OWNER_UID, &owner) == 0 ? owner : uid;
		}
		close(ns);
		ns = parent;
	}
	return uid;
}
