/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_QUIET_WRITE_H
#define BASE_QUIET_WRITE_H

#include <sys/types.h>

/*
 * write() that reports errors by errno only. A closed pipe raises SIGPIPE and the file size limit
 * SIGXFSZ, both fatal by default; a library must not change signal dispositions, so both are
 * blocked for this thread during the call. A signal that was already pending is left alone.
 */
ssize_t write_quietly(int fd, const void *bytes, size_t n);

#endif
