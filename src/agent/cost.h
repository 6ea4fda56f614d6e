/* SPDX-License-Identifier: Apache-2.0 */
/* What this process has cost so far. */
#ifndef AGENT_COST_H
#define AGENT_COST_H

#include <stdint.h>

/* CPU time, user and system. */
uint64_t cost_cpu_ns(void);

/* Memory at most; 0 where /proc does not tell. */
uint64_t cost_peak_rss_bytes(void);

#endif
