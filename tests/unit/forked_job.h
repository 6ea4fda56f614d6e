/* SPDX-License-Identifier: Apache-2.0 */
/* A job in a process of its own, which has the descriptors of the job and a pipe, and no others. */
#ifndef TESTS_FORKED_JOB_H
#define TESTS_FORKED_JOB_H

#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "tap.h"

#define FORKED_JOB_MAX_FDS 8

typedef int (*forked_job_fn)(const void *job, const int *fds, struct buf *ret_bytes);

/* Where they are known to be: above those that are closed first, then from 1 on; 0 is the pipe. */
static inline void keep_only(int pipe_fd, int *fds, int nr)
{
	int high[FORKED_JOB_MAX_FDS + 1] = { dup2(pipe_fd, 500) };

	for (int i = 0; i < nr; i++)
		high[i + 1] = fds[i] >= 0 ? dup2(fds[i], 501 + i) : -1;
	if (close_range(0, 499, 0) < 0 || close_range(501 + (unsigned int)nr, ~0u, 0) < 0)
		_exit(3);
	for (int i = 0; i <= nr; i++)
		if (high[i] >= 0 && dup2(high[i], i) < 0)
			_exit(3);
	if (close_range((unsigned int)nr + 1, ~0u, 0) < 0)
		_exit(3);
	for (int i = 0; i < nr; i++)
		fds[i] = fds[i] >= 0 ? i + 1 : -1;
}

static inline void write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t r = write(fd, bytes, n);

		if (r <= 0)
			_exit(3);
		bytes += r;
		n -= (size_t)r;
	}
}

/* The bytes that came back over the pipe. */
static inline void forked_job_run(forked_job_fn run, const void *job, const int *fds, int nr,
				  struct buf *ret_bytes)
{
	int own[FORKED_JOB_MAX_FDS], ends[2], status;
	pid_t pid;

	must(nr <= FORKED_JOB_MAX_FDS && pipe(ends) == 0);
	memcpy(own, fds, (size_t)nr * sizeof(*fds));
	fflush(NULL);
	pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		struct buf bytes = BUF_INIT(64u << 20);

		keep_only(ends[1], own, nr);
		if (run(job, own, &bytes) < 0)
			_exit(2);
		write_all(0, bytes.data, bytes.len);
		_exit(0);
	}
	close(ends[1]);
	must(buf_read_fd(ret_bytes, ends[0]) == 0);
	close(ends[0]);
	must(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif
