/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model to be named: what naming needs, and what it found. It knows no capture, so that a model that
 * was taken out of one can be named on another thread.
 */
#ifndef NAMES_NAMING_JOB_H
#define NAMES_NAMING_JOB_H

#include <stdatomic.h>

#include "base/log.h"
#include "debugfiles/debug_files.h"
#include "debugfiles/kernel_file.h"
#include "names/jit_files.h"
#include "names/jit_samples.h"
#include "names/naming_stats.h"
#include "proc/procfs.h"
#include "profile/profile.h"
#include "symbolize/jit_budget.h"
#include "symbolize/kernel_ranges.h"
#include "symbolize/symbolizer_jit.h"
#include "symbolize/symbolizer_kernel.h"

/* Why a mapping's code has no names; static strings, by mapping number. */
struct naming_note {
	const char *why;
	const char *advice;
	const char *limit; /* what was left out because it would cost too much; NULL: nothing */
};

struct shared_names; /* names/shared_names.h */

struct naming_job {
	/* All borrowed. The model is of no other thread while the job runs; what is known of processes and
	 * files may be, by filestore_lock(). */
	struct profile *profile; /* its locations get names */
	struct filestore *files;
	struct jit_files *jit;                 /* NULL: no process wrote about its code */
	const struct jit_samples *jit_samples; /* of the model */
	bool is_last; /* no other model will be named: what is read is not kept open for another */
	struct debug_files *debug;   /* NULL: none are looked for */
	struct shared_names *shared; /* by models of one session; NULL: none are */
	const struct procfs *procfs;
	struct kernel_ranges kernel_ranges; /* owned: a copy */
	const struct log *log;
	const char *kallsyms_path;
	/* The kernel's symbol iterator; NULL: not to be used. */
	int (*open_ksyms)(const struct log *log, int *ret_fd);
	const char *notes_path;  /* "/sys/kernel/notes"; NULL: no lines of the kernel */
	const char *cache_dir;   /* for what can be had again; NULL: none */
	unsigned int nr_workers; /* threads that name; 0: as there are CPUs; 1: none */
	/* True: no debug file is waited for, nor for what takes long. NULL: never. */
	const atomic_bool *hurry;
	const atomic_bool *cancel; /* NULL: nobody cancels */
	bool is_interrupted;       /* the user awaits the end: files of others get less time */

	struct jit_budget jit_budget; /* owned; has a lock of its own */

	/* Found; owned. */
	struct naming_note *notes; /* by mapping number, and one for code in no mapping */
	struct jit_counts jit_counts;
	struct naming_stats stats;
	/* While it runs, of the thread that names the kernel's code. */
	struct kernel_outcome kernel; /* its source is "": no kernel address was seen */
	struct kernel_file kernel_file;
	char *kernel_cache_path; /* NULL: none */
};

void naming_job_init(struct naming_job *job);
void naming_job_done(struct naming_job *job);

/* Names every location of the model, once. -ECANCELED when *cancel turns true. */
int naming_run(struct naming_job *job);

#endif
