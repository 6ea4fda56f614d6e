/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_NOT_RUN 127 /* seen by nobody but a tracer: the agent reports by its own status */

static ssize_t read_retrying(int fd, void *bytes, size_t n)
{
	ssize_t got;

	do {
		got = read(fd, bytes, n);
	} while (got < 0 && errno == EINTR);
	return got;
}

/* What the program file's capabilities allow is for the agent: a command is found and started with
 * the user's own rights. 0, or negative. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return geteuid() == 0 ? 0 : (int)syscall(SYS_capset, &head, none);
}

__attribute__((noreturn)) static void child(char *const argv[], const struct signals *signals,
					    int stdout_fd, int go_fd, int failure_fd)
{
	char go;
	int e;

	signals_restore(signals);
	if (read_retrying(go_fd, &go, 1) != 1)
		_exit(EXIT_NOT_RUN); /* the session did not start, or the agent died */
	if (dup2(stdout_fd, STDOUT_FILENO) >= 0 && drop_capabilities() == 0)
		execvp(argv[0], argv);
	e = errno;
	(void)!write(failure_fd, &e, sizeof(e)); /* whole: shorter than PIPE_BUF */
	/* The end of its last target makes a session write; stay until it is cancelled. */
	(void)read_retrying(go_fd, &go, 1);
	_exit(EXIT_NOT_RUN);
}

int command_spawn(struct command *c, char *const argv[], const struct signals *signals,
		  int stdout_fd)
{
	int go[2], failure[2], e;
	pid_t pid;

	*c = COMMAND_NONE;
	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(failure, O_CLOEXEC) < 0) {
		e = errno;
		close(go[0]);
		close(go[1]);
		return -e;
	}
	(void)fflush(NULL); /* what is buffered is written once, by the parent */
	pid = fork();
	e = errno;
	if (pid == 0) {
		close(go[1]); /* or the child would wait for its own end of the pipe */
		child(argv, signals, stdout_fd, go[0], failure[1]);
	}
	close(go[0]);
	close(failure[1]);
	*c = (struct command){ argv, pid, .go_fd = go[1], .failure_fd = failure[0] };
	if (pid < 0) {
		c->pid = 0;
		command_done(c);
		return -e;
	}
	return 0;
}

static void close_pipes(struct command *c)
{
	if (c->go_fd >= 0)
		close(c->go_fd);
	if (c->failure_fd >= 0)
		close(c->failure_fd);
	c->go_fd = c->failure_fd = -1;
}

int command_release(struct command *c)
{
	int e;

	/* EPIPE: it was killed while it waited, which its wait status will tell */
	if (write(c->go_fd, "", 1) < 0 && errno != EPIPE)
		return -errno;
	if (read_retrying(c->failure_fd, &e, sizeof(e)) == sizeof(e))
		return -e;
	close_pipes(c); /* a successful exec has closed the other ends */
	return 0;
}

bool command_reap(struct command *c)
{
	if (c->pid && !c->has_ended)
		c->has_ended = waitpid(c->pid, &c->wait_status, WNOHANG) == c->pid;
	return c->has_ended;
}

int command_status(const struct command *c)
{
	if (WIFSIGNALED(c->wait_status))
		return 128 + WTERMSIG(c->wait_status);
	return WEXITSTATUS(c->wait_status);
}

void command_done(struct command *c)
{
	bool was_held = c->go_fd >= 0;

	close_pipes(c);
	if (c->pid && was_held && !c->has_ended)
		while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
			;
	*c = COMMAND_NONE;
}
