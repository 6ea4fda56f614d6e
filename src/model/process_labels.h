/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels that somebody else adds to the samples of a process, or drops. That one is asked once for each
 * program that a process runs, before its first sample is labelled, whatever the number of models.
 */
#ifndef MODEL_PROCESS_LABELS_H
#define MODEL_PROCESS_LABELS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "sample/sample.h"

#define PROCESS_LABELS_MAX 16       /* added to one process */
#define PROCESS_LABELS_KNOWN_MAX 16 /* that one has anyway */
#define PROCESS_LABELS_KEY_BYTES 256
#define PROCESS_LABELS_VALUE_BYTES 4096

struct process_labels; /* what is kept of all processes */
struct tracker;        /* proc/tracker.h */

struct process_label {
	const char *key, *value;
};

/* The labels of one process while they are asked for. */
struct process_labels_draft {
	const struct sample *sample;                          /* the first one; borrowed */
	struct process_label known[PROCESS_LABELS_KNOWN_MAX]; /* without changes; borrowed */
	uint32_t nr_known;
	uint32_t dropped; /* a bit for each label that the library knows; see model_label_use() */
	struct process_label added[PROCESS_LABELS_MAX]; /* its strings are owned */
	uint32_t nr_added;
};

/* The last value of a key counts. -EINVAL: NULL or empty; -ENAMETOOLONG; -ENOSPC: too many; -EPERM: it is not
 * the process's; -ENOMEM. */
int process_labels_set(struct process_labels_draft *d, const char *key, const char *value);
/* -EPERM: it has to stay; -ENOENT: neither known nor added; -EINVAL: NULL. */
int process_labels_drop(struct process_labels_draft *d, const char *key);

struct process_labels_config {
	/* A negative result: the process has no other labels than usual. */
	int (*ask)(void *ctx, struct process_labels_draft *d);
	void *ctx;
	const struct tracker *tracker; /* borrowed: which processes are gone */
	size_t max_bytes;              /* of labels that are kept; 0: the default */
	uint32_t max_processes;        /* that are remembered at a time; 0: the default */
};

struct process_labels_stats {
	uint64_t nr_asked;
	uint64_t nr_failed;  /* of nr_asked */
	uint64_t nr_no_room; /* processes whose labels, and samples whose process, found no room */
};

int process_labels_new(const struct process_labels_config *cfg, struct process_labels **ret_labels);
struct process_labels *process_labels_free(struct process_labels *l);
DEFINE_CLEANUP(struct process_labels *, process_labels_free)

/* l may be NULL. */
struct process_labels_stats process_labels_stats(const struct process_labels *l);

/* What the samples of a process have more and less than others. */
struct label_changes {
	uint32_t dropped; /* as in the draft */
	uint32_t nr_added;
	struct process_label added[];
};

/* Asks, if that is the first sample of its program. l may be NULL. Borrowed until process_labels_free(). */
const struct label_changes *process_labels_find(struct process_labels *l, const struct sample *s);

#endif
