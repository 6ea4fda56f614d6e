/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libperfagent: profile processes on this machine and write what was seen.
 *
 * One session is one capture: create it from options, start it, stop it (or wait until it ends by
 * itself), read its summary, free it. The library prints nothing, installs no signal handler, has
 * no global state and never exits; several sessions may live in one process.
 *
 * Functions return 0 on success and a negative errno value on failure. Where a struct pa_error is
 * taken, it then holds one sentence that names the cause and the cure. It may be NULL.
 *
 * Sentences name an option by its member, "pa_options.pids 7: no such process"; a program that has
 * flags or settings of its own puts their names in its place.
 *
 * Structures that begin with `size_t sz` grow at their end: set sz to sizeof the structure, zero
 * the rest, and a library of another version understands it. Enumerators are never renumbered.
 */
#ifndef PERFAGENT_PERFAGENT_H
#define PERFAGENT_PERFAGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PA_API __attribute__((visibility("default")))

#define PA_ERROR_TEXT_MAX 512
#define PA_ERROR_FIELD_MAX 40

struct pa_error {
	int code;                       /* the errno value, positive; 0 when nothing failed */
	char text[PA_ERROR_TEXT_MAX];   /* one sentence without a newline */
	char field[PA_ERROR_FIELD_MAX]; /* the member of pa_options at fault: "pids"; "": none */
};

enum pa_log_level {
	PA_LOG_ERROR = 0,
	PA_LOG_WARN = 1,
	PA_LOG_INFO = 2,
	PA_LOG_DEBUG = 3,
};

/* Called from threads of the session's own, and in pa_session_new() and pa_session_start() from the
 * caller's. text has no newline and is valid during the call only. What libbpf prints meanwhile comes
 * here too, "libbpf: …": its warnings, with the verifier's log of a program that the kernel rejected, as
 * PA_LOG_INFO, the rest as PA_LOG_DEBUG. */
typedef void (*pa_log_fn)(void *ctx, enum pa_log_level level, const char *text);

enum pa_event {
	PA_EVENT_CPU_CLOCK = 0, /* a timer on every CPU; works everywhere */
	PA_EVENT_CYCLES = 1,    /* the hardware's cycle counter */
};

/* How stacks are walked. */
enum pa_unwind {
	PA_UNWIND_AUTO = 0,  /* by unwind tables, compiled as they are needed */
	PA_UNWIND_FP = 1,    /* by frame pointer alone */
	PA_UNWIND_DWARF = 2, /* by unwind tables, compiled before sampling starts */
};

/* A file that the profile is written to. */
struct pa_output {
	size_t sz;
	const char *format; /* "pprof", "folded" */
	/* "-": stdout. NULL: a name of its own in the current directory that never replaces a file. */
	const char *path;
};

struct pa_options {
	size_t sz;

	/* What to profile: either pids or the whole machine. PIDs are those of the caller's own
	 * PID namespace. */
	const pid_t *pids;
	size_t nr_pids;
	bool all;
	bool no_follow_children; /* leave out what the targets fork */
	bool start_on_exec;      /* a target counts from its next execve() on */

	enum pa_event event;
	unsigned int sample_rate_hz; /* 0: 99 */
	bool kernel_stacks;

	/* The capture ends by itself after this time; 0: only by pa_session_stop() or when the
	 * last target has exited. */
	uint64_t duration_ns;

	const struct pa_output *outputs; /* none: nothing is written */
	size_t nr_outputs;
	const char *auto_name; /* the first part of an automatic name; NULL: the target's own */

	const char *const *tags; /* "key=value", recorded in the profile */
	size_t nr_tags;

	/* Files that are written belong to this user. Only root may set them; -1 leaves as is. */
	bool set_owner;
	uid_t owner_uid;
	gid_t owner_gid;

	pa_log_fn log;
	void *log_ctx;

	/* For tests and for machines with unusual needs; 0 picks a fitting value. */
	size_t ring_bytes;              /* of the sample ring; rounded up to 2^n pages */
	unsigned int drain_interval_ms; /* how often the ring is emptied */

	enum pa_unwind unwind;
	size_t table_bytes; /* at most, of unwind tables; 0 picks a fitting value */

	/* Debug files of stripped binaries are asked for at these debuginfod servers (http://,
	 * https:// or file://); none: there is no network traffic at all, whatever the environment
	 * says. What was fetched is kept in a private folder. */
	const char *const *debuginfod_urls;
	size_t nr_debuginfod_urls;
	const char *symbol_cache_dir;     /* NULL: one of the user's own */
	uint64_t symbol_cache_max_bytes;  /* 0: 2 GiB */
	uint64_t symbol_fetch_timeout_ns; /* of each file; 0: 30 s */
	bool symbol_fail_closed;          /* what could not be fetched is left without names */
	/* Each fetch is a process of perf-agent of this version, at this path; NULL: where it is
	 * installed. The caller must not wait for children that are not its own. */
	const char *fetch_program;

