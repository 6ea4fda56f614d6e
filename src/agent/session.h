/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session: the only place that joins the modules. pa_session_new() checks and prepares,
 * pa_session_start() attaches, then the session's own thread runs the pipeline until the capture
 * ends, resolves symbols and writes.
 */
#ifndef AGENT_SESSION_H
#define AGENT_SESSION_H

#include <perfagent/perfagent.h>
#include <pthread.h>
#include <stdatomic.h>

#include "agent/cpu_account.h"
#include "agent/python_targets.h"
#include "agent/settings.h"
#include "base/log.h"
#include "capture/pipe.h"
#include "collect/cpus.h"
#include "collect/program_times.h"
#include "collect/programs.h"
#include "collect/sched_collector.h"
#include "collect/sideband.h"
#include "collect/thread_clock.h"
#include "collect/trigger.h"
#include "model/model.h"
#include "perfdata/perf_data.h"
#include "stacks/stack_budget.h"
#include "world/world.h"
#include "write/writer.h"

#define SESSION_TARGET_TEXT_SIZE 256
#define SESSION_MAX_TRIGGERS PIPE_MAX_ORIGINS

struct output {
	const char *format, *suffix; /* static strings */
	/* format of a profile; NULL: a stream, or scheduler statistics */
	const struct writer *writer;
	struct perf_data *stream; /* owned; written while samples come; NULL: not a stream */
	uint32_t origin;          /* index of the trigger whose profile is written */
	bool has_all;             /* one file has the profiles of all triggers */
	struct outfile *file;     /* owned */
};

/* The destination of a trigger's samples. Changes under world_lock(). */
struct session_model {
	struct model *now;          /* owned */
	uint64_t began_ns;          /* 0: when the session began */
	struct model_account taken; /* of models taken out before */
};

struct summary; /* agent/summary.h */

/* What the caller's function gets. It is part of the session, so that one that keeps the pointer gets errors. */
struct pa_labels {
	atomic_int tid; /* of the thread that calls the function; 0: it is not being called */
	struct process_labels_draft *draft; /* borrowed during that call */
};

struct pa_session {
	struct settings settings;
	struct log log;
	char *cache_dir;                            /* owned; NULL: none */
	int cgroup_fd;                              /* owned; the selected cgroup; -1: none */
	bool has_cgroup_ids;                        /* see session_config */
	char target_text[SESSION_TARGET_TEXT_SIZE]; /* see pa_summary.target */

	/* Used by the caller of new, start and free until the thread runs, and by the thread from
	 * then on. */
	struct world *world;
	struct pipe *pipe;
	struct session_model *models; /* owned; by origin: one per trigger */
	struct process_labels
		*process_labels; /* owned; of all models; NULL: no pa_options.enrich */
	struct pa_labels labels;
	bool has_enricher_failed;
	const struct trigger *wanted_triggers[SESSION_MAX_TRIGGERS]; /* borrowed; of each capture */
	uint32_t nr_wanted_triggers;
	struct programs *programs;
	struct sideband *sideband;
	struct triggers *triggers;
	struct python_targets *python; /* owned; NULL: not asked for */
	struct sched_collector *sched; /* owned; NULL: no scheduler statistics, or not attached */
	struct sched_report sched_report; /* valid after the end */
	struct thread_clock thread_clock;
	struct thread_times thread_times; /* valid after the end */
	struct output *outputs;           /* owned */
	uint32_t nr_outputs;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	/* When the triggers were on and off: later, because the agent may have to wait for a CPU. */
	uint64_t enabled_ns, disabled_ns;
	uint64_t start_real_ns;
	/* CPU time and memory of the agent at those times */
	uint64_t start_cpu_ns, end_cpu_ns, end_rss_bytes;
	uint64_t start_wakeups, end_wakeups;
	int program_times_fd; /* owned; as long as the kernel measures run times; -1: it does not */
	const char *no_program_times;       /* static; see pa_summary */
	struct program_times program_times; /* valid after the end */
	bool targets_exited;
	const char *end_reason;  /* static; set by the thread when sampling is over */
	atomic_int signals[2];   /* by enum pa_signal_role; 0: none */
	struct cpus chosen_cpus; /* on which samples are taken, as far as they are online */
	struct cpu_account cpu;
	struct stack_budget stack_budget;

	pthread_t thread;
	atomic_int own_tid; /* of the thread while it runs: callbacks are called on it; 0: none */
	bool has_thread;    /* under lock, once it runs */
	/* The caller has the result of the last capture: another one may begin. */
	atomic_bool is_result_known;
	int wake_fd; /* the thread sleeps on it; owned */
	int done_fd; /* readable when all outputs are written; owned */
	atomic_bool stop, hurry, cancel;
	atomic_bool is_interrupted; /* the user has asked to stop sampling */
	atomic_bool is_drained;     /* all records were read; the session now waits for symbols */
	atomic_bool is_starting;    /* pa_session_start() is running, possibly on another thread */
	atomic_int phase;

	/* Set by the thread before done_fd becomes readable, read afterwards. */
	int result;
	struct pa_error error;
	struct summary *summary; /* owned */

	pthread_mutex_t lock; /* protects progress, has_thread and metrics */
	struct pa_progress progress;
	uint64_t exported_ns
		[SETTINGS_MAX_EXPORTERS]; /* CLOCK_MONOTONIC; when each got metrics last */
	struct pa_metrics *metrics;       /* owned; as of a second ago at most; NULL: none yet */
};

