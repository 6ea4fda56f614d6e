/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc/<pid>/cgroup says: in which cgroup a process is, and of which container and pod that
 * is. Pure functions over text whose names others have chosen; docs/containers.md says what is
 * believed.
 */
#ifndef PROC_CGROUP_PATH_H
#define PROC_CGROUP_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define POD_UID_SIZE 37      /* 8-4-4-4-12 hex digits, or 32 of a static pod; with the NUL */
#define CONTAINER_ID_SIZE 65 /* 64 hex digits, with the NUL */

struct cgroup_identity {
	char pod_uid[POD_UID_SIZE];           /* "": in no pod */
	char container_id[CONTAINER_ID_SIZE]; /* "": in no container */
};

void cgroup_identify(const char *path, size_t len, struct cgroup_identity *ret_identity);

/* How far a cgroup is from the agent's own, whose path is "/" in a cgroup namespace of its own. */
enum cgroup_kin {
	CGROUP_OUTSIDE,
	CGROUP_OWN,     /* "/", or below */
	CGROUP_SIBLING, /* "/../<name>", a container, or below */
};

enum cgroup_kin cgroup_kin(const char *path, size_t len);

/* The path that a file of the form of /proc/<pid>/cgroup gives a process: of all hierarchies the
 * first that shows a pod or a container; else the first where the process is not in the root; else
 * "/". That of cgroup v2 counts as the first, that of systemd in v1 as the next. */
struct cgroup_text {
	const char *path; /* in the text, without NUL, without " (deleted)" */
	size_t len;
	bool has_v1; /* hierarchies of v1 are mounted: the ID of a sample does not say everything */
	/* all paths of v1 are "/", which is also what the kernel shows of a task that exits */
	bool is_v1_root;
};

/* False: no line parses. */
bool cgroup_text_parse(const char *text, size_t len, struct cgroup_text *ret_text);

#endif
