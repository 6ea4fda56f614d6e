/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "proc/reader_wire.h"
#include "proc/unanswered.h"
#include "proc/worker.h"

#define DEADLINE_NS (250 * NS_PER_MS)
#define RUN_NS (2 * NS_PER_S)
#define DEVICE_NS NS_PER_S
/* per step, whatever the reader does: even on a busy machine that is enough */
#define LONGEST_NS (20 * NS_PER_S)
#define LOOK_NS (50 * NS_PER_MS) /* delay until a request to finish is noticed */
#define COPY_NS (2 * NS_PER_S)
#define COPY_BYTES (512ull << 20)
#define FILE_BYTES (256ull << 20)

/* A file system in which readers have slept. Its device number may soon be reused. */
struct device {
	uint64_t dev; /* 0: none */
	uint64_t slept_ns;
	uint64_t until_ns; /* forgotten afterwards */
};

struct reader {
	/* protects the members below; held during a request until its answer */
	pthread_mutex_t lock;
	struct reader_limits limits;
	int proc_fd; /* owned */
	struct worker worker;
	uint64_t copied_ns;
	struct device devices[READER_MAX_SILENT]; /* in which readers slept */
	struct reader_wait wait;                  /* of the current request */
	bool is_silent;                           /* no answer within the regular deadline */
	struct reader_stats stats;
	struct reader_request request;
	struct {
		struct reader_reply reply;
		char bytes[READER_CHUNK_BYTES];
	} packet;
};

/* ---- packets ---- */

static int packet_send(struct reader *r, int fd)
{
	size_t len = READER_REQUEST_BYTES(strlen(r->request.path));

	return worker_send(r->worker.socket_fd, &r->request, len, fd, MSG_DONTWAIT) < 0 ? -errno
											: 0;
}

/* The bytes after the reply; -EPIPE: the reader has ended. *ret_fd: the caller's; -1: none came. */
static ssize_t packet_receive(struct reader *r, int *ret_fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec io = { &r->packet, sizeof(r->packet) };
	struct msghdr m = { .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control.room) };
	ssize_t n = recvmsg(r->worker.socket_fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	*ret_fd = -1;
	if (n < (ssize_t)sizeof(r->packet.reply))
		return -EPIPE;
	if (m.msg_controllen >= sizeof(struct cmsghdr) && control.head.cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(&control.head), sizeof(*ret_fd));
	return n - (ssize_t)sizeof(r->packet.reply);
}

/* ---- deadlines ---- */

static uint64_t deadline_ns(const struct reader *r)
{
	if (cancel_is_asked(r->wait.cancel) && r->wait.cancelled_deadline_ns < r->wait.deadline_ns)
		return r->wait.cancelled_deadline_ns;
	return r->wait.deadline_ns;
}

/* True if a step that has been waited for since start_ns has to be abandoned. */
static bool is_given_up(struct reader *r, uint64_t start_ns, uint64_t start_run_ns)
{
	uint64_t waited_ns = clock_mono_ns() - start_ns;

	if (waited_ns < deadline_ns(r))
		return false;
	return worker_has_hung(&r->worker) || waited_ns > LONGEST_NS ||
	       worker_run_ns(&r->worker) - start_run_ns > r->limits.run_ns;
}

static uint64_t min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* -ETIMEDOUT: the reader hangs. */
static int packet_await(struct reader *r)
{
	uint64_t start_ns = clock_mono_ns(), start_run_ns;

	if (worker_is_readable(r->worker.socket_fd, min_ns(LOOK_NS, r->wait.deadline_ns)))
		return 0;
	start_run_ns = worker_run_ns(&r->worker);
	do {
		if (is_given_up(r, start_ns, start_run_ns) &&
		    !worker_is_readable(r->worker.socket_fd, 0)) {
			r->wait.slept_ns += clock_mono_ns() - start_ns;
			r->is_silent = clock_mono_ns() - start_ns >= r->limits.deadline_ns;
			return -ETIMEDOUT;
		}
	} while (!worker_is_readable(r->worker.socket_fd, min_ns(LOOK_NS, r->wait.deadline_ns)));
	return 0;
}

/* ---- file systems ---- */

/* The device of the file being opened; 0 if not found yet. */
static uint64_t device_asked(const struct reader *r)
{
	return r->packet.reply.flags & READER_IS_FOUND ? r->packet.reply.st.st_dev : 0;
}

/* The slot of a device, or that of the device that has cost least. */
static struct device *device_place(struct reader *r, uint64_t dev)
{
	struct device *least = &r->devices[0];

