/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a capture as the public struct pa_summary. */
#ifndef AGENT_SUMMARY_H
#define AGENT_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include <perfagent/perfagent.h>

#include "base/cleanup.h"
#include "collect/trigger.h"
#include "model/model.h"
#include "names/advice.h"
#include "names/naming_stats.h"

struct model;
struct model_stats;
struct pipe_stats;
struct pa_session;
struct pa_summary;
struct summary;

/* Called after naming and writing. Strings are borrowed from the session's model. */
int summary_new(const struct pa_session *s, struct summary **ret_summary);
struct summary *summary_free(struct summary *s);
DEFINE_CLEANUP(struct summary *, summary_free)
const struct pa_summary *summary_get(const struct summary *s);

/* How kernel addresses alone got their names; for metrics. */
struct summary_kernel_names {
	const char *list; /* where they came from; "none"; NULL: no kernel address was seen yet */
	struct naming_kernel_counts counts;
	struct naming_latency latency;
};
const struct summary_kernel_names *summary_kernel_names(const struct summary *s);

/* What is known of processes while the session samples, and the symbols that it found; for metrics. */
struct summary_known {
	uint64_t nr_processes, nr_mappings;
	uint64_t named[NAMING_NR_SOURCES];
};
const struct summary_known *summary_known(const struct summary *s);

/* What can be told while the session samples, at little cost: counts, without lists of files and functions. */
int summary_live(const struct pa_session *s, struct summary **ret_summary);

/* The part that needs no session: from the named model, and the account of models that were taken
 * out before it (NULL: none). */
int summary_of_model(const struct model *model, const struct model_account *taken,
		     struct summary **ret_summary);

/* Sets the sizes of the structures in lists. */
void summary_add_item_sizes(struct pa_summary *to);

/* Adds what was dropped by the pipe and the world. */
struct pipe;
/* labels: NULL: none. */
struct process_labels;
struct process_labels_stats;
void summary_add_gaps(struct summary *to, const struct world *w, const struct pipe *p,
		      const struct process_labels *labels);

/* Adds what became of the events of each trigger. */
struct summary_source {
	const struct trigger *trigger;
	struct trigger_account account; /* of events in the kernel */
	const struct pipe_stats *pipe;  /* of records that left it */
	struct model_stats model;       /* of samples */
	const struct model *profile;    /* named; NULL: its stacks are unknown */
	bool is_live;                   /* records may be on their way */
};
int summary_add_sections(struct summary *to, const struct summary_source *sources, uint32_t nr);

/* Adds the digest of the profile, with lists of at most max_functions functions. */
struct profile;
int summary_add_digest(struct summary *to, const struct profile *p, uint32_t max_functions);

/* summary_quality.c: how the samples of a model were unwound and symbolized. Sets those members of
 * a section; the lists are stored in q, and their strings are borrowed from the model. */
#define SUMMARY_MAX_UNNAMED 10
#define SUMMARY_MAX_TRUNCATIONS 10
struct summary_quality {
	struct pa_count stops[PA_NR_STOPS];
	struct pa_truncation_stat truncations[SUMMARY_MAX_TRUNCATIONS];
	char truncation_advice[SUMMARY_MAX_TRUNCATIONS][ADVICE_SIZE];
	struct pa_unnamed_stat unnamed[SUMMARY_MAX_UNNAMED];
	char unnamed_advice[SUMMARY_MAX_UNNAMED][ADVICE_SIZE];
};
void summary_add_stops(struct summary_quality *q, const struct model_stats *stats,
		       struct pa_section *to);
int summary_quality_fill(struct summary_quality *q, const struct model *model,
			 const struct model_stats *stats, struct pa_section *to);

/* Copies these members of the first section to the summary itself. */
void summary_quality_of_first(struct pa_summary *to, const struct pa_section *first);

#define SUMMARY_NR_JIT 18
#define SUMMARY_NR_GAPS 13

/* summary_jit.c: fills SUMMARY_NR_JIT counts about perf maps and jitdumps. */
struct pa_count;
void summary_count_jit(const struct world *w, const struct model_account *all, struct pa_count *to);

/* The path of a mapping; "[unknown]" for PROFILE_NONE and nr_mappings. */
struct profile;
const char *summary_mapping_path(const struct profile *p, uint32_t mapping);

