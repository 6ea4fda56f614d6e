/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files of processes, and below their roots: always through the reader. */
#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "proc/procfs_internal.h"

/* A file on a file system that did not answer before (-EHOSTDOWN) is not charged to anyone. */
static int give_file(int r, struct reader_file *file, struct reader_file *ret_file)
{
	if (r == -EHOSTDOWN || r == -EXDEV)
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

/* The thread to try instead after result r, if the first has exited. 0 if there is none. */
static pid_t ask_instead(const struct procfs *p, pid_t pid, int r)
{
	return r == -ENOENT || r == -ESRCH ? procfs_other_thread(p, pid) : 0;
}

static int open_mapped_of(const struct procfs *p, pid_t pid, uint64_t start, uint64_t end,
			  struct reader_file *ret_file)
{
	char path[PID_PATH_SIZE], root[PID_PATH_SIZE];
	struct reader_file file = { .fd = -1 };
	struct procfs_ask ask;
	int r = procfs_ask_pid(p, pid, WAIT_FILE, &ask);

	if (r < 0)
		return r;
	root_path(pid, root);
	(void)snprintf(path, sizeof(path), "%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, start,
		       end);
	r = reader_open_link(p->reader, path, root, &ask.wait, &file);
	r = procfs_answer_pid(p, &ask, "a mapped file", r);
	return give_file(r, &file, ret_file);
}

int procfs_open_mapped(const struct procfs *p, pid_t pid, uint64_t start, uint64_t end,
		       struct reader_file *ret_file)
{
	int r = open_mapped_of(p, pid, start, end, ret_file);
	pid_t thread = ask_instead(p, pid, r);

	return thread ? open_mapped_of(p, thread, start, end, ret_file) : r;
}

static int mapped_path_of(const struct procfs *p, pid_t pid, uint64_t start, uint64_t end,
			  char *ret_path, size_t size)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(size - 1);
	char link[PID_PATH_SIZE];
	struct procfs_ask ask;
	int r = procfs_ask_pid(p, pid, WAIT_FILE, &ask);

	if (r < 0)
		return r;
	(void)snprintf(link, sizeof(link), "%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, start,
		       end);
	r = procfs_answer_pid(p, &ask, "map_files", reader_link(p->reader, link, &ask.wait, &text));
	if (r < 0)
		return r == -E2BIG ? -ENAMETOOLONG : r;
	memcpy(ret_path, text.data ? text.data : "", text.len);
	ret_path[text.len] = '\0';
	return 0;
}

int procfs_mapped_path(const struct procfs *p, pid_t pid, uint64_t start, uint64_t end,
		       char *ret_path, size_t size)
{
	int r = mapped_path_of(p, pid, start, end, ret_path, size);
	pid_t thread = ask_instead(p, pid, r);

	return thread ? mapped_path_of(p, thread, start, end, ret_path, size) : r;
}

int procfs_open_root_at(const struct procfs *p, pid_t pid, struct stat *ret_st, uint64_t *ret_mount)
{
	char path[PID_PATH_SIZE];
	struct procfs_ask ask = { 0 };
	int r = pid ? procfs_ask_pid(p, pid, WAIT_FILE, &ask) : 0;

	if (r < 0)
		return r;
	root_path(pid, path);
	r = reader_open_root(p->reader, path, &ask.wait, ret_st, ret_mount);
	if (!pid && r >= 0)
		p->unanswered->own_root_fd = r;
	return pid ? procfs_answer_pid(p, &ask, "root", r) : r;
}

int procfs_open_root(const struct procfs *p, pid_t pid)
{
	uint64_t mount;
	struct stat st;

	return procfs_open_root_at(p, pid, &st, &mount);
}

void procfs_keep_root(const struct procfs *p, int root_fd, pid_t pid)
{
	uint64_t payer;

	if (procfs_payer(p, pid, &payer) == 0)
		wait_accounts_set_root(p->waits, root_fd, payer);
}

/* If paths of our own root have cost too much, files that no one else can make slow are still
 * opened: those that are not on another mount. */
static int ask_root(const struct procfs *p, int blamed, uint64_t payer, struct reader_root *root,
		    struct reader_wait *ret_wait)
{
	int r = wait_accounts_ask(p->waits, payer, WAIT_FILE, ret_wait);

	if (r == 0 || blamed >= 0)
		return r;
	root->is_one_mount = true;
	return 0;
}

static int open_in_fd(const struct procfs *p, struct reader_root *root, const char *path,
		      struct reader_file *ret_file)
{
	int blamed = root->fd == p->unanswered->own_root_fd ? -1 : root->fd, r;
	uint64_t payer = blamed < 0 ? PAYER_OWN_ROOT : wait_accounts_root_payer(p->waits, blamed);
	struct reader_file file = { .fd = -1 };
	struct reader_wait wait;

	if (path[0] != '/')
		return -ENOENT;
	if (unanswered_has_path(p->unanswered, blamed, path) ||
	    ask_root(p, blamed, payer, root, &wait) < 0)
		return -ETIMEDOUT;
	r = reader_open_beneath(p->reader, root, path, &wait, &file);
	wait_accounts_charge(p->waits, payer, WAIT_FILE, wait.slept_ns);
	if (r == -ETIMEDOUT)
		unanswered_note_path(p->unanswered, blamed, path);
	else if (wait.is_device_spent)
		unanswered_report(p->unanswered, 0, path);
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
	struct procfs_ask ask;
	int r = path[0] == '/' ? procfs_ask_pid(p, pid, WAIT_FILE, &ask) : -ENOENT;

	if (r < 0)
		return r;
	root_path(pid, root);
	r = reader_open_beneath(p->reader, &in, path, &ask.wait, &file);
	return give_file(procfs_answer_pid(p, &ask, path, r), &file, ret_file);
}

int procfs_open_in_root(const struct procfs *p, pid_t pid, const char *path,
			struct reader_file *ret_file)
{
	pid_t thread;
	int r;

	if (!pid)
		return procfs_open_beneath(p, -1, path, ret_file);
	r = open_of_pid(p, pid, path, false, ret_file);
	thread = ask_instead(p, pid, r);
	return thread ? open_of_pid(p, thread, path, false, ret_file) : r;
}

int procfs_open_no_link(const struct procfs *p, pid_t pid, const char *path,
			struct reader_file *ret_file)
{
	return open_of_pid(p, pid, path, true, ret_file);
}
