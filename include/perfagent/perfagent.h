/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libperfagent: profiles processes on this machine and writes the result.
 *
 * One session is one capture: create it from options, start it, stop it (or wait until it ends by
 * itself), read its summary, free it. The library prints nothing, installs no signal handler and never
 * exits; several sessions may live in one process, and share no state. One exception: libbpf has one print
 * function for the whole process. It is replaced while a session starts, and put back; messages of other threads
 * reach the old one meanwhile.
 *
 * A capture needs root, or the capabilities that perf-agent itself needs: CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE,
 * CAP_CHECKPOINT_RESTORE, CAP_DAC_READ_SEARCH and CAP_SYSLOG, on some kernels more; pa_doctor() says which are
 * missing. Reading profiles needs none. docs/library.md shows how things go together, docs/install.md has the
 * capabilities.
 *
 * Functions return 0 on success and a negative errno value on failure. Where a struct pa_error is
 * taken, it then contains one sentence with the cause and the fix; it need not be initialized. It may be NULL.
 *
 * Sentences name an option by its member, "pa_options.pids 7: no such process"; a program that has
 * flags or settings of its own puts their names in its place.
 *
 * Threads. Some functions that take a session say "any thread". Call the others from one thread at a time.
 * Different sessions are independent of each other, and their callbacks may run at the same time.
 *
 * Callbacks run on the thread that is named with them. Of their own session they may call
 * pa_session_request_stop(), pa_session_hurry(), pa_session_cancel(), pa_session_note_signal(),
 * pa_session_progress() and pa_session_metrics(), and nothing else: on the session's thread pa_session_stop() and
 * pa_session_wait() are -EDEADLK, and pa_session_free() does nothing. No exception may leave a callback, nor
 * longjmp().
 *
 * Ownership. pa_session_new() copies everything that struct pa_options points to: strings, lists, outputs,
 * exporters. Functions, their ctx and the descriptor of an output are used until pa_session_free() returns, and
 * must stay valid until then.
 * What other functions get is used during the call only. A NULL pointer that a function needs is -EINVAL.
 *
 * Structures that begin with `size_t sz` grow at their end. In those that the caller fills in, set sz to sizeof
 * the structure and zero the rest, and a library of another version understands them: -EINVAL for an sz that is
 * not the size of one, -E2BIG for members that a newer library has and that are not zero. Other structures, such
 * as struct pa_error, never change, or grow by the rules of PA_ITEM(), below. Enumerators are never renumbered.
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

/* Called from the session's own threads, and in pa_session_new() and pa_session_start() from the
 * caller's. text has no newline and is valid during the call only. libbpf's messages come here too,
 * as "libbpf: …": its warnings, including the verifier's log of a rejected program, as PA_LOG_INFO,
 * the rest as PA_LOG_DEBUG. PA_LOG_DEBUG comes only with pa_options.log_debug. */
typedef void (*pa_log_fn)(void *ctx, enum pa_log_level level, const char *text);

enum pa_event {
	PA_EVENT_CPU_CLOCK = 0, /* a timer on every CPU; works everywhere */
	PA_EVENT_CYCLES = 1,    /* the hardware cycle counter */
};

/* How stacks are unwound. */
enum pa_unwind {
	PA_UNWIND_AUTO = 0,  /* by unwind tables, compiled on demand; for time off the CPU, first */
	PA_UNWIND_FP = 1,    /* by frame pointer only */
	PA_UNWIND_DWARF = 2, /* by unwind tables, compiled before sampling starts */
};

/* What a capture measures. Several may be added up. */
enum pa_mode {
	PA_MODE_PROFILE = 1, /* on-CPU profile with stacks */
	PA_MODE_OFFCPU = 2,  /* off-CPU profile: how long threads wait, and where */
	PA_MODE_PMU = 4,     /* scheduler statistics and hardware counters */
};

/* What a thread does while it is off the CPU; a bit each. */
enum pa_off_cpu_state {
	/* asleep or stopped by a signal or a tracer, until it is woken up */
	PA_OFF_CPU_SLEEP = 1,
	/* an uninterruptible sleep (state D of ps), until it is woken up */
	PA_OFF_CPU_DISK = 2,
	PA_OFF_CPU_RUNQUEUE = 4,  /* woken up, until it runs */
	PA_OFF_CPU_PREEMPTED = 8, /* still runnable, until it runs again */
};

/*
 * Takes the next bytes of an output. Returns how many of the n bytes it took, at least 1, or a negative errno, which
 * ends writing: the call or the capture fails with it. 0, more than n, -EAGAIN, -EINTR and what is not an errno end
 * writing with -EIO.
 */
typedef ssize_t (*pa_write_fn)(void *ctx, const void *bytes, size_t n);

/* Where a profile is written to, or with the format "pmu" the scheduler statistics, as text. */
struct pa_output {
	size_t sz;
	/*
	 * What is kept of a sample's labels:
	 * "pprof": all of them. "flamegraph": what a page can choose by: process, thread, state. "folded": "comm".
	 * "perf.data" (of on-CPU samples only): process and thread. "pmu": there are no samples.
	 */
	const char *format;
	/* "-": stdout. NULL: a name of its own in the current directory that never replaces a file.
	 * Two outputs cannot be one regular file. */
	const char *path;
	/*
	 * Of which kind of event, as pa_section.name. NULL: of each that is sampled, the first at path, the others
	 * beside it; with the format "flamegraph" all in one page. The kinds, and the values of each sample of
	 * theirs, with the units, in their order in "pprof"; "folded" has the last one of "off-cpu", else the first:
	 * "on-cpu" (PA_MODE_PROFILE): samples/count, cpu/nanoseconds; with PA_EVENT_CYCLES: samples/count,
	 *   cycles/count
	 * "off-cpu" (PA_MODE_OFFCPU): intervals/count, offcpu/nanoseconds
	 */
	const char *kind;

	/* Instead of path: gets all bytes in their order, on the session's thread after the capture. Only for one
	 * kind of event. "perf.data", whose header is written last, is kept in memory until the end. */
	pa_write_fn write;
	void *write_ctx;
	/* Instead of path: written at its current position, and not closed. */
	bool use_fd;
	int fd;
};

