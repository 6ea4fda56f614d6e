/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A symbol job, run in this process and in another one that has the job's descriptors, a pipe, a socket, and
 * an empty root directory. Over the socket it asks for .dwo files; a thread here opens them.
 */
#ifndef TESTS_FORKED_SYMBOLS_H
#define TESTS_FORKED_SYMBOLS_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "forked_job.h"
#include "symbolize/symbol_job.h"
#include "symbolize/symbol_reply.h"

#define FORKED_SOCKET 7 /* the last of the descriptors */

static char empty_root[] = "/tmp/perf-agent-empty.XXXXXX";

/* ---- asking for .dwo files ---- */

/* A request is 'p' and the path with its NUL, or 'p' alone for the .dwp. */
static inline void send_request(int socket, const struct buf *path)
{
	char text[4096] = "p";

	if (path->len >= sizeof(text))
		_exit(5);
	if (path->len)
		memcpy(text + 1, path->data, path->len);
	if (send(socket, text, path->len + 1, 0) != (ssize_t)path->len + 1)
		_exit(5);
}

/* An answer is one byte, with a descriptor if the file could be opened. */
static inline int receive_fd(int socket)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec v = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)
	};
	struct cmsghdr *c;
	int fd = -ENOENT;

	if (recvmsg(socket, &m, 0) != 1)
		_exit(5);
	c = CMSG_FIRSTHDR(&m);
	if (c)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static inline void send_fd(int socket, int fd)
{
	char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec v = { "f", 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = room;
		m.msg_controllen = sizeof(room);
		*CMSG_FIRSTHDR(&m) = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
						       .cmsg_level = SOL_SOCKET,
						       .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof(fd));
	}
	must(sendmsg(socket, &m, 0) == 1);
}

static int nr_requests; /* of the last job that ran elsewhere */

static inline void *serve_requests(void *arg)
{
	int socket = *(int *)arg;
	char text[4096];
	ssize_t n;

	while ((n = recv(socket, text, sizeof(text), 0)) > 0) {
		int fd = n > 1 ? open(text + 1, O_RDONLY | O_CLOEXEC) : -1;

		nr_requests++;
		send_fd(socket, fd);
		closep(&fd);
	}
	return NULL;
}

/* ---- running ---- */

typedef int (*open_split_fn)(int socket, const struct buf *path);

static inline int open_here(int socket, const struct buf *path)
{
	return path->len ? open(path->data, O_RDONLY | O_CLOEXEC) : -ENOENT;
}

static inline int open_there(int socket, const struct buf *path)
{
	send_request(socket, path);
	return receive_fd(socket);
}

static inline int run_symbols(const struct symbol_job *job, open_split_fn open_split, int socket,
			      struct buf *ret_bytes)
{
	_cleanup_(symbol_run_freep) struct symbol_run *run = NULL;
	int r = symbol_run_new(job, &(struct symbol_job_cancel){ 0 }, &run);

	if (r < 0)
		return r;
	while ((r = symbol_run_step(run, ret_bytes)) == -EAGAIN) {
		symbol_run_supply(run, open_split(socket, ret_bytes));
		buf_clear(ret_bytes);
	}
	return r;
}

/* Nothing of the file system can be reached: false if that is not permitted. */
static inline bool enter_empty_root(void)
{
	if (chroot(empty_root) < 0 &&
	    (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || chroot(empty_root) < 0))
		return false;
	return chdir("/") == 0 && access("/proc", F_OK) < 0 && access("/tmp", F_OK) < 0;
}

static inline int run_in_empty_root(const void *arg, const int *fds, struct buf *ret_bytes)
{
	struct symbol_job job = *(const struct symbol_job *)arg;

	if (!enter_empty_root())
		_exit(4);
	job.fd = fds[0];
	job.debug_fd = fds[1];
	job.alt_fd = fds[2];
	for (uint32_t i = 0; i < job.nr_symbol_files; i++) {
		job.symbol_files[i].map_fd = fds[3 + 2 * i];
		job.symbol_files[i].dump_fd = fds[4 + 2 * i];
	}
	return run_symbols(&job, open_there, fds[FORKED_SOCKET], ret_bytes);
}

static inline void run_elsewhere(const struct symbol_job *job, struct buf *ret_bytes)
{
	int fds[FORKED_JOB_MAX_FDS] = { job->fd, job->debug_fd, job->alt_fd, -1, -1, -1, -1, -1 };
	int ends[2];
	pthread_t server;

	must(job->nr_symbol_files <= 2 &&
	     socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	for (uint32_t i = 0; i < job->nr_symbol_files; i++) {
		fds[3 + 2 * i] = job->symbol_files[i].map_fd;
		fds[4 + 2 * i] = job->symbol_files[i].dump_fd;
	}
	fds[FORKED_SOCKET] = ends[1];
	nr_requests = 0;
	must(pthread_create(&server, NULL, serve_requests, &ends[0]) == 0);
	forked_job_run(run_in_empty_root, job, fds, FORKED_JOB_MAX_FDS, ret_bytes);
	close(ends[1]);
	must(pthread_join(server, NULL) == 0);
	close(ends[0]);
}

/* False: this machine does not permit an empty root. */
static inline bool can_empty_root(void)
{
	int status;
	pid_t pid;

	must(mkdtemp(empty_root));
	fflush(NULL);
	pid = fork();
	must(pid >= 0);
	if (pid == 0)
		_exit(!enter_empty_root());
	must(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The reply here; whether the other process gave the same bytes. */
static inline bool is_same_elsewhere(const struct symbol_job *job, struct buf *ret_bytes)
{
	_cleanup_(buf_done) struct buf there = BUF_INIT(64u << 20);

	must(run_symbols(job, open_here, -1, ret_bytes) == 0);
	run_elsewhere(job, &there);
	return there.len == ret_bytes->len && memcmp(there.data, ret_bytes->data, there.len) == 0;
}

/* "inner file:line < outer …" of an item. */
static inline const char *answer_text(const struct symbol_reply *r, uint32_t item)
{
	static char text[1024];
	size_t len = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < r->answers[item].nr_frames && len < sizeof(text); i++) {
		const struct symbol_reply_frame *f = &r->frames[r->answers[item].first_frame + i];

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %s:%u",
					i ? " < " : "", r->strings + f->name,
					r->strings + f->filename, f->line);
	}
	return text;
}

static inline bool is_answer(const struct symbol_reply *r, uint32_t item, const char *expected)
{
	bool is = strcmp(answer_text(r, item), expected) == 0;

	if (!is)
		printf("# item %u is \"%s\"\n", item, answer_text(r, item));
	return is;
}

#endif
