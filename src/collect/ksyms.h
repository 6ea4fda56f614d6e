/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's functions by its own iterator over symbols, which no sysctl blanks. */
#ifndef COLLECT_KSYMS_H
#define COLLECT_KSYMS_H

/* A file to read, in the format of /proc/kallsyms; the caller closes it. -EOPNOTSUPP: the kernel
 * offers no such iterator (it does since 6.0). */
int ksyms_open(int *ret_fd);

#endif