/* A name and a value, as samples and metrics have them. */
struct pa_label {
	const char *key, *value;
};

/* A process when its first sample is labelled. Its texts come from the process: any bytes may be in them. */
struct pa_process_info {
	size_t sz;
	pid_t pid;        /* as in the label "pid" */
	const char *comm; /* its name in that sample; "": unknown */
	/* the path of the program that it executes; NULL: unknown, it is gone, or a thread of the kernel */
	const char *executable;
	/* what all its samples will have: "pid", "comm", "ns_pid", "pod_uid", "container_id", …; numbers as text */
	const struct pa_label *labels;
	size_t nr_labels;
};

/* The labels of its samples, during a call of a pa_enrich_fn. */
struct pa_labels;

/*
 * Adds labels to the samples of a process, or drops some. Outputs of the format "pprof" show all of them, others
 * only what pa_output.format says; with no output of that format, pa_session_new() logs a warning. Called once for a process, whatever the number of
 * profiles, and once more when it executes another program: before its first sample is labelled, on the session's
 * thread, which does nothing else meanwhile; so it must be quick, or samples will be lost. Beyond pa_labels_set()
 * and pa_labels_drop() it may call what every callback may call. A negative errno is counted (the gap
 * "labels_failed"), the first one logged, and the process keeps the labels that it had. What process points to is
 * valid during the call.
 */
typedef int (*pa_enrich_fn)(void *ctx, const struct pa_process_info *process,
			    struct pa_labels *labels);

struct pa_metrics;

/* Gets metrics from time to time: once a second at most, and when everything is written. */
struct pa_exporter {
	size_t sz;
	/* Called on the session's thread. A negative errno is logged, and does not end the capture. The metrics are
	 * valid during the call. */
	int (*send)(void *ctx, const struct pa_metrics *metrics);
	void *ctx;
	uint64_t interval_ns; /* 0: only at the end */
};

struct pa_options {
	size_t sz;

	/* What to profile: pids (with process_names, below), or all, the whole machine, or one of
	 * tids, user and cgroup (below). PIDs and TIDs are those of the caller's own PID namespace. */
	const pid_t *pids;
	size_t nr_pids;
	bool all;
	bool no_follow_children; /* leave out children of the targets */
	bool start_on_exec;      /* a target counts from its next execve() on */

	enum pa_event event;
	unsigned int sample_rate_hz; /* 0: 99 */
	bool kernel_stacks;

	/* The capture ends by itself after this time; 0: only by pa_session_stop() or when the
	 * last target has exited. */
	uint64_t duration_ns;

	const struct pa_output *outputs; /* none: nothing is written */
	size_t nr_outputs;
	const char *auto_name; /* the first part of an automatic name; NULL: the target's name */

	const char *const *tags; /* "key=value", recorded in the profile */
	size_t nr_tags;

	/* Output files belong to this user. Only root may set them; -1 leaves an ID unchanged. */
	bool set_owner;
	uid_t owner_uid;
	gid_t owner_gid;

	pa_log_fn log;
	void *log_ctx;

	/* For tests and for machines with unusual needs; 0: the default. */
	size_t ring_bytes;              /* of the sample ring; rounded up to 2^n pages */
	unsigned int drain_interval_ms; /* how often the ring is drained */

	enum pa_unwind unwind;
	size_t table_bytes; /* limit of unwind tables; 0: the default */

	/* Debug files of stripped binaries are fetched from these debuginfod servers (http://,
	 * https:// or file://); none: there is no network traffic at all, whatever the environment
	 * says. Fetched files are cached in a private directory. */
	const char *const *debuginfod_urls;
	size_t nr_debuginfod_urls;
	const char *symbol_cache_dir;     /* NULL: the user's own */
	uint64_t symbol_cache_max_bytes;  /* 0: 2 GiB */
	uint64_t symbol_fetch_timeout_ns; /* per file; 0: 30 s */
	bool symbol_fail_closed; /* a file that could not be fetched gets no symbols at all */
	/* Each fetch is a process of perf-agent of this version, at this path; NULL: the installed
	 * one. The caller must not wait for children that are not its own. */
	const char *fetch_program;

	bool kallsyms_only; /* kernel symbols come only from /proc/kallsyms, without lines */

	unsigned int max_functions; /* length of each list of functions in the summary; 0: 100 */
	/* What is profiled, for people: a command line. NULL: composed of the PIDs and their names. */
	const char *target_text;

	/* In addition to pids: every process that has one of these names in pa_session_new(), but
	 * for the caller's own. A name is compared whole with that of /proc/PID/comm; the kernel
	 * keeps 15 bytes of a name, so a longer one is compared by its first 15. Of more than 4096
	 * processes, root's and the caller's come first, then as many of every other user. */
	const char *const *process_names;
	size_t nr_process_names;

	const pid_t *tids; /* these threads alone; the capture ends with the last of them */
	size_t nr_tids;

	/* Tasks with this effective user ID, as long as they have it. */
	bool select_user;
	uid_t user;

	/* Tasks in this cgroup or below, as long as they are: the path of a directory of cgroup v2,
	 * also without the part that leads to where cgroup v2 is mounted. */
	const char *cgroup;

	unsigned int modes; /* enum pa_mode, added up; 0: PA_MODE_PROFILE */
	/* PA_MODE_PMU with all: statistics of each process as well. */
	bool per_process;

	/* PA_MODE_OFFCPU. */
	unsigned int off_cpu_states; /* enum pa_off_cpu_state; 0: sleep and disk */
	uint64_t off_cpu_min_ns;     /* shorter intervals are only counted */

	/* Measures how long BPF programs run: pa_summary.programs. The kernel then measures those of the
	 * whole machine, and each run takes about 50 ns longer. Needs CAP_SYS_ADMIN. */
	bool program_times;

	/* On-CPU samples are taken on these CPUs alone: "0-3,8". NULL: on all. */
	const char *cpus;