	for (uint32_t i = 0; i < READER_MAX_SILENT; i++) {
		if (r->devices[i].dev == dev)
			return &r->devices[i];
		if (r->devices[i].slept_ns < least->slept_ns)
			least = &r->devices[i];
	}
	*least = (struct device){ .dev = dev, .until_ns = clock_mono_ns() + r->limits.silent_ns };
	return least;
}

static void forget_devices(struct reader *r)
{
	uint64_t now_ns = clock_mono_ns();

	for (uint32_t i = 0; i < READER_MAX_SILENT; i++)
		if (r->devices[i].dev && now_ns >= r->devices[i].until_ns)
			r->devices[i] = (struct device){ 0 };
}

static bool is_device_spent(const struct reader *r, const struct device *d)
{
	return d->slept_ns >= r->limits.device_ns;
}

static void device_charge(struct reader *r, uint64_t dev, uint64_t slept_ns)
{
	struct device *d;

	if (!dev || !slept_ns)
		return;
	d = device_place(r, dev);
	if (!is_device_spent(r, d) && slept_ns >= r->limits.device_ns - d->slept_ns) {
		r->wait.is_device_spent = true;
		d->until_ns = clock_mono_ns() + r->limits.silent_ns;
	}
	d->slept_ns += slept_ns;
}

/* Notes that no file of that device may be opened for a while. */
static void note_silent(struct reader *r, uint64_t dev)
{
	device_charge(r, dev, r->limits.device_ns);
}

static void list_silent(struct reader *r)
{
	forget_devices(r);
	for (uint32_t i = 0; i < READER_MAX_SILENT; i++)
		r->request.silent[i] = is_device_spent(r, &r->devices[i]) ? r->devices[i].dev : 0;
}

static void reader_abandon(struct reader *r)
{
	r->stats.nr_unanswered++;
	r->stats.nr_abandoned++;
	worker_kill(&r->worker);
}

/* ---- requests ---- */

/* Receives an answer. */
struct answer {
	uint64_t dev;            /* of the file, once found; 0: local, or unknown */
	uint64_t found_after_ns; /* time asleep until then */
	struct buf *text;        /* NULL: not needed */
	int text_error;          /* it does not fit; the rest of the answer is still received */
	int fd;                  /* owned; -1: none came */
};

static bool is_copying(const struct reader *r)
{
	return r->packet.reply.flags & READER_IS_COPY;
}

static int request_send(struct reader *r, int fd)
{
	int sent = -EPIPE;

	if (r->worker.socket_fd >= 0)
		sent = packet_send(r, fd);
	if (sent == 0)
		return 0;
	sent = worker_start(&r->worker);
	return sent < 0 ? sent : packet_send(r, fd);
}

/* Evaluates the file system and the time in a packet. -ETIMEDOUT: too much time. */
static int note_time(struct reader *r, struct answer *a)
{
	r->wait.slept_ns = r->packet.reply.slept_ns;
	if (device_asked(r)) {
		a->dev = device_asked(r);
		a->found_after_ns = r->wait.slept_ns;
	}
	if (!(r->packet.reply.flags & READER_MORE) || !r->wait.budget_ns)
		return 0;
	return r->wait.slept_ns > r->wait.budget_ns ? -ETIMEDOUT : 0;
}

/* Receives one packet of the answer. 1: more follow. */
static int answer_take(struct reader *r, struct answer *a)
{
	int result = packet_await(r), fd;
	ssize_t n;

	if (result < 0)
		return result;
	n = packet_receive(r, &fd);
	if (n < 0)
		return (int)n;
	closep(&a->fd);
	a->fd = fd;
	if (a->text && n > 0 && a->text_error == 0)
		a->text_error = buf_append(a->text, r->packet.bytes, (size_t)n);
	result = note_time(r, a);
	if (result < 0)
		return result;
	if (r->packet.reply.flags & READER_MORE)
		return 1;
	return a->text_error < 0 ? a->text_error : r->packet.reply.result;
}

/* The complete answer. The time of copies counts, however fast each step is answered; when it is
 * used up (-EDQUOT), no one is to blame, but no further file of that device is opened. */
static int answer_take_all(struct reader *r, struct answer *a)
{
	uint64_t start_ns = clock_mono_ns(), took_ns;
	int result;

	do {
		result = answer_take(r, a);
		took_ns = clock_mono_ns() - start_ns;
		if (result == 1 && is_copying(r) && r->copied_ns + took_ns > r->limits.copy_ns)
			result = -EDQUOT;
	} while (result == 1);
	if (is_copying(r) && result != -ETIMEDOUT) {
		r->copied_ns += took_ns;
		if (r->copied_ns > r->limits.copy_ns)
			note_silent(r, a->dev);
	}
	return result;
}

