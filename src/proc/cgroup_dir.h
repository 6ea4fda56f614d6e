/* SPDX-License-Identifier: Apache-2.0 */
/* A cgroup of version 2, by its directory. */
#ifndef PROC_CGROUP_DIR_H
#define PROC_CGROUP_DIR_H

#include "base/error.h"
#include "proc/procfs.h"

/*
 * Opens the directory of a cgroup, with the caller's own privileges. The path is one of the file
 * system, or relative to the mount point of cgroup v2: "/sys/fs/cgroup/a/b", "/a/b" and "a/b" are
 * equivalent there.
 */
int cgroup_dir_open(const char *path, int *ret_fd, struct pa_error *err);

/* Calls fn for every process in the cgroup or below that has a PID in our namespace. A process that
 * moves during the iteration may be seen twice or not at all. Ends early with fn's result if that
 * is not 0. */
int cgroup_dir_each_pid(int dir_fd, proc_pid_fn fn, void *ctx);

#endif