	const struct pa_exporter *exporters;
	size_t nr_exporters;

	/* The Kubernetes pod of the caller, its namespace there, and the caller's container in it:
	 * labels of samples of this pod, and of this container. NULL: none. */
	const char *pod_name, *pod_namespace, *container_name;

	/* The log gets PA_LOG_DEBUG as well, libbpf's messages among it, which takes milliseconds. */
	bool log_debug;

	pa_enrich_fn enrich; /* NULL: samples have the labels that the library knows */
	void *enrich_ctx;

	/* With PA_MODE_PROFILE. Samples show the functions of Python programs: the perf trampoline of CPython
	 * 3.12 and later is switched on in the targets, and off at the end where this session has switched it
	 * on. For that, threads of the targets are stopped for moments (ptrace). Processes of pids,
	 * process_names and tids must allow it, or pa_session_start() fails; of other targets, also children
	 * of those, as many are switched on as can be: pa_summary.python. */
	bool inject_python;
};

struct pa_session;

/* Checks the options and everything that can be known before anything is attached: privileges,
 * kernel features, targets, output paths. Nothing is sampled yet. */
PA_API int pa_session_new(const struct pa_options *opts, struct pa_session **ret_session,
			  struct pa_error *err);

/* Starts sampling; when it returns 0, every tick from now on is accounted for. Once pa_session_stop() or
 * pa_session_wait() has returned the result of a capture, it begins another one with the same options, whose
 * outputs replace those at the same path; the summary of the one before is freed. Until then: -EALREADY. */
PA_API int pa_session_start(struct pa_session *s, struct pa_error *err);

/* Becomes readable (poll it, never read it) once the capture has ended and everything is written. */
PA_API int pa_session_event_fd(const struct pa_session *s);

/* Asks the capture to end and returns at once. Safe from any thread, also while another one is in
 * pa_session_start(). -EINVAL before start. */
PA_API int pa_session_request_stop(struct pa_session *s);

/* The effect of a first Ctrl-C: the capture ends as by pa_session_request_stop(), and everything is written
 * with the symbols that are found within a second: the symbol tables of all files, then lines, of the files
 * with most samples first. Debug files are waited for half a second. If the capture has already ended, debug
 * files are not waited for any more, and no more lines are read. pa_summary says how many addresses that
 * concerned. While pa_session_start() runs on another thread, it ends soon, and the capture with it. Any
 * thread. -EINVAL before start. */
PA_API int pa_session_hurry(struct pa_session *s);

/* Says which signal made the caller end the capture, or killed the program that it had started, before
 * or after it calls pa_session_request_stop() or pa_session_hurry(): pa_summary.end_signal. The first of each counts.
 * Any thread. -EINVAL for a number that is not a signal's. */
enum pa_signal_role {
	PA_SIGNAL_STOPPED = 0,        /* for the end_reason "stopped" */
	PA_SIGNAL_KILLED_COMMAND = 1, /* … "targets_exited" and "command_exited" */
};
PA_API int pa_session_note_signal(struct pa_session *s, enum pa_signal_role role, int signal_nr);

/* Abandons symbolization and writing as well; incomplete files are removed. pa_session_wait() and pa_session_stop()
 * then return -ECANCELED, and pa_session_summary() NULL. Any thread. -EINVAL before start. */
PA_API int pa_session_cancel(struct pa_session *s);

/* Ends the capture, symbolizes, writes, and waits for that. Returns the result of the whole
 * capture. */
PA_API int pa_session_stop(struct pa_session *s, struct pa_error *err);

/* Waits until the capture has ended by itself and everything is written, at most timeout_ms (-1: without
 * limit). Returns the result of the whole capture, or -ETIMEDOUT. Any thread, but not while another one starts the
 * next capture. -EINVAL before start, and if the start fails. */
PA_API int pa_session_wait(struct pa_session *s, int timeout_ms, struct pa_error *err);

/* Accepts NULL. Cancels a capture that still runs. */
PA_API void pa_session_free(struct pa_session *s);

enum pa_phase {
	PA_PHASE_NEW = 0,
	PA_PHASE_SAMPLING = 1,
	PA_PHASE_NAMING = 2,
	PA_PHASE_WRITING = 3,
	PA_PHASE_DONE = 4,
};

/* What a progress line shows; cheap, at any time, from any thread. The caller sets sz. */
struct pa_progress {
	size_t sz;
	enum pa_phase phase;
	uint64_t elapsed_ns;  /* since sampling began; stops with it */
	uint64_t duration_ns; /* as requested; 0: no limit */
	uint64_t nr_samples;  /* in the on-CPU profile so far; with PA_MODE_PMU alone: switches */
	uint64_t nr_stacks;   /* distinct stacks */
	uint64_t nr_lost; /* with ticks that the kernel has not delivered, a second ago at most */
	uint64_t agent_cpu_ns;      /* the whole process, user and system */
	uint64_t nr_fetches_wanted; /* debug files from servers, while symbolizing */
	uint64_t nr_fetches_done;
	uint64_t fetched_bytes;
	unsigned int modes; /* enum pa_mode: what is captured */
	/* with PA_MODE_OFFCPU: intervals that have ended, a second ago at most */
	uint64_t nr_intervals;
	uint64_t off_cpu_ns; /* total length of those intervals */
};

/* -EINVAL, and nothing is written: sz is less than that of the first version, or no size of this structure. */
PA_API int pa_session_progress(const struct pa_session *s, struct pa_progress *ret_progress);

struct pa_count {
	const char *name; /* machine-readable: lower case, underscores */
	const char *text; /* for people */
	uint64_t count;
};

/* Stacks that do not reach their outermost frame. */
struct pa_truncation_stat {
	const char *reason;  /* as in pa_summary.stops and the label "truncated" */
	const char *text;    /* for people */
	const char *file;    /* of the code at which unwinding stopped */
	uint64_t nr_samples; /* in pa_summary.count_unit; in a section, as pa_section.samples */
	const char *fix;     /* what the user can do; NULL: nothing is known to help */
};

