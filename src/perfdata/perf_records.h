/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appends the records of a perf.data file to a buffer. Their layout is determined by the event of
 * perf_attr(): each sample begins with the ID of the event, every other record of the kernel ends
 * with the task, time, CPU and that ID. A function that fails leaves the buffer as it was: -ENOMEM,
 * or -E2BIG.
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

#define PERF_EVENT_ID 1      /* ID of the one event in the file */
#define PERF_KERNEL_PID (-1) /* the PID of the kernel's mappings */

/* The fields of every sample, in this order. */
#define PERF_SAMPLE_FIELDS                                                                         \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

/* A mapping; one with time 0 applies from the beginning. */
struct perf_mapping {
	pid_t pid;
	uint64_t time_ns;
	uint64_t start, end;
	uint64_t offset;  /* in the file */
	const char *path; /* or perf's name for this kind of memory */
	struct build_id build_id;
	uint64_t dev, ino; /* only without a build-id; 0: unknown */
};

int perf_put_mapping(struct buf *b, const struct perf_mapping *m);

/* Appends a mapping of the kernel's code; offset is the address of the symbol whose name ends the
 * path. */
int perf_put_kernel_mapping(struct buf *b, const struct perf_mapping *m);

/* comm: at most n bytes, possibly without a NUL. */
int perf_put_comm(struct buf *b, pid_t pid, pid_t tid, uint64_t time_ns, const char *comm, size_t n,
		  bool is_exec);

/* Appends a new thread: the first of a process (tid == pid), or a further one (ppid == pid). */
int perf_put_fork(struct buf *b, pid_t pid, pid_t tid, pid_t ppid, uint64_t time_ns);
/* Appends the exit of a process. */
int perf_put_exit(struct buf *b, pid_t pid, pid_t ppid, uint64_t time_ns);
/* perf script shows the number in the first kind of record; perf report adds up those of the second
 * kind (since Linux 4.3). */
int perf_put_lost(struct buf *b, uint64_t nr, uint64_t time_ns);
int perf_put_lost_samples(struct buf *b, uint64_t nr, uint64_t time_ns);

/* Appends a sample: kernel frames, then user frames, each group after its marker. The address of
 * the sample is that of its first frame, or 0 without frames. */
int perf_put_sample(struct buf *b, const struct sample *s, uint64_t period);

/* Appends the end of a round: readers may then handle all records up to the largest time before the
 * previous such record. */
int perf_put_round(struct buf *b);

#endif
