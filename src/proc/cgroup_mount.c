/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/cgroup_mount.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/mountinfo.h"

#define HANDLE_OF_KERNFS 0xfe /* the kernel's FILEID_KERNFS, since 5.5: the inode number */

/* The mount must begin where the paths of /proc do. */
static bool take_mount(const char *line, struct cgroup_mount *m)
{
	struct mount_line of;
	struct statfs fs;

	if (!mountinfo_parse(line, strcspn(line, "\n"), &of) || !of.is_cgroup2 ||
	    of.root_len != 1 || of.point_len >= sizeof(m->path) ||
	    memchr(of.point, '\\', of.point_len))
		return false;
	memcpy(m->path, of.point, of.point_len);
	m->path[of.point_len] = '\0';
	m->len = of.point_len;
	m->fd = open(m->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->fd >= 0 && fstatfs(m->fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
		return true;
	cgroup_mount_done(m);
	return false;
}

void cgroup_mount_open(struct cgroup_mount *m)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[2 * PATH_MAX];
	bool is_rest = false; /* of a line that is too long, and therefore skipped */

	m->fd = -1;
	while (f && fgets(line, sizeof(line), f)) {
		bool is_whole = !is_rest && strchr(line, '\n');

		if (is_whole && take_mount(line, m))
			return;
		is_rest = !strchr(line, '\n');
	}
}

void cgroup_mount_done(struct cgroup_mount *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

static int open_id(const struct cgroup_mount *m, uint64_t id)
{
	struct {
		struct file_handle head;
		unsigned char bytes[sizeof(id)];
	} handle = { .head = { .handle_bytes = sizeof(id), .handle_type = HANDLE_OF_KERNFS } };

	memcpy(handle.bytes, &id, sizeof(id));
	return open_by_handle_at(m->fd, &handle.head, O_PATH | O_CLOEXEC);
}

bool cgroup_mount_path(const struct cgroup_mount *m, uint64_t id, char ret_path[PATH_MAX])
{
	_cleanup_(closep) int fd = m->fd < 0 ? -1 : open_id(m, id);
	char link[64], path[PATH_MAX], *rest;
	ssize_t n;

	if (fd < 0)
		return false;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < (ssize_t)m->len || memcmp(path, m->path, m->len) != 0)
		return false;
	path[n] = '\0';
	rest = path + m->len;
	if (*rest && *rest != '/')
		return false;
	(void)snprintf(ret_path, PATH_MAX, "%s", *rest ? rest : "/");
	return true;
}

bool cgroup_mount_has(const struct cgroup_mount *m, const char *path, size_t len, uint64_t id)
{
	char name[PATH_MAX];
	struct stat st;

	/* what a cgroup namespace shows of cgroups outside of it would lead out of the mount */
	if (len >= 3 && !memcmp(path, "/..", 3))
		return false;
	if (m->fd < 0 || (size_t)snprintf(name, sizeof(name), ".%.*s", (int)len, path) != len + 1)
		return false;
	return fstatat(m->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == id;
}