struct pa_function_stat {
	const char *name;
	const char *file; /* of the code: path of the mapped binary, "[kernel]", "[jit]" */
	/* in pa_summary.count_unit: samples, or off-CPU intervals or nanoseconds, … */
	uint64_t nr_self;  /* … in which it was innermost: it ran, or waited, itself */
	uint64_t nr_total; /* … in which it was somewhere on the stack */
	bool is_unnamed;   /* not one function: all code of the file that has no symbol */
	bool is_start; /* nearly every stack of its kind contains it, and it does little itself: main */
	const char *source; /* of generated code: the source file, the script; NULL: not known */
};

/* All processes of one name. */
struct pa_command_stat {
	const char *comm;      /* "[unknown]": samples without one */
	uint64_t nr_samples;   /* in pa_summary.count_unit */
	uint64_t nr_in_kernel; /* of these, the CPU was in kernel mode */
	uint64_t nr_processes;
};

/* One process while it had one name: after an execve() it is another row. */
struct pa_process_stat {
	pid_t pid;
	const char *comm;
	uint64_t nr_samples; /* in pa_summary.count_unit */
	uint64_t nr_in_kernel;
};

/*
 * A node of the call tree, from the outermost frames inwards. Direct recursion is one node. What each row
 * counts adds up:
 *   nr_samples = nr_self + nr_rest + the sum of nr_samples of its callees that are rows
 * Those are the row after it if that one continues, else the rows one level deeper that follow.
 */
struct pa_path_stat {
	unsigned int depth; /* 0: the outermost frames */
	bool continues; /* the only callee worth a row of the row before it, at the same depth */
	const char *name;
	const char *file;    /* as in pa_function_stat */
	uint64_t nr_samples; /* samples that came this way, in pa_summary.count_unit */
	uint64_t nr_self;    /* of these, it ran itself */
	uint64_t nr_rest;    /* of these, in callees that are not rows */
	/* functions left out between the row before and one that continues */
	unsigned int nr_skipped;
	bool is_unnamed;    /* as in pa_function_stat */
	bool is_start;      /* as in pa_function_stat */
	const char *source; /* as in pa_function_stat */
};

struct pa_unnamed_stat {
	const char *file;
	/* samples whose running function has no symbol, in pa_summary.count_unit; in a section, as pa_section.samples */
	uint64_t nr_samples;
	const char *why;
	const char *fix;
};

/* A file that was not read to the end because of its cost. */
struct pa_limit_stat {
	const char *file;
	const char *what; /* machine-readable: "unwind_table", "names" */
	const char *text; /* for people */
};

/* What a debuginfod server replied to failed requests. */
struct pa_fetch_failure {
	const char *server; /* host and port */
	const char *reason; /* machine-readable: "timeout", "tls", … */
	const char *text;   /* for people */
	uint64_t count;     /* of files */
};

struct pa_output_stat {
	const char *format; /* as pa_output.format */
	const char *path;   /* as actually used */
	uint64_t size_bytes;
};

/*
 * The account of the events of one kind. Each ends in exactly one place:
 *   due = the sum of counts[] + samples + lost
 * "on-cpu": ticks on every CPU, for which counts[] has "idle", "other" (tasks that are not targets) and
 * "outside" (tasks without a PID in the agent's namespace). "off-cpu": intervals in which a thread is not
 * on a CPU, one for each time that a task leaves its CPU, and with PA_OFF_CPU_RUNQUEUE one for each time
 * that it is woken up; counts[] has in addition "agent" (its own), "exited" (left for good),
 * "other_states" and "too_short".
 */
struct pa_section {
	const char *name;              /* machine-readable: "on-cpu"; also in file names */
	const char *unit, *units;      /* one of its events, and several: "tick", "ticks" */
	uint64_t due;                  /* by the kernel's own count, if it has one */
	const struct pa_count *counts; /* events that are not the targets'; also those with 0 */
	size_t nr_counts;
	uint64_t samples;              /* in its profile: events, as all numbers of a section */
	const struct pa_count *losses; /* every reason, also those with 0 */
	size_t nr_losses;
	uint64_t lost;       /* their sum */
	int64_t unexplained; /* due - counts - samples - lost: not 0 is a bug in the library */

	/* How its samples were unwound and symbolized, as the members of these names in pa_summary, which are
	 * those of the first section; 0 and none if its events have no stacks. */
	uint64_t stacks_complete, no_user_stack;
	const struct pa_count *stops;
	size_t nr_stops;
	const struct pa_truncation_stat *truncations;
	size_t nr_truncations;
	uint64_t truncations_seen, truncations_samples;
	const struct pa_unnamed_stat *unnamed;
	size_t nr_unnamed;
	uint64_t unnamed_seen;
	uint64_t unnamed_samples;
};

/* A file or a process that did not answer in time: its file system, or what holds its locks. */
struct pa_unanswered_stat {
	unsigned int pid; /* 0: unknown */
	const char *what; /* a path, or a file of /proc/<pid>; the end of it if it is long */
};

/* What would make the code of a language runtime readable: one for each runtime and problem. */
struct pa_hint {
	const char *runtime; /* "java", "node", "python", … */
	/* machine-readable: "no_symbols", "truncated", "no_script_functions" */
	const char *problem;
	const char *text;    /* for people: one line, with the version and the PIDs */
	uint64_t nr_samples; /* that it is about, in pa_summary.count_unit */
	uint64_t nr_processes;
};

/* Times, described by a few numbers. Each is within 3 % of the true one; count, sum and mean are exact. */
struct pa_distribution {
	uint64_t count; /* 0: the rest is 0 as well */
	uint64_t sum_ns, mean_ns, min_ns, max_ns;
	uint64_t p50_ns, p95_ns, p99_ns, p999_ns;
};

