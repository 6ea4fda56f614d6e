/* SPDX-License-Identifier: Apache-2.0 */
/* Who arranged the mounts that a process sees, and where its root is in ours. Private to proc/. */
#ifndef PROC_MOUNT_NS_H
#define PROC_MOUNT_NS_H

#include <stdbool.h>
#include <sys/types.h>

struct procfs;

/* Whether the mount namespace of pid belongs to our own user namespace: nobody without privileges
 * here can then have mounted anything in it. False also when that cannot be found out. */
bool mount_ns_is_ours(const struct procfs *p, pid_t pid);

/* Whether pid is in our own mount namespace: its root is then a folder of ours, maybe by chroot. */
bool mount_ns_is_own(const struct procfs *p, pid_t pid);

/* The path of pid's root as the kernel shows it to us; the caller frees it. NULL: "/", or it cannot
 * be told. */
char *mount_ns_root_path(const struct procfs *p, pid_t pid);

#endif
