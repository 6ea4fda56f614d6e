/* SPDX-License-Identifier: Apache-2.0 */
/* The resources that this process has used so far. */
#ifndef AGENT_OWN_USAGE_H
#define AGENT_OWN_USAGE_H

#include <stdint.h>

/* CPU time, user and system. */
uint64_t own_cpu_ns(void);

/* Peak resident memory; 0 if /proc does not show it. */
uint64_t own_peak_rss_bytes(void);

#endif
