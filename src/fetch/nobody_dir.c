/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/nobody_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/quiet_write.h"
#include "fetch/child.h"
#include "fetch/fetch_cache.h"

#define BLOCK_BYTES (256u << 10)

/* Opens only files that the process created: a link may lead to a file that it could not read
 * itself. */
static int open_left(int dir_fd, uid_t owner)
{
	_cleanup_(closep) int fd =
		openat(dir_fd, CHILD_RESULT, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    st.st_uid != owner)
		return -ENOENT;
	return TAKE_FD(fd);
}

static ssize_t read_some(int fd, void *block, size_t nr_bytes)
{
	ssize_t n;

	do {
		n = read(fd, block, nr_bytes);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int write_all(int fd, const char *bytes, size_t nr_bytes)
{
	while (nr_bytes) {
		ssize_t n = write_quietly(fd, bytes, nr_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		nr_bytes -= (size_t)n;
	}
	return 0;
}

/* Its size is not checked in advance, because another process may still write to it. */
static int copy(int from_fd, int to_fd, uint64_t max_bytes, uint64_t *ret_bytes)
{
	_cleanup_(freep) char *block = malloc(BLOCK_BYTES);
	uint64_t sum = 0;
	ssize_t n;
	int r = 0;

	if (!block)
		return -ENOMEM;
	while (r == 0 && (n = read_some(from_fd, block, BLOCK_BYTES)) != 0) {
		if (n < 0)
			return (int)n;
		if ((uint64_t)n > max_bytes - sum)
			return -EFBIG;
		sum += (uint64_t)n;
		r = write_all(to_fd, block, (size_t)n);
	}
	*ret_bytes = sum;
	return r;
}

int nobody_dir_copy_result(int from_fd, uid_t owner, uint64_t max_bytes, int to_fd, int *ret_fd,
			   uint64_t *ret_bytes)
{
	_cleanup_(closep) int left_fd = open_left(from_fd, owner);
	_cleanup_(closep) int copy_fd = -1;
	int r;

	if (left_fd < 0)
		return left_fd;
	copy_fd = openat(to_fd, CHILD_RESULT, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (copy_fd < 0)
		return -errno;
	r = copy(left_fd, copy_fd, max_bytes, ret_bytes);
	if (r < 0)
		return r;
	*ret_fd = openat(to_fd, CHILD_RESULT, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

static bool is_given(int fd)
{
	return fchown(fd, CHILD_NOBODY, CHILD_NOBODY) == 0;
}

/* Tests a directory as a fetch would use it, with a file that is ours at first. */
static bool try_in(int dir_fd)
{
	_cleanup_(closep) int made_fd =
		openat(dir_fd, CHILD_RESULT, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	_cleanup_(closep) int left_fd = -1;

	if (made_fd < 0 || !is_given(made_fd) || !is_given(dir_fd))
		return false;
	left_fd = open_left(dir_fd, CHILD_NOBODY);
	return left_fd >= 0 && unlinkat(dir_fd, CHILD_RESULT, 0) == 0;
}

bool nobody_dir_is_possible(struct cache *c)
{
	char name[CACHE_TMP_NAME_SIZE];
	bool is_possible;
	int fd;

	if (cache_tmp(c, name, &fd) < 0)
		return false;
	is_possible = try_in(fd);
	(void)!fchown(fd, geteuid(), getegid()); /* otherwise we may be unable to remove it */
	close(fd);
	cache_remove_tmp(c, name);
	return is_possible;
}
