/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/child.h"
#include "fetch/fetch_main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/capabilities.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "fetch/fetch_exit.h"

#define ENV_MAX_BYTES (256u << 10)
#define ENV_MAX_VARIABLES 32
#define PROGRAM_FD (STDERR_FILENO + 1)

/* Variables that libcurl and its TLS library use, and that locate libdebuginfod. */
static const char *const passed_on[] = {
	"http_proxy",
	"https_proxy",
	"all_proxy",
	"no_proxy",
	"HTTPS_PROXY",
	"ALL_PROXY",
	"NO_PROXY",
	"SSL_CERT_FILE",
	"SSL_CERT_DIR",
	"CURL_CA_BUNDLE",
	"HOME",
	"LD_LIBRARY_PATH",
	"LANG",
	"DEBUGINFOD_HEADERS_FILE",
#ifdef FETCH_MORE_VARIABLES /* added by the build, for what it adds to every program */
	FETCH_MORE_VARIABLES,
#endif
};

static int add_variable(struct buf *b, size_t *offsets, size_t *nr, const char *name,
			const char *value)
{
	offsets[(*nr)++] = b->len;
	return buf_printf(b, "%s=%s%c", name, value, '\0');
}

/* Builds the environment in one block: the pointers, then the strings. */
static int join_environment(const struct buf *b, const size_t *offsets, size_t nr, char ***ret_env)
{
	size_t pointers = (nr + 1) * sizeof(char *);
	char **env = malloc(pointers + b->len);

	if (!env)
		return -ENOMEM;
	memcpy((char *)env + pointers, b->data, b->len);
	for (size_t i = 0; i < nr; i++)
		env[i] = (char *)env + pointers + offsets[i];
	env[nr] = NULL;
	*ret_env = env;
	return 0;
}

int child_environment(const struct fetcher_config *cfg, char ***ret_env)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT(ENV_MAX_BYTES);
	size_t offsets[ENV_MAX_VARIABLES], nr = 0;
	char seconds[24];
	int r;

	(void)snprintf(seconds, sizeof(seconds), "%llu",
		       (unsigned long long)((cfg->timeout_ns + NS_PER_S - 1) / NS_PER_S));
	r = add_variable(&b, offsets, &nr, "DEBUGINFOD_URLS", cfg->urls);
	/* a cache for this one fetch: our own limit applies, and it is removed afterwards */
	if (r == 0)
		r = add_variable(&b, offsets, &nr, "DEBUGINFOD_CACHE_PATH", "cache");
	if (r == 0)
		r = add_variable(&b, offsets, &nr, "DEBUGINFOD_TIMEOUT", seconds);
	if (r == 0)
		r = add_variable(&b, offsets, &nr, "DEBUGINFOD_MAXTIME", seconds);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]) && r == 0; i++) {
		const char *value = getenv(passed_on[i]);

		if (value)
			r = add_variable(&b, offsets, &nr, passed_on[i], value);
	}
	return r < 0 ? r : join_environment(&b, offsets, nr, ret_env);
}

static void limit_child(uint64_t max_bytes)
{
	const struct rlimit file = { max_bytes, max_bytes }, core = { 0, 0 };

	(void)setrlimit(RLIMIT_FSIZE, &file);
	(void)setrlimit(RLIMIT_CORE, &core);
}

/* Changes to a user who can neither write our files nor trace our processes. */
static bool become_nobody(void)
{
	return syscall(SYS_setgroups, 0, NULL) == 0 &&
	       syscall(SYS_setresgid, CHILD_NOBODY, CHILD_NOBODY, CHILD_NOBODY) == 0 &&
	       syscall(SYS_setresuid, CHILD_NOBODY, CHILD_NOBODY, CHILD_NOBODY) == 0;
}

/* Changing the user clears this, and so may the exec: the program sets it again. */
bool child_follow(pid_t parent)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == parent;
}

