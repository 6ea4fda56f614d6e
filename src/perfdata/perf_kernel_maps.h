/* SPDX-License-Identifier: Apache-2.0 */
/* Where the kernel's code lies, as records: perf finds no symbol of the kernel without them. */
#ifndef PERFDATA_PERF_KERNEL_MAPS_H
#define PERFDATA_PERF_KERNEL_MAPS_H

#include <stdint.h>

#include "base/buf.h"

/* What perf calls the kernel's own code. */
#define PERF_KERNEL_NAME "[kernel.kallsyms]"

/*
 * The kernel and its modules at this time, from a list of symbols ("/proc/kallsyms") and, in the same
 * file system, one of modules; time 0. Nothing where addresses are hidden or a list is missing. -ENOMEM,
 * -E2BIG.
 */
int perf_put_kernel_maps(struct buf *b, const char *kallsyms_path, int proc_fd);

/* Pure: one line of /proc/modules. */
int perf_put_module(struct buf *b, const char *line);

#endif
