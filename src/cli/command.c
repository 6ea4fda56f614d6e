/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_PATH "/bin:/usr/bin" /* glibc's default if PATH is not set */
#define EXIT_NOT_RUN 127 /* only a tracer sees it: for failures the agent has its own exit status */

static ssize_t read_retrying(int fd, void *bytes, size_t n)
{
	ssize_t got;

	do {
		got = read(fd, bytes, n);
	} while (got < 0 && errno == EINTR);
	return got;
}

/* The capabilities of the program file are for the agent only: a command is found and started with
 * the user's own privileges. 0 or negative. */
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
		_exit(EXIT_NOT_RUN); /* the session did not start, or the agent has died */
	if (dup2(stdout_fd, STDOUT_FILENO) >= 0 && drop_capabilities() == 0)
		execvp(argv[0], argv);
	e = errno;
	(void)!write(failure_fd, &e, sizeof(e)); /* atomic: shorter than PIPE_BUF */
	/* A session writes its outputs when its last target exits: stay alive until it is
	 * cancelled. */
	(void)read_retrying(go_fd, &go, 1);
	_exit(EXIT_NOT_RUN);
}

static bool may_exist(const char *path)
{
	return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

int command_find(const char *name)
{
	const char *at = getenv("PATH");
	char path[PATH_MAX];

	if (strchr(name, '/'))
		return may_exist(name) ? 0 : -ENOENT;
	if (!at)
		at = DEFAULT_PATH;
	for (;;) { /* an empty directory is the current one */
		int len = (int)strcspn(at, ":");

		if (snprintf(path, sizeof(path), "%.*s%s%s", len, at, len ? "/" : "", name) <
			    (int)sizeof(path) &&
		    may_exist(path))
			return 0;
		if (!at[len])
			return -ENOENT;
		at += len + 1;
	}
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
	(void)fflush(NULL); /* otherwise the child would write the buffers, too */
	pid = fork();
	e = errno;
	if (pid == 0) {
		close(go[1]); /* otherwise the child would hold its own pipe open */
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

	/* EPIPE: it was killed while it waited; its wait status says so */
	if (write(c->go_fd, "", 1) < 0 && errno != EPIPE)
		return -errno;
	if (read_retrying(c->failure_fd, &e, sizeof(e)) == sizeof(e))
		return -e;
	close_pipes(c); /* a successful exec has closed the other ends */
	return 0;
}

const char *command_why_not_run(const char *name, int error)
{
	bool is_path = strchr(name, '/');

	if (error != ENOENT)
		return strerror(error);
	if (is_path && access(name, F_OK) == 0)
		return "its interpreter or dynamic loader is missing";
	if (is_path)
		return strerror(error);
	return "command not found";
}

/* The library may trace the command: to take the report of a stop would leave it stopped. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid &&
	       info.si_code != CLD_STOPPED && info.si_code != CLD_TRAPPED;
}

bool command_reap(struct command *c)
{
	if (c->pid && !c->has_ended && has_ended(c->pid))
		c->has_ended = waitpid(c->pid, &c->wait_status, WNOHANG) == c->pid;
	return c->has_ended;
}

int command_status(const struct command *c)
{
	if (WIFSIGNALED(c->wait_status))
		return 128 + WTERMSIG(c->wait_status);
	return WEXITSTATUS(c->wait_status);
}

int command_signal(const struct command *c)
{
	return c->has_ended && WIFSIGNALED(c->wait_status) ? WTERMSIG(c->wait_status) : 0;
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
