/* SPDX-License-Identifier: Apache-2.0 */
/* A procfs of our own making: a folder with the files that a test needs, removed at the end. */
#ifndef TESTS_UNIT_FAKE_PROC_H
#define TESTS_UNIT_FAKE_PROC_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "proc/filestore.h"
#include "proc/procfs.h"
#include "tap.h"

struct fake {
	char dir[256];
	struct procfs procfs;
};

static inline void fake_init(struct fake *f)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(f->dir, sizeof(f->dir), "%s/test_proc_XXXXXX", tmp ? tmp : "/tmp");
	must(mkdtemp(f->dir));
	must(procfs_open(f->dir, &f->procfs) == 0);
}

static inline int fake_remove_one(const char *path, const struct stat *st, int type,
				  struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void fake_done(struct fake *f)
{
	procfs_close(&f->procfs);
	(void)nftw(f->dir, fake_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline const char *fake_path(const struct fake *f, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", f->dir, name);
	return path;
}

/* Folders on the way are made. */
static inline void fake_parents(const struct fake *f, const char *name)
{
	char path[PATH_MAX];

	fake_path(f, name, path);
	for (char *s = path + strlen(f->dir) + 1; (s = strchr(s, '/')); *s++ = '/') {
		*s = '\0';
		must(mkdir(path, 0700) == 0 || errno == EEXIST);
	}
}

static inline void fake_write_bytes(const struct fake *f, const char *name, const void *bytes,
				    size_t len)
{
	char path[PATH_MAX];
	int fd;

	fake_parents(f, name);
	fd = open(fake_path(f, name, path), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	close(fd);
}

static inline void fake_write(const struct fake *f, const char *name, const char *text)
{
	fake_write_bytes(f, name, text, strlen(text));
}

static inline void fake_link(const struct fake *f, const char *name, const char *target)
{
	char path[PATH_MAX];

	fake_parents(f, name);
	(void)unlink(fake_path(f, name, path));
	must(symlink(target, path) == 0);
}

static inline void fake_unlink(const struct fake *f, const char *name)
{
	char path[PATH_MAX];

	must(unlink(fake_path(f, name, path)) == 0);
}

/* The key that an ordinary file system's kernel key would be. */
static inline struct file_key fake_key(const struct fake *f, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	must(stat(fake_path(f, name, path), &st) == 0);
	return (struct file_key){ .major = major(st.st_dev),
				  .minor = minor(st.st_dev),
				  .inode = st.st_ino };
}

/* openat2() is missing under some seccomp filters and emulators. */
static inline bool fake_can_open_in_root(const struct fake *f)
{
	int fd = procfs_open_in_root(&f->procfs, 0, "/dev/null", NULL);

	return fd != -ENOSYS && fd != -EPERM;
}

/* The same, for tests that make no root of their own; says it if not. */
static inline bool fake_can_look_into_roots(void)
{
	struct fake f;
	bool can;

	fake_init(&f);
	can = fake_can_open_in_root(&f);
	fake_done(&f);
	if (!can)
		tap_skip("looking into a root needs openat2(), which is not to be had");
	return can;
}

#endif
