/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One capture, from raw records to a named model. It is fed with bytes and events, whoever brings
 * them: the session from the kernel, tests from a recording. It knows nothing of BPF, perf events
 * or threads.
 */
#ifndef AGENT_CAPTURE_H
#define AGENT_CAPTURE_H

#include <perfagent/perfagent.h>
#include <stdatomic.h>

#include "agent/jit_files.h"
#include "agent/naming_stats.h"
#include "agent/parking.h"
#include "agent/unwinder.h"
#include "agent/vmlinux.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "bpf/abi.h"
#include "collect/sideband.h"
#include "proc/procfs.h"
#include "proc/tracker.h"
#include "profile/profile.h"
#include "symbolize/jit_budget.h"
#include "symbolize/kernel_ranges.h"
#include "symbolize/symbolizer.h"

struct debug_files;  /* agent/debug_files.h */
struct debug_config; /* the same */

struct capture_config {
	const char *proc_root; /* "/proc" */
	const char *kallsyms_path;
	int (*open_ksyms)(int *ret_fd); /* the kernel's symbol iterator; NULL: not to be used */
	const char *notes_path;         /* "/sys/kernel/notes"; NULL: no lines of the kernel */
	const char *cache_dir;          /* for what can be had again; NULL: none; borrowed */
	bool all; /* every process matters, not only those scanned and their children */
	enum pa_event event;
	uint64_t period_ns; /* of cpu-clock */
	const char *const *tags;
	size_t nr_tags;
	unsigned int max_fds;             /* for files that are kept open */
	bool compile_first;               /* tables of targets before the first sample */
	bool compile_inline;              /* without a thread of their own, for tests */
	unsigned int naming_workers;      /* threads that name; 0: as there are CPUs; 1: none */
	size_t table_bytes;               /* at most, of unwind tables */
	const struct debug_config *debug; /* NULL: no debug files; during capture_new() only */
	/* True: no debug file is waited for, nor for what takes long. NULL: never; borrowed. */
	const atomic_bool *hurry;
	/* Asked for: targets that are slow are given up sooner. NULL: never; its context is borrowed. */
	const struct cancel *short_waits;
};

/* What became of the samples that came out of the ring. */
struct capture_stats {
	uint64_t nr_records;    /* samples, of which … */
	uint64_t nr_kept;       /* are in the model */
	uint64_t nr_bad;        /* could not be understood */
	uint64_t nr_model_full; /* met a limit of the model */
	uint64_t nr_no_memory;
	uint64_t sideband_lost;
	uint64_t first_ns;        /* time of the earliest one that is kept; 0: none */
	uint64_t nr_processes;    /* with samples */
	uint64_t nr_in_kernel;    /* of those kept, in kernel mode */
	uint64_t nr_walked_again; /* of those kept, by user space on a copy of the stack */
	uint64_t nr_finished;     /* of these, to the outermost frame */
	uint64_t nr_untimed; /* of those kept, in code of a jitdump, named without their time */
	uint64_t stops[PA_NR_STOPS]; /* of those kept, by enum pa_stop */
};

/* What is known of a file beyond the store. */
struct file_info {
	bool is_probed;
	bool is_made; /* memory that has a file only so that it can be mapped twice: a JIT's */
	uint32_t path, build_id; /* strings of the model */
};

/* A process with samples. */
struct seen_process {
	uint64_t id, program;
	uint32_t user; /* of its program; PROFILE_NO_USER */
};

/* Why a mapping's code has no names; static strings, by mapping number. */
struct naming_note {
	const char *why;
	const char *cure;
	const char *limit; /* what was left out because it would cost too much; NULL: nothing */
};

