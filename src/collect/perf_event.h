/* SPDX-License-Identifier: Apache-2.0 */
/* One perf event on one CPU: opened, read, closed. Its attributes must request PERF_EVENT_FORMAT.
 * */
#ifndef COLLECT_PERF_EVENT_H
#define COLLECT_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define PERF_EVENT_FORMAT PERF_FORMAT_TOTAL_TIME_ENABLED

/* Opens an event for all tasks on that CPU. A file descriptor, or a negative errno. */
int perf_event_open_on(const struct perf_event_attr *attr, unsigned int cpu);

/* fd may be -1; it is -1 afterwards. */
void perf_event_close(int *fd);

/* The count; 0 if it cannot be read. */
uint64_t perf_event_count(int fd);

/*
 * An event whose CPU went offline stays dead when the CPU returns: its enabled time stands still.
 * *seen_ns stores that time for the next call, 0 at first; calls should be far apart.
 */
bool perf_event_is_dead(int fd, uint64_t *seen_ns);

#endif
