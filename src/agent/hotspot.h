/* SPDX-License-Identifier: Apache-2.0 */
/* What a Java virtual machine was asked for when it was started, as far as stacks depend on it. */
#ifndef AGENT_HOTSPOT_H
#define AGENT_HOTSPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct procfs;

bool hotspot_is_library(const char *path);

/* Pure: whether -XX:+PreserveFramePointer is in force, by /proc/<pid>/cmdline and environ: strings
 * that end in NUL. The last mention counts, and those of the environment come before the command's,
 * but for _JAVA_OPTIONS. */
bool hotspot_options_keep_records(const char *cmdline, size_t cmdline_len, const char *environ,
				  size_t environ_len);

/* The same of a process; false also where they cannot be read. */
bool hotspot_keeps_records(const struct procfs *p, pid_t pid);

#endif
