/* SPDX-License-Identifier: Apache-2.0 */
/* Who controls the mounts that a process sees, and where its root is in ours. Private to proc/. */
#ifndef PROC_MOUNT_NS_H
#define PROC_MOUNT_NS_H

#include <stdbool.h>
#include <sys/types.h>

struct procfs;

/* True if the mount namespace of pid belongs to our own user namespace: then no one without
 * privileges here can have mounted anything in it. False also if unknown. */
bool mount_ns_is_ours(const struct procfs *p, pid_t pid);

/* True if pid is in our own mount namespace: its root is then a directory of ours, possibly by
 * chroot. */
bool mount_ns_is_own(const struct procfs *p, pid_t pid);

/* The path of pid's root as the kernel shows it to us; the caller frees it. NULL: "/", or unknown.
 * */
char *mount_ns_root_path(const struct procfs *p, pid_t pid);

#endif
