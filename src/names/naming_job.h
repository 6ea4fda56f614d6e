/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input and output of naming a model. Independent of the capture, so that a model that was
 * taken out of a capture can be named on another thread.
 */
#ifndef NAMES_NAMING_JOB_H
#define NAMES_NAMING_JOB_H

#include <stdatomic.h>

#include "base/log.h"
#include "debugfiles/debug_files.h"
#include "debugfiles/kernel_file.h"
#include "names/jit_files.h"
#include "names/jit_samples.h"
#include "names/naming_deadline.h"
#include "names/naming_stats.h"
#include "proc/procfs.h"
#include "profile/profile.h"
#include "symbolize/jit_budget.h"
#include "symbolize/kernel_ranges.h"
#include "symbolize/symbolizer_jit.h"
#include "symbolize/symbolizer_kernel.h"

/* Why code of a mapping has no names; static strings, by mapping number. */
struct naming_note {
	const char *why;
	const char *advice;
	const char *limit; /* what was left out because of its cost; NULL: nothing */
};

struct shared_names; /* names/shared_names.h */

struct naming_job {
	/* All borrowed. No other thread uses the model while the job runs; processes and files are
	 * protected by filestore_lock(). */
	struct profile *profile; /* its locations get names */
	struct filestore *files;
	struct jit_files *jit;                 /* NULL: no process wrote about its code */
	const struct jit_samples *jit_samples; /* those of the model */
	bool is_last; /* no other model will be named: no file is kept open for another */
	struct debug_files *debug;   /* NULL: no debug files are used */
	struct shared_names *shared; /* of all models of a session; NULL: names are not shared */
	const struct procfs *procfs;
	struct kernel_ranges kernel_ranges; /* owned: a copy */
	const struct log *log;
	const char *kallsyms_path;
	/* Opens the kernel's symbol iterator; NULL: do not use it. */
	int (*open_ksyms)(const struct log *log, int *ret_fd);
	const char *notes_path;  /* "/sys/kernel/notes"; NULL: no line numbers for the kernel */
	const char *cache_dir;   /* for data that can be fetched again; NULL: none */
	unsigned int nr_workers; /* number of threads; 0: one per CPU; 1: none */
	struct naming_deadline *deadline; /* NULL: takes the time that it needs */
	const atomic_bool *cancel;        /* NULL: cannot be cancelled */

	struct jit_budget jit_budget; /* owned; has a lock of its own */

	/* Results; owned. */
	struct naming_note *notes; /* by mapping number, and one for code in no mapping */
	struct jit_counts jit_counts;
	struct naming_stats stats;
	/* Written by the thread that names the kernel's code. */
	struct kernel_outcome kernel; /* its source is "": no kernel address was seen */
	struct kernel_file kernel_file;
	char *kernel_cache_path; /* NULL: none */
};

void naming_job_init(struct naming_job *job);
void naming_job_done(struct naming_job *job);

/* Names every location of the model, once. -ECANCELED when *cancel becomes true. */
int naming_run(struct naming_job *job);

#endif
