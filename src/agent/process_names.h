/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the processes that have a given name. */
#ifndef AGENT_PROCESS_NAMES_H
#define AGENT_PROCESS_NAMES_H

#include "agent/settings.h"
#include "proc/procfs.h"

struct log;

/*
 * Adds every process that has one of process_names to the PIDs, once, except our own and those that
 * have exited. Processes choose their own names: one that takes a selected name becomes a target,
 * which gains it nothing. If more than SETTINGS_MAX_PIDS processes match, those of root and of our
 * user are taken, then an equal number of every other user's, and a message is logged: starting
 * thousands of processes does not keep others from being profiled. -ESRCH: no process has the name.
 */
int process_names_find(struct settings *s, const struct procfs *procfs, const struct log *log,
		       struct pa_error *err);

/* Whether the process still has one of process_names. If not, either the process that was found has
 * exited and its PID belongs to another one by now, or it has changed its name. */
bool process_names_match(const struct settings *s, const struct procfs *procfs, pid_t pid);

#endif