/* A device that did not answer within the regular deadline is silent. Within a shorter one, or
 * within what is left to the payer, it may be merely slow. */
static void charge_device(struct reader *r, const struct answer *a, int result)
{
	if (result == -ETIMEDOUT && r->is_silent)
		note_silent(r, a->dev);
	else if (r->wait.slept_ns > a->found_after_ns)
		device_charge(r, a->dev, r->wait.slept_ns - a->found_after_ns);
}

/* Sends r->request with a descriptor (-1: none), which stays the caller's. A reader that was killed
 * is replaced, once. Locked. */
static int request_serve(struct reader *r, int fd, struct answer *a)
{
	int result = -EPIPE;

	for (int i = 0; i < 2 && result == -EPIPE; i++) {
		r->packet.reply.flags = 0;
		a->dev = 0;
		result = request_send(r, fd);
		if (result == 0)
			result = answer_take_all(r, a);
		charge_device(r, a, result);
		if (result == -ETIMEDOUT)
			reader_abandon(r);
		else if (result == -EPIPE || result == -EDQUOT)
			worker_drop(&r->worker);
	}
	if (result == -EDQUOT)
		return -EFBIG;
	return result == -EPIPE ? -EAGAIN : result;
}

static void wait_begin(struct reader *r, const struct reader_wait *wait)
{
	r->wait = wait ? *wait : (struct reader_wait){ 0 };
	r->wait.slept_ns = 0;
	r->wait.is_device_spent = false;
	r->is_silent = false;
	if (!r->wait.deadline_ns)
		r->wait.deadline_ns = r->limits.deadline_ns;
}

static void wait_end(const struct reader *r, struct reader_wait *wait)
{
	if (!wait)
		return;
	wait->slept_ns = r->wait.slept_ns;
	wait->is_device_spent = r->wait.is_device_spent;
}

static int request_begin(struct reader *r, enum reader_op op, const char *path, const char *root,
			 const struct reader_wait *wait)
{
	size_t len = strlen(path), root_len = strlen(root);

	wait_begin(r, wait);
	if (len >= sizeof(r->request.path) || root_len >= sizeof(r->request.root))
		return -ENAMETOOLONG;
	r->request.op = op;
	r->request.flags = 0;
	r->request.offset = 0;
	r->request.max_bytes = 0;
	memcpy(r->request.path, path, len + 1);
	memcpy(r->request.root, root, root_len + 1);
	return 0;
}

int reader_read(struct reader *r, const char *path, uint64_t offset, uint64_t max_bytes,
		struct reader_wait *wait, struct buf *to)
{
	struct answer a = { .text = to, .fd = -1 };
	int result;

	pthread_mutex_lock(&r->lock);
	result = request_begin(r, READER_READ, path, "", wait);
	r->request.offset = offset;
	r->request.max_bytes = max_bytes;
	if (result == 0)
		result = request_serve(r, -1, &a);
	wait_end(r, wait);
	pthread_mutex_unlock(&r->lock);
	closep(&a.fd);
	return result;
}

int reader_link(struct reader *r, const char *path, struct reader_wait *wait, struct buf *to)
{
	struct answer a = { .text = to, .fd = -1 };
	int result;

	pthread_mutex_lock(&r->lock);
	result = request_begin(r, READER_LINK, path, "", wait);
	if (result == 0)
		result = request_serve(r, -1, &a);
	wait_end(r, wait);
	pthread_mutex_unlock(&r->lock);
	closep(&a.fd);
	return result;
}

/* How much of the next file may be copied. */
static uint64_t copy_bytes_left(const struct reader *r)
{
	uint64_t left = r->limits.copy_bytes - r->stats.copied_bytes;

	if (r->copied_ns > r->limits.copy_ns)
		return 0;
	return left < r->limits.file_bytes ? left : r->limits.file_bytes;
}

static void note_file(struct reader *r, int fd, struct reader_file *ret_file)
{
	const struct reader_reply *reply = &r->packet.reply;

	*ret_file = (struct reader_file){ .fd = fd,
					  .is_copy = is_copying(r),
					  .st = reply->st,
					  .has_generation = reply->flags & READER_HAS_GENERATION,
					  .generation = (uint32_t)reply->generation };
	r->stats.copied_bytes += reply->copied_bytes;
}

/* Sends r->request and returns its result; unlocks. */
static int file_open_unlock(struct reader *r, int result, int root_fd, struct reader_wait *wait,
			    struct reader_file *ret_file)
{
	struct answer a = { .fd = -1 };

