/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts workers. It is forked from the agent before the agent has allocated anything large, and
 * never touches a target's file itself: a worker that never returns keeps neither the agent's memory
 * nor its descriptors alive, and the next one is forked from a small process with one thread. Like
 * the workers, it does not allocate.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/worker.h"

#define CONTROL_FD 0
#define PROC_FD 1
#define SOCKET_FD 2
#define SCRATCH_FD 10 /* descriptors below it are rearranged */
#define CLOSE_MAX 65536

/* Without what a sanitizer does at the end of its process: this is a copy of the agent's. */
static _Noreturn void leave(int status)
{
	for (;;)
		(void)syscall(SYS_exit_group, status);
}

static void drop_other_caps(const struct worker_role *role)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { 0 };
	uint32_t keep[2] = { 0 };

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_capget, &header, caps) < 0)
		return;
	for (size_t i = 0; i < role->nr_caps; i++)
		keep[role->caps[i] / 32] |= 1u << role->caps[i] % 32;
	for (size_t i = 0; i < 2; i++) {
		caps[i].permitted &= keep[i];
		caps[i].effective = caps[i].permitted; /* it was lowered to resolve paths */
		caps[i].inheritable = 0;
	}
	(void)syscall(SYS_capset, &header, caps); /* having more than needed does no harm */
}

/* Closes one by one before Linux 5.9. */
static void close_from(int first)
{
	struct rlimit lim = { CLOSE_MAX, CLOSE_MAX };

	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return;
	(void)getrlimit(RLIMIT_NOFILE, &lim);
	for (int fd = first; fd < (int)(lim.rlim_cur < CLOSE_MAX ? lim.rlim_cur : CLOSE_MAX); fd++)
		(void)close(fd);
}

static bool place_descriptors(int control_fd, int proc_fd)
{
	int control = fcntl(control_fd, F_DUPFD, SCRATCH_FD);
	int proc = fcntl(proc_fd, F_DUPFD, SCRATCH_FD);

	if (dup2(control, CONTROL_FD) < 0 || dup2(proc, PROC_FD) < 0)
		return false;
	close_from(PROC_FD + 1);
	return true;
}

/* Returns the order; *ret_fd: the socket of a new worker. WORKER_END also if the owner has gone. */
static enum worker_order receive_order(int *ret_fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte;
	struct iovec io = { &byte, 1 };
	struct msghdr m = { .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control.room) };

	if (recvmsg(CONTROL_FD, &m, 0) != 1)
		return WORKER_END;
	if (byte == WORKER_KILL)
		return WORKER_KILL;
	if (m.msg_controllen < sizeof(struct cmsghdr) || control.head.cmsg_type != SCM_RIGHTS)
		return WORKER_END;
	memcpy(ret_fd, CMSG_DATA(&control.head), sizeof(*ret_fd));
	return WORKER_START;
}

static _Noreturn void become_worker(const struct worker_role *role, int socket_fd, pid_t spawner)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != spawner)
		leave(1);
	if (socket_fd != SOCKET_FD)
		(void)dup2(socket_fd, SOCKET_FD);
	close_from(SOCKET_FD + 1);
	(void)close(CONTROL_FD);
	role->serve(SOCKET_FD, PROC_FD);
	leave(0);
}

static void reap(void)
{
	while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
		;
}

#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
#endif

/* ThreadSanitizer takes what this process does for something that a thread of the agent does, which has
 * descriptors of the same numbers; its reports would go to descriptor 2, which is a socket here. */
static void leave_thread_sanitizer(void)
{
#ifdef __SANITIZE_THREAD__
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
}

static pid_t start_worker(const struct worker_role *role, int socket_fd, pid_t own)
{
	pid_t pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);

	if (pid < 0 && errno == EINVAL) /* emulators support only forks with SIGCHLD */
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
	if (pid == 0)
		become_worker(role, socket_fd, own);
	return pid;
}

_Noreturn void worker_spawner_main(const struct worker_role *role, int control_fd, int proc_fd)
{
	pid_t own = (pid_t)syscall(SYS_getpid), pid = 0;
	enum worker_order order;
	int socket_fd = -1;

	leave_thread_sanitizer();
	(void)setsid(); /* the agent handles an interrupt from the terminal */
	(void)prctl(PR_SET_NAME, role->name, 0, 0, 0);
	if (chdir("/") < 0 || !place_descriptors(control_fd, proc_fd))
		leave(1);
	drop_other_caps(role);
	while ((order = receive_order(&socket_fd)) != WORKER_END) {
		if (pid > 0) /* still our child, so its PID is not reused */
			(void)kill(pid, SIGKILL);
		pid = 0;
		reap();
		if (order == WORKER_KILL)
			continue;
		pid = start_worker(role, socket_fd, own);
		(void)close(socket_fd);
		if (send(CONTROL_FD, &pid, sizeof(pid), MSG_NOSIGNAL) < 0)
			break;
	}
	leave(0);
}