/* summary_digest.c: the lists of the profile's digest. Strings are borrowed from the profile. */
struct summary_digest {
	struct pa_command_stat *commands; /* owned, as are the others */
	struct pa_process_stat *processes;
	struct pa_function_stat *functions, *functions_by_total;
	struct pa_path_stat *paths;
};
int summary_digest_fill(struct summary_digest *d, const struct profile *p, uint32_t max_functions,
			struct pa_summary *to);
void summary_digest_done(struct summary_digest *d);

/* summary_pmu.c: lists all targets together, then each process; the caller frees the list. Names
 * are borrowed. */
struct pa_pmu_stat;
struct pa_sched_counts;
struct sched_report;
int summary_list_pmu(const struct sched_report *r, struct pa_pmu_stat **ret_list, size_t *ret_nr);

/* summary_pmu.c: fills SUMMARY_NR_PMU_GAPS counts of what could not be measured. */
#define SUMMARY_NR_PMU_GAPS 5
void summary_count_pmu_gaps(const struct pa_sched_counts *c, uint64_t nr_waiting,
			    struct pa_count *to);

/* summary_thread_times.c: lists all threads together, then each, at most SUMMARY_MAX_THREADS; none
 * if no time was counted. An additional last entry stands for all other threads. The caller frees
 * the list. */
#define SUMMARY_MAX_THREADS 256
struct pa_thread_stat;
struct thread_times;
int summary_list_threads(const struct thread_times *t, struct pa_thread_stat **ret_list,
			 size_t *ret_nr);

/* summary_gaps.c: fills SUMMARY_NR_GAPS counts of what was dropped. */
void summary_count_gaps(const struct world *w, const struct pipe *p,
			const struct process_labels_stats *labels, uint64_t nr_unsummed,
			struct pa_count *to);

/* summary_unnamed.c: lists the files with the most samples without a symbol, each file once, at
 * most max. The total of such files and their samples goes to the section. advice_texts: room for
 * max texts. */
int summary_list_unnamed(const struct model *model, struct pa_unnamed_stat *to,
			 char (*advice_texts)[ADVICE_SIZE], size_t max, struct pa_section *section);

/* summary_truncations.c: lists the truncated stacks in the same way, by reason and file. */
int summary_list_truncations(const struct model *model, struct pa_truncation_stat *to,
			     char (*advice_texts)[ADVICE_SIZE], size_t max,
			     struct pa_section *section);

/* What the user can do about such truncations; NULL if nothing is known to help. */
struct truncation;
const char *summary_truncation_advice(const struct model *model, const struct truncation *t);

/* The text for a stop reason, given as in the label "truncated"; NULL if this version has no such
 * reason. */
const char *summary_stop_text(const char *reason);

/* summary_unnamed.c: counts samples whose innermost function has no symbol, by mapping; the item
 * after the last mapping counts those outside of any mapping. The caller frees the array. */
int summary_count_unnamed(const struct profile *p, uint64_t **ret_counts);

/* summary_hints.c: lists at most SUMMARY_MAX_HINTS hints. texts: room for that many. switches_python:
 * pa_options.inject_python. */
#define SUMMARY_MAX_HINTS 16
#define SUMMARY_HINT_SIZE 384
struct pa_hint;
int summary_list_hints(const struct model *model, bool switches_python, struct pa_hint *to,
		       char (*texts)[SUMMARY_HINT_SIZE], size_t *ret_nr);

/* summary_waits.c: lists where threads waited, at most max places; the number of waits and their
 * total time go to the summary. texts: room for max of them. */
#define SUMMARY_WAIT_SIZE 512
struct pa_wait_stat;
int summary_list_waits(const struct model *model, struct pa_wait_stat *to,
		       char (*texts)[SUMMARY_WAIT_SIZE], size_t max, struct pa_summary *summary);
int summary_add_waits(struct summary *to, const struct model *model);

/* summary_limits.c: lists files that were not read completely, at most max; the summary has their
 * total number. */
struct pa_limit_stat;
void summary_list_limits(const struct model *model, struct pa_limit_stat *to, size_t max,
			 struct pa_summary *summary);

/* The process that a mapping of JIT code belongs to; 0 for other mappings. */
pid_t summary_mapping_pid(const struct model *model, uint32_t mapping);

#endif
