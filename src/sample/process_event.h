/* SPDX-License-Identifier: Apache-2.0 */
/* An event of a process, or of the kernel's code, in addition to the samples. */
#ifndef SAMPLE_PROCESS_EVENT_H
#define SAMPLE_PROCESS_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/build_id.h"

enum process_event_type {
	EVENT_FORK, /* of a process; new threads are left out */
	EVENT_EXEC,
	EVENT_EXIT,     /* of the first thread of a process */
	EVENT_MMAP,     /* executable memory */
	EVENT_BUILD_ID, /* of the file mapped at start */
	EVENT_KSYMBOL,  /* code that the kernel generated or removed */
	EVENT_LOST,     /* events were lost: rescan */
};

struct process_event {
	enum process_event_type type;
	uint64_t time_ns;
	pid_t pid; /* in the agent's namespace; events of processes without a PID there are left out */
	pid_t ppid;                  /* FORK */
	uint64_t start, end, offset; /* MMAP; BUILD_ID: start; KSYMBOL: start, end */
	uint32_t major, minor;       /* MMAP */
	uint64_t inode, generation;  /* MMAP */
	const char *path;            /* MMAP: path; KSYMBOL: symbol name; valid during the call */
	bool is_bpf;                 /* KSYMBOL */
	struct build_id build_id;    /* BUILD_ID */
	uint64_t nr_lost;            /* LOST */
};

#endif
