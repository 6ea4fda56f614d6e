/* SPDX-License-Identifier: Apache-2.0 */
/* How long this process has run, or was ready to run; for the rest of the elapsed time it was
 * asleep. */
#ifndef PROC_RUN_CLOCK_H
#define PROC_RUN_CLOCK_H

#include <stdint.h>

/* sched_fd: /proc/self/schedstat, for the time spent waiting for a CPU; -1: that is not counted.
 * Neither allocates nor locks. */
uint64_t run_clock_ns(int sched_fd);

#endif