	bool kallsyms_only; /* kernel code is named by /proc/kallsyms alone, without lines */
};

struct pa_session;

/* Checks the options and everything that can be known before anything is attached: privileges,
 * kernel features, targets, output paths. Nothing is sampled yet. */
PA_API int pa_session_new(const struct pa_options *opts, struct pa_session **ret_session,
			  struct pa_error *err);

/* Starts sampling; when it returns 0, every tick from now on is accounted for. -EALREADY when
 * already started. */
PA_API int pa_session_start(struct pa_session *s, struct pa_error *err);

/* Becomes readable (poll it, never read it) once the capture has ended and everything is written. */
PA_API int pa_session_event_fd(const struct pa_session *s);

/* Asks the capture to end and returns at once. Safe from any thread, also while another one is in
 * pa_session_start(). -EINVAL before start. */
PA_API int pa_session_request_stop(struct pa_session *s);

/* What a first Ctrl-C means: the capture ends as by pa_session_request_stop(); where that has ended
 * already, debug files are not waited for any more, what takes longer than a second to read is given
 * up, and all is written with the names that are here. While pa_session_start() is at work on another
 * thread, it ends soon, and the capture with it.
 * Any thread. -EINVAL before start. */
PA_API int pa_session_hurry(struct pa_session *s);

/* Gives up on naming and writing as well; what is not yet complete is removed. Any thread. */
PA_API int pa_session_cancel(struct pa_session *s);

/* Ends the capture, names, writes, and waits for that. The result is that of the whole capture. */
PA_API int pa_session_stop(struct pa_session *s, struct pa_error *err);

/* Accepts NULL. Cancels a capture that still runs. */
PA_API void pa_session_free(struct pa_session *s);

enum pa_phase {
	PA_PHASE_NEW = 0,
	PA_PHASE_SAMPLING = 1,
	PA_PHASE_NAMING = 2,
	PA_PHASE_WRITING = 3,
	PA_PHASE_DONE = 4,
};

/* What a progress line shows; cheap, at any time, from any thread. */
struct pa_progress {
	size_t sz;
	enum pa_phase phase;
	uint64_t elapsed_ns;  /* since sampling began; stops with it */
	uint64_t duration_ns; /* as asked for; 0: open end */
	uint64_t nr_samples;  /* in the profile so far */
	uint64_t nr_stacks;   /* different ones among them */
	uint64_t nr_lost;
	uint64_t agent_cpu_ns;      /* the whole process, user and system */
	uint64_t nr_fetches_wanted; /* debug files from servers, while naming */
	uint64_t nr_fetches_done;
	uint64_t fetched_bytes;
};
PA_API void pa_session_progress(const struct pa_session *s, struct pa_progress *ret_progress);

struct pa_count {
	const char *name; /* machine-readable: lower case, underscores */
	const char *text; /* for people */
	uint64_t count;
};

/* Stacks that do not reach their outermost frame. */
struct pa_cut_stat {
	const char *reason; /* as in pa_summary.stops and the label "truncated" */
	const char *text;   /* for people */
	const char *file;   /* of the code that the walk could not leave */
	uint64_t nr_samples;
	const char *cure; /* NULL: none is known */
};

struct pa_function_stat {
	const char *name;
	const char *file;  /* of the code: path of the mapped binary, "[kernel]", "[jit]" */
	uint64_t nr_self;  /* samples in which it ran itself */
	uint64_t nr_total; /* samples in which it was somewhere on the stack */
};

struct pa_unnamed_stat {
	const char *file;
	uint64_t nr_samples; /* samples whose running function has no name */
	const char *why;
	const char *cure;
};

/* A file that was not read to the end because that would cost too much. */
struct pa_limit_stat {
	const char *file;
	const char *what; /* machine-readable: "unwind_table", "names" */
	const char *text; /* for people */
};

/* What a debuginfod server said to requests that failed. */
struct pa_fetch_failure {
	const char *server; /* host and port */
	const char *reason; /* machine-readable: "timeout", "tls", … */
	const char *text;   /* for people */
	uint64_t count;     /* of files */
};

struct pa_output_stat {
	const char *kind; /* "pprof", "folded" */
	const char *path; /* as really used */
	uint64_t size_bytes;
};

