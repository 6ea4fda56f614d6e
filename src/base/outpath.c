/* SPDX-License-Identifier: Apache-2.0 */
#include "base/outpath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/cleanup.h"

#define MAX_LINKS 40 /* the kernel's own limit (MAXSYMLINKS) */
#define MAX_PATH_BYTES (4 * PATH_MAX)

/* The components that remain to be resolved. */
struct way {
	char *text; /* owned */
	char *at;   /* inside text */
	unsigned int nr_links;
};

void outpath_done(struct outpath *p)
{
	closep(&p->dir_fd);
	closep(&p->special_fd);
	buf_done(&p->dir);
	free(p->name);
	*p = OUTPATH_NONE;
}

const char *outpath_kind(const struct stat *st)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFLNK:
		return "symbolic link";
	case S_IFIFO:
		return "FIFO";
	case S_IFSOCK:
		return "socket";
	default:
		return "device";
	}
}

static bool is_trusted(const struct outpath *p, const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0 ||
	       (p->has_friend && st->st_uid == p->friend);
}

/* Others can create files in this directory: it is world-writable, belongs to another user, or is
 * group-writable and sticky. A directory of ours that a group shares without the sticky bit is
 * shared on purpose. */
static bool is_shared(const struct outpath *p, const struct stat *dir)
{
	return dir->st_mode & S_IWOTH || !is_trusted(p, dir) ||
	       (dir->st_mode & S_ISVTX && dir->st_mode & S_IWGRP);
}

/* True if only the owner of a file can rename it in this directory. */
static bool keeps_names(const struct outpath *p, const struct stat *dir)
{
	return dir->st_mode & S_ISVTX && is_trusted(p, dir);
}

static int set_dir_text(struct outpath *p, const char *text)
{
	buf_clear(&p->dir);
	return buf_append(&p->dir, text, strlen(text) + 1);
}

static int append_dir_text(struct outpath *p, const char *component)
{
	size_t len = strlen(p->dir.data);
	bool is_first = !len || p->dir.data[len - 1] == '/';
	int r;

	p->dir.len = len;
	r = buf_printf(&p->dir, "%s%s", is_first ? "" : "/", component);
	return r < 0 ? r : buf_append(&p->dir, "", 1);
}

static void enter(struct outpath *p, int fd)
{
	closep(&p->dir_fd);
	p->dir_fd = fd;
}

/* Back to the start of the path: the root, or the working directory. */
static int begin_path(struct outpath *p, const char *path)
{
	bool is_absolute = path[0] == '/';
	int fd = open(is_absolute ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	enter(p, fd);
	return set_dir_text(p, is_absolute ? "/" : "");
}

/* Removes and returns the next component; NULL at the end. */
static char *next_component(struct way *w)
{
	char *component;

	w->at += strspn(w->at, "/");
	if (!*w->at)
		return NULL;
	component = w->at;
	w->at += strcspn(w->at, "/");
	if (*w->at)
		*w->at++ = '\0';
	return component;
}

/* Prepends the target of a link to the remaining path. */
static int take_turn(struct way *w, const char *target)
{
	char *text;

	if (++w->nr_links > MAX_LINKS)
		return -ELOOP;
	if (asprintf(&text, "%s%s%s", target, *w->at ? "/" : "", w->at) < 0)
		return -ENOMEM;
	free(w->text);
	w->text = w->at = text;
	return 0;
}

static int is_procfs(int fd, bool *ret_is)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return -errno;
	*ret_is = fs.f_type == PROC_SUPER_MAGIC;
	return 0;
}

/* True if this component, with this status, may be used where it is. */
static int check_owner(struct outpath *p, const char *component, const struct stat *st)
{
	struct stat dir;

	if (fstat(p->dir_fd, &dir) < 0)
		return -errno;
	if (!is_shared(p, &dir) || is_trusted(p, st))
		return 0;
	p->is_refused = true;
	p->st = *st;
	(void)append_dir_text(p, component); /* if out of memory, the message is less precise */
	return -EACCES;
}

static int follow_link(struct outpath *p, struct way *w, int link_fd)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(link_fd, "", target, sizeof(target));
	int r;

	if (n < 0)
		return -errno;
	if ((size_t)n == sizeof(target))
		return -ENAMETOOLONG;
	target[n] = '\0';
	r = take_turn(w, target);
	if (r == 0 && target[0] == '/')
		r = begin_path(p, target);
	return r;
}

