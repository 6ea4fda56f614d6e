/* SPDX-License-Identifier: Apache-2.0 */
/* What the caller names is not accessed with capabilities that could not be lowered. */
#include "base/capabilities.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cache_dir.h"
#include "base/outfile.h"
#include "tap.h"

/* From now on, capset() fails. */
static bool forbid_capset(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_capset, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool are_lowered(void)
{
	_cleanup_(capabilities_raise) struct capabilities held = CAPABILITIES_HELD;

	return capabilities_lower(&held) == 0;
}

static bool writes(void)
{
	struct outfile *f = NULL;
	bool does = outfile_open("/tmp", NULL, &f, NULL) != -EPERM;

	outfile_free(f);
	return does;
}

/* Bits of what works, in a process of an unprivileged user. */
static int in_child(bool is_forbidden)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		char *cache = NULL;
		int works;

		if ((geteuid() == 0 && setuid(65534) < 0) || (is_forbidden && !forbid_capset()))
			_exit(64);
		works = are_lowered();
		works |= (cache_dir_default(&cache) != -EPERM) << 1;
		free(cache);
		_exit(works | writes() << 2);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	int works = in_child(true);

	ok(in_child(false) == 7, "paths of the caller are accessed without capabilities");
	if (works == 64) {
		tap_skip("no seccomp filter");
		return tap_done();
	}
	ok(!(works & 1), "an error says that capabilities could not be lowered");
	ok(!(works & 2), "without lowered capabilities no folder of the caller is looked for");
	ok(!(works & 4), "without lowered capabilities no file is written");
	return tap_done();
}
