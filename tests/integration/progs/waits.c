// SPDX-License-Identifier: Apache-2.0
/*
 * waits SECONDS DIR: waits in known ways for that long, each in a thread and a function of its own,
 * without frame pointers: wait_nanosleep, wait_renamed, wait_futex, wait_pipe, wait_epoll, wait_fsync (in a
 * file of DIR), wait_vfork. Prints for each "NAME TID ELAPSED_NS CPU_NS DELAY_NS NR WAITS": how long it took
 * by the thread's own clock, its CPU time and how long it waited for a CPU meanwhile by the scheduler's
 * account, how many calls there were, and how often it has given up its CPU to wait. The thread of
 * wait_renamed is called "even" and "odd" in turns. Two more threads wait from before the first line,
 * "ready", until the end: wait_long in a nanosleep(), and wait_forever in a pipe that nobody writes to. The
 * rest begins when a line is read.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ull
#define NAP_NS 5000000
#define MAX_READING_NS 200000
#define BLOCK_BYTES                                                                                \
	(1 << 20) /* takes a disk milliseconds, which the cost of a switch is small against */

static atomic_bool is_over;
static const char *dir;

struct waiter {
	const char *name;
	void (*wait)(struct waiter *w);
	pthread_t thread;
	int fds[2], asks[2];
	pthread_mutex_t lock;
	pthread_cond_t cond;
	pid_t tid;
	struct account {
		uint64_t elapsed_ns, cpu_ns, delay_ns, nr_waits;
	} account;
	uint64_t nr;
};

static void wait_fsync(struct waiter *w);

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Of the calling thread, until now: read again if it was interrupted between two of the numbers. */
static struct account read_account(void)
{
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	struct account now;
	struct rusage usage;
	char text[64];

	do {
		now.elapsed_ns = read_clock(CLOCK_MONOTONIC);
		now.cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
		getrusage(RUSAGE_THREAD, &usage);
		memset(text, 0, sizeof(text));
		(void)!pread(fd, text, sizeof(text) - 1, 0);
	} while (read_clock(CLOCK_MONOTONIC) - now.elapsed_ns > MAX_READING_NS);
	close(fd);
	now.nr_waits = (uint64_t)usage.ru_nvcsw;
	now.delay_ns = strchr(text, ' ') ? strtoull(strchr(text, ' '), NULL, 10) : 0;
	return now;
}

static inline __attribute__((always_inline)) void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
}

static void __attribute__((noinline)) wait_nanosleep(struct waiter *w)
{
	nap();
	atomic_signal_fence(memory_order_seq_cst);
}

static void __attribute__((noinline)) wait_renamed(struct waiter *w)
{
	prctl(PR_SET_NAME, w->nr & 1 ? "odd" : "even");
	nap();
	atomic_signal_fence(memory_order_seq_cst);
}

static void __attribute__((noinline)) wait_futex(struct waiter *w)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += NAP_NS;
	if (t.tv_nsec >= (long)NS_PER_S) {
		t.tv_sec++;
		t.tv_nsec -= (long)NS_PER_S;
	}
	pthread_mutex_lock(&w->lock);
	pthread_cond_timedwait(&w->cond, &w->lock, &t);
	pthread_mutex_unlock(&w->lock);
	atomic_signal_fence(memory_order_seq_cst);
}

/* Writes a byte a while after each that it reads. */
static void *answer(void *arg)
{
	struct waiter *w = arg;
	char c;

	while (read(w->asks[0], &c, 1) == 1) {
		nap();
		(void)!write(w->fds[1], &c, 1);
	}
	return NULL;
}

static void __attribute__((noinline)) wait_pipe(struct waiter *w)
{
	char c = 0;

	(void)!write(w->asks[1], &c, 1);
	(void)!read(w->fds[0], &c, 1);
	atomic_signal_fence(memory_order_seq_cst);
}

static void __attribute__((noinline)) wait_epoll(struct waiter *w)
{
	struct epoll_event e;

	epoll_wait(w->fds[0], &e, 1, NAP_NS / 1000000);
	atomic_signal_fence(memory_order_seq_cst);
}

