/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/local_fs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "proc/mountinfo.h"

/* File systems without a constant in some versions of linux/magic.h. */
#define MAGIC_BCACHEFS 0xca451a4e
#define MAGIC_EXFAT 0x2011bab0
#define MAGIC_JFS 0x3153464a
#define MAGIC_NTFS3 0x7366746e
#define MAGIC_ROMFS 0x7275
#define MAGIC_UDF 0x15013346
#define MAGIC_XFS 0x58465342
#define MAGIC_ZFS 0x2fc12fc1
#define MAGIC_F2FS 0xf2f52010
#define MAGIC_EROFS 0xe0f5e1e2

static const uint32_t local_magics[] = {
	EXT4_SUPER_MAGIC,     MAGIC_XFS,         BTRFS_SUPER_MAGIC, TMPFS_MAGIC,  RAMFS_MAGIC,
	HUGETLBFS_MAGIC,      SQUASHFS_MAGIC,    MAGIC_EROFS,       MAGIC_F2FS,   MAGIC_ZFS,
	ISOFS_SUPER_MAGIC,    MSDOS_SUPER_MAGIC, MAGIC_EXFAT,       MAGIC_NTFS3,  MAGIC_JFS,
	NILFS_SUPER_MAGIC,    MAGIC_UDF,         MAGIC_BCACHEFS,    CRAMFS_MAGIC, MAGIC_ROMFS,
	REISERFS_SUPER_MAGIC,
};

static void table_add(struct mount_table *t, const char *line, size_t len)
{
	struct mount_line m;

	if (!mountinfo_parse(line, len, &m) || !m.is_overlay || t->nr == LOCAL_FS_MAX_OVERLAYS)
		return;
	t->items[t->nr++] = (struct overlay_mount){ .id = m.id, .dev = makedev(m.major, m.minor) };
}

/* Processes the complete lines of t->text; moves the rest to its beginning and returns its length.
 * */
static size_t table_add_lines(struct mount_table *t, size_t len)
{
	char *line = t->text, *end = t->text + len, *newline;

	while ((newline = memchr(line, '\n', (size_t)(end - line)))) {
		table_add(t, line, (size_t)(newline - line));
		line = newline + 1;
	}
	memmove(t->text, line, (size_t)(end - line));
	return (size_t)(end - line);
}

static void table_read(struct mount_table *t)
{
	size_t len = 0;
	off_t at = 0;
	ssize_t n;

	t->nr = 0;
	while ((n = pread(t->fd, t->text + len, sizeof(t->text) - len, at)) > 0) {
		at += n;
		len = table_add_lines(t, len + (size_t)n);
		if (len == sizeof(t->text))
			len = 0; /* skips the rest of that line, too */
	}
	t->is_read = true;
}

/* The kernel signals changes of a namespace's mounts: until then the table is current, and its IDs
 * are not reused. */
static void table_refresh(struct mount_table *t)
{
	struct pollfd p = { .fd = t->fd, .events = POLLPRI };

	if (t->fd < 0)
		return;
	if (poll(&p, 1, 0) > 0 || !t->is_read)
		table_read(t);
}

static bool table_has_id(struct mount_table *t, uint64_t id)
{
	table_refresh(t);
	for (uint32_t i = 0; i < t->nr; i++)
		if (t->items[i].id == id)
			return true;
	return false;
}

static bool table_has_dev(struct mount_table *t, uint64_t dev)
{
	table_refresh(t);
	for (uint32_t i = 0; i < t->nr; i++)
		if (t->items[i].dev == dev)
			return true;
	return false;
}

void local_fs_init(struct local_fs *l)
{
	struct stat st;

	l->own.fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	l->init.fd = open("/proc/1/mountinfo", O_RDONLY | O_CLOEXEC);
	if (stat("/", &st) == 0)
		l->root_dev = st.st_dev;
}

static bool mount_of(int fd, struct statx *ret_st)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, ret_st) == 0 &&
	       (ret_st->stx_mask & STATX_MNT_ID);
}

static bool is_trusted_overlay(struct local_fs *l, int fd, int dir_fd)
{
	struct statx file, dir;
	uint64_t dev;

	if (!mount_of(fd, &file))
		return false;
	if (table_has_id(&l->own, file.stx_mnt_id) || table_has_id(&l->init, file.stx_mnt_id))
		return true;
	if (dir_fd < 0 || !mount_of(dir_fd, &dir) || dir.stx_mnt_id != file.stx_mnt_id)
		return false;
	dev = makedev(dir.stx_dev_major, dir.stx_dev_minor);
	return table_has_dev(&l->own, dev) || table_has_dev(&l->init, dev);
}

static bool is_on_own_root(const struct local_fs *l, int fd)
{
	struct stat st;

	return l->root_dev && fstat(fd, &st) == 0 && st.st_dev == l->root_dev;
}

bool local_fs_has(struct local_fs *l, int fd, int dir_fd)
{
	struct statfs fs;
	uint32_t magic;

	if (fstatfs(fd, &fs) < 0)
		return false;
	magic = (uint32_t)fs.f_type;
	if (magic == OVERLAYFS_SUPER_MAGIC)
		return is_trusted_overlay(l, fd, dir_fd);
	for (size_t i = 0; i < sizeof(local_magics) / sizeof(local_magics[0]); i++)
		if (magic == local_magics[i])
			return true;
	return is_on_own_root(l, fd);
}
