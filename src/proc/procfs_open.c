/* SPDX-License-Identifier: Apache-2.0 */
/* Opening files of processes, and beneath their roots: always through the reader. */
#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "proc/procfs_internal.h"

/* A file on a file system that did not answer before (-EHOSTDOWN) is nobody's fault. */
static int give_file(int r, struct reader_file *file, struct reader_file *ret_file)
{
	if (r == -EHOSTDOWN)
		r = -ETIMEDOUT;
	if (ret_file)
		*ret_file = *file;
	return r < 0 ? r : file->fd;
}

static void root_path(pid_t pid, char to[PID_PATH_SIZE])
{
	to[0] = '\0';
	if (pid)
		(void)snprintf(to, PID_PATH_SIZE, "%d/root", (int)pid);
}

int procfs_open_mapped(const struct procfs *p, pid_t pid, uint64_t start, uint64_t end,
		       struct reader_file *ret_file)
{
	char path[PID_PATH_SIZE], root[PID_PATH_SIZE];
	struct reader_file file = { .fd = -1 };
	int r = procfs_ask_pid(p, pid);

	if (r < 0)
		return r;
	root_path(pid, root);
	(void)snprintf(path, sizeof(path), "%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, start,
		       end);
	r = procfs_answer_pid(p, pid, "a mapped file",
			      reader_open_link(p->reader, path, root, &file));
	return give_file(r, &file, ret_file);
}

int procfs_mapped_path(const struct procfs *p, pid_t pid, uint64_t start, uint64_t end,
		       char *ret_path, size_t size)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(size - 1);
	char link[PID_PATH_SIZE];
	int r = procfs_ask_pid(p, pid);

	if (r < 0)
		return r;
	(void)snprintf(link, sizeof(link), "%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, start,
		       end);
	r = procfs_answer_pid(p, pid, "map_files", reader_link(p->reader, link, &text));
	if (r < 0)
		return r == -E2BIG ? -ENAMETOOLONG : r;
	memcpy(ret_path, text.data ? text.data : "", text.len);
	ret_path[text.len] = '\0';
	return 0;
}

int procfs_open_root_at(const struct procfs *p, pid_t pid, struct stat *ret_st, uint64_t *ret_mount)
{
	char path[PID_PATH_SIZE];
	int r = pid ? procfs_ask_pid(p, pid) : 0;

	if (r < 0)
		return r;
	root_path(pid, path);
	r = reader_open_root(p->reader, path, ret_st, ret_mount);
	if (!pid && r >= 0)
		p->unanswered->own_root_fd = r;
	return pid ? procfs_answer_pid(p, pid, "root", r) : r;
}

int procfs_open_root(const struct procfs *p, pid_t pid)
{
	uint64_t mount;
	struct stat st;

	return procfs_open_root_at(p, pid, &st, &mount);
}

static int open_in_fd(const struct procfs *p, const struct reader_root *root, const char *path,
		      struct reader_file *ret_file)
{
	int blamed = root->fd == p->unanswered->own_root_fd ? -1 : root->fd, r;
	struct reader_file file = { .fd = -1 };

	if (path[0] != '/')
		return -ENOENT;
	if (unanswered_has_path(p->unanswered, blamed, path))
		return -ETIMEDOUT;
	r = reader_open_beneath(p->reader, root, path, &file);
	if (r == -ETIMEDOUT)
		unanswered_note_path(p->unanswered, blamed, path);
	return give_file(r, &file, ret_file);
}

int procfs_open_beneath(const struct procfs *p, int root_fd, const char *path,
			struct reader_file *ret_file)
{
	struct reader_root root = { .fd = root_fd, .path = "" };

	return open_in_fd(p, &root, path, ret_file);
}

int procfs_open_readable(const struct procfs *p, int root_fd, const char *path, uid_t owner,
			 struct reader_file *ret_file)
{
	struct reader_root root = {
		.fd = root_fd, .path = "", .must_be_readable = true, .owner = owner
	};

	return open_in_fd(p, &root, path, ret_file);
}

static int open_of_pid(const struct procfs *p, pid_t pid, const char *path, bool is_no_link,
		       struct reader_file *ret_file)
{
	char root[PID_PATH_SIZE];
	struct reader_root in = { .fd = -1, .path = root, .is_no_link = is_no_link };
	struct reader_file file = { .fd = -1 };
	int r = path[0] == '/' ? procfs_ask_pid(p, pid) : -ENOENT;

	if (r < 0)
		return r;
	root_path(pid, root);
	r = reader_open_beneath(p->reader, &in, path, &file);
	return give_file(procfs_answer_pid(p, pid, path, r), &file, ret_file);
}

int procfs_open_in_root(const struct procfs *p, pid_t pid, const char *path,
			struct reader_file *ret_file)
{
	return pid ? open_of_pid(p, pid, path, false, ret_file)
		   : procfs_open_beneath(p, -1, path, ret_file);
}

int procfs_open_no_link(const struct procfs *p, pid_t pid, const char *path,
			struct reader_file *ret_file)
{
	return open_of_pid(p, pid, path, true, ret_file);
}