/* What the scheduler did with a process, or with all targets together. */
struct pa_pmu_stat {
	pid_t pid; /* 0: all targets together */
	const char *comm;
	uint64_t nr_switches; /* context switches away from it = the sum of the five that follow */
	uint64_t nr_preempted, nr_voluntary;
	uint64_t nr_io_wait; /* PA_UNKNOWN: this kernel does not say; they are in nr_voluntary */
	uint64_t nr_stopped, nr_exited;
	struct pa_distribution on_cpu;    /* time slices: from one context switch to the next */
	struct pa_distribution run_queue; /* waits for a CPU, after a wake-up or a preemption */
	/* with slices that began before the capture or went on after it */
	uint64_t on_cpu_total_ns;
	/* Hardware counters while it ran; PA_UNKNOWN: not available. */
	uint64_t cycles, instructions;
	uint64_t cache_misses;
};

/* Waits of one kind: in the same functions, state and system call. */
struct pa_wait_stat {
	/* At most three, the innermost first, without those of the C library and the kernel that all
	 * programs wait in: "read_all < load < main". */
	const char *functions;
	const char *state;   /* "sleep", "disk", "runqueue", "preempted" */
	const char *syscall; /* the system call that it waited in; NULL: none */
	uint64_t nr_intervals;
	uint64_t total_ns;
	uint64_t longest_ns; /* of a single one */
};

/* Where the time of a thread went, or of all threads of the targets together, by the scheduler's events:
 * elapsed_ns = on_cpu_ns + runnable_ns + blocked_ns + unaccounted_ns. */
struct pa_thread_stat {
	pid_t pid, tid;          /* 0: all threads together */
	uint64_t elapsed_ns;     /* that it existed during the capture */
	uint64_t on_cpu_ns;      /* with what the host of a virtual machine took away */
	uint64_t runnable_ns;    /* it waited for a CPU */
	uint64_t blocked_ns;     /* it waited for anything else, or was stopped */
	uint64_t unaccounted_ns; /* before an event that does not follow the last one: … */
	uint64_t nr_missed;      /* … how often that was; the kernel had not reported one */
};

/* The samples that have one value of a label. */
struct pa_label_stat {
	/* With its unit, if it is a number that has one; "[none]": samples without the label. */
	const char *value;
	uint64_t nr_samples; /* in pa_summary.count_unit */
};

/* One of the session's BPF programs. */
struct pa_program_stat {
	const char *name;
	uint64_t nr_runs;
	uint64_t run_ns; /* of all runs, on all CPUs */
};

/*
 * Structures in the lists of a summary grow at their end as well. The summary contains the size that each
 * has in the library, which PA_ITEM() uses to find item i of a list:
 *   PA_ITEM(summary, pa_count, summary->stops, i)->count
 */
