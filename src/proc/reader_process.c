/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader process: makes calls that may never return, one at a time. It is forked from a process
 * that may have threads, so nothing here allocates, takes a lock or logs.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/local_fs.h"
#include "proc/pseudo_fs.h"
#include "proc/reader_wire.h"
#include "proc/run_clock.h"
#include "proc/worker.h"

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

#define OPEN_RETRIES 16 /* openat2() returns EAGAIN if any rename disturbed the lookup */
#define FD_LINK_SIZE (sizeof("/proc/self/fd/") + 10)
/* progress of a copy is reported this often, since each packet has its own deadline */
#define PROGRESS_BYTES (256u << 10)

struct packet {
	struct reader_reply reply;
	char bytes[READER_CHUNK_BYTES];
};

struct server {
	int socket_fd, proc_fd;
	int sched_fd;      /* /proc/self/schedstat; -1: unavailable */
	uint64_t since_ns; /* time of the last packet sent or received */
	uint64_t run_ns;   /* time running or waiting for a CPU until then */
	uint64_t slept_ns; /* during this request */
	struct reader_request rq;
	int rq_fd; /* received with the request; -1: none */
	struct packet packet;
	char copy_bytes[256u << 10];
	struct local_fs local;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- time ---- */

#define ASLEEP_MIN_NS (NS_PER_MS / 2) /* shorter sleeps are ignored */

static void time_begin(struct server *s)
{
	s->run_ns = run_clock_ns(s->sched_fd);
	s->since_ns = clock_mono_ns();
}

static void time_end(struct server *s)
{
	uint64_t wall_ns = clock_mono_ns() - s->since_ns, ran_ns;

	if (wall_ns < ASLEEP_MIN_NS)
		return;
	ran_ns = run_clock_ns(s->sched_fd) - s->run_ns;
	s->slept_ns += wall_ns > ran_ns ? wall_ns - ran_ns : 0;
}

/* ---- packets ---- */

/* Sends a packet with a descriptor (-1: none), which remains ours. False: the other end is
 * closed. */
static bool packet_send(struct server *s, size_t nr_bytes, int fd)
{
	bool is_sent;

	time_end(s);
	s->packet.reply.slept_ns = s->slept_ns;
	is_sent = worker_send(s->socket_fd, &s->packet, sizeof(s->packet.reply) + nr_bytes, fd,
			      0) >= 0;
	time_begin(s);
	return is_sent;
}

static bool request_receive(struct server *s)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec io = { &s->rq, sizeof(s->rq) - 1 };
	struct msghdr m = { .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control.room) };
	ssize_t n = recvmsg(s->socket_fd, &m, MSG_CMSG_CLOEXEC);

	s->rq_fd = -1;
	s->slept_ns = 0;
	time_begin(s);
	if (n < (ssize_t)READER_REQUEST_BYTES(0))
		return false;
	((char *)&s->rq)[n] = '\0';
	if (m.msg_controllen >= sizeof(struct cmsghdr) && control.head.cmsg_type == SCM_RIGHTS)
		memcpy(&s->rq_fd, CMSG_DATA(&control.head), sizeof(s->rq_fd));
	return true;
}

static bool answer(struct server *s, int result, int fd)
{
	s->packet.reply.result = result;
	s->packet.reply.flags &= ~READER_MORE;
	return packet_send(s, 0, fd);
}

/* ---- text ---- */

