/* SPDX-License-Identifier: Apache-2.0 */
/* Private to proc/. */
#ifndef PROC_PSEUDO_FS_H
#define PROC_PSEUDO_FS_H

#include <stdbool.h>

/* True if the descriptor (O_PATH suffices) leads to a pseudo file system of the kernel: its files
 * claim to be regular, but opening one may have side effects (/proc/kmsg, /sys, tracefs), and none
 * contains code or debug information. */
bool pseudo_fs_is(int fd);

#endif
