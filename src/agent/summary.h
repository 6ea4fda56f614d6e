/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture saw, as the public struct pa_summary. */
#ifndef AGENT_SUMMARY_H
#define AGENT_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "agent/cures.h"
#include "base/cleanup.h"

struct capture;
struct capture_stats;
struct pa_session;
struct pa_summary;
struct pa_tick_stats;
struct summary;

/* After naming and writing. Strings are borrowed from the session's model. */
int summary_new(const struct pa_session *s, struct summary **ret_summary);
struct summary *summary_free(struct summary *s);
DEFINE_CLEANUP(struct summary *, summary_free)
const struct pa_summary *summary_get(const struct summary *s);

/* The two parts of it that need no session: what the named model tells, … */
int summary_of_capture(const struct capture *c, struct summary **ret_summary);

/* … and where the ticks went: per_cpu has nr elements, c tells what became of the samples. */
void summary_add_ticks(struct summary *to, const struct pa_tick_stats *per_cpu, unsigned int nr,
		       uint64_t due, const struct capture_stats *c);

#define SUMMARY_NR_JIT 18

/* summary_jit.c: counts of what was read about code made at run time, SUMMARY_NR_JIT of them. */
struct pa_count;
void summary_count_jit(const struct capture *c, struct pa_count *to);

/* The path, or "[unknown]" for PROFILE_NONE and nr_mappings. */
struct profile;
const char *summary_mapping_path(const struct profile *p, uint32_t mapping);

/* summary_unnamed.c: what cost most names, each file once, at most max; how many, and how much in
 * all, goes to the summary. cure_texts: room for max of them. */
struct pa_summary;
struct pa_unnamed_stat;
int summary_list_unnamed(const struct capture *c, struct pa_unnamed_stat *to,
			 char (*cure_texts)[CURE_SIZE], size_t max, struct pa_summary *summary);

/* summary_cuts.c: likewise of truncated stacks, by reason and file. */
struct pa_cut_stat;
int summary_list_cuts(const struct capture *c, struct pa_cut_stat *to,
		      char (*cure_texts)[CURE_SIZE], size_t max, struct pa_summary *summary);

/* summary_limits.c: files that were not read to the end, at most max; how many goes to the summary. */
struct pa_limit_stat;
void summary_list_limits(const struct capture *c, struct pa_limit_stat *to, size_t max,
			 struct pa_summary *summary);

/* The process that a mapping of generated code belongs to; 0: another mapping. */
pid_t summary_mapping_pid(const struct capture *c, uint32_t mapping);

#endif