/*
 * What became of the events of one kind. Each ends in exactly one place:
 *   due = the sum of counts[] + samples + lost
 * So far there is one kind, "on-cpu": ticks on every CPU, of which counts[] has "idle", "other" (tasks
 * that are not targets) and "outside" (tasks that have no PID in the agent's namespace).
 */
struct pa_section {
	const char *name;              /* machine-readable: "on-cpu"; also in names of its files */
	const char *unit, *units;      /* what one of its events, and several, are called: "tick" */
	uint64_t due;                  /* by the kernel's own count, where it has one */
	const struct pa_count *counts; /* events that are none of the targets'; also those with 0 */
	size_t nr_counts;
	uint64_t samples;              /* in its profile */
	const struct pa_count *losses; /* every reason, also those with 0 */
	size_t nr_losses;
	uint64_t lost; /* their sum */
};

/* A file or a process that did not answer in time: its file system, or what holds its locks. */
struct pa_unanswered_stat {
	unsigned int pid; /* whose; 0: not known */
	const char *what; /* a path, or a file of /proc/<pid>; the end of it if it is long */
};

/*
 * Structures in the lists of a summary grow at their end as well. The summary has the size that each has
 * in the library, and PA_ITEM() finds item i of a list by it:
 *   PA_ITEM(summary, pa_count, summary->stops, i)->count
 */
