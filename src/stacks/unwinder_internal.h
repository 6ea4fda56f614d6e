/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STACKS_UNWINDER_INTERNAL_H
#define STACKS_UNWINDER_INTERNAL_H

#include "stacks/full_files.h"
#include "stacks/live_code.h"
#include "stacks/unwinder.h"

struct pid_list {
	pid_t *pids; /* owned */
	uint32_t nr, cap;
};

/* A process that is not examined again for a while. */
struct pid_rest {
	pid_t pid;
	uint64_t due_ns;
};

/* Whether a process's runtime was started with frame pointers. */
struct record_keeper {
	pid_t pid;
	uint64_t program; /* process_program() */
	bool keeps_records;
};

#define RECORD_KEEPERS 64 /* processes share slots */

#define FOLLOWED_SLOTS 1024 /* processes share slots */
#define FOLLOWED_PER_LIST 64

struct unwinder {
	const struct tracker *tracker; /* borrowed */
	struct tables *tables;         /* borrowed; NULL: nothing is published */
	struct unwind_files files;
	struct full_files *full;                      /* owned; for walks with all registers */
	struct live_code *live;                       /* owned */
	const struct procfs *procfs;                  /* borrowed */
	struct record_keeper keepers[RECORD_KEEPERS]; /* slot by PID */
	/* nr_news of the files at the last update of waiting processes */
	uint64_t nr_news_published;
	bool has_room_to_publish; /* the kernel has room again, and they were not updated yet */
	uint64_t waiting_due_ns;  /* earliest time of the next update */
	uint64_t nr_gathered;     /* mappings examined so far */
	uint8_t *flags;           /* owned; by PID */
	struct pid_list dirty, waiting, published;
	struct pid_rest *rests; /* owned; only processes with very many mappings */
	uint32_t nr_rests, cap_rests;
	uint64_t *images; /* owned; by generation: the image that was published with it */
	uint32_t nr_images, cap_images;
	struct pa_mapping *scratch; /* owned */
	uint32_t cap_scratch;
	bool has_published;                  /* in this turn */
	uint8_t nr_followed[FOLLOWED_SLOTS]; /* walks finished since their process was published */
	struct unwinder_stats stats;
};

/* True if generated code of the process keeps frame records. */
bool unwinder_keeps_records(const struct unwinder *u, const struct process *p, uint64_t time_ns);

#endif
