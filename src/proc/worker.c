/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* A worker that is asleep in two checks this far apart is not merely about to be scheduled. */
#define LOOK_TWICE_NS (10 * NS_PER_MS)
#define SPAWN_DEADLINE_NS (10 * NS_PER_S) /* only a busy machine delays the spawner */

/* ---- processes ---- */

/* No signal at its end: the host of the library may wait for its own children. */
static pid_t clone_quietly(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);

	if (pid < 0 && errno == EINVAL) /* emulators support only forks with SIGCHLD */
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
	return pid < 0 ? -errno : pid;
}

/* With all signals blocked: a handler of ours, or of the library's host, must not run in the child.
 * */
static int spawner_start(struct worker *w)
{
	sigset_t all, before;
	int pair[2], pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = clone_quietly();
	if (pid == 0)
		worker_spawner_main(w->role, pair[1], w->proc_fd);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return pid;
	}
	w->control_fd = pair[0];
	w->spawner = pid;
	return 0;
}

void worker_drop(struct worker *w)
{
	closep(&w->socket_fd);
	w->socket_fd = -1;
	w->pid = 0;
}

/* The spawner does it: only its parent knows that a PID is still that of the worker. */
void worker_kill(struct worker *w)
{
	char byte = WORKER_KILL;

	if (w->socket_fd >= 0 && w->control_fd >= 0)
		(void)worker_send(w->control_fd, &byte, 1, -1, MSG_DONTWAIT);
	worker_drop(w);
}

void worker_stop(struct worker *w)
{
	worker_drop(w);
	closep(&w->control_fd);
	w->control_fd = -1;
	if (!w->spawner)
		return;
	(void)kill(w->spawner, SIGKILL);
	(void)waitpid(w->spawner, NULL, __WALL);
	w->spawner = 0;
}

static int start_once(struct worker *w)
{
	int pair[2];
	ssize_t sent;
	char byte = WORKER_START;

	if (w->control_fd < 0) {
		int started = spawner_start(w);

		if (started < 0)
			return started;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	sent = worker_send(w->control_fd, &byte, 1, pair[1], MSG_DONTWAIT);
	close(pair[1]);
	if (sent < 0 || !worker_is_readable(w->control_fd, SPAWN_DEADLINE_NS) ||
	    recv(w->control_fd, &w->pid, sizeof(w->pid), MSG_DONTWAIT) != sizeof(w->pid) ||
	    w->pid < 0) {
		close(pair[0]);
		worker_stop(w);
		return -EAGAIN;
	}
	w->socket_fd = pair[0];
	return 0;
}

int worker_start(struct worker *w)
{
	int result;

	worker_drop(w);
	result = start_once(w);
	return result == -EAGAIN ? start_once(w) : result;
}

/* ---- packets ---- */

ssize_t worker_send(int socket_fd, const void *bytes, size_t len, int fd, int flags)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec io = { (void *)(uintptr_t)bytes, len };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control.room);
		control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
						 .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	return sendmsg(socket_fd, &m, MSG_NOSIGNAL | flags);
}

bool worker_is_readable(int fd, uint64_t timeout_ns)
{
	uint64_t end_ns = clock_mono_ns() + timeout_ns, now_ns = end_ns - timeout_ns;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (;; now_ns = clock_mono_ns()) {
		uint64_t left_ns = now_ns < end_ns ? end_ns - now_ns : 0;
		int n = poll(&p, 1, (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS));

		if (n > 0)
			return true;
		if (n == 0 && left_ns == 0)
			return false;
		if (n < 0 && errno != EINTR)
			return false;
	}
}

/* ---- does it run? ---- */

/* A file of /proc about the worker, as text. */
static bool read_about(const struct worker *w, const char *name, char *to, size_t size)
{
	_cleanup_(closep) int fd = -1;
	char path[40];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)w->pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, to, size - 1);
	to[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* True unless the worker runs or waits for a CPU: a busy machine is not a hanging file. */
static bool is_asleep(const struct worker *w)
{
	char text[128];
	const char *paren = read_about(w, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;

	return !paren || strlen(paren) < 3 || paren[2] != 'R';
}

bool worker_has_hung(const struct worker *w)
{
	return is_asleep(w) && !worker_is_readable(w->socket_fd, LOOK_TWICE_NS) && is_asleep(w);
}

uint64_t worker_run_ns(const struct worker *w)
{
	char text[128];

	return read_about(w, "schedstat", text, sizeof(text)) ? strtoull(text, NULL, 10) : 0;
}