/* Configuration in addition to the public options; a program that links all modules can have its
 * own triggers. */
struct session_config {
	/* borrowed during the call; the triggers must outlive the session */
	const struct trigger *const *triggers;
	uint32_t nr_triggers;
	bool cgroup_ids; /* samples have cgroup IDs; otherwise they are 0, at no cost */
};
int session_new(const struct session_config *cfg, const struct pa_options *opts,
		struct pa_session **ret_session, struct pa_error *err);

/* Without samples nothing is unwound or symbolized, and no mapping is of interest. */
static inline bool session_takes_samples(const struct pa_session *s)
{
	return triggers_nr(s->triggers) > 0;
}

/* Whether the report shows how threads spent their time: on-CPU and off-CPU time together, or the
 * scheduler, are of interest. */
static inline bool session_times_threads(const struct pa_session *s)
{
	const unsigned int both = PA_MODE_PROFILE | PA_MODE_OFFCPU;
	unsigned int modes = s->settings.o.modes;

	return (modes & PA_MODE_PMU) || (modes & both) == both;
}

/* Those of the CPUs that samples are to be taken on. */
static inline void session_choose_cpus(const struct pa_session *s, const struct cpus *online,
				       struct cpus *ret_cpus)
{
	for (size_t i = 0; i < sizeof(online->bits) / sizeof(online->bits[0]); i++)
		ret_cpus->bits[i] = online->bits[i] & s->chosen_cpus.bits[i];
}

/* session.c: fails unless /proc is mounted and shows our own PID namespace. */
int session_check_proc(struct pa_error *err);

/* session.c: once per turn, sets how many bytes of stacks the kernel may copy until the next one.
 */
void session_refill_stack_budget(struct pa_session *s);

/* enrich.c: labels by pa_options.enrich, if it is given; before the models. */
int session_new_process_labels(struct pa_session *s);
/* Warns if labels of the caller would be seen nowhere; after session_open_outputs(). */
void session_check_label_use(const struct pa_session *s);

/* models.c */
int session_new_models(struct pa_session *s);
void session_free_models(struct pa_session *s);
/* Records in a profile when it began and how long it took. */
void session_date_model(const struct pa_session *s, uint32_t origin, uint64_t end_ns);
/*
 * Takes out the model of an origin, for the caller to name, write and free before the session is
 * freed or started again. From here on, samples go to a new model; each sample is in one of the two. The summary
 * includes its symbols if it is named before the session's own model. May be called by any thread
 * while the session samples; otherwise -EINVAL. -EOPNOTSUPP: the kernel sums up what this trigger
 * measures, and the sums cannot be divided.
 */
int session_take_model(struct pa_session *s, uint32_t origin, struct model **ret_model);
/* The sums over the current model and all that were taken out before. Under world_lock(). */
struct model_stats session_model_stats(const struct pa_session *s, uint32_t origin);

/* description.c: describes the targets in target_text, while they still have their names. */
void session_describe_targets(struct pa_session *s);
/* See pa_summary. */
const char *session_unwind_name(const struct pa_session *s);
const char *session_event_name(const struct pa_session *s);
/* The heading of the scheduler statistics, which says whose they are. Returns text. */
const char *session_pmu_heading(const struct pa_session *s, char *text, size_t size);
/* Adds comments to a profile: what was profiled, where, how, and why it ended. */
void session_describe_profile(const struct pa_session *s, uint32_t origin);

/* Comments on why sampling ended; a signal may be known only some time later. */
void session_describe_end(const struct pa_session *s, uint32_t origin);

/* "SIGINT"; NULL if no signal ended sampling. */
const char *session_end_signal(const struct pa_session *s);

/* outputs.c: opens every requested output, for each trigger's profile. */
int session_open_outputs(struct pa_session *s, struct pa_error *err);
/* Tries every output. Returns the first failure, with its message in s->error. */
int session_write_outputs(struct pa_session *s);
void session_free_outputs(struct pa_session *s);

/* loop.c: the thread's main function. */
void *session_thread(void *session);

/* metrics.c: makes the session's counts those of pa_session_metrics(), on the session's thread. */
void session_publish_metrics(struct pa_session *s);
/* Passes them to the exporters that are due; to all if is_last. */
void session_export_metrics(struct pa_session *s, bool is_last);

/* blocked_threads.c: passes the threads that waited before the capture began to the pipe, as
 * records. */
void session_add_blocked(struct pa_session *s);

/* loop.c: drains the rings and settles what is complete; everything if is_last. */
int session_turn(struct pa_session *s, bool is_last);

/* session.c: an event for all who want to know it; ctx is the session (see sideband_fn). */
int session_event(void *ctx, const struct process_event *e);

/* targets.c: adds the targets to the kernel side and reads their mappings. */
int session_add_targets(struct pa_session *s, struct pa_error *err);
/* Checks targets that had begun to exit when they were added: no event reports their end. */
void session_recheck_targets(struct pa_session *s);
/* True if the process that was to execute a command has ended, even if its children still run. */
bool session_command_has_exited(const struct pa_session *s);
/* True if it has, and its parent has not taken its exit status yet. */
bool session_command_is_zombie(const struct pa_session *s);
/* True if all former targets have finished exiting. */
bool session_targets_are_gone(struct pa_session *s);

#endif
