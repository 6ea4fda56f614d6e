/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"

#define PATH_MAX_LINKS 40 /* as many as the kernel follows (MAXSYMLINKS) */

const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *path_dir(const char *path)
{
	size_t n = (size_t)(path_name(path) - path);

	if (n == 0)
		return strdup(".");
	return strndup(path, n > 1 ? n - 1 : n);
}

/*
 * The kernel's rule for links in a directory like /tmp (fs/namei.c, may_follow_link()): only those
 * of the same user or of the directory's owner. We follow links ourselves and must keep to it.
 */
static int may_follow(const char *link, const struct stat *link_st)
{
	_cleanup_(freep) char *dir = path_dir(link);
	struct stat st;

	if (!dir)
		return -ENOMEM;
	if (stat(dir, &st) < 0)
		return -errno;
	if ((st.st_mode & (S_ISVTX | S_IWOTH)) != (S_ISVTX | S_IWOTH))
		return 0;
	return link_st->st_uid == geteuid() || link_st->st_uid == st.st_uid ? 0 : -EACCES;
}

/* Where the link leads, as a new path; NULL when it is a link of procfs, which leads to an open
 * file whatever it reads. */
static int read_link(int fd, const char *path, char **ret_target)
{
	char text[PATH_MAX];
	struct statfs fs;
	ssize_t n;

	if (fstatfs(fd, &fs) < 0)
		return -errno;
	if (fs.f_type == PROC_SUPER_MAGIC) {
		*ret_target = NULL;
		return 0;
	}
	n = readlinkat(fd, "", text, sizeof(text));
	if (n < 0)
		return -errno;
	if ((size_t)n == sizeof(text))
		return -ENAMETOOLONG;
	if (text[0] == '/')
		*ret_target = strndup(text, (size_t)n);
	else if (asprintf(ret_target, "%.*s%.*s", (int)(path_name(path) - path), path, (int)n,
			  text) < 0)
		*ret_target = NULL;
	return *ret_target ? 0 : -ENOMEM;
}

/* Replaces *path by what it leads to. 1: that was a link; 0: it is none, or nothing is there;
 * -EREMOTE: it is one of procfs, to be written in place. */
static int follow_one(char **path)
{
	_cleanup_(closep) int fd = open(*path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char *target;
	struct stat st;
	int r;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISLNK(st.st_mode))
		return 0;
	r = may_follow(*path, &st);
	if (r < 0)
		return r;
	r = read_link(fd, *path, &target);
	if (r < 0)
		return r;
	if (!target)
		return -EREMOTE;
	free(*path);
	*path = target;
	return 1;
}

int path_follow_links(const char *path, char **ret_real)
{
	_cleanup_(freep) char *real = strdup(path);
	int r = 1;

	if (!real)
		return -ENOMEM;
	for (int i = 0; r > 0; i++) {
		if (i == PATH_MAX_LINKS)
			return -ELOOP;
		r = follow_one(&real);
	}
	if (r < 0)
		return r;
	*ret_real = TAKE(real);
	return 0;
}
