/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/cpu_times.h"
#include "tap.h"

static void test_parse(void)
{
	static const char *const bad[] = { "",
					   "cpu",
					   "cpu0 1 2 3 4 5 6 7 8",
					   "cpu 1 2 3 4 5 6 7",
					   "cpu 1 2 x 4 5 6 7 8",
					   "intr 1 2 3 4 5 6 7 8" };
	struct cpu_times t;

	ok(cpu_times_parse("cpu  100 20 30 4000 50 6 7 800 99 9\ncpu0 1 1 1 1 1 1 1 1 1 1\n", 100,
			   &t) == 0 &&
		   t.busy_ns == 1630000000 && t.idle_ns == 40500000000 && t.steal_ns == 8000000000,
	   "cpu times: busy is user, nice, system and interrupts; guests are in user already");
	ok(cpu_times_parse("cpu  1 0 0 0 0 0 0 3\n", 1000, &t) == 0 && t.busy_ns == 1000000 &&
		   t.steal_ns == 3000000,
	   "cpu times: the length of a tick is a parameter, and later columns may be missing");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(cpu_times_parse(bad[i], 100, &t) == -EBADMSG, "cpu times: '%s' is refused",
		   bad[i]);
	ok(cpu_times_parse("cpu 1 2 3 4 5 6 7 8", 0, &t) == -EBADMSG,
	   "cpu times: without a tick rate nothing can be said");
}

static void test_between(void)
{
	struct cpu_times a = { 10, 20, 30 }, b = { 15, 19, 37 }, d = cpu_times_between(&a, &b);

	ok(d.busy_ns == 5 && d.idle_ns == 0 && d.steal_ns == 7,
	   "cpu times: a sum that shrinks has grown by nothing");
}

static void test_read(void)
{
	struct cpu_times t;

	ok(cpu_times_read("/proc/stat", &t) == 0 && t.busy_ns > 0, "cpu times: /proc/stat is read");
	ok(cpu_times_read("/proc/no-such-file", &t) == -ENOENT, "cpu times: no file is an error");
}

static void burn(uint64_t ns)
{
	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < ns)
		;
}

static void test_process(void)
{
	uint64_t before, after, ns = 0;
	siginfo_t info;
	pid_t pid = fork();

	must(pid >= 0);
	if (pid == 0) {
		burn(30 * NS_PER_MS);
		_exit(0);
	}
	must(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	ok(cpu_time_of_process(pid, &ns) == 0 && ns >= 30 * NS_PER_MS,
	   "process: the CPU time of a zombie is known, %" PRIu64 " ns", ns);
	must(waitpid(pid, NULL, 0) == pid);
	ok(cpu_time_of_process(pid, &ns) == -ESRCH, "process: one that is gone is -ESRCH");
	before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	must(cpu_time_of_process(getpid(), &ns) == 0);
	after = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	ok(ns >= before && ns <= after, "process: the time is that of its CPU clock");
}

static void *burn_thread(void *tid)
{
	uint64_t until = 30 * NS_PER_MS;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
	__atomic_store_n((pid_t *)tid, gettid(), __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static void test_thread(void)
{
	uint64_t ns = 0, all;
	pid_t tid = 0;
	pthread_t t;

	must(pthread_create(&t, NULL, burn_thread, &tid) == 0);
	while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE) == 0)
		(void)usleep(1000);
	if (access("/proc/self/schedstat", R_OK) != 0) {
		tap_skip("needs a kernel with schedstat");
		return;
	}
	must(cpu_time_of_process(getpid(), &all) == 0);
	ok(cpu_time_of_thread(tid, &ns) == 0 && ns >= 20 * NS_PER_MS && ns < all,
	   "thread: its own CPU time is known, %" PRIu64 " ns", ns);
	ok(cpu_time_of_thread(INT32_MAX, &ns) == -ESRCH, "thread: one that is gone is -ESRCH");
}

static void test_cgroup(void)
{
	uint64_t ns;

	ok(cpu_time_parse_cgroup("usage_usec 2500\nuser_usec 1\nsystem_usec 2\n", &ns) == 0 &&
		   ns == 2500000,
	   "cgroup: the CPU time is that of cpu.stat, in nanoseconds");
	ok(cpu_time_parse_cgroup("", &ns) == -EBADMSG &&
		   cpu_time_parse_cgroup("user_usec 1\n", &ns) == -EBADMSG &&
		   cpu_time_parse_cgroup("usage_usec 18446744073709551615\n", &ns) == -EBADMSG,
	   "cgroup: another text is refused");
	ok(cpu_time_of_cgroup(-1, &ns) == -EBADF, "cgroup: no directory is an error");
}

int main(void)
{
	test_parse();
	test_between();
	test_read();
	test_process();
	test_thread();
	test_cgroup();
	return tap_done();
}