#define PA_ITEM(summary, type, list, i)                                                            \
	((const struct type *)(const void *)((const char *)(list) +                                \
					     (size_t)(i) * (summary)->type##_sz))

/* What the capture saw, complete after the end. */
struct pa_summary {
	size_t sz;
	size_t pa_count_sz, pa_section_sz, pa_cut_stat_sz, pa_function_stat_sz, pa_unnamed_stat_sz;
	size_t pa_limit_stat_sz, pa_fetch_failure_sz, pa_unanswered_stat_sz, pa_output_stat_sz;
	const char *version;
	const char *event; /* "cpu-clock", "cycles" */
	uint64_t period;   /* ns (cpu-clock), or 0: every sample has its own */
	unsigned int sample_rate_hz;
	uint64_t start_time_ns; /* CLOCK_REALTIME */
	uint64_t duration_ns;
	uint64_t first_sample_ns; /* after the start; 0 also when there is none */
	unsigned int nr_cpus;     /* that were sampled */

	const struct pa_section *sections; /* one per kind of event that was sampled */
	size_t nr_sections;
	uint64_t samples;       /* in the profile of the first; all that follows is about that */
	uint64_t sideband_lost; /* records about processes and mappings */

	uint64_t nr_stacks;
	uint64_t nr_processes;        /* that have samples */
	uint64_t stacks_complete;     /* samples whose user stack reaches its outermost frame */
	const struct pa_count *stops; /* how walks ended, by reason; only those that occurred */
	size_t nr_stops;
	const struct pa_cut_stat *cuts; /* by reason and file, the most first; at most 10 */
	size_t nr_cuts;

	uint64_t nr_locations;
	uint64_t nr_locations_named;
	const char *kernel_symbols; /* the source used, or why there is none */

	const struct pa_function_stat *functions; /* by self, then total; at most 100 */
	size_t nr_functions;
	const struct pa_unnamed_stat *unnamed; /* most samples first; at most 10 */
	size_t nr_unnamed;
	const struct pa_output_stat *outputs;
	size_t nr_outputs;

	uint64_t agent_cpu_ns;
	uint64_t agent_peak_rss_bytes;
	bool targets_exited; /* the capture ended because the last target had */

	uint64_t walks_finished; /* that the kernel began and user space brought to the end */
	uint64_t nr_tables;      /* files whose unwind tables were compiled */
	uint64_t tables_peak_bytes;
	uint64_t tables_evicted; /* times that one was dropped to make room, to be made again */
	uint64_t tables_refused; /* tables, or processes' mappings, that found no room */
	uint64_t notices_lost;   /* wake-ups that found the ring full; each cost time only */

	const struct pa_count *jit; /* what was read about code made at run time, also zeroes */
	size_t nr_jit;

	/* Debug files; all 0 where no server is named, but for nr_debug_files. */
	const struct pa_count *fetches; /* requests by how they ended; only those that occurred */
	size_t nr_fetches;
	uint64_t fetched_bytes;       /* that came from servers */
	uint64_t nr_cache_evicted;    /* files removed from the cache to keep its size */
	uint64_t nr_debug_files;      /* binaries whose lines came from another file */
	uint64_t nr_debug_mismatches; /* debug files that were there, but of another build */
	uint64_t nr_unnamed_by_rule;  /* binaries without names because of symbol_fail_closed */
	const char *fetch_problem;    /* why nothing could be fetched; NULL: it could */
	/* Naming goes in batches: the addresses of one source of names each. */
	uint64_t naming_batches;
	uint64_t naming_addresses;              /* = those named + the sum of naming_failures[] */
	uint64_t naming_raw;                    /* shown as 0x… */
	uint64_t naming_fallbacks;              /* batches whose best source could not be used */
	const struct pa_count *naming_failures; /* addresses without a name; every reason */
	size_t nr_naming_failures;
	uint64_t naming_p50_ns; /* of the last 1,024 batches, each with opening its source */
	uint64_t naming_p99_ns;
	uint64_t naming_max_ns;

	const struct pa_fetch_failure *fetch_failures; /* by server and reason; at most 64 */
	size_t nr_fetch_failures;

	/* Of all functions, also those that are not in functions[]. */
	uint64_t functions_seen;
	uint64_t functions_self; /* the sum of their nr_self */

	/* Of agent_cpu_ns and agent_peak_rss_bytes: from the first tick to the last stack, without
	 * the start and without names. */
	uint64_t agent_sampling_cpu_ns;
	uint64_t agent_sampling_rss_bytes;

	uint64_t walks_again;       /* that user space made again, however they ended */
	uint64_t samples_in_kernel; /* of samples: the CPU was in kernel mode */

	/* Likewise of cuts[] and unnamed[]: how many there are, and the sum of their nr_samples. */
	uint64_t cuts_seen;
	uint64_t cuts_samples;
	uint64_t unnamed_seen;
	uint64_t unnamed_samples;

	/* Samples of kernel threads, and of tasks inside execve() or exit: neither complete nor
	 * truncated. */
	uint64_t no_user_stack;

	/* Files that were not read to the end: they keep what was read before. At most 100. */
	const struct pa_limit_stat *limits;
	size_t nr_limits;
	uint64_t limits_seen; /* how many there are */

	/* What did not answer, and was not asked again; at most 16 of unanswered_seen. */
	uint64_t unanswered_seen;
	const struct pa_unanswered_stat *unanswered;
	size_t nr_unanswered;

	/* What was dropped of processes and files, by reason; every reason, also those with 0. */
	const struct pa_count *gaps;
	size_t nr_gaps;
};

/* Borrowed until pa_session_free(). NULL before the end. */
PA_API const struct pa_summary *pa_session_summary(const struct pa_session *s);

enum pa_check_state {
	PA_CHECK_OK = 0,
	PA_CHECK_LIMITED = 1, /* works, with less */
	PA_CHECK_FAILED = 2,  /* a capture cannot work */
};

struct pa_check {
	enum pa_check_state state;
	const char *subject; /* "kernel BTF" */
	const char *finding; /* what was found */
	const char *fix;     /* what to do, or NULL */
};
typedef void (*pa_check_fn)(void *ctx, const struct pa_check *check);

/* Tries what this kernel, these privileges and (when opts names one) this target allow. Returns
 * the number of failed checks, or a negative errno. */
PA_API int pa_doctor(const struct pa_options *opts, pa_check_fn fn, void *ctx);

/*
 * A file of the caller's own, such as a report, by the rules of the session's outputs: a path or "-";
 * whole or not at all; nothing that another user put into a shared directory is followed or opened;
 * what stands in the way is an error before the capture, if it is opened before.
 */
struct pa_file;

struct pa_file_options {
	size_t sz;
	bool set_owner; /* as in pa_options */
	uid_t owner_uid;
	gid_t owner_gid;
	/* Asked in the middle of pa_file_save(), also while that waits for a reader: true ends it
	 * with -ECANCELED. NULL: it is never cancelled. */
	bool (*is_cancelled)(void *ctx);
	void *cancel_ctx;
};

/* opts may be NULL. A FIFO is waited for until it has a reader. */
PA_API int pa_file_open(const char *path, const struct pa_file_options *opts,
			struct pa_file **ret_file, struct pa_error *err);

/* Writes all there is, and gives the file its name. Once. */
PA_API int pa_file_save(struct pa_file *f, const void *bytes, size_t n, struct pa_error *err);

/* Accepts NULL. What was not saved is gone. */
PA_API void pa_file_free(struct pa_file *f);

/* The highest sample_rate_hz that the kernel accepts now, or a negative errno. */
PA_API long pa_max_sample_rate(void);

/* What is wrong with the URL of a debuginfod server, in a few words; NULL: debuginfod_urls may hold
 * it. Nobody is asked whether it exists. */
PA_API const char *pa_url_mistake(const char *url);

PA_API const char *pa_version(void);

#ifdef __cplusplus
}
#endif
#endif