#ifdef __cplusplus
#define PA_ITEM(summary, type, list, i)                                                            \
	(reinterpret_cast<const struct type *>(reinterpret_cast<const char *>(list) +              \
					       static_cast<size_t>(i) * (summary)->type##_sz))
#else
#define PA_ITEM(summary, type, list, i)                                                            \
	((const struct type *)(const void *)((const char *)(list) +                                \
					     (size_t)(i) * (summary)->type##_sz))
#endif

#define PA_UNKNOWN UINT64_MAX

/* What the capture saw, complete after the end. */
struct pa_summary {
	size_t sz;
	size_t pa_count_sz, pa_section_sz, pa_truncation_stat_sz, pa_function_stat_sz,
		pa_unnamed_stat_sz;
	size_t pa_limit_stat_sz, pa_fetch_failure_sz, pa_unanswered_stat_sz, pa_output_stat_sz;
	const char *version;
	const char *
		event; /* "cpu-clock", "cycles"; "off-cpu": PA_MODE_OFFCPU without PA_MODE_PROFILE */
	uint64_t period; /* ns (cpu-clock), or 0: every sample has its own */
	unsigned int sample_rate_hz;
	uint64_t start_time_ns; /* CLOCK_REALTIME */
	uint64_t duration_ns;
	uint64_t first_sample_ns; /* after the start; 0 also if there is none */
	unsigned int nr_cpus;     /* that were sampled */

	const struct pa_section *sections; /* one per kind of event that was sampled */
	size_t nr_sections;
	/* in the profile of the first, to which what follows refers; in count_unit */
	uint64_t samples;
	uint64_t sideband_lost; /* records about processes and mappings */

	uint64_t nr_stacks;
	uint64_t nr_processes;        /* that have samples */
	uint64_t stacks_complete;     /* samples whose user stack reaches its outermost frame */
	const struct pa_count *stops; /* how unwinding ended, by reason; only those that occurred */
	size_t nr_stops;
	const struct pa_truncation_stat
		*truncations; /* truncated, by reason and file; at most 10 */
	size_t nr_truncations;

	uint64_t nr_locations;
	uint64_t nr_locations_named;
	const char *kernel_symbols; /* the source used, or why there is none */

	const struct pa_function_stat *functions; /* by self, then total; max_functions */
	size_t nr_functions;
	const struct pa_unnamed_stat *unnamed; /* most samples first; at most 10 */
	size_t nr_unnamed;
	const struct pa_output_stat *outputs;
	size_t nr_outputs;

	uint64_t agent_cpu_ns;
	uint64_t agent_peak_rss_bytes;
	bool targets_exited; /* the capture ended because the last target exited */

	uint64_t walks_finished; /* stacks that the kernel began and user space completed */
	uint64_t nr_tables;      /* files whose unwind tables were compiled */
	uint64_t tables_peak_bytes;
	uint64_t tables_evicted; /* times that a table was evicted to make room */
	uint64_t tables_refused; /* tables, or processes' mappings, that found no room */
	uint64_t notices_lost; /* missed wake-ups because the ring was full; they cost only time */

	const struct pa_count *jit; /* what was read about generated code, also zeroes */
	size_t nr_jit;

	/* Debug files; all 0 if no server is configured, except nr_debug_files. */
	const struct pa_count *fetches; /* requests by result; only those that occurred */
	size_t nr_fetches;
	uint64_t fetched_bytes;       /* received from servers */
	uint64_t nr_cache_evicted;    /* files removed from the cache to keep its size */
	uint64_t nr_debug_files;      /* binaries whose lines came from another file */
	uint64_t nr_debug_mismatches; /* debug files of another build */
	uint64_t nr_unnamed_by_rule;  /* binaries without symbols because of symbol_fail_closed */
	const char *fetch_problem;    /* why nothing could be fetched; NULL: it could */
	/* Symbolization is done in batches: the addresses of one source of symbols each. */
	uint64_t naming_batches;
	uint64_t naming_addresses; /* = those resolved + the sum of naming_failures[] */
	uint64_t naming_raw;       /* shown as 0x… */
	uint64_t naming_fallbacks; /* batches whose best source could not be used */
	const struct pa_count *naming_failures; /* unresolved addresses; every reason */
	size_t nr_naming_failures;
	uint64_t naming_p50_ns; /* of the last 1,024 batches, including opening the source */
	uint64_t naming_p99_ns;
	uint64_t naming_max_ns;

	const struct pa_fetch_failure *fetch_failures; /* by server and reason; at most 64 */
	size_t nr_fetch_failures;

	/* Of all functions, including those not in functions[]. */
	uint64_t functions_seen;
	uint64_t functions_self; /* the sum of their nr_self */

	/* The part of agent_cpu_ns and agent_peak_rss_bytes from the first tick to the last stack,
	 * without start-up and symbolization. */
	uint64_t agent_sampling_cpu_ns;
	uint64_t agent_sampling_rss_bytes;

	uint64_t walks_again;       /* stacks that user space unwound again, with any result */
	uint64_t samples_in_kernel; /* of samples: the CPU was in kernel mode */

	/* How many truncations[] and unnamed[] there are, including those that are not listed, and
	 * the sums of their nr_samples. */
	uint64_t truncations_seen;
	uint64_t truncations_samples;
	uint64_t unnamed_seen;
	uint64_t unnamed_samples;

	/* Samples of kernel threads, and of tasks inside execve() or exit: neither complete nor
	 * truncated. */
	uint64_t no_user_stack;

	/* Files that were not read to the end: they keep what was read before. At most 100. */
	const struct pa_limit_stat *limits;
	size_t nr_limits;
	uint64_t limits_seen; /* how many there are */

	/* Files and processes that did not answer, and were not asked again; at most 16 of
	 * unanswered_seen. */
	uint64_t unanswered_seen;
	const struct pa_unanswered_stat *unanswered;
	size_t nr_unanswered;

	/* What was dropped about processes and files, by reason; every reason, also those with 0.
	 * */
	const struct pa_count *gaps;
	size_t nr_gaps;

	size_t pa_command_stat_sz, pa_process_stat_sz, pa_path_stat_sz;

	/* What was profiled, and how. */
	const char *target_text;    /* for people: "PID 812 (redis-server)", "make -j2" */
	const char *end_reason;     /* "duration", "stopped", "targets_exited", "command_exited" */
	const char *host;           /* its name */
	const char *kernel_release; /* as uname -r prints it */
	const char *machine;        /* as uname -m prints it */
	const char *unwind;         /* "auto", "fp", "dwarf" */
	bool kernel_stacks;
	bool all;             /* the whole machine; otherwise pids[] */
	bool follow_children; /* including children of the targets */
	const pid_t *pids;    /* as requested */
	size_t nr_pids;
	const char *const *tags;
	size_t nr_tags;
	uint64_t duration_asked_ns; /* 0: no limit */

	/* Samples by command and by process, the most first: at most 100 and 1,000. */
	const struct pa_command_stat *commands;
	size_t nr_commands;
	uint64_t commands_seen; /* how many there are */
	const struct pa_process_stat *processes;
	size_t nr_processes_listed;
	uint64_t processes_seen;
	uint64_t processes_samples; /* of all of them, also those that are not in processes[] */

	/* By nr_total, then nr_self; as many as functions[]. Functions that nearly every stack of their
	 * threads has, and that do little themselves (main, the start of a thread), are left out. */
	const struct pa_function_stat *functions_by_total;
	size_t nr_functions_by_total;

	const struct pa_path_stat *paths; /* where the time branches off: a tree in preorder */
	size_t nr_paths;

	/* CPU time during the capture by the kernel's own account, in contrast to samples; PA_UNKNOWN
	 * where the kernel does not say. */
	uint64_t steal_ns;       /* taken from this virtual machine by its host, summed over CPUs */
	uint64_t targets_cpu_ns; /* used by the targets; with pa_options.all: by everything */

	size_t pa_hint_sz;
	const struct pa_hint *hints; /* most samples first; at most 16 */
	size_t nr_hints;

	/* With PA_MODE_PMU. The first is all targets together; with pa_options.per_process those that
	 * follow are one process each, the longest total wait for a CPU first. */
	size_t pa_pmu_stat_sz;
	const struct pa_pmu_stat *pmu;
	size_t nr_pmu;
	const struct pa_count *pmu_gaps; /* what could not be measured; also those with 0 */
	size_t nr_pmu_gaps;
	const char *no_hw_counters; /* why no hardware counter is available; NULL: one is */

	/* Time off the CPU, if it was profiled: the longest total first; at most 100 of waits_seen. */
	size_t pa_wait_stat_sz;
	const struct pa_wait_stat *waits;
	size_t nr_waits;
	uint64_t waits_seen;
	uint64_t off_cpu_ns; /* of all of them */
	uint64_t off_cpu_intervals;

	/* With PA_MODE_PMU, or with PA_MODE_PROFILE and PA_MODE_OFFCPU. The first is all threads_seen
	 * together; those that follow are one thread each, the longest elapsed time first; at most
	 * 256. */
	size_t pa_thread_stat_sz;
	const struct pa_thread_stat *threads;
	size_t nr_threads;
	uint64_t threads_seen;
	/* events of more than 65,536 threads; those are in no sum */
	uint64_t thread_events_no_room;

	/*
	 * Of pa_profile_summary() alone. What the summary counts are then samples that each stand for
	 * period, as those of a capture; or, with value_type, sums of such values. What is known only
	 * during a capture is 0 or NULL.
	 */
	const char *source_file;             /* its path; NULL: a capture */
	const char *value_type, *value_unit; /* "inuse_space", "bytes"; NULL: samples */
	const char *const *value_types;      /* that the file has: "cpu/nanoseconds" */
	size_t nr_value_types;
	const char *const *label_keys; /* that its samples have: "comm" */
	size_t nr_label_keys;
	size_t pa_label_stat_sz;
	const char *label; /* what label_values[] are values of; NULL: none */
	const struct pa_label_stat
		*label_values; /* most samples first; at most 1,000 of label_values_seen */
	size_t nr_label_values;
	uint64_t label_values_seen;

	/* One, or none: all threads together that are not in `threads`, because those existed longer. Its
	 * elements and this are threads_seen, and their times those of threads[0]. */
	const struct pa_thread_stat *threads_unlisted;
	size_t nr_threads_unlisted;

	uint64_t tables_shared;       /* times that a file had the same unwind table as another */
	uint64_t table_rows_in_agent; /* whose rules the kernel cannot apply */
	uint64_t cfi_unused;          /* entries of unwind information that are about no code */

	/* One, or none: all together that are not in `processes`; pid 0, comm NULL. Its samples and those of
	 * `processes` are processes_samples. */
	const struct pa_process_stat *processes_unlisted;
	size_t nr_processes_unlisted;

	const char *end_signal; /* "SIGINT": pa_session_note_signal(); NULL: no signal ended it */

	uint64_t naming_shared; /* of naming_addresses: known from another profile of the session */

	/* How long each CPU was sampled, at least and at most: duration_ns without and with the time that
	 * switching all of them on and off took. */
	uint64_t sampling_least_ns;
	uint64_t sampling_most_ns;

	/* How often a thread of this process slept and was woken up, in all and while sampling. */
	uint64_t agent_wakeups;
	uint64_t agent_sampling_wakeups;
	/* With pa_options.program_times, the longest run time first. */
	size_t pa_program_stat_sz;
	const struct pa_program_stat *programs;
	size_t nr_programs;
	uint64_t programs_ns; /* their sum */
	const char *
		no_program_times; /* why they could not be measured; NULL: they were, or not asked for */

	/* addresses without a line, in files whose debug information was not read to its end because the
	 * user waited: pa_session_hurry(). naming_failures[] has those without a name, as "interrupted". */
	uint64_t naming_lines_interrupted;

	/* With pa_options.inject_python: how many processes were switched on, and skipped, by reason, and how
	 * many of the former were switched off; every reason, also those with 0. */
	const struct pa_count *python;
	size_t nr_python;

	/*
	 * The type and unit of what `samples` and all members of lists called nr_samples, nr_self, nr_total, nr_rest
	 * and nr_in_kernel count, except those in `sections`: "samples", "count"; of a capture with PA_MODE_OFFCPU
	 * alone "intervals", "count". Of a profile in a file as value_type says; by default an off-CPU profile
	 * has "offcpu", "nanoseconds" (pa_profile_options.value_type "intervals": as in the capture). NULL: no
	 * samples were asked for.
	 */
	const char *count_type, *count_unit;
};

/* Borrowed until pa_session_free() or the next pa_session_start(). NULL before the end, and if the capture was
 * cancelled or failed; an output that could not be written leaves it. */
PA_API const struct pa_summary *pa_session_summary(const struct pa_session *s);

enum pa_metric_type {
	PA_METRIC_COUNTER = 0, /* only grows */
	PA_METRIC_GAUGE = 1,
};

#define PA_METRIC_MAX_LABELS 2

struct pa_metric {
	const char *name; /* "perf_agent_samples_total"; metrics of one name follow each other */
	const char *help; /* one sentence */
	enum pa_metric_type type;
	double value;
	struct pa_label labels[PA_METRIC_MAX_LABELS];
	size_t nr_labels;
};

/* A snapshot; its elements are stepped through by PA_ITEM(m, pa_metric, m->items, i). */
struct pa_metrics {
	size_t sz, pa_metric_sz;
	uint64_t time_ns; /* CLOCK_REALTIME, when it was taken */
	const struct pa_metric *items;
	size_t nr_items;
};

/* What the session counts, as of a second ago at most while it samples; of the agent's own use, now. Once
 * everything is written it equals the summary. At any time, from any thread; free it by pa_metrics_free(). */
PA_API int pa_session_metrics(const struct pa_session *s, struct pa_metrics **ret_metrics,
			      struct pa_error *err);

/* Accepts NULL. */
PA_API void pa_metrics_free(struct pa_metrics *metrics);

/* An exporter: writes metrics as lines of text to ctx, a descriptor (as (void *)(intptr_t)fd). */
PA_API int pa_export_text(void *ctx, const struct pa_metrics *metrics);

/*
 * Only during a call of a pa_enrich_fn, on its thread: otherwise -EINVAL as long as the session exists, and
 * undefined after that. Both texts are copied; control characters are replaced when they are
 * written. A label of this key that the process has already, or that was set before, is replaced. -EINVAL: one of
 * them is NULL or empty. -ENAMETOOLONG: a key of more than 256 bytes, a value of more than 4096. -ENOSPC: more than
 * 16 labels. -EPERM: the library alone sets "pid", and what differs from sample to sample: "tid", "thread",
 * "syscall", "state", "truncated", "no_user_stack". A session keeps 32 MiB of labels at most; processes beyond that
 * have only the usual ones (the gap "labels_full").
 */
PA_API int pa_labels_set(struct pa_labels *labels, const char *key, const char *value);

/* Samples of this process will not have that label, which may also be "tid", "thread" or "syscall". Without
 * "comm", folded stacks and the summary's lists of processes and commands have "[unknown]". -ENOENT: there is no
 * label of this key. -EPERM: "pid", "state", "truncated" and "no_user_stack" stay. */
PA_API int pa_labels_drop(struct pa_labels *labels, const char *key);

enum pa_check_state {
	PA_CHECK_OK = 0,
	PA_CHECK_LIMITED = 1, /* works, with restrictions */
	PA_CHECK_FAILED = 2,  /* a capture is not possible */
};

struct pa_check {
	enum pa_check_state state;
	const char *subject; /* "kernel BTF" */
	const char *finding; /* what was found */
	const char *fix;     /* what to do, or NULL; with PA_CHECK_OK: what could be done as well */
};
typedef void (*pa_check_fn)(void *ctx, const struct pa_check *check);

/* Checks what this kernel, these privileges and (if opts names one) this target allow. Returns the
 * number of failed checks, or a negative errno. */
PA_API int pa_doctor(const struct pa_options *opts, pa_check_fn fn, void *ctx);

/*
 * A file of the caller's own, such as a report, by the rules of the session's outputs: a path or
 * "-"; complete or not at all; links, FIFOs and devices that another user put into a shared
 * directory are refused. If it is opened before the capture, errors are found before the capture.
 */
struct pa_file;

struct pa_file_options {
	size_t sz;
	bool set_owner; /* as in pa_options */
	uid_t owner_uid;
	gid_t owner_gid;
	/* Polled while the file is written, also while it waits for a reader: true ends it with
	 * -ECANCELED. NULL: never cancelled. */
	bool (*is_cancelled)(void *ctx);
	void *cancel_ctx;
};

/* opts may be NULL. A FIFO blocks until it has a reader. */
PA_API int pa_file_open(const char *path, const struct pa_file_options *opts,
			struct pa_file **ret_file, struct pa_error *err);

/* Writes all bytes, and renames the file to its final name. Once: then -EALREADY. */
PA_API int pa_file_save(struct pa_file *f, const void *bytes, size_t n, struct pa_error *err);

/* Accepts NULL. Removes a file that was not saved. */
PA_API void pa_file_free(struct pa_file *f);

/* A profile in a file of the pprof format, whoever wrote it. */
struct pa_profile;

struct pa_profile_options {
	size_t sz;
	/* What is summed up, and shown first in a page, by its name in the file: "inuse_space". NULL: samples if
	 * each stands for the same CPU time, else the file's default. */
	const char *value_type;
	/* Lists its values in the summary; NULL: "comm", if there is one. -EINVAL if the profile has samples, and
	 * none of them has this label. */
	const char *label;
	unsigned int max_functions; /* length of each list of functions; 0: 100 */
};

/* Reads the whole file; "-" is standard input. Damaged and oversized files are refused; a file takes
 * no more than 2 GiB of memory. opts may be NULL. */
PA_API int pa_profile_read(const char *path, const struct pa_profile_options *opts,
			   struct pa_profile **ret_profile, struct pa_error *err);

/* Parses n bytes in memory, as an output of the format "pprof" has written them. name is what messages call
 * them, and the summary its source_file; NULL: "profile". */
PA_API int pa_profile_parse(const void *bytes, size_t n, const char *name,
			    const struct pa_profile_options *opts, struct pa_profile **ret_profile,
			    struct pa_error *err);

struct pa_frame {
	const char *function;    /* NULL: unknown */
	const char *system_name; /* as in the symbol table; NULL: unknown */
	const char *source_file; /* NULL: unknown */
	int64_t line;            /* 0: unknown */
	const char *file;        /* of the code, as in pa_function_stat; NULL: unknown */
	uint64_t address;
	bool is_inlined; /* into the frame that follows */
};

/* A stack and what was measured there. */
struct pa_stack {
	size_t pa_frame_sz;
	const struct pa_frame *frames; /* innermost first */
	size_t nr_frames;
	const int64_t *values; /* one for each of pa_summary.value_types */
	size_t nr_values;
	const struct pa_label *labels; /* numbers as text */
	size_t nr_labels;
};

/* Calls fn with every sample of the profile. A result other than 0 ends it, and is returned. What the stack
 * points to is valid during the call. */
PA_API int pa_profile_stacks(const struct pa_profile *p,
			     int (*fn)(void *ctx, const struct pa_stack *stack), void *ctx);

/* Borrowed until pa_profile_free(). */
PA_API const struct pa_summary *pa_profile_summary(const struct pa_profile *p);

/* Writes the profile in the format of output->format, to output->path, by the rules of pa_file_open();
 * output->kind is not used. opts may be NULL. */
PA_API int pa_profile_write(const struct pa_profile *p, const struct pa_output *output,
			    const struct pa_file_options *opts, struct pa_error *err);

/* Accepts NULL. */
PA_API void pa_profile_free(struct pa_profile *p);

/* A function in two profiles. */
struct pa_change {
	const char *name;
	const char *file;               /* as in pa_function_stat */
	uint64_t base_self, base_total; /* in the first; 0: it is not there */
	uint64_t self, total;           /* in the second */
	bool is_unnamed;                /* as in pa_function_stat */
	const char *source;             /* as in pa_function_stat */
};

/* How two profiles differ. Functions are matched by their names and the names of their files without
 * directories, of generated code those of its source; addresses are not used. */
struct pa_diff {
	size_t sz, pa_change_sz;
	const char *value_type, *value_unit; /* of both, as in pa_summary */
	uint64_t base_sum, sum;              /* of all values of each: what shares refer to */
	/* Every function of either; the largest change of the share of self first, then of total. */
	const struct pa_change *changes;
	size_t nr_changes;
};

/* Both profiles must outlive the difference, and have the same type of values. */
PA_API int pa_diff_new(const struct pa_profile *base, const struct pa_profile *p,
		       struct pa_diff **ret_diff, struct pa_error *err);

/* Writes the second profile with its differences to the first, as pa_profile_write() does. The format is
 * "flamegraph": no other one can show them. */
PA_API int pa_diff_write(const struct pa_diff *d, const struct pa_output *output,
			 const struct pa_file_options *opts, struct pa_error *err);

/* Accepts NULL. */
PA_API void pa_diff_free(struct pa_diff *d);

/* The highest sample_rate_hz that the kernel accepts now, or a negative errno. */
PA_API long pa_max_sample_rate(void);

/* What is wrong with the URL of a debuginfod server, in a few words; NULL: it is valid for
 * debuginfod_urls. Does not check whether the server exists. */
PA_API const char *pa_url_mistake(const char *url);

PA_API const char *pa_version(void);

#ifdef __cplusplus
}
#endif
#endif