/* Its CPU time is not in the function that waits. */
static void __attribute__((noinline)) write_block(struct waiter *w)
{
	static char block[BLOCK_BYTES];

	if (w->wait == wait_fsync)
		(void)!pwrite(w->fds[0], block, sizeof(block), 0);
}

static void __attribute__((noinline)) wait_fsync(struct waiter *w)
{
	fsync(w->fds[0]);
	atomic_signal_fence(memory_order_seq_cst);
}

/* In state D until the child has exited, which is nobody's to wait for again. */
static void __attribute__((noinline)) wait_vfork(struct waiter *w)
{
	if (vfork() == 0) {
		nap();
		_exit(0);
	}
	atomic_signal_fence(memory_order_seq_cst);
}

static void __attribute__((noinline)) wait_again(struct waiter *w)
{
	while (!is_over) {
		write_block(w);
		w->wait(w);
		w->nr++;
	}
}

/* Clocks are read outside of wait_again, whose time is compared with them. */
static void *keep_account(void *arg)
{
	struct waiter *w = arg;
	struct account before = read_account(), after;

	w->tid = gettid();
	wait_again(w);
	after = read_account();
	w->account = (struct account){ after.elapsed_ns - before.elapsed_ns,
				       after.cpu_ns - before.cpu_ns,
				       after.delay_ns - before.delay_ns,
				       after.nr_waits - before.nr_waits };
	return NULL;
}

static void *__attribute__((noinline)) wait_long(void *arg)
{
	const struct timespec t = { .tv_sec = 3600 };

	nanosleep(&t, NULL);
	return NULL;
}

static void *__attribute__((noinline)) wait_forever(void *arg)
{
	int fds[2];
	char c;

	if (pipe(fds) == 0)
		(void)!read(fds[0], &c, 1);
	return NULL;
}

static void prepare(struct waiter *w)
{
	pthread_condattr_t attr;
	char path[4096];

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->cond, &attr);
	if (w->wait == wait_pipe && pipe(w->fds) == 0 && pipe(w->asks) == 0)
		pthread_create(&w->thread, NULL, answer, w); /* is not joined */
	if (w->wait == wait_epoll)
		w->fds[0] = epoll_create1(0);
	if (w->wait == wait_fsync) {
		snprintf(path, sizeof(path), "%s/waits.%d", dir, (int)getpid());
		w->fds[0] = open(path, O_RDWR | O_CREAT, 0600);
		unlink(path);
	}
}

int main(int argc, char **argv)
{
	static struct waiter waiters[] = {
		{ "wait_nanosleep", wait_nanosleep }, { "wait_renamed", wait_renamed },
		{ "wait_futex", wait_futex },         { "wait_pipe", wait_pipe },
		{ "wait_epoll", wait_epoll },         { "wait_fsync", wait_fsync },
		{ "wait_vfork", wait_vfork },
	};
	const size_t nr = sizeof(waiters) / sizeof(waiters[0]);
	pthread_t other;

	if (argc != 3)
		return 2;
	dir = argv[2];
	signal(SIGCHLD, SIG_IGN);
	pthread_create(&other, NULL, wait_long, NULL);
	pthread_create(&other, NULL, wait_forever, NULL);
	usleep(100000);
	puts("ready");
	fflush(stdout);
	(void)getchar(); /* the agent is there now */
	for (size_t i = 0; i < nr; i++) {
		prepare(&waiters[i]);
		pthread_create(&waiters[i].thread, NULL, keep_account, &waiters[i]);
	}
	usleep((useconds_t)(atof(argv[1]) * 1e6));
	is_over = true;
	for (size_t i = 0; i < nr; i++) {
		const struct waiter *w = &waiters[i];

		pthread_join(w->thread, NULL);
		printf("%s %d %ju %ju %ju %ju %ju\n", w->name, w->tid,
		       (uintmax_t)w->account.elapsed_ns, (uintmax_t)w->account.cpu_ns,
		       (uintmax_t)w->account.delay_ns, (uintmax_t)w->nr,
		       (uintmax_t)w->account.nr_waits);
	}
	fflush(stdout);
	return 0;
}
