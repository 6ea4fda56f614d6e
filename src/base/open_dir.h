/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a directory for reading. */
#ifndef BASE_OPEN_DIR_H
#define BASE_OPEN_DIR_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* flags: additional flags for openat(). The caller closes the result (dirclosep()). */
static inline int open_dir_at(int at_fd, const char *path, int flags, DIR **ret_dir)
{
	int fd = openat(at_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags), r;

	if (fd < 0)
		return -errno;
	*ret_dir = fdopendir(fd);
	if (*ret_dir)
		return 0;
	r = -errno;
	close(fd);
	return r;
}

#endif
