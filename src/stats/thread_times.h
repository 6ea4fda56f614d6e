/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of threads went, as plain numbers. */
#ifndef STATS_THREAD_TIMES_H
#define STATS_THREAD_TIMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/thread_time.h"

/* Of one thread, or of all of them together. */
struct thread_time {
	pid_t pid, tid; /* 0: all threads */
	uint64_t
		elapsed_ns; /* from its begin, or that of the capture, to its end, or that of the capture */
	uint64_t ns[PA_NR_TIME_STATES];
	uint64_t nr_missed; /* events */
};

struct thread_times {
	struct thread_time total;
	struct thread_time *list; /* owned; longest elapsed time first */
	uint32_t nr_listed, cap;
	uint64_t nr_threads;        /* in total */
	uint64_t nr_events_no_room; /* events of threads for which the kernel had no room */
	uint64_t nr_waiting;        /* threads that waited for a CPU when the capture ended */
};

void thread_times_done(struct thread_times *t);

/* A thread that lived on when the capture ended: its state goes on until then. */
struct thread_time thread_time_until(const struct pa_thread_time *t, uint64_t end_ns);
/* … and one that has ended. */
struct thread_time thread_time_of_ended(const struct pa_thread_time *t);

/* What is in none of the three states. */
uint64_t thread_time_unaccounted(const struct thread_time *t);

/* Adds a thread to the list. Beyond the limit it is ignored. */
int thread_times_list(struct thread_times *to, const struct thread_time *t);
/* Adds to the sum. */
void thread_times_add(struct thread_times *to, const struct thread_time *t);
void thread_times_add_ended(struct thread_times *to, const struct pa_time_stats *st);

/* Puts the list into its order. */
void thread_times_sort(struct thread_times *t);

/* All threads but the first nr of the list, together. */
struct thread_time thread_times_others(const struct thread_times *t, uint32_t nr);

#endif
