/* SPDX-License-Identifier: Apache-2.0 */
/* A cgroup of version 2, by its directory. */
#ifndef PROC_CGROUP_DIR_H
#define PROC_CGROUP_DIR_H

#include "base/error.h"
#include "proc/procfs.h"

/*
 * Opens the directory of a cgroup, with the caller's own rights. The path is one of the file system, or
 * begins where cgroup v2 is mounted: "/sys/fs/cgroup/a/b", "/a/b" and "a/b" are the same there.
 */
int cgroup_dir_open(const char *path, int *ret_fd, struct pa_error *err);

/* Every process in the cgroup or below that has a PID in our namespace; one that moves meanwhile may come
 * twice or not at all. Ends early with fn's result when that is not 0. */
int cgroup_dir_each_pid(int dir_fd, proc_pid_fn fn, void *ctx);

#endif
