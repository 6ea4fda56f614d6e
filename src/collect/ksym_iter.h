/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's functions from its symbol iterator, which no sysctl hides. */
#ifndef COLLECT_KSYM_ITER_H
#define COLLECT_KSYM_ITER_H

#include "base/log.h"

/* Opens a file in the format of /proc/kallsyms; the caller closes it. -EOPNOTSUPP: the kernel has
 * no such iterator (it was added in 6.0). */
int ksym_iter_open(const struct log *log, int *ret_fd);

#endif
