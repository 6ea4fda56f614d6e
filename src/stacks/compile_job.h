/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiling one unwind table as a job: descriptors and plain values in, plain bytes out. Any
 * process that has the descriptors can run it. The bytes are checked when they are read, because a
 * process that compiled a hostile file may have been taken over by it.
 */
#ifndef STACKS_COMPILE_JOB_H
#define STACKS_COMPILE_JOB_H

#include "base/buf.h"
#include "stacks/compile_file.h"

struct debug_query;

enum compile_kind {
	COMPILE_FILE,
	COMPILE_VDSO,        /* this process's own vDSO, which every process has */
	COMPILE_TRAMPOLINES, /* CPython's trampolines */
};

struct compile_job {
	enum compile_kind kind;
	uint32_t trampoline; /* index into trampolines[] */

	/* For COMPILE_FILE. */
	int fd;       /* borrowed */
	int debug_fd; /* its separate debug file; -1: none; borrowed */
	uint64_t dev, ino, mtime_ns,
		size; /* as of opening: a file that has changed since has no table */
	bool is_copy; /* a copy in memory, which never changes */
};

struct compile_job compile_job_of_file(const struct file *f);

/* Runs the job. Appends the result to ret_bytes, which is empty. cancel: NULL: never cancelled.
 * -ENOMEM, -E2BIG. */
int compile_job_run(const struct compile_job *job, const struct cancel *cancel,
		    struct buf *ret_bytes);

/* Reads a result. If there is a table, it takes over the bytes. dict is empty before: the table's
 * rules are numbers in it. -EBADMSG: not the result of a job; -ENOMEM. If it fails ret_file is
 * empty. */
int compile_result_read(struct buf *bytes, struct rule_dict *dict, struct compiled_file *ret_file);

/* Runs a job and reads its result. If the CFI of a file is insufficient, runs again with its
 * separate debug file, if that is found (where NULL: not searched). -ENOMEM, -E2BIG, -EBADMSG. */
int compile_job_do(const struct compile_job *job, const struct debug_query *where,
		   const struct cancel *cancel, struct rule_dict *dict,
		   struct compiled_file *ret_file);

#endif
