/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroups that tasks were in, each once, with the container and the pod that their paths show.
 * A cgroup of v2 is known by its ID, so that its name is found for tasks that are gone, and read
 * once for all tasks in it. Where hierarchies of v1 are in use, and where an ID cannot be checked,
 * /proc is read for each process.
 */
#ifndef PROC_CGROUPS_H
#define PROC_CGROUPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct cgroups;
struct procfs;

#define CGROUPS_MAX (1u << 16)
#define CGROUPS_MAX_TEXT (16u << 20)
#define CGROUP_PATH_BYTES 1024 /* of a longer path only the beginning is kept */

/* Never changes and never moves. NULL: there is none. */
struct cgroup {
	uint32_t number; /* from 0, in the order of their first sight */
	const char *path;
	const char *pod_uid, *container_id;
	/* of the agent's own pod, and of its own container */
	const char *pod_name, *pod_namespace, *container_name;
};

/* What is known of the own pod of the agent. NULL: nothing. */
struct own_pod {
	const char *pod_name, *pod_namespace, *container_name;
};

struct cgroups_config {
	struct own_pod own_pod; /* its texts are borrowed until cgroups_free() */
	size_t max_text_bytes;  /* of all paths; 0: CGROUPS_MAX_TEXT */
};

/* p is borrowed until cgroups_free(). */
int cgroups_new(const struct procfs *p, const struct cgroups_config *cfg,
		struct cgroups **ret_cgroups);
struct cgroups *cgroups_free(struct cgroups *c);
DEFINE_CLEANUP(struct cgroups *, cgroups_free)

/* The cgroup of a task at the time of a sample. id: its cgroup of v2, 0: unknown. Borrowed. -ESRCH:
 * unknown, and the task is gone; -E2BIG beyond a limit; -ENOMEM. */
int cgroups_find(struct cgroups *c, uint64_t id, pid_t tid, uint64_t time_ns,
		 const struct cgroup **ret_cgroup);

struct cgroups_stats {
	uint32_t nr;        /* distinct cgroups */
	uint64_t nr_beyond; /* times that there was no room for one */
};
struct cgroups_stats cgroups_stats(const struct cgroups *c);

#endif
