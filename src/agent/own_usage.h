/* SPDX-License-Identifier: Apache-2.0 */
/* The resources that this process has used so far. */
#ifndef AGENT_OWN_USAGE_H
#define AGENT_OWN_USAGE_H

#include <stdint.h>

/* CPU time, user and system. */
uint64_t own_cpu_ns(void);

/* Resident memory, now and at most; 0 if /proc does not show it. */
uint64_t own_rss_bytes(void);
uint64_t own_peak_rss_bytes(void);

/* How often its threads went to sleep and were woken up again. */
uint64_t own_wakeups(void);

#endif
