/* SPDX-License-Identifier: Apache-2.0 */
/* Records that say where the kernel's code is; without them perf finds no kernel symbols. */
#ifndef PERFDATA_PERF_KERNEL_MAPS_H
#define PERFDATA_PERF_KERNEL_MAPS_H

#include <stdint.h>

#include "base/buf.h"

/* perf's name of the kernel's own code. */
#define PERF_KERNEL_NAME "[kernel.kallsyms]"

/*
 * Appends mappings for the kernel and its current modules, with time 0, from a list of symbols
 * ("/proc/kallsyms") and a list of modules in the same file system. Appends nothing if addresses
 * are hidden or a list is missing. -ENOMEM, -E2BIG.
 */
int perf_put_kernel_maps(struct buf *b, const char *kallsyms_path, int proc_fd);

/* Appends the mapping of one line of /proc/modules. */
int perf_put_module(struct buf *b, const char *line);

#endif
