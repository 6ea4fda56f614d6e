/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cycles N: two sessions in one process, one of the machine on the CPU, one of a process off the CPU, started and
 * stopped N times, each by a thread of its own while a third one reads metrics and progress. Nothing may be left
 * behind once they are freed: descriptors (BPF maps and programs are descriptors), threads, memory. Before that, a
 * session keeps the files that its last capture saw, whose number depends on what the machine does.
 */
#include <dirent.h>
#include <malloc.h>
#include <perfagent/perfagent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "lib_target.h"

#define WARM_UP 2                     /* cycles: caches of libc stay */
#define GROWTH_MAX_BYTES (256u << 10) /* a summary alone has half of that */
#define SAMPLING_US 30000

static pid_t target;
static atomic_bool is_over;

struct user {
	struct pa_options options;
	struct pa_session *session;
	unsigned int nr_failed;
	uint64_t nr_seen; /* samples and intervals of all cycles */
	char text[PA_ERROR_TEXT_MAX];
};

static ssize_t drop(void *ctx, const void *bytes, size_t n)
{
	*(atomic_ulong *)ctx += n;
	return (ssize_t)n;
}

static void *use_session(void *arg)
{
	struct user *u = arg;
	struct pa_error err = { 0 };
	const struct pa_summary *sum;

	if (pa_session_start(u->session, &err) == 0) {
		usleep(SAMPLING_US);
		(void)pa_session_stop(u->session, &err);
	}
	sum = pa_session_summary(u->session);
	if (sum && err.code == 0)
		u->nr_seen += PA_ITEM(sum, pa_section, sum->sections, 0)->due;
	else if (u->nr_failed++ == 0)
		memcpy(u->text, err.text, sizeof(u->text));
	return NULL;
}

/* From another thread, all the time. */
static void *watch(void *arg)
{
	struct user *users = arg;

	while (!atomic_load(&is_over)) {
		for (int i = 0; i < 2; i++) {
			struct pa_progress p = { .sz = sizeof(p) };
			struct pa_metrics *m = NULL;

			pa_session_progress(users[i].session, &p);
			if (pa_session_metrics(users[i].session, &m, NULL) == 0)
				pa_metrics_free(m);
		}
		usleep(5000);
	}
	return NULL;
}

static unsigned int nr_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int nr = 0;

	must(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

/* What is allocated: the arenas of threads keep memory that was freed. */
static size_t nr_bytes_used(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void one_cycle(struct user users[2])
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		must(pthread_create(&threads[i], NULL, use_session, &users[i]) == 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void new_sessions(struct user users[2], struct pa_output *output)
{
	users[0].options = (struct pa_options){
		.sz = sizeof(struct pa_options), .all = true, .outputs = output, .nr_outputs = 1
	};
	users[1].options = (struct pa_options){ .sz = sizeof(struct pa_options),
						.pids = &target,
						.nr_pids = 1,
						.modes = PA_MODE_OFFCPU,
						.outputs = output,
						.nr_outputs = 1 };
	for (int i = 0; i < 2; i++) {
		struct pa_error err = { 0 };

		if (pa_session_new(&users[i].options, &users[i].session, &err) < 0)
			printf("# %s\n", err.text);
		must(users[i].session);
	}
}

/* Two sessions, from their creation to their end. */
static void use_sessions(struct user users[2], struct pa_output *output, int nr_cycles)
{
	pthread_t watcher;

	new_sessions(users, output);
	atomic_store(&is_over, false);
	must(pthread_create(&watcher, NULL, watch, users) == 0);
	for (int i = 0; i < nr_cycles; i++)
		one_cycle(users);
	atomic_store(&is_over, true);
	pthread_join(watcher, NULL);
	for (int i = 0; i < 2; i++)
		pa_session_free(users[i].session);
}

int main(int argc, char *argv[])
{
	int nr = argc > 1 ? atoi(argv[1]) : 10;
	atomic_ulong nr_bytes = 0;
	struct pa_output output = {
		.sz = sizeof(output), .format = "pprof", .write = drop, .write_ctx = &nr_bytes
	};
	struct user users[2] = { 0 };
	unsigned int nr_fds, nr_tasks;
	size_t nr_used;

	if (geteuid() != 0) {
		tap_skip("needs root to load BPF programs");
		return tap_done();
	}
	target = lib_target_start();
	use_sessions(users, &output, WARM_UP);
	nr_fds = nr_entries("/proc/self/fd");
	nr_tasks = nr_entries("/proc/self/task");
	nr_used = nr_bytes_used();
	use_sessions(users, &output, nr);
	ok(users[0].nr_failed == 0 && users[1].nr_failed == 0,
	   "two sessions were started and stopped %d times each: %s%s", nr + WARM_UP, users[0].text,
	   users[1].text);
	ok(users[0].nr_seen > 0 && users[1].nr_seen > 0 && nr_bytes > 0,
	   "both saw something: %llu ticks, %llu intervals, %lu bytes",
	   (unsigned long long)users[0].nr_seen, (unsigned long long)users[1].nr_seen, nr_bytes);
	ok(nr_entries("/proc/self/fd") == nr_fds, "no descriptor is left: %u before, %u after",
	   nr_fds, nr_entries("/proc/self/fd"));
	ok(nr_entries("/proc/self/task") == nr_tasks, "no thread is left: %u before, %u after",
	   nr_tasks, nr_entries("/proc/self/task"));
	printf("# memory: %zu bytes before, %zu after\n", nr_used, nr_bytes_used());
	/* a sanitizer's allocator reports nothing here, and leaks by itself */
	ok(nr_bytes_used() < nr_used + GROWTH_MAX_BYTES,
	   "no memory is left: %zu bytes before, %zu after", nr_used, nr_bytes_used());
	lib_target_end(target);
	return tap_done();
}
