/* SPDX-License-Identifier: Apache-2.0 */
/* The process that traces: what it does to a child of ours, and what becomes of that when it dies or hangs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "inject/tracer.h"
#include "tap.h"

#define SOON_NS NS_PER_S

/* Shared with the target. */
struct shared {
	atomic_ulong nr_rounds;
	uint64_t word;
};

static struct shared *shared;
static bool is_over;

static bool is_over_now(const void *unused)
{
	return is_over;
}

static const struct cancel over = { is_over_now, NULL };

#define SLEEP_MS 1500

/* In uninterruptible sleep until its child has ended. */
static void sleep_deeply(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		usleep(SLEEP_MS * 1000);
		_exit(0);
	}
}

static pid_t start_target(bool is_late)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
		if (is_late)
			sleep_deeply();
		for (;;)
			atomic_fetch_add(&shared->nr_rounds, 1);
	}
	return pid;
}

/* Whether the target makes progress within five seconds. */
static bool runs(void)
{
	unsigned long before = atomic_load(&shared->nr_rounds);

	for (int i = 0; i < 500 && atomic_load(&shared->nr_rounds) == before; i++)
		usleep(10000);
	return atomic_load(&shared->nr_rounds) != before;
}

static bool is_in_state(pid_t pid, char state)
{
	char path[32], text[256] = "", *paren;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	must(f && fgets(text, sizeof(text), f));
	(void)fclose(f);
	paren = strrchr(text, ')');
	return paren && paren[1] && paren[2] == state;
}

static void end_target(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool stands_still(void)
{
	unsigned long before = atomic_load(&shared->nr_rounds);

	usleep(50000);
	return atomic_load(&shared->nr_rounds) == before;
}

static struct tracer *new_tracer(void)
{
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct tracer *t;

	must(fd >= 0 && tracer_new(fd, &over, &t) == 0);
	close(fd);
	return t;
}

static struct thread_view view;

static int stop_target(struct tracer *t, pid_t pid)
{
	return tracer_stop(t, pid, pid, clock_mono_ns() + SOON_NS, &view);
}

static void test_stop(struct tracer *t, pid_t pid)
{
	uint64_t value = 1234567;

	ok(stop_target(t, pid) == 0 && stands_still(), "a thread is stopped");
	ok(view.pc && view.place == THREAD_IN_USER_CODE && !view.has_obstacle,
	   "the state of a stopped thread is read");
	ok(tracer_poke(t, (uintptr_t)&shared->word, &value, sizeof(value)) == 0 &&
		   shared->word == value,
	   "memory of a stopped thread is written");
	tracer_let_go(t);
	ok(runs(), "a thread that is let go runs");
	ok(tracer_restart(t) == -ECONNRESET, "nothing is done to a thread that was let go");
}

static void test_late(struct tracer *t)
{
	pid_t pid, before = tracer_pid(t);

	pid = start_target(true);
	for (int i = 0; i < 100 && !is_in_state(pid, 'D'); i++)
		usleep(10000);
	if (!is_in_state(pid, 'D')) {
		tap_skip("a thread in uninterruptible sleep: vfork() does not wait, as under "
			 "valgrind");
		end_target(pid);
		return;
	}
	ok(tracer_stop(t, pid, pid, clock_mono_ns(), &view) == -ETIMEDOUT,
	   "a thread in uninterruptible sleep does not stop in time");
	tracer_let_go(t);
	ok(runs(), "a thread that has not stopped in time is not stopped later");
	ok(stop_target(t, pid) == 0 && tracer_pid(t) != before,
	   "after a thread that did not stop in time another process takes over");
	tracer_let_go(t);
	ok(tracer_stats(t).nr_killed == 0 && tracer_stats(t).nr_abandoned == 0,
	   "the process that could not let go of a thread is not counted as lost");
	end_target(pid);
}

static void test_memory(struct tracer *t, pid_t pid)
{
	ok(tracer_open_memory(t, pid) == 0 &&
		   tracer_write_memory(t, (uintptr_t)&shared->word, 42) == 0 &&
		   (uint32_t)shared->word == 42,
	   "memory of a process that runs is written");
	ok(tracer_write_memory(t, (uintptr_t)&shared->word, 43) == -ECONNRESET &&
		   (uint32_t)shared->word == 42,
	   "memory that was not opened again is not written");
	ok(tracer_shares_memory(t, pid, pid) == 1 || tracer_shares_memory(t, pid, pid) == -ENOSYS,
	   "a process has the same memory as itself");
	ok(tracer_shares_memory(t, pid, getpid()) <= 0, "two processes have memories of their own");
	ok(tracer_open_memory(t, INT32_MAX) == -ENOENT,
	   "a process that does not exist has no memory");
}

static void test_killed(struct tracer *t, pid_t pid)
{
	pid_t before;

	must(stop_target(t, pid) == 0);
	before = tracer_pid(t);
	must(kill(before, SIGKILL) == 0);
	ok(runs(), "a thread runs on when the process that traces it is killed");
	ok(tracer_restart(t) == -ECONNRESET, "it is noticed that the process was killed");
	tracer_let_go(t);
	ok(stop_target(t, pid) == 0 && tracer_pid(t) != before, "another process takes over");
	tracer_let_go(t);
	ok(tracer_stats(t).nr_killed == 1 && tracer_stats(t).nr_abandoned == 0 && runs(),
	   "a process that was killed is counted, and not as abandoned");
}

static void test_hung(struct tracer *t, pid_t pid)
{
	uint64_t began_ns;

	must(stop_target(t, pid) == 0 && kill(tracer_pid(t), SIGSTOP) == 0);
	is_over = true;
	began_ns = clock_mono_ns();
	ok(tracer_restart(t) == -EHOSTDOWN && clock_mono_ns() - began_ns < 5 * NS_PER_S,
	   "a process that does not answer is abandoned");
	is_over = false;
	ok(runs(), "a thread runs on when the process that traces it is abandoned");
	tracer_let_go(t);
	must(kill(tracer_pid(t), 0) < 0 || tracer_pid(t) == 0);
	ok(stop_target(t, pid) == 0, "after an abandoned process another one takes over");
	must(kill(tracer_pid(t), SIGSTOP) == 0);
	ok(tracer_restart(t) == -EHOSTDOWN && runs(),
	   "a process that sleeps for long after its deadline is abandoned");
	ok(tracer_stats(t).nr_abandoned == 2, "abandoned processes are counted");
}

static void test_end(pid_t pid)
{
	struct tracer *t = new_tracer();

	must(stop_target(t, pid) == 0);
	tracer_free(t);
	ok(runs(), "a thread runs on when the session ends");
	ok(waitpid(-1, NULL, WNOHANG) == 0, "a host that waits for its children sees only its own");
}

int main(void)
{
	struct tracer *t;
	pid_t pid;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	must(shared != MAP_FAILED);
	t = new_tracer();
	pid = start_target(false);
	must(runs());
	if (stop_target(t, pid) < 0) {
		tap_skip("needs ptrace()");
		return tap_done();
	}
	tracer_let_go(t);
	test_stop(t, pid);
	test_memory(t, pid);
	test_killed(t, pid);
	test_hung(t, pid);
	test_end(pid);
	tracer_free(t);
	end_target(pid);
	t = new_tracer();
	test_late(t);
	tracer_free(t);
	return tap_done();
}