	r->request.max_bytes = copy_bytes_left(r);
	r->request.flags |= r->limits.copies_all ? READER_COPY : 0;
	list_silent(r);
	if (result == 0)
		result = request_serve(r, root_fd, &a);
	if (result == 0 && a.fd < 0)
		result = -EMFILE; /* the kernel drops a descriptor if there is no room for it */
	if (result == 0)
		note_file(r, TAKE_FD(a.fd), ret_file);
	else if (result == -ENODEV)
		ret_file->st = r->packet.reply.st;
	wait_end(r, wait);
	pthread_mutex_unlock(&r->lock);
	closep(&a.fd);
	return result;
}

int reader_open_link(struct reader *r, const char *path, const char *root, struct reader_wait *wait,
		     struct reader_file *ret_file)
{
	pthread_mutex_lock(&r->lock);
	return file_open_unlock(r, request_begin(r, READER_OPEN, path, root, wait), -1, wait,
				ret_file);
}

int reader_open_beneath(struct reader *r, const struct reader_root *root, const char *path,
			struct reader_wait *wait, struct reader_file *ret_file)
{
	int result;

	pthread_mutex_lock(&r->lock);
	result = request_begin(r, READER_OPEN, path, root->path, wait);
	r->request.flags = READER_IN_ROOT | (root->is_one_mount ? READER_ONE_MOUNT : 0) |
			   (root->is_no_link ? READER_NO_LINK : 0) |
			   (root->must_be_readable ? READER_READABLE : 0);
	r->request.owner = root->owner;
	return file_open_unlock(r, result, root->fd, wait, ret_file);
}

int reader_open_root(struct reader *r, const char *path, struct reader_wait *wait,
		     struct stat *ret_st, uint64_t *ret_mount)
{
	struct answer a = { .fd = -1 };
	int result;

	pthread_mutex_lock(&r->lock);
	result = request_begin(r, READER_ROOT, "", path, wait);
	if (result == 0)
		result = request_serve(r, -1, &a);
	if (result == 0 && a.fd < 0)
		result = -EMFILE;
	if (result == 0) {
		*ret_st = r->packet.reply.st;
		*ret_mount = r->packet.reply.mount;
		result = TAKE_FD(a.fd);
	}
	wait_end(r, wait);
	pthread_mutex_unlock(&r->lock);
	closep(&a.fd);
	return result;
}

/* ---- creating and freeing ---- */

static uint64_t limit_or(uint64_t limit, uint64_t usual)
{
	return limit ? limit : usual;
}

static void set_limits(struct reader *r, const struct reader_limits *l)
{
	r->limits = (struct reader_limits){
		.deadline_ns = limit_or(l->deadline_ns, DEADLINE_NS),
		.run_ns = limit_or(l->run_ns, RUN_NS),
		.device_ns = limit_or(l->device_ns, DEVICE_NS),
		.silent_ns = limit_or(l->silent_ns, UNANSWERED_NS),
		.copy_ns = limit_or(l->copy_ns, COPY_NS),
		.copy_bytes = limit_or(l->copy_bytes, COPY_BYTES),
		.file_bytes = limit_or(l->file_bytes, FILE_BYTES),
		.copies_all = l->copies_all,
	};
}

int reader_new(int proc_fd, const struct reader_limits *limits, struct reader **ret_reader)
{
	static const struct reader_limits usual;
	_cleanup_(reader_freep) struct reader *r = calloc(1, sizeof(*r));
	int result;

	if (!r)
		return -ENOMEM;
	r->proc_fd = -1;
	r->worker = (struct worker)WORKER_NONE;
	pthread_mutex_init(&r->lock, NULL);
	set_limits(r, limits ? limits : &usual);
	r->proc_fd = fcntl(proc_fd, F_DUPFD_CLOEXEC, 0);
	if (r->proc_fd < 0)
		return -errno;
	r->worker.role = &reader_role;
	r->worker.proc_fd = r->proc_fd;
	result = worker_start(&r->worker);
	if (result < 0)
		return result;
	*ret_reader = TAKE(r);
	return 0;
}

struct reader *reader_free(struct reader *r)
{
	if (!r)
		return NULL;
	worker_stop(&r->worker);
	closep(&r->proc_fd);
	pthread_mutex_destroy(&r->lock);
	free(r);
	return NULL;
}

struct reader_stats reader_stats(struct reader *r)
{
	struct reader_stats stats;

	pthread_mutex_lock(&r->lock);
	stats = r->stats;
	pthread_mutex_unlock(&r->lock);
	return stats;
}

pid_t reader_pid(struct reader *r)
{
	pid_t pid;

	pthread_mutex_lock(&r->lock);
	pid = r->worker.pid;
	pthread_mutex_unlock(&r->lock);
	return pid;
}
