/* SPDX-License-Identifier: Apache-2.0 */
/* One perf event on one CPU: opened, read, closed. Its attributes must request PERF_EVENT_FORMAT.
 * */
#ifndef COLLECT_PERF_EVENT_H
#define COLLECT_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define PERF_EVENT_FORMAT PERF_FORMAT_TOTAL_TIME_ENABLED

/* For every task on that CPU. A file descriptor, or a negative errno. */
int perf_event_open_on(const struct perf_event_attr *attr, unsigned int cpu);

/* fd may be -1, and is -1 afterwards. */
void perf_event_close(int *fd);

/* 0 if it cannot be read. */
uint64_t perf_event_count(int fd);

/*
 * An event whose CPU went offline is permanently dead, even when the CPU is back: its enabled time
 * stands still. *seen_ns is the caller's memory of it, 0 at first; call again after a good while,
 * not at once.
 */
bool perf_event_is_dead(int fd, uint64_t *seen_ns);

#endif
