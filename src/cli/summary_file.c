/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/summary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/scope.h"

/* A number as sudo writes it; (uid_t)-1 means "nobody in particular" to chown() and is refused. */
static bool parse_id(const char *text, uint32_t *ret_id)
{
	char *end;
	unsigned long v;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno || *end || v >= UINT32_MAX)
		return false;
	*ret_id = (uint32_t)v;
	return true;
}

struct owner owner_from_environment(void)
{
	struct owner owner = { 0 };

	if (geteuid() == 0)
		owner.is_set = parse_id(getenv("SUDO_UID"), &owner.uid) &&
			       parse_id(getenv("SUDO_GID"), &owner.gid);
	return owner;
}

/* The file that path leads to, which need not exist yet; the caller frees it. */
static int resolve(const char *path, char **ret_path)
{
	char *real = realpath(path, NULL);

	if (!real && errno != ENOENT)
		return -errno;
	if (!real)
		real = strdup(path);
	if (!real)
		return -ENOMEM;
	*ret_path = real;
	return 0;
}

/* The directory of path; the caller frees it. */
static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

int summary_file_check(const char *path)
{
	_cleanup_(freep) char *real = NULL, *directory = NULL;
	struct stat st;
	int r;

	if (!path)
		return 0;
	r = resolve(path, &real);
	if (r < 0)
		return r;
	if (stat(real, &st) == 0 && !S_ISREG(st.st_mode)) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		return faccessat(AT_FDCWD, real, W_OK, AT_EACCESS) < 0 ? -errno : 0;
	}
	directory = directory_of(real);
	if (!directory)
		return -ENOMEM;
	if (real[strlen(real) - 1] == '/')
		return -EISDIR;
	return faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

static int write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		bytes += done;
		n -= (size_t)done;
	}
	return 0;
}

/* A FIFO without a reader is an error (ENXIO), not a wait that no signal would end. */
static int write_in_place(const char *path, const void *bytes, size_t n)
{
	_cleanup_(closep) int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_SETFL, 0) < 0)
		return -errno;
	return write_all(fd, bytes, n);
}

/* The mode of the file that is replaced, or what creating one would give. */
static mode_t final_mode(const struct stat *old)
{
	mode_t mask;

	if (old)
		return old->st_mode & 0777;
	mask = umask(0);
	(void)umask(mask);
	return 0666 & ~mask;
}

static int fill(int fd, const void *bytes, size_t n, mode_t mode, const struct owner *owner)
{
	int r = write_all(fd, bytes, n);

	if (r < 0)
		return r;
	if (owner->is_set && fchown(fd, owner->uid, owner->gid) < 0)
		return -errno;
	if (fchmod(fd, mode) < 0)
		return -errno;
	return 0;
}

static int replace(const char *path, const struct stat *old, const void *bytes, size_t n,
		   const struct owner *owner)
{
	_cleanup_(freep) char *directory = directory_of(path), *beside = NULL;
	_cleanup_(closep) int fd = -1;
	int r;

	if (!directory || asprintf(&beside, "%s/.perf-agent-XXXXXX", directory) < 0) {
		beside = NULL; /* asprintf() leaves it undefined */
		return -ENOMEM;
	}
	fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fill(fd, bytes, n, final_mode(old), owner);
	if (r == 0 && rename(beside, path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(beside); /* the first error is the one to tell */
	return r;
}

int summary_file_write(const char *path, const void *bytes, size_t n, const struct owner *owner)
{
	_cleanup_(freep) char *real = NULL;
	struct stat st;
	bool exists;
	int r;

	if (!path)
		return write_all(STDOUT_FILENO, bytes, n);
	r = resolve(path, &real);
	if (r < 0)
		return r;
	exists = stat(real, &st) == 0;
	if (exists && !S_ISREG(st.st_mode))
		return write_in_place(real, bytes, n);
	return replace(real, exists ? &st : NULL, bytes, n, owner);
}