/* The text of a procfs link is not a path: the kernel resolves it directly. */
static int enter_magic(struct outpath *p, const char *component)
{
	int fd = openat(p->dir_fd, component, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	enter(p, fd);
	return append_dir_text(p, component);
}

static int pass_link(struct outpath *p, struct way *w, const char *component)
{
	_cleanup_(closep) int fd = openat(p->dir_fd, component, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	bool is_magic = false;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISLNK(st.st_mode))
		return -ENOTDIR;
	r = check_owner(p, component, &st);
	if (r == 0)
		r = is_procfs(fd, &is_magic);
	if (r < 0)
		return r;
	return is_magic ? enter_magic(p, component) : follow_link(p, w, fd);
}

static int open_folder(const struct outpath *p, const char *component)
{
	int fd = openat(p->dir_fd, component, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 || errno != ENOENT || !p->makes_folders)
		return fd;
	if (mkdirat(p->dir_fd, component, 0700) < 0 && errno != EEXIST)
		return -1;
	return openat(p->dir_fd, component, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Resolves a component that is not the last. */
static int pass(struct outpath *p, struct way *w, const char *component)
{
	int fd = open_folder(p, component), r;

	if (fd >= 0) {
		enter(p, fd);
		return append_dir_text(p, component);
	}
	r = errno == ENOTDIR || errno == ELOOP ? pass_link(p, w, component) : -errno;
	if (r < 0 && r != -EACCES && r != -ELOOP)
		(void)append_dir_text(p, component); /* the message names the missing component */
	return r;
}

/* Resolves the last component. 1: it is final; 0: it was a link, and the path has grown. */
static int look_at(struct outpath *p, struct way *w, const char *component, int fd,
		   const struct stat *st)
{
	int r;

	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	if (S_ISREG(st->st_mode))
		return 1;
	r = check_owner(p, component, st);
	if (r == 0 && S_ISLNK(st->st_mode))
		r = is_procfs(fd, &p->is_magic);
	if (r < 0)
		return r;
	if (S_ISLNK(st->st_mode) && !p->is_magic)
		return follow_link(p, w, fd);
	p->is_special = true;
	p->st = *st;
	return 1;
}

/* Resolves the last component: p->name, unless it is a link, which extends the path. */
static int arrive(struct outpath *p, struct way *w, const char *component)
{
	_cleanup_(freep) char *name = strdup(component);
	_cleanup_(closep) int fd = openat(p->dir_fd, component, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st, dir;
	int r = 1;

	if (!name)
		return -ENOMEM;
	if (fd < 0 && errno != ENOENT)
		return -errno;
	if (fstat(p->dir_fd, &dir) < 0 || (fd >= 0 && fstat(fd, &st) < 0))
		return -errno;
	if (dir.st_nlink == 0)
		return -ESTALE; /* a working directory may have been removed */
	p->is_shared = is_shared(p, &dir);
	p->keeps_names = keeps_names(p, &dir);
	if (fd >= 0 && !p->is_new)
		r = look_at(p, w, component, fd, &st);
	if (r <= 0)
		return r;
	if (p->is_special)
		p->special_fd = TAKE_FD(fd);
	p->name = TAKE(name);
	return 0;
}

static int walk(struct outpath *p, struct way *w)
{
	while (!p->name) {
		char *component = next_component(w);
		bool is_last = component && !w->at[strspn(w->at, "/")];
		int r;

		if (!component)
			return -EISDIR; /* the path is "/" */
		if (is_last && w->at != component + strlen(component))
			return -EISDIR; /* a '/' follows the last component */
		r = is_last ? arrive(p, w, component) : pass(p, w, component);
		if (r < 0)
			return r;
	}
	return 0;
}

int outpath_open_special(const struct outpath *p)
{
	/* O_APPEND, because a procfs link may lead to a file that others write to as well. */
	int flags = O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC | (p->is_magic ? 0 : O_NOFOLLOW);
	_cleanup_(closep) int fd = openat(p->dir_fd, p->name, flags);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!p->is_magic && (st.st_dev != p->st.st_dev || st.st_ino != p->st.st_ino))
		return -ESTALE; /* it is not the file that was checked */
	return TAKE_FD(fd);
}

/* Resolves the path from its start, component by component. */
static int resolve_path(const char *path, int (*step)(struct outpath *, struct way *),
			struct outpath *p)
{
	struct way w = { .text = strdup(path) };
	int r;

	if (!w.text)
		return -ENOMEM;
	w.at = w.text;
	r = begin_path(p, path);
	if (r == 0)
		r = step(p, &w);
	free(w.text);
	if (r == 0 && !p->dir.data[0])
		r = set_dir_text(p, ".");
	return r;
}

int outpath_resolve(const char *path, const struct outpath_options *opts, struct outpath *ret_path)
{
	*ret_path = OUTPATH_NONE;
	ret_path->dir = BUF_INIT(MAX_PATH_BYTES);
	ret_path->is_new = opts->is_new;
	ret_path->has_friend = opts->has_friend;
	ret_path->friend = opts->friend;
	return resolve_path(path, walk, ret_path);
}

static int walk_folders(struct outpath *p, struct way *w)
{
	char *component;
	int r = 0;

	while (r == 0 && (component = next_component(w)))
		r = pass(p, w, component);
	return r;
}

int outpath_make_folder(const char *path, struct outpath *ret_path)
{
	*ret_path = OUTPATH_NONE;
	ret_path->dir = BUF_INIT(MAX_PATH_BYTES);
	ret_path->makes_folders = true;
	return *path ? resolve_path(path, walk_folders, ret_path) : -ENOENT;
}
