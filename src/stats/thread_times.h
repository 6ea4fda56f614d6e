/* SPDX-License-Identifier: Apache-2.0 */
/* The time that threads spent in each state, as plain numbers. */
#ifndef STATS_THREAD_TIMES_H
#define STATS_THREAD_TIMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/thread_time.h"

/* One thread, or all threads together. */
struct thread_time {
	pid_t pid, tid; /* 0: all threads */
	/* from its begin or that of the capture, to its end or that of the capture */
	uint64_t elapsed_ns;
	uint64_t ns[PA_NR_TIME_STATES];
	uint64_t nr_missed; /* missing events */
};

struct thread_times {
	struct thread_time total;
	struct thread_time *list; /* owned; longest elapsed time first */
	uint32_t nr_listed, cap;
	uint64_t nr_threads;        /* number of all threads */
	uint64_t nr_events_no_room; /* events of threads for which the kernel had no room */
	uint64_t nr_waiting;        /* threads that waited for a CPU when the capture ended */
};

void thread_times_done(struct thread_times *t);

/* A thread that outlives the capture: its state lasts until the end. */
struct thread_time thread_time_until(const struct pa_thread_time *t, uint64_t end_ns);
/* A thread that has ended. */
struct thread_time thread_time_of_ended(const struct pa_thread_time *t);

/* Time that is in none of the three states. */
uint64_t thread_time_unaccounted(const struct thread_time *t);

/* Adds a thread to the list. Beyond the limit it is ignored. */
int thread_times_list(struct thread_times *to, const struct thread_time *t);
/* Adds a thread to the sum. */
void thread_times_add(struct thread_times *to, const struct thread_time *t);
void thread_times_add_ended(struct thread_times *to, const struct pa_time_stats *st);

/* Sorts the list. */
void thread_times_sort(struct thread_times *t);

/* The sum of all threads except the first nr of the list. */
struct thread_time thread_times_others(const struct thread_times *t, uint32_t nr);

#endif
