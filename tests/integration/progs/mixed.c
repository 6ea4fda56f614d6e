// SPDX-License-Identifier: Apache-2.0
/*
 * mixed SECONDS: threads that spend their time in different ways, for that long: two that spin on one CPU,
 * two that pass a byte back and forth, one that sleeps for a millisecond at a time, three that fight for a
 * lock, one that yields, one that creates a thread after another, each gone at once, and one that waits
 * from before "ready" until the end. The rest begins when a line is read. Prints for each "NAME TID
 * ELAPSED_NS CPU_NS DELAY_NS NR_SLICES" by the thread's own clocks, and by what the scheduler says that it waited
 * for a CPU, and how often it got one; then "created NR".
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000

static atomic_bool is_over, is_waiting;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int there[2], back[2], never[2];
static unsigned int nr_created;

struct worker {
	const char *name;
	void (*work)(void);
	pthread_t thread;
	pid_t tid;
	uint64_t elapsed_ns, cpu_ns, delay_ns, nr_slices;
};

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* 0: this kernel does not say. */
static uint64_t read_delay(uint64_t *nr_slices)
{
	unsigned long long cpu_ns, delay_ns = 0, nr = 0;
	FILE *f = fopen("/proc/thread-self/schedstat", "re");

	if (f) {
		if (fscanf(f, "%llu %llu %llu", &cpu_ns, &delay_ns, &nr) != 3)
			delay_ns = 0;
		fclose(f);
	}
	*nr_slices = nr;
	return delay_ns;
}

/* Both at one time: read again if the thread was interrupted between them. */
static uint64_t read_clock_and_delay(uint64_t *delay_ns)
{
	uint64_t now, nr_slices;

	do {
		now = read_clock(CLOCK_MONOTONIC);
		*delay_ns = read_delay(&nr_slices);
	} while (read_clock(CLOCK_MONOTONIC) - now > NS_PER_MS);
	return now;
}

static void nap(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static void spin_for(uint64_t ns)
{
	uint64_t end = read_clock(CLOCK_MONOTONIC) + ns;

	while (read_clock(CLOCK_MONOTONIC) < end)
		;
}

static void spin_shared(void)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	(void)pthread_setaffinity_np(pthread_self(), sizeof(first), &first); /* shared or not */
	spin_for(NS_PER_MS);
}

static void send_byte(void)
{
	char c = 0;

	(void)!write(there[1], &c, 1);
	(void)!read(back[0], &c, 1);
}

static void return_byte(void)
{
	char c;

	(void)!read(there[0], &c, 1);
	(void)!write(back[1], &c, 1);
}

static void sleep_briefly(void)
{
	nap(NS_PER_MS);
}

static void fight(void)
{
	pthread_mutex_lock(&lock);
	spin_for(NS_PER_MS / 5);
	pthread_mutex_unlock(&lock);
	nap(NS_PER_MS / 10);
}

static void yield(void)
{
	sched_yield();
	nap(1);
}

static void *end_at_once(void *none)
{
	return none;
}

static void create(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, end_at_once, NULL) == 0) {
		pthread_join(t, NULL);
		nr_created++;
	}
	nap(NS_PER_MS);
}

static void *work_on(void *arg)
{
	struct worker *w = arg;
	uint64_t begin = read_clock(CLOCK_MONOTONIC);

	w->tid = gettid();
	while (!is_over)
		w->work();
	w->elapsed_ns = read_clock(CLOCK_MONOTONIC) - begin;
	w->cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
	w->delay_ns = read_delay(&w->nr_slices);
	return NULL;
}

static void *wait_always(void *arg)
{
	struct worker *w = arg;
	uint64_t delay, begin = read_clock_and_delay(&delay);
	char c;

	w->tid = gettid();
	atomic_store(&is_waiting, true); /* its time has begun */
	(void)!read(never[0], &c, 1);
	w->elapsed_ns = read_clock_and_delay(&w->delay_ns) - begin;
	w->cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
	w->delay_ns -= delay;
	return NULL;
}

static void print_worker(const struct worker *w)
{
	printf("%s %d %llu %llu %llu %llu\n", w->name, w->tid, (unsigned long long)w->elapsed_ns,
	       (unsigned long long)w->cpu_ns, (unsigned long long)w->delay_ns,
	       (unsigned long long)w->nr_slices);
}

int main(int argc, char **argv)
{
	struct worker waiting = { "waits" }, workers[] = {
		{ "spins", spin_shared },   { "spins", spin_shared },    { "sends", send_byte },
		{ "returns", return_byte }, { "sleeps", sleep_briefly }, { "fights", fight },
		{ "fights", fight },        { "fights", fight },         { "yields", yield },
		{ "creates", create },
	};
	const size_t nr = sizeof(workers) / sizeof(workers[0]);

	if (argc != 2 || pipe(there) || pipe(back) || pipe(never) ||
	    pthread_create(&waiting.thread, NULL, wait_always, &waiting))
		return 1;
	while (!atomic_load(&is_waiting))
		nap(NS_PER_MS);
	puts("ready");
	fflush(stdout);
	(void)getchar();
	for (size_t i = 0; i < nr; i++)
		if (pthread_create(&workers[i].thread, NULL, work_on, &workers[i]))
			return 1;
	usleep((useconds_t)(atof(argv[1]) * 1e6));
	is_over = true;
	/* for whoever waits for a byte */
	(void)!write(there[1], "", 1);
	(void)!write(back[1], "", 1);
	for (size_t i = 0; i < nr; i++)
		pthread_join(workers[i].thread, NULL);
	(void)!write(never[1], "", 1);
	pthread_join(waiting.thread, NULL);
	print_worker(&waiting);
	for (size_t i = 0; i < nr; i++)
		print_worker(&workers[i]);
	printf("created %u\n", nr_created);
	fflush(stdout);
	(void)getchar();
	return 0;
}
