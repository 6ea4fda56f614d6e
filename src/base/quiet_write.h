/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_QUIET_WRITE_H
#define BASE_QUIET_WRITE_H

#include <sys/types.h>

/*
 * write() that answers with errno alone. A closed pipe sends SIGPIPE and the file size limit sends
 * SIGXFSZ, both deadly; what a process does with signals is not for a library to change, so they
 * are blocked for this thread and this call. One that was already pending is not ours to take.
 */
ssize_t write_quietly(int fd, const void *bytes, size_t n);

#endif
