/* SPDX-License-Identifier: Apache-2.0 */
/* What did not answer is not asked again for a while. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/unanswered.h"
#include "tap.h"

static void test_places(void)
{
	struct unanswered u;

	unanswered_init(&u);
	unanswered_note_path(&u, 7, "/usr/lib/debug/a");
	ok(unanswered_has_path(&u, 7, "/other/b") && !unanswered_has_path(&u, 8, "/other/b"),
	   "silent: a root is not searched again");
	unanswered_note_path(&u, -1, "/mnt/a/b");
	ok(unanswered_has_path(&u, -1, "/mnt/a/c") && !unanswered_has_path(&u, -1, "/mnt/b"),
	   "silent: our own root is, but not that directory");
	u.roots[0].until_ns = u.folders[0].until_ns = clock_mono_ns();
	ok(!unanswered_has_path(&u, 7, "/other/b") && !unanswered_has_path(&u, -1, "/mnt/a/c"),
	   "silent: both are tried again after a while");
	for (int i = 0; i < 300; i++)
		unanswered_note_pid(&u, 1000010 + i, "a path that is longer than the room for it");
	ok(u.nr == 2 + 300 && u.nr_items == UNANSWERED_MAX_ITEMS, "silent: all are counted");
	unanswered_note_path(&u, 7, "/usr/lib/debug/a");
	ok(u.nr == 2 + 300, "silent: each is listed once");
	unanswered_done(&u);
}

/* A PID is free for another process when its owner has gone. */
static void test_pid_is_reused(void)
{
	struct unanswered u;
	pid_t pid = fork();

	must(pid >= 0);
	if (pid == 0) {
		pause();
		_exit(0);
	}
	unanswered_init(&u);
	unanswered_note_pid(&u, pid, "maps");
	ok(unanswered_has_pid(&u, pid), "silent: a process that did not answer is recorded");
	u.pids[0].until_ns = clock_mono_ns();
	ok(!unanswered_has_pid(&u, pid), "silent: it is asked again after a while");
	u.pids[0].until_ns += 60 * NS_PER_S;
	must(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	if (u.pids[0].pidfd < 0)
		tap_skip("needs pidfd_open(), which valgrind 3.19 does not know");
	else
		ok(!unanswered_has_pid(&u, pid), "silent: the next process with its PID is asked");
	unanswered_done(&u);
}

int main(void)
{
	test_places();
	test_pid_is_reused();
	return tap_done();
}
