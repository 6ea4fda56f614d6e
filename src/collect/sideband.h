/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process events that accompany the samples: forks, execs, exits, executable mappings. The kernel
 * reports them through one dummy event per CPU; here the streams of all CPUs are merged in time
 * order. The clock is CLOCK_MONOTONIC, like that of BPF.
 */
#ifndef COLLECT_SIDEBAND_H
#define COLLECT_SIDEBAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "collect/cpus.h"
#include "sample/process_event.h"

/* Decodes one perf record into at most one event, without any state. 1: an event; 0: nothing of
 * interest; -EBADMSG. path points into bytes. build_id_event is the ID of the event that reports
 * build-ids. */
int sideband_decode(const void *bytes, size_t size, uint64_t build_id_event,
		    struct process_event *ret_event);

struct sideband;

/* Starts on every CPU of `online`. log must outlive the result. */
int sideband_open(const struct cpus *online, const struct log *log, struct sideband **ret_sideband,
		  struct pa_error *err);
struct sideband *sideband_free(struct sideband *s);
DEFINE_CLEANUP(struct sideband *, sideband_free)

/* True if the kernel reports build-ids (5.12 and later). */
bool sideband_has_build_ids(const struct sideband *s);

/* Opens events on CPUs that are new or back online; events of CPUs that left are read at the next
 * drain. silent: as in events_follow(). */
int sideband_follow(struct sideband *s, const struct cpus *online, const struct cpus *silent);

/* Becomes readable when a ring is half full. */
int sideband_fd(const struct sideband *s);

/* Calls fn for every event, in time order. Ends early with fn's result if that is negative. */
typedef int (*sideband_fn)(void *ctx, const struct process_event *e);
int sideband_drain(struct sideband *s, sideband_fn fn, void *ctx);

#endif
