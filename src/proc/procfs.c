/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/auxvec.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "proc/pseudo_fs.h"

#define PID_PATH_SIZE 80     /* "<pid>/map_files/<16 hex>-<16 hex>" and a little more */
#define SMALL_FILE_SIZE 4096 /* comm and stat: the kernel writes some hundred bytes at most */
#define STATUS_MAX_BYTES (2u << 20) /* 65,536 groups may stand in it */
#define OPEN_RETRIES 16 /* openat2() says EAGAIN when a rename anywhere disturbed the walk */

static void dirclosep(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

int procfs_open(const char *root, struct procfs *ret_procfs)
{
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	ret_procfs->fd = fd;
	return 0;
}

void procfs_close(struct procfs *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

static bool pid_exists(const struct procfs *p, pid_t pid)
{
	char path[PID_PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%d", (int)pid);
	return faccessat(p->fd, path, F_OK, 0) == 0;
}

static int pid_openat(const struct procfs *p, pid_t pid, const char *name, int flags)
{
	char path[PID_PATH_SIZE];
	int fd, err;

	if (pid <= 0)
		return -EINVAL;
	(void)snprintf(path, sizeof(path), "%d/%s", (int)pid, name);
	fd = openat(p->fd, path, flags | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	err = errno;
	return err == ENOENT && !pid_exists(p, pid) ? -ESRCH : -err;
}

int procfs_maps(const struct procfs *p, pid_t pid, maps_entry_fn fn, void *ctx)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(PROC_MAX_MAPS_BYTES);
	_cleanup_(closep) int fd = -1;
	uint64_t nr_bad;
	int r;

	fd = pid_openat(p, pid, "maps", O_RDONLY);
	if (fd < 0)
		return fd;
	r = buf_read_fd(&text, fd);
	if (r < 0)
		return r;
	return text.len ? maps_parse(text.data, text.len, fn, ctx, &nr_bad) : 0;
}

/* Reads at most size bytes; the number of them, or a negative errno. */
static ssize_t read_small(const struct procfs *p, pid_t pid, const char *name, char *to,
			  size_t size)
{
	_cleanup_(closep) int fd = -1;
	size_t len = 0;

	fd = pid_openat(p, pid, name, O_RDONLY);
	if (fd < 0)
		return fd;
	while (len < size) {
		ssize_t n = read(fd, to + len, size - len);

		if (n == 0)
			break;
		if (n > 0)
			len += (size_t)n;
		else if (errno != EINTR)
			return -errno;
	}
	return (ssize_t)len;
}

int procfs_comm(const struct procfs *p, pid_t pid, char ret_comm[PROC_COMM_SIZE])
{
	char text[SMALL_FILE_SIZE];
	ssize_t n = read_small(p, pid, "comm", text, sizeof(text));
	size_t len;

	if (n < 0)
		return (int)n;
	len = (size_t)n;
	if (len > 0 && text[len - 1] == '\n') /* the last alone: a name may hold newlines */
		len--;
	if (len > PROC_COMM_SIZE - 1)
		len = PROC_COMM_SIZE - 1;
	memcpy(ret_comm, text, len);
	memset(ret_comm + len, 0, PROC_COMM_SIZE - len);
	return 0;
}

static pid_t pid_of_name(const char *name)
{
	unsigned long value = 0;

	if (name[0] == '0')
		return 0;
	for (; *name; name++) {
		if (*name < '0' || *name > '9')
			return 0;
		value = value * 10 + (unsigned long)(*name - '0');
		if (value > INT_MAX)
			return 0;
	}
	return (pid_t)value;
}

/* Every number in a directory. */
static int each_number(const struct procfs *p, const char *path, proc_pid_fn fn, void *ctx)
{
	_cleanup_(dirclosep) DIR *dir = NULL;
	int fd = openat(p->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = 0;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		r = -errno;
		close(fd);
		return r;
	}
	while (r == 0) {
		struct dirent *e;
		pid_t pid;

		errno = 0;
		e = readdir(dir);
		if (!e)
			return -errno;
		pid = pid_of_name(e->d_name);
		r = pid > 0 ? fn(ctx, pid) : 0;
	}
	return r;
}

int procfs_each_pid(const struct procfs *p, proc_pid_fn fn, void *ctx)
{
	return each_number(p, ".", fn, ctx);
}

struct thread_search {
	const struct procfs *procfs;
	pid_t pid, found;
};

static int try_thread(void *ctx, pid_t tid)
{
	struct thread_search *s = ctx;
	char first;

	if (tid == s->pid || read_small(s->procfs, tid, "maps", &first, 1) != 1)
		return 0;
	s->found = tid;
	return 1;
}

pid_t procfs_live_thread(const struct procfs *p, pid_t pid)
{
	struct thread_search s = { .procfs = p, .pid = pid };
	char path[PID_PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%d/task", (int)pid);
	(void)each_number(p, path, try_thread, &s); /* gone: none is found */
	return s.found;
}

/* Field nr of what follows the name, whose first is field 3. Numbers only; false: not there. */
static bool stat_field(const char *after_name, int nr, uint64_t *ret_value)
{
	const char *s = after_name;

	for (int i = 3; i <= nr; i++) {
		s = strchr(s, ' ');
		if (!s)
			return false;
		s++;
	}
	if (*s < '0' || *s > '9')
		return false;
	*ret_value = strtoull(s, NULL, 10);
	return true;
}

int procfs_stat(const struct procfs *p, pid_t pid, struct proc_stat *ret_stat)
{
	char text[SMALL_FILE_SIZE + 1];
	ssize_t n = read_small(p, pid, "stat", text, sizeof(text) - 1);
	struct proc_stat st = { 0 };
	const char *paren;
	uint64_t ppid;

	if (n < 0)
		return (int)n;
	text[n] = '\0';
	paren = memrchr(text, ')', (size_t)n);
	if (!paren || !stat_field(paren, 4, &ppid) || ppid > INT_MAX)
		return -EBADMSG;
	st.ppid = (pid_t)ppid;
	if (!stat_field(paren, 22, &st.start_ticks))
		st.start_ticks = 0;
	*ret_stat = st;
	return 0;
}

int procfs_status(const struct procfs *p, pid_t pid, struct proc_status *ret_status)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(STATUS_MAX_BYTES);
	_cleanup_(closep) int fd = pid_openat(p, pid, "status", O_RDONLY);
	int r = fd < 0 ? fd : buf_read_fd(&text, fd);

	if (r < 0)
		return r;
	return text.len ? status_parse(text.data, text.len, ret_status) : -EBADMSG;
}

ssize_t procfs_read_mem(const struct procfs *p, pid_t pid, uint64_t addr, void *to, size_t n)
{
	_cleanup_(closep) int fd = pid_openat(p, pid, "mem", O_RDONLY);
	ssize_t got = fd < 0 ? fd : pread(fd, to, n, (off_t)addr);

	return fd >= 0 && got < 0 ? -errno : got;
}

int auxv_parse(const void *bytes, size_t n, uint64_t wanted, uint64_t *ret_value)
{
	struct cursor c = cursor_of(bytes, n);

	for (;;) {
		uint64_t type = cursor_u64(&c), value = cursor_u64(&c);

		if (c.bad || type == AT_NULL)
			return -ENOENT;
		if (type == wanted) {
			*ret_value = value;
			return 0;
		}
	}
}

int procfs_exec_bytes(const struct procfs *p, pid_t pid, uint8_t ret_bytes[PROC_EXEC_BYTES])
{
	char text[SMALL_FILE_SIZE];
	ssize_t n = read_small(p, pid, "auxv", text, sizeof(text));
	uint64_t addr;
	int r = n < 0 ? (int)n : auxv_parse(text, (size_t)n, AT_RANDOM, &addr);

	if (r < 0)
		return r;
	n = procfs_read_mem(p, pid, addr, ret_bytes, PROC_EXEC_BYTES);
	if (n < 0)
		return (int)n;
	return n == PROC_EXEC_BYTES ? 0 : -EBADMSG;
}

int procfs_parent(const struct procfs *p, pid_t pid, pid_t *ret_ppid)
{
	struct proc_stat st;
	int r = procfs_stat(p, pid, &st);

	if (r == 0)
		*ret_ppid = st.ppid;
	return r;
}

/*
 * Opens for reading what an O_PATH descriptor holds, if that is a regular file. In two steps since
 * whoever owns the path can put a device there, and to open a device is to use it (a watchdog
 * starts to count down); the detour through /proc/self/fd cannot be raced.
 */
static int reopen_regular(int path_fd)
{
	char link[sizeof("/proc/self/fd/") + 10];
	struct stat st;
	int fd;

	if (fstat(path_fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || pseudo_fs_is(path_fd))
		return -ENODEV;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int procfs_open_mapped(const struct procfs *p, pid_t pid, uint64_t start, uint64_t end)
{
	_cleanup_(closep) int path_fd = -1;
	char name[PID_PATH_SIZE / 2 + 16];

	(void)snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, start, end);
	path_fd = pid_openat(p, pid, name, O_PATH);
	return path_fd < 0 ? path_fd : reopen_regular(path_fd);
}

int procfs_mapped_path(const struct procfs *p, pid_t pid, uint64_t start, uint64_t end,
		       char *ret_path, size_t size)
{
	char link[PID_PATH_SIZE];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, start,
		       end);
	n = readlinkat(p->fd, link, ret_path, size);
	if (n < 0)
		return errno == ENOENT && !pid_exists(p, pid) ? -ESRCH : -errno;
	if ((size_t)n == size)
		return -ENAMETOOLONG;
	ret_path[n] = '\0';
	return 0;
}

static int open_beneath(int root_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	for (int i = 0; i < OPEN_RETRIES; i++) {
		long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN)
			return -errno;
	}
	return -EAGAIN;
}

int procfs_open_root(const struct procfs *p, pid_t pid)
{
	int fd;

	if (pid != 0)
		return pid_openat(p, pid, "root", O_PATH | O_DIRECTORY);
	fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_path(const struct procfs *p, pid_t pid, const char *path, uint64_t flags)
{
	_cleanup_(closep) int root_fd = -1;

	if (path[0] != '/')
		return -ENOENT;
	root_fd = procfs_open_root(p, pid);
	return root_fd < 0 ? root_fd : open_beneath(root_fd, path, flags);
}

int procfs_find_beneath(int root_fd, const char *path)
{
	return path[0] == '/' ? open_beneath(root_fd, path, 0) : -ENOENT;
}

int procfs_open_found(int path_fd)
{
	return reopen_regular(path_fd);
}

int procfs_open_beneath(int root_fd, const char *path)
{
	_cleanup_(closep) int path_fd = procfs_find_beneath(root_fd, path);

	return path_fd < 0 ? path_fd : reopen_regular(path_fd);
}

int procfs_open_in_root(const struct procfs *p, pid_t pid, const char *path)
{
	_cleanup_(closep) int path_fd = open_path(p, pid, path, 0);

	return path_fd < 0 ? path_fd : reopen_regular(path_fd);
}

int procfs_open_no_link(const struct procfs *p, pid_t pid, const char *path)
{
	_cleanup_(closep) int path_fd = open_path(p, pid, path, O_NOFOLLOW);
	struct stat st;

	if (path_fd < 0)
		return path_fd;
	if (fstat(path_fd, &st) == 0 && S_ISLNK(st.st_mode))
		return -ELOOP; /* O_PATH has opened the link itself */
	return reopen_regular(path_fd);
}