struct capture {
	struct capture_config cfg;
	const struct log *log; /* borrowed */
	struct procfs procfs;
	struct filestore *files;   /* owned */
	struct tracker *tracker;   /* owned */
	struct jit_files *jit;     /* owned */
	struct profile *profile;   /* owned */
	struct unwinder *unwinder; /* owned; NULL: by frame pointer alone */
	struct cancel hurry;       /* cfg.hurry */
	struct buf queue;          /* samples that wait for the events that came before them */
	struct parking parking;    /* samples that wait for unwind tables */
	bool needs_rescan;         /* events were lost */
	uint32_t nr_unanswered_logged;
	bool has_published; /* the walker was told something in the last turn */
	uint64_t turn_ns;   /* when this turn began */
	uint64_t rescanned_ns, forgot_ns, looked_again_ns; /* when each was last done */
	struct capture_stats stats;

	struct file_info *file_infos; /* owned; by file number */
	uint32_t cap_file_infos, nr_file_infos;
	uint32_t label_pid, label_tid, label_comm, label_thread, label_truncated,
		label_no_user_stack;         /* strings */
	struct idtable process_ids;          /* processes with samples */
	struct seen_process *seen_processes; /* owned */
	uint32_t nr_seen_processes, cap_seen_processes;

	struct debug_files *debug; /* owned; NULL: none are looked for */
	struct naming_note *notes; /* owned; after capture_name(): by mapping number */
	struct jit_counts jit_counts;
	struct jit_budget jit_budget; /* has a lock of its own */
	struct naming_stats naming;
	struct kernel_ranges kernel_ranges; /* code that the kernel made meanwhile */
	/* While naming runs, of the thread that names the kernel's code. */
	struct kernel_outcome kernel; /* its source is "": no kernel address was seen */
	struct vmlinux vmlinux;
	char *kernel_cache_path; /* owned; NULL: none */
};

int capture_new(const struct capture_config *cfg, const struct log *log,
		struct capture **ret_capture);
struct capture *capture_free(struct capture *c);
DEFINE_CLEANUP(struct capture *, capture_free)

/* A turn begins: the ring is emptied after this, and capture_settle() ends it. */
void capture_begin_turn(struct capture *c);

/* Learns what a process has mapped now; -ESRCH: it is gone. */
int capture_scan(struct capture *c, pid_t pid);

/* The same for every process there is. */
int capture_scan_all(struct capture *c);

/* Compiles the unwind tables of what was scanned, if tables come first; before sampling starts. */
void capture_compile_first(struct capture *c);

/* A record out of the ring: queued. ctx is the capture (see ring_record_fn). */
int capture_record(void *ctx, const void *bytes, size_t size);

/* A side-band event: applied at once. ctx is the capture (see sideband_fn). */
int capture_event(void *ctx, const struct sideband_event *e);

/* From now on walks are helped by unwind tables, which go to `tables` (NULL: nowhere; borrowed). */
int capture_use_tables(struct capture *c, struct tables *tables);

/* Becomes readable when a sample that waits can go on; -1: none ever will. */
int capture_fd(const struct capture *c);

/* Turns queued samples into the model; every event older than them must have been given. A stack
 * that is still on its way is waited for, unless nothing more will come. */
int capture_settle(struct capture *c, bool is_last);

/* Whether the next turn should come soon: a stack is on its way, or the walker was told of mappings
 * that may have been replaced in that very moment. */
bool capture_is_in_a_hurry(const struct capture *c);

/* Says who has not answered since the last time. */
void capture_log_unanswered(struct capture *c);

/* What became of one sample, by what capture_resolve() gave. */
void capture_count_outcome(struct capture *c, int r);

/* Names every location, once, at the end. -ECANCELED when *cancel turns true. */
int capture_name(struct capture *c, const atomic_bool *cancel);

/* resolve.c: one sample into the model; stack: its copy where the walk is unfinished, else NULL.
 * -EAGAIN: nothing was done, the table of file *ret_missing is awaited. */
int capture_resolve(struct capture *c, const struct pa_sample *s, const struct stack_copy *stack,
		    uint32_t *ret_missing);

#endif
