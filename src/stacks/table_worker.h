/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that compiles unwind tables, one file after another. A job has its own descriptor and
 * returns with its results, so nothing is shared while it is compiled; rules too: each job has its
 * own dictionary.
 */
#ifndef STACKS_TABLE_WORKER_H
#define STACKS_TABLE_WORKER_H

#include "stacks/compile_job.h"

/* Used instead of a file number. */
#define UNWIND_VDSO UINT32_MAX
#define UNWIND_TRAMPOLINE(i) (UNWIND_VDSO - 1 - (i)) /* i: index into trampolines[] */

struct table_worker;

/* Jobs that are submitted and not taken back. More would only keep descriptors open. */
#define TABLE_WORKER_MAX_JOBS 4

struct table_job {
	uint32_t file;             /* as submitted */
	struct compiled_file made; /* owned */
	struct rule_dict dict;     /* owned; the table's rules are numbers in it */
	bool has_failed;           /* out of memory: it may be tried again */
};
void table_job_done(struct table_job *job);

/* The following functions are for one thread at a time. The worker's thread starts with the first
 * job. If is_inline is set, or the thread cannot be started, jobs are done when they are submitted.
 * cancel: when requested, jobs come back without a table; NULL: never; borrowed. */
int table_worker_new(bool is_inline, const struct cancel *cancel, struct table_worker **ret_worker);
struct table_worker *table_worker_free(struct table_worker *w);
DEFINE_CLEANUP(struct table_worker *, table_worker_free)

/* Submits a file; NULL is the vDSO. f's descriptor is duplicated. where: the places of its debug
 * file; borrowed until the worker is freed. -EAGAIN: enough jobs are queued; or the error of
 * dup(). */
int table_worker_give(struct table_worker *w, uint32_t file, const struct file *f,
		      const struct debug_query *where);

/* Takes a finished job, owned by the caller. */
bool table_worker_take(struct table_worker *w, struct table_job *ret_job);

/* Waits until there is a job to take, until it is cancelled, or until the worker's thread has used
 * that much CPU time in total. False: there is none to take. */
bool table_worker_wait(struct table_worker *w, uint64_t max_cpu_ns);

/* The tables are no longer needed: jobs that are running or submitted come back without one. */
void table_worker_give_up(struct table_worker *w);

/* CPU time used by jobs so far. */
uint64_t table_worker_cpu_ns(struct table_worker *w);

/* Becomes readable when a job is finished, until it is taken. */
int table_worker_fd(const struct table_worker *w);

#endif
