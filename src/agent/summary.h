/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture saw, as the public struct pa_summary. */
#ifndef AGENT_SUMMARY_H
#define AGENT_SUMMARY_H

#include <stdint.h>

struct pa_session;
struct pa_summary;
struct summary;

/* After naming and writing. Strings are borrowed from the session's model. */
int summary_new(const struct pa_session *s, struct summary **ret_summary);
struct summary *summary_free(struct summary *s);
const struct pa_summary *summary_get(const struct summary *s);

/* CPU time of this process so far, user and system. */
uint64_t summary_cpu_ns(void);

#endif
