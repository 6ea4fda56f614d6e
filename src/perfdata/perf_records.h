/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a perf.data file, appended to a buffer. They are laid out as the event of
 * perf_attr() implies: each sample begins with the ID of the event, every other record of the kernel
 * ends with the task, time, CPU and that ID. A function that fails leaves the buffer as it was:
 * -ENOMEM, or -E2BIG.
 */
#ifndef PERFDATA_PERF_RECORDS_H
#define PERFDATA_PERF_RECORDS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/build_id.h"

struct sample;

#define PERF_EVENT_ID 1      /* of the one event in the file */
#define PERF_KERNEL_PID (-1) /* whose mappings the kernel's are */

/* What every sample has, in this order. */
#define PERF_SAMPLE_FIELDS                                                                         \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

/* Time 0 is before everything. */
struct perf_mapping {
	pid_t pid;
	uint64_t time_ns;
	uint64_t start, end;
	uint64_t offset;  /* in the file */
	const char *path; /* or what perf calls the memory */
	struct build_id build_id;
	uint64_t dev, ino; /* only without a build-id; 0: unknown */
};

int perf_put_mapping(struct buf *b, const struct perf_mapping *m);

/* The kernel's code; offset is the address of the symbol whose name ends the path. */
int perf_put_kernel_mapping(struct buf *b, const struct perf_mapping *m);

/* comm: at most n bytes, possibly without a NUL. */
int perf_put_comm(struct buf *b, pid_t pid, pid_t tid, uint64_t time_ns, const char *comm, size_t n,
		  bool is_exec);

/* A new thread: the first one of a process (tid == pid), or one of its others (ppid == pid). */
int perf_put_fork(struct buf *b, pid_t pid, pid_t tid, pid_t ppid, uint64_t time_ns);
/* Of a process. */
int perf_put_exit(struct buf *b, pid_t pid, pid_t ppid, uint64_t time_ns);
/* perf script shows the number of the first; perf report counts that of the second (since Linux 4.3). */
int perf_put_lost(struct buf *b, uint64_t nr, uint64_t time_ns);
int perf_put_lost_samples(struct buf *b, uint64_t nr, uint64_t time_ns);

/* Kernel frames, then user frames, each group after its marker. The address of the sample is that of
 * its first frame; without frames it is 0. */
int perf_put_sample(struct buf *b, const struct sample *s, uint64_t period);

/* A reader may handle what it has read up to the largest time before the last such record. */
int perf_put_round(struct buf *b);

#endif
