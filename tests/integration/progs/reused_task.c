// SPDX-License-Identifier: Apache-2.0
/*
 * reused_task: counts the time of the threads of a child. One of them ends as if its last context switch
 * had not been reported: the map of threads has its entry again. Then so many threads are created
 * that one of them gets the address of its task. Prints whether the address was used again, how often
 * the thread is listed (once with its end, and once without) and how many events it has missed.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/session.h"
#include "bpf/thread_time.h"
#include "collect/programs.h"

#define NR_AT_ONCE 500
#define WAIT_US 500000
#define MAX_TIMES 40

static int commands[2], answers[2]; /* pipes */
static pthread_t threads[NR_AT_ONCE];
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *wait_at_gate(void *tid)
{
	if (tid)
		*(pid_t *)tid = (pid_t)syscall(SYS_gettid);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return NULL;
}

static void pass(int fd, const void *bytes, size_t size)
{
	if (write(fd, bytes, size) != (ssize_t)size)
		_exit(2);
}

/* Each command is the number of threads to create, or 0 to end them. */
static void serve(void)
{
	unsigned int nr, created = 0;
	pid_t tid = 0;

	while (read(commands[0], &nr, sizeof(nr)) == sizeof(nr)) {
		if (nr)
			pthread_mutex_lock(&gate);
		else
			pthread_mutex_unlock(&gate);
		for (; created < nr; created++)
			if (pthread_create(&threads[created], NULL, wait_at_gate,
					   nr == 1 ? &tid : NULL))
				break;
		for (; !nr && created; created--)
			pthread_join(threads[created - 1], NULL);
		while (nr == 1 && !*(volatile pid_t *)&tid)
			usleep(1000);
		pass(answers[1], &tid, sizeof(tid));
	}
	_exit(0);
}

static pid_t command(unsigned int nr)
{
	pid_t tid = 0;

	pass(commands[1], &nr, sizeof(nr));
	if (read(answers[0], &tid, sizeof(tid)) != sizeof(tid))
		exit(2);
	return tid;
}

/* Returns the address of the task; 0: it has no entry. */
static uint64_t find_task(int map, pid_t tid, struct pa_thread_time *ret_time)
{
	uint64_t key = 0;

	for (bool is_first = true; !bpf_map_get_next_key(map, is_first ? NULL : &key, &key);
	     is_first = false)
		if (!bpf_map_lookup_elem(map, &key, ret_time) && ret_time->tid == (__u32)tid)
			return key;
	return 0;
}

static bool is_reused(int map, uint64_t key, pid_t tid)
{
	struct pa_thread_time t;

	return bpf_map_lookup_elem(map, &key, &t) || t.tid != (__u32)tid;
}

static bool run_threads(int map, pid_t *ret_tid)
{
	struct pa_thread_time t = { 0 };
	bool reused = false;
	uint64_t key;

	*ret_tid = command(1);
	usleep(WAIT_US); /* it exists for longer than all others */
	key = find_task(map, *ret_tid, &t);
	(void)command(0);
	while (find_task(map, *ret_tid, &(struct pa_thread_time){ 0 }))
		usleep(1000);
	/* it has been woken up to run for the last time */
	t.ns[PA_TIME_BLOCKED] += WAIT_US * 1000;
	t.since_ns += WAIT_US * 1000;
	t.state = PA_TIME_ON_CPU;
	if (!key || bpf_map_update_elem(map, &key, &t, BPF_NOEXIST))
		exit(2);
	for (unsigned int i = 0; i < MAX_TIMES && !reused; i++) {
		(void)command(NR_AT_ONCE);
		reused = is_reused(map, key, *ret_tid);
		(void)command(0);
	}
	return reused;
}

static void show(const struct pa_summary *s, pid_t tid, bool reused)
{
	unsigned int nr = 0;
	uint64_t missed = 0;

	for (size_t i = 1; i < s->nr_threads; i++) {
		const struct pa_thread_stat *t = PA_ITEM(s, pa_thread_stat, s->threads, i);

		nr += t->tid == tid;
		missed += t->tid == tid ? t->nr_missed : 0;
	}
	printf("%d %u %llu\n", reused, nr, (unsigned long long)missed);
}

int main(void)
{
	struct pa_options o = { .sz = sizeof(o), .modes = PA_MODE_PMU, .nr_pids = 1 };
	struct pa_session *s = NULL;
	struct pa_error err = { 0 };
	cpu_set_t one;
	bool reused = false;
	pid_t pid, tid = 0;
	int r;

	/* on one CPU, whose free tasks are used again */
	CPU_ZERO(&one);
	CPU_SET((unsigned int)sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) || pipe(commands) || pipe(answers))
		return 2;
	pid = fork();
	if (pid == 0)
		serve();
	o.pids = &pid;
	r = pid < 0 ? -errno : pa_session_new(&o, &s, &err);
	if (r == 0)
		r = pa_session_start(s, &err);
	if (r == 0) {
		reused = run_threads(programs_map_fd(s->programs, "thread_times"), &tid);
		r = pa_session_stop(s, &err);
	}
	if (r < 0)
		fprintf(stderr, "reused_task: %s\n", err.text);
	else
		show(pa_session_summary(s), tid, reused);
	pa_session_free(s);
	close(commands[1]);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return r == 0 ? 0 : 1;
}
