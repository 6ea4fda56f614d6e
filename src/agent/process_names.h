/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the processes that have a given name. */
#ifndef AGENT_PROCESS_NAMES_H
#define AGENT_PROCESS_NAMES_H

#include "agent/settings.h"
#include "proc/procfs.h"

struct log;

/*
 * Adds every process that has one of process_names to the PIDs, once, except our own and those that
 * have exited. Processes choose their own names: one that takes a selected name becomes a target
 * and gains nothing by it. If more than SETTINGS_MAX_PIDS have them, those of root and of our user
 * are taken, then an equal number of every other user's, and the log says so: whoever starts
 * thousands keeps no one from profiling others. -ESRCH: no process has the name.
 */
int process_names_find(struct settings *s, const struct procfs *procfs, const struct log *log,
		       struct pa_error *err);

/* Whether the process still has one of process_names. If not, the one that was found has exited and
 * its PID belongs to another process by now, or it has another name. */
bool process_names_match(const struct settings *s, const struct procfs *procfs, pid_t pid);

#endif
