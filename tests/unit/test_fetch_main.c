/* SPDX-License-Identifier: Apache-2.0 */
/* The program's side of a fetch, with a libdebuginfod from before 0.186 that knows no file. */
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fetch/child.h"
#include "fetch/fetch_exit.h"
#include "fetch/fetch_main.h"
#include "fetch/fetcher.h"
#include "tap.h"

#define AMISS 1

void *debuginfod_begin(void); /* of the fake: so that it is there before any other */

static char dir[] = "/tmp/test_fetch_main_XXXXXX";

static bool has_capability(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { 0 };

	must(syscall(SYS_capget, &head, caps) == 0);
	return caps[0].permitted || caps[1].permitted;
}

/* Runs it in a process of its own, as if it had just been started by `parent`; its exit status. */
static int start_program(const char *what, pid_t parent)
{
	char name[] = "perf-agent", command[] = FETCH_COMMAND, asked[16], text[16];
	char *const argv[] = { name, command, asked, text, NULL };
	int status = 0, sig = 0;
	pid_t pid = fork();

	must(pid >= 0);
	if (pid > 0) {
		must(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
		return WEXITSTATUS(status);
	}
	snprintf(asked, sizeof(asked), "%s", what);
	snprintf(text, sizeof(text), "%d", (int)parent);
	status = chdir(dir) == 0 ? fetch_main(4, argv) : AMISS;
	if (status == 0 && (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || has_capability()))
		status = AMISS;
	if (status == 0 && (prctl(PR_GET_PDEATHSIG, &sig, 0, 0, 0) < 0 || sig != SIGKILL ||
			    prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0))
		status = AMISS;
	_exit(status);
}

int main(void)
{
	char path[sizeof(dir) + sizeof(CHILD_LOG) + 1];

	must(mkdtemp(dir) && debuginfod_begin());
	ok(start_program(FETCH_PROBE, getpid()) == 0,
	   "a fetch ends with its parent, cannot be traced, and has no capability");
	ok(start_program(FETCH_PROBE, getppid()) == EXIT_NO_PROGRAM,
	   "a fetch whose parent has ended does nothing");
	ok(start_program("no id", getpid()) == EXIT_NO_PROGRAM,
	   "a fetch without a build-id does nothing");
	ok(start_program("1001", getpid()) == EXIT_RESULT_BASE + FETCH_NOT_FOUND,
	   "a client without a log is believed about a missing file");
	snprintf(path, sizeof(path), "%s/%s", dir, CHILD_LOG);
	(void)unlink(path);
	(void)rmdir(dir);
	return tap_done();
}
