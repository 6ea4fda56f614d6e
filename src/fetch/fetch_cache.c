/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/fetch_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/capabilities.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/outpath.h"
#include "fetch/fetch_cache_internal.h"

#define TMP_TRIES 16

static int check_privacy(int fd, const char *path, struct pa_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid())
		return error_set(err, EPERM,
				 "'%s' belongs to another user (UID %u): give a folder of your own "
				 "by pa_options.symbol_cache_dir",
				 path, st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return error_set(err, EPERM,
				 "'%s' may be written to by others: make it private (chmod 700)",
				 path);
	return 0;
}

static int make_inside(struct cache *c, const char *name)
{
	return mkdirat(c->dir_fd, name, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int open_inside(struct cache *c)
{
	int r = make_inside(c, CACHE_ENTRIES);

	if (r == 0)
		r = make_inside(c, CACHE_TMP);
	if (r < 0)
		return r;
	if (faccessat(c->dir_fd, CACHE_ENTRIES, R_OK | W_OK | X_OK, AT_EACCESS) < 0 ||
	    faccessat(c->dir_fd, CACHE_TMP, R_OK | W_OK | X_OK, AT_EACCESS) < 0)
		return -errno; /* otherwise the problem would show up after the capture */
	c->lock_fd = openat(c->dir_fd, ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return c->lock_fd < 0 ? -errno : 0;
}

static int unusable(const char *path, int code, struct pa_error *err)
{
	return error_set(err, code,
			 "'%s' cannot be used: %s; give a folder that you may write to by "
			 "pa_options.symbol_cache_dir",
			 path, strerror(code));
}

/* Another user's link may lead to a directory of ours whose files are not a cache. */
static int open_folder(const char *path, int *ret_fd, struct pa_error *err)
{
	_cleanup_(outpath_done) struct outpath at = OUTPATH_NONE;
	int r = outpath_make_folder(path, &at);

	if (r < 0 && at.is_refused)
		return error_set(
			err, EACCES,
			"'%s' cannot be used: '%s' is a %s of user %u in a folder that "
			"others may write; give another one by pa_options.symbol_cache_dir",
			path, at.dir.data, outpath_kind(&at.st), (unsigned int)at.st.st_uid);
	if (r < 0) /* some file systems return EPERM; here it means the owner of the directory */
		return unusable(path, r == -EPERM ? EACCES : -r, err);
	*ret_fd = openat(at.dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? unusable(path, errno, err) : 0;
}

int cache_open(struct cache *c, const char *path, uint64_t max_bytes, uint64_t salt,
	       struct pa_error *err)
{
	int r;

	*c = (struct cache){ .dir_fd = -1, .lock_fd = -1, .max_bytes = max_bytes, .salt = salt };
	r = open_folder(path, &c->dir_fd, err);
	if (r == 0)
		r = check_privacy(c->dir_fd, path, err);
	if (r == 0) {
		r = open_inside(c);
		if (r < 0)
			r = unusable(path, -r, err);
	}
	if (r < 0)
		cache_close(c);
	return r;
}

void cache_close(struct cache *c)
{
	if (c->lock_fd >= 0)
		close(c->lock_fd);
	if (c->dir_fd >= 0)
		close(c->dir_fd);
	c->lock_fd = c->dir_fd = -1;
}

/* ".build-id/NN/REST<suffix>"; with make, its directory is created. */
static int entry_path(struct cache *c, const struct build_id *id, const char *suffix, bool make,
		      char path[CACHE_PATH_SIZE])
{
	char hex[BUILD_ID_HEX_SIZE];

	if (id->len < 2)
		return -EINVAL;
	build_id_hex(id, hex);
	if (make) {
		(void)snprintf(path, CACHE_PATH_SIZE, CACHE_ENTRIES "/%.2s", hex);
		if (mkdirat(c->dir_fd, path, 0700) < 0 && errno != EEXIST)
			return -errno;
	}
	(void)snprintf(path, CACHE_PATH_SIZE, CACHE_ENTRIES "/%.2s/%s%s", hex, hex + 2, suffix);
	return 0;
}

int cache_get(struct cache *c, const struct build_id *id)
{
	_cleanup_(capabilities_raise) struct capabilities held = CAPABILITIES_HELD;
	_cleanup_(closep) int fd = -1;
	char path[CACHE_PATH_SIZE];
	struct stat st;
	int r = capabilities_lower(&held);

	if (r == 0)
		r = entry_path(c, id, CACHE_SUFFIX, false, path);
	if (r < 0)
		return r;
	fd = openat(c->dir_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	(void)futimens(fd, NULL); /* otherwise its access time is that of its download */
	return TAKE_FD(fd);
}

int cache_put(struct cache *c, const struct build_id *id, int dir_fd, const char *name)
{
	_cleanup_(capabilities_raise) struct capabilities held = CAPABILITIES_HELD;
	char path[CACHE_PATH_SIZE];
	int r = capabilities_lower(&held);

	if (r == 0)
		r = entry_path(c, id, CACHE_SUFFIX, true, path);
	if (r < 0)
		return r;
	(void)utimensat(dir_fd, name, NULL, AT_SYMLINK_NOFOLLOW); /* it is used now */
	if (renameat(dir_fd, name, c->dir_fd, path) < 0)
		return -errno;
	return cache_trim(c);
}

void cache_drop(struct cache *c, const struct build_id *id)
{
	char path[CACHE_PATH_SIZE];

	if (entry_path(c, id, CACHE_SUFFIX, false, path) == 0)
		(void)unlinkat(c->dir_fd, path, 0); /* it may be gone already */
}

/* Where it is recorded that a file is unavailable. Other servers may have it, hence the salt. */
static int note_path(struct cache *c, const struct build_id *id, enum cache_note note, bool make,
		     char path[CACHE_PATH_SIZE])
{
	char suffix[32];

	(void)snprintf(suffix, sizeof(suffix), "%s%08x",
		       note == CACHE_MISSING ? CACHE_MISSING_MARK : CACHE_BROKEN_MARK,
		       (unsigned int)c->salt);
	return entry_path(c, id, suffix, make, path);
}

void cache_remember(struct cache *c, const struct build_id *id, enum cache_note note)
{
	_cleanup_(capabilities_raise) struct capabilities held = CAPABILITIES_HELD;
	char path[CACHE_PATH_SIZE];
	int fd;

	if (capabilities_lower(&held) < 0 || note_path(c, id, note, true, path) < 0)
		return;
	/* If it cannot be recorded, the file is requested again: harmless. */
	fd = openat(c->dir_fd, path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	(void)futimens(fd, NULL);
	close(fd);
}

static bool is_noted(struct cache *c, const struct build_id *id, enum cache_note note)
{
	char path[CACHE_PATH_SIZE];
	struct stat st;

	return note_path(c, id, note, false, path) == 0 &&
	       fstatat(c->dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       cache_note_is_young(&st, note);
}

bool cache_is_hopeless(struct cache *c, const struct build_id *id)
{
	return is_noted(c, id, CACHE_MISSING) || is_noted(c, id, CACHE_BROKEN);
}

/* Byte 0 is for trimming. */
static struct flock range_of(const struct build_id *id, short type)
{
	uint64_t at = hash_bytes(id->bytes, id->len) >> 2;

	return (struct flock){
		.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(at ? at : 1), .l_len = 1
	};
}

int cache_lock(struct cache *c, const struct build_id *id)
{
	struct flock lock = range_of(id, F_WRLCK);

	if (fcntl(c->lock_fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

void cache_unlock(struct cache *c, const struct build_id *id)
{
	struct flock lock = range_of(id, F_UNLCK);

	(void)fcntl(c->lock_fd, F_OFD_SETLK, &lock); /* releasing one's own lock cannot fail */
}

int cache_tmp(struct cache *c, char name[CACHE_TMP_NAME_SIZE], int *ret_fd)
{
	for (int i = 0; i < TMP_TRIES; i++) {
		char path[CACHE_PATH_SIZE];
		uint64_t number = 0;
		int fd;

		/* 0 is a valid name, too */
		(void)!getrandom(&number, sizeof(number), GRND_NONBLOCK);
		(void)snprintf(name, CACHE_TMP_NAME_SIZE, "%016llx",
			       (unsigned long long)number + (uint64_t)i);
		(void)snprintf(path, sizeof(path), CACHE_TMP "/%s", name);
		if (mkdirat(c->dir_fd, path, 0700) < 0) {
			if (errno != EEXIST)
				return -errno; /* a full disk is reported as such */
			continue;
		}
		fd = openat(c->dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		/* Another agent may have removed the directory in between: try the next name. */
		if (flock(fd, LOCK_SH | LOCK_NB) == 0 && faccessat(c->dir_fd, path, F_OK, 0) == 0) {
			*ret_fd = fd;
			return 0;
		}
		close(fd);
	}
	return -EEXIST;
}
