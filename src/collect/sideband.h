/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to processes beside the samples: forks, execs, exits, executable mappings. The
 * kernel tells it through one dummy event per CPU; here the CPUs' streams are merged into one in
 * time order. The clock is CLOCK_MONOTONIC, as BPF's.
 */
#ifndef COLLECT_SIDEBAND_H
#define COLLECT_SIDEBAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/build_id.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "collect/cpus.h"

enum sideband_type {
	SIDEBAND_FORK, /* of a process; threads are left out */
	SIDEBAND_EXEC,
	SIDEBAND_EXIT,     /* of a process's first thread */
	SIDEBAND_MMAP,     /* executable memory */
	SIDEBAND_BUILD_ID, /* of the file in the mapping at start */
	SIDEBAND_KSYMBOL,  /* code that the kernel made for itself, or takes away */
	SIDEBAND_LOST,     /* the ring was full, or a CPU was not followed: look again */
};

struct sideband_event {
	enum sideband_type type;
	uint64_t time_ns;
	pid_t pid;  /* of the agent's namespace; events of processes without one are left out */
	pid_t ppid; /* FORK */
	uint64_t start, end, offset; /* MMAP; start also BUILD_ID; start and end also KSYMBOL */
	uint32_t major, minor;       /* MMAP */
	uint64_t inode, generation;  /* MMAP */
	const char *path;            /* MMAP; KSYMBOL: its name; valid during the call */
	bool is_bpf;                 /* KSYMBOL */
	struct build_id build_id;    /* BUILD_ID */
	uint64_t nr_lost;            /* LOST */
};

/* Pure: one perf record in, at most one event out. 1: an event; 0: nothing of interest;
 * -EBADMSG. path points into bytes. build_id_event is the id of the event that tells build-ids. */
int sideband_decode(const void *bytes, size_t size, uint64_t build_id_event,
		    struct sideband_event *ret_event);

struct sideband;

/* Starts on every CPU of `online`. log must outlive the result. */
int sideband_open(const struct cpus *online, const struct log *log, struct sideband **ret_sideband,
		  struct pa_error *err);
struct sideband *sideband_free(struct sideband *s);
DEFINE_CLEANUP(struct sideband *, sideband_free)

/* Whether the kernel tells build-ids (5.12 and later). */
bool sideband_has_build_ids(const struct sideband *s);

/* Opens on CPUs that are new, and again on those that were away; reads the last of those that
 * left when they are drained next. silent: as in events_follow(). */
int sideband_follow(struct sideband *s, const struct cpus *online, const struct cpus *silent);

/* Becomes readable when a ring is half full. */
int sideband_fd(const struct sideband *s);

/* Every event there is, in time order. Ends early with fn's result when that is negative. */
typedef int (*sideband_fn)(void *ctx, const struct sideband_event *e);
int sideband_drain(struct sideband *s, sideband_fn fn, void *ctx);

#endif
