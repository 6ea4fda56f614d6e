/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that compiles unwind tables, one file after the other. A job comes with a descriptor of
 * its own and goes back with all that was made of it, so nothing is shared while it is worked on.
 * Also the rules: each job has a dictionary of its own.
 */
#ifndef AGENT_TABLE_WORKER_H
#define AGENT_TABLE_WORKER_H

#include "agent/compile_file.h"

/* In place of a file's number. */
#define UNWIND_VDSO UINT32_MAX
#define UNWIND_TRAMPOLINE(i) (UNWIND_VDSO - 1 - (i)) /* of trampolines[] */

struct table_worker;

/* Jobs that were given and not taken back. More would only hold descriptors open. */
#define TABLE_WORKER_MAX_JOBS 4

struct table_job {
	uint32_t file;             /* as given */
	struct compiled_file made; /* owned */
	struct rule_dict dict;     /* owned; the table's rules are numbers of it */
	bool has_failed;           /* for want of memory: it may be tried again */
};
void table_job_done(struct table_job *job);

/* All below are for one thread at a time. The worker's thread begins with the first job; where it
 * cannot, or (is_inline) shall not, jobs are done when they are given. cancel: asked for, jobs come back
 * without a table; NULL: nobody cancels; borrowed. */
int table_worker_new(bool is_inline, const struct cancel *cancel, struct table_worker **ret_worker);
struct table_worker *table_worker_free(struct table_worker *w);
DEFINE_CLEANUP(struct table_worker *, table_worker_free)

/* f: NULL is the vDSO; its descriptor is copied. where: its debug file may be; what it points to is
 * borrowed until the worker is freed. -EAGAIN: there is enough to do; or that of dup(). */
int table_worker_give(struct table_worker *w, uint32_t file, const struct file *f,
		      const struct debug_query *where);

/* A job that is done; the caller owns it. */
bool table_worker_take(struct table_worker *w, struct table_job *ret_job);

/* Until there is one to take, it is cancelled, or the worker's thread has used that much CPU time in
 * all. False: there is none to take. */
bool table_worker_wait(struct table_worker *w, uint64_t max_cpu_ns);

/* CPU time that jobs have taken so far. */
uint64_t table_worker_cpu_ns(struct table_worker *w);

/* Becomes readable when a job is done, until it is taken. */
int table_worker_fd(const struct table_worker *w);

#endif