static void reset_signals(void)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };
	sigset_t none;

	(void)sigaction(SIGXFSZ, &standard, NULL);
	(void)sigaction(SIGPIPE, &standard, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Between fork and exec: only async-signal-safe calls. The program is opened before the user
 * changes, because the new user may not be able to reach it. */
static _Noreturn void become(const struct child_setup *s, char *const argv[], int null_fd,
			     pid_t parent)
{
	int program_fd = open(s->program, O_PATH | O_CLOEXEC);

	(void)setsid(); /* the agent handles an interrupt from the terminal */
	reset_signals();
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		(void)dup2(null_fd, fd);
	if (program_fd < 0 || fchdir(s->dir_fd) < 0 ||
	    (program_fd != PROGRAM_FD && dup3(program_fd, PROGRAM_FD, O_CLOEXEC) < 0))
		_exit(EXIT_NO_PROGRAM);
	(void)syscall(SYS_close_range, PROGRAM_FD + 1, ~0u, 0); /* since 5.9 */
	limit_child(s->max_bytes);
	/* Under no_new_privs no capability survives an exec except those held before: none. */
	if ((!s->as_nobody || become_nobody()) && child_follow(parent) && capabilities_give_up())
		(void)syscall(SYS_execveat, PROGRAM_FD, "", argv, s->env, AT_EMPTY_PATH);
	_exit(EXIT_NO_PROGRAM);
}

/* For the child's standard streams: output is discarded, and there is no input. A chroot may lack
 * /dev/null; a memfd serves as well, within the file size limit. */
static int open_null(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	return fd >= 0 || errno != ENOENT ? fd : memfd_create("null", MFD_CLOEXEC);
}

int child_start(const struct child_setup *setup, struct child *ret_child)
{
	_cleanup_(closep) int null_fd = open_null();
	char name[] = "perf-agent", command[] = FETCH_COMMAND;
	char parent_text[16];
	char *const argv[] = { name, command, (char *)(uintptr_t)setup->what, parent_text, NULL };
	pid_t pid, parent = getpid();

	if (null_fd < 0)
		return -errno;
	(void)snprintf(parent_text, sizeof(parent_text), "%d", (int)parent);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		become(setup, argv, null_fd, parent);
	*ret_child = (struct child){ .pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0) };
	if (ret_child->pidfd >= 0)
		return 0;
	(void)child_finish(ret_child, true);
	return -EMFILE;
}

static enum fetch_result result_of(int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ)
		return FETCH_TOO_LARGE;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_PROGRAM)
		return FETCH_UNAVAILABLE;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return FETCH_FETCHED;
	if (WIFEXITED(status) && WEXITSTATUS(status) > EXIT_RESULT_BASE &&
	    WEXITSTATUS(status) < EXIT_RESULT_BASE + NR_FETCH_RESULTS)
		return (enum fetch_result)(WEXITSTATUS(status) - EXIT_RESULT_BASE);
	return FETCH_SERVER_FAILED;
}

/* Kills its descendants too, except a process that created its own session: that one keeps its open
 * files, hence nobody_dir_copy_result(). The PID is valid until it is waited for. */
static void kill_offspring(const struct child *c)
{
	siginfo_t info;
	int r;

	do {
		r = c->pidfd < 0 ? -1 : waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED | WNOWAIT);
	} while (r < 0 && c->pidfd >= 0 && errno == EINTR);
	if (r == 0)
		(void)kill(-c->pid, SIGKILL); /* usually no process is left */
}

enum fetch_result child_finish(struct child *c, bool do_kill)
{
	int status = 0;
	pid_t got;

	if (do_kill && c->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
	else if (do_kill)
		(void)kill(c->pid, SIGKILL); /* it has not been waited for yet */
	kill_offspring(c);
	do {
		got = waitpid(c->pid, &status, 0);
	} while (got < 0 && errno == EINTR);
	if (c->pidfd >= 0)
		close(c->pidfd);
	c->pidfd = -1;
	if (do_kill)
		return FETCH_TIMEOUT;
	/* Another part of this process has waited for it: only the file shows the result. */
	return got == c->pid ? result_of(status) : FETCH_FETCHED;
}