/* Reads one packet's worth, or less at the end; a negative errno. */
static ssize_t chunk_read(struct server *s, int fd, uint64_t at, size_t want)
{
	size_t len = 0;

	while (len < want) {
		ssize_t n = pread(fd, s->packet.bytes + len, want - len, (off_t)(at + len));

		if (n < 0)
			return len ? (ssize_t)len : -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

static bool serve_read(struct server *s)
{
	int fd = openat(s->proc_fd, s->rq.path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	uint64_t done = 0;
	ssize_t n = fd < 0 ? -errno : 1;

	while (n > 0 && done < s->rq.max_bytes) {
		uint64_t left = s->rq.max_bytes - done;

		n = chunk_read(s, fd, s->rq.offset + done,
			       left < READER_CHUNK_BYTES ? (size_t)left : READER_CHUNK_BYTES);
		if (n <= 0)
			break;
		done += (uint64_t)n;
		s->packet.reply.flags = READER_MORE;
		if (!packet_send(s, (size_t)n, -1))
			return false;
	}
	close_fd(&fd);
	return answer(s, n < 0 ? (int)n : 0, -1);
}

static bool serve_link(struct server *s)
{
	ssize_t n = readlinkat(s->proc_fd, s->rq.path, s->packet.bytes, sizeof(s->packet.bytes));

	if (n < 0)
		return answer(s, -errno, -1);
	return packet_send(s, (size_t)n, -1);
}

/* ---- roots ---- */

static int open_root(const struct server *s)
{
	const char *root = s->rq.root;
	int fd;

	if (s->rq_fd >= 0) {
		fd = fcntl(s->rq_fd, F_DUPFD_CLOEXEC, 0);
		return fd < 0 ? -errno : fd;
	}
	fd = openat(s->proc_fd, root[0] ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static bool serve_root(struct server *s)
{
	int fd = open_root(s), r = fd < 0 ? fd : 0;
	struct statx st;
	bool is_sent;

	if (r == 0 && fstat(fd, &s->packet.reply.st) < 0)
		r = -errno;
	if (r == 0 && statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st) == 0 &&
	    (st.stx_mask & STATX_MNT_ID))
		s->packet.reply.mount = st.stx_mnt_id;
	is_sent = answer(s, r, r == 0 ? fd : -1);
	close_fd(&fd);
	return is_sent;
}

/* ---- files ---- */

static int open_beneath(const struct server *s, int root_fd)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (s->rq.flags & READER_NO_LINK ? O_NOFOLLOW : 0),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS |
			   (s->rq.flags & READER_ONE_MOUNT ? RESOLVE_NO_XDEV : 0),
	};

	for (int i = 0; i < OPEN_RETRIES; i++) {
		long fd = syscall(SYS_openat2, root_fd, s->rq.path, &how, sizeof(how));

		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN)
			return -errno;
	}
	return -EAGAIN;
}

static int open_path(const struct server *s)
{
	int root_fd, fd;

	if (!(s->rq.flags & READER_IN_ROOT)) {
		fd = openat(s->proc_fd, s->rq.path, O_PATH | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	root_fd = open_root(s);
	if (root_fd < 0)
		return root_fd;
	fd = open_beneath(s, root_fd);
	close_fd(&root_fd);
	return fd;
}

/* "/proc/self/fd/<fd>" */
static void fd_link(int fd, char to[FD_LINK_SIZE])
{
	char digits[12];
	size_t nr = 0, len = strlen("/proc/self/fd/");

	memcpy(to, "/proc/self/fd/", len);
	do {
		digits[nr++] = (char)('0' + fd % 10);
		fd /= 10;
	} while (fd);
	while (nr)
		to[len++] = digits[--nr];
	to[len] = '\0';
}

/*
 * Opens for reading what an O_PATH descriptor refers to, if it is a regular file. In two steps,
 * because the owner of the path can put a device there, and opening a device may have side effects
 * (a watchdog starts its countdown); the detour through /proc/self/fd cannot be raced.
 */
static int reopen_regular(const struct server *s, int path_fd, struct stat *ret_st)
{
	char link[FD_LINK_SIZE];
	int fd;

	if (fstat(path_fd, ret_st) < 0)
		return -errno;
	if (S_ISLNK(ret_st->st_mode))
		return -ELOOP; /* with O_NOFOLLOW, O_PATH has opened the link itself */
	if (!S_ISREG(ret_st->st_mode) || pseudo_fs_is(path_fd))
		return -ENODEV;
	if ((s->rq.flags & READER_READABLE) && !(ret_st->st_mode & S_IROTH) &&
	    ret_st->st_uid != s->rq.owner)
		return -EACCES;
	fd_link(path_fd, link);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static bool is_local(struct server *s, int fd)
{
	int root_fd;
	bool is;

	if (s->rq.flags & READER_COPY)
		return false;
	root_fd = open_root(s);
	is = local_fs_has(&s->local, fd, root_fd);

	close_fd(&root_fd);
	return is;
}

static void note_generation(struct server *s, int fd)
{
	long generation = 0;

	if (ioctl(fd, FS_IOC_GETVERSION, &generation) < 0)
		return;
	s->packet.reply.generation = (uint32_t)generation;
	s->packet.reply.flags |= READER_HAS_GENERATION;
}

/* ---- copies ---- */

static int write_all(int to, const char *bytes, size_t len, off_t at)
{
	while (len) {
		ssize_t n = pwrite(to, bytes, len, at);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		len -= (size_t)n;
		at += n;
	}
	return 0;
}

/* Finds the next range of stored bytes from *at on; false if there is none. */
static bool next_data(int from, off_t size, off_t *at, off_t *ret_end)
{
	off_t data = lseek(from, *at, SEEK_DATA), hole;

	if (data < 0 && errno == ENXIO)
		return false;
	if (data > *at)
		*at = data; /* otherwise holes are not reported: all of it is data */
	hole = data < 0 ? size : lseek(from, *at, SEEK_HOLE);
	*ret_end = hole <= *at || hole > size ? size : hole;
	return *at < size;
}

/* Copies one piece, which is charged before it is read. */
static int copy_step(struct server *s, int from, int to, off_t *at, off_t end)
{
	size_t want = (uint64_t)(end - *at) < sizeof(s->copy_bytes) ? (size_t)(end - *at)
								    : sizeof(s->copy_bytes);
	uint64_t before = s->packet.reply.copied_bytes;
	ssize_t n;
	int r;

	if (want > s->rq.max_bytes - before)
		return -EFBIG;
	n = pread(from, s->copy_bytes, want, *at);
	if (n <= 0)
		return n < 0 ? -errno : 1; /* 1: it has become shorter */
	r = write_all(to, s->copy_bytes, (size_t)n, *at);
	*at += n;
	s->packet.reply.copied_bytes += (uint64_t)n;
	if (r == 0 && before / PROGRESS_BYTES != s->packet.reply.copied_bytes / PROGRESS_BYTES &&
	    !packet_send(s, 0, -1))
		r = -EPIPE;
	return r;
}

static int copy_file(struct server *s, int from, int to)
{
	off_t size = s->packet.reply.st.st_size, at = 0, end;
	struct timespec times[2] = { s->packet.reply.st.st_atim, s->packet.reply.st.st_mtim };
	int r = ftruncate(to, size) < 0 ? -errno : 0;

	s->packet.reply.flags |= READER_MORE | READER_IS_COPY;
	while (r == 0 && next_data(from, size, &at, &end))
		while (r == 0 && at < end)
			r = copy_step(s, from, to, &at, end);
	/* Age and owner are judged by the copy's attributes; if the copy cannot get those of the
	 * original, it is new and ours. */
	(void)!fchown(to, s->packet.reply.st.st_uid, s->packet.reply.st.st_gid);
	(void)futimens(to, times);
	return r > 0 ? 0 : r;
}

static bool serve_copy(struct server *s, int fd)
{
	int to = memfd_create("perf-agent copy", MFD_CLOEXEC), r = to < 0 ? -errno : 0;
	bool is_sent;

	if (r == 0)
		r = copy_file(s, fd, to);
	is_sent = answer(s, r, r == 0 ? to : -1);
	close_fd(&to);
	return is_sent;
}

/*
 * Reports which file system will be asked, so that it is known if there is no answer. This does not
 * ask the file system. One with its own block device is local and not worth a packet.
 */
static int report_device(struct server *s, int path_fd)
{
	struct statx st;
	uint64_t dev;

	if (statx(path_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0 ||
	    st.stx_dev_major)
		return 0;
	dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	for (size_t i = 0; i < READER_MAX_SILENT; i++)
		if (dev && s->rq.silent[i] == dev)
			return -EHOSTDOWN;
	s->packet.reply.st.st_dev = dev;
	s->packet.reply.flags = READER_MORE | READER_IS_FOUND;
	if (!packet_send(s, 0, -1))
		return -EPIPE;
	s->packet.reply.flags = 0;
	return 0;
}

static bool serve_open(struct server *s)
{
	int path_fd = open_path(s), fd = -1, r = path_fd < 0 ? path_fd : report_device(s, path_fd);
	bool is_sent;

	if (r == 0) {
		fd = reopen_regular(s, path_fd, &s->packet.reply.st);
		r = fd < 0 ? fd : 0;
	}
	if (r < 0) {
		is_sent = answer(s, r, -1);
	} else {
		note_generation(s, fd);
		is_sent = is_local(s, fd) ? answer(s, 0, fd) : serve_copy(s, fd);
	}
	close_fd(&fd);
	close_fd(&path_fd);
	return is_sent;
}

static bool serve_one(struct server *s)
{
	s->packet.reply = (struct reader_reply){ 0 };
	switch (s->rq.op) {
	case READER_READ:
		return serve_read(s);
	case READER_LINK:
		return serve_link(s);
	case READER_OPEN:
		return serve_open(s);
	case READER_ROOT:
		return serve_root(s);
	default:
		return answer(s, -EINVAL, -1);
	}
}

static void reader_serve(int socket_fd, int proc_fd)
{
	struct server *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool goes_on = true;

	if (s == MAP_FAILED)
		return;
	s->socket_fd = socket_fd;
	s->proc_fd = proc_fd;
	s->sched_fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	local_fs_init(&s->local);
	while (goes_on && request_receive(s)) {
		goes_on = serve_one(s);
		close_fd(&s->rq_fd);
	}
}

/* map_files needs one of the last two; memory and roots of other processes need CAP_SYS_PTRACE; a
 * copy gets its owner with CAP_CHOWN. */
static const uint8_t kept_caps[] = { CAP_CHOWN,      CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
				     CAP_SYS_PTRACE, CAP_SYS_ADMIN,    CAP_CHECKPOINT_RESTORE };

const struct worker_role reader_role = { .name = "perf-agent-read",
					 .caps = kept_caps,
					 .nr_caps = sizeof(kept_caps) / sizeof(kept_caps[0]),
					 .serve = reader_serve };
