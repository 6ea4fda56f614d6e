/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiling one unwind table, as a job: descriptors and plain values in, plain bytes out. Whatever
 * process has the descriptors can do it. The bytes are checked when they are read: who compiled a
 * stranger's file may have been taken over by it.
 */
#ifndef STACKS_COMPILE_JOB_H
#define STACKS_COMPILE_JOB_H

#include "base/buf.h"
#include "stacks/compile_file.h"

struct debug_query;

enum compile_kind {
	COMPILE_FILE,
	COMPILE_VDSO,        /* this process's own, which every process has */
	COMPILE_TRAMPOLINES, /* CPython's */
};

struct compile_job {
	enum compile_kind kind;
	uint32_t trampoline; /* of trampolines[] */

	/* Of a file. */
	int fd;       /* borrowed */
	int debug_fd; /* its separate debug file; -1: none; borrowed */
	uint64_t dev, ino, mtime_ns,
		size; /* as it was when it was opened: changed, it has no table */
	bool is_copy; /* in memory: it never changes */
};

struct compile_job compile_job_of_file(const struct file *f);

/* What is made of it, in ret_bytes, which is empty. cancel: NULL, nobody cancels. -ENOMEM, -E2BIG. */
int compile_job_run(const struct compile_job *job, const struct cancel *cancel,
		    struct buf *ret_bytes);

/* What the bytes say; if that is a table, they are its own from here on. dict is new: the table's rules
 * are numbers of it. -EBADMSG: no job has written them; -ENOMEM. On failure ret_file is empty. */
int compile_result_read(struct buf *bytes, struct rule_dict *dict, struct compiled_file *ret_file);

/* The job done and its result read; and where a file says too little itself, once more with its separate
 * debug file, if that is where it would be (NULL: it is not looked for). -ENOMEM, -E2BIG, -EBADMSG. */
int compile_job_do(const struct compile_job *job, const struct debug_query *where,
		   const struct cancel *cancel, struct rule_dict *dict,
		   struct compiled_file *ret_file);

#endif
