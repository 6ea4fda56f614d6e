/* SPDX-License-Identifier: Apache-2.0 */
/* Private to proc/. */
#ifndef PROC_PSEUDO_FS_H
#define PROC_PSEUDO_FS_H

#include <stdbool.h>

/* Whether the kernel itself answers for what the descriptor (O_PATH will do) leads to: its files say
 * that they are regular, but to open one may do something (/proc/kmsg, /sys, tracefs), and nobody's
 * code or debug information is there. */
bool pseudo_fs_is(int fd);

#endif
