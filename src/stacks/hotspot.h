/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a Java virtual machine that affect stacks. */
#ifndef STACKS_HOTSPOT_H
#define STACKS_HOTSPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct procfs;

bool hotspot_is_library(const char *path);

/* True if -XX:+PreserveFramePointer is in force, according to /proc/<pid>/cmdline and environ,
 * which are NUL-terminated strings. The last occurrence counts; the environment comes before the
 * command line, except _JAVA_OPTIONS. */
bool hotspot_options_keep_records(const char *cmdline, size_t cmdline_len, const char *environ,
				  size_t environ_len);

/* As hotspot_options_keep_records(), for a process; false also if its options cannot be read. */
bool hotspot_keeps_records(const struct procfs *p, pid_t pid);

#endif
