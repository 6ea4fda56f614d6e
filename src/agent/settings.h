/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's options, checked, completed with defaults and owned by the session. */
#ifndef AGENT_SETTINGS_H
#define AGENT_SETTINGS_H

#include <perfagent/perfagent.h>

#include "bpf/abi.h"

#define SETTINGS_MAX_PIDS 4096
#define SETTINGS_MAX_EXPORTERS 64

struct settings {
	struct pa_options o; /* its pointers are owned copies, except log_ctx */
	enum pa_select select;
	size_t nr_given_pids; /* the PIDs after them in o.pids were found by process_names */
};

/* True if targets are listed, so that the capture ends when the last one exits. */
static inline bool settings_has_target_list(const struct settings *s)
{
	return s->select == PA_SELECT_PIDS || s->select == PA_SELECT_TIDS;
}

/*
 * Reads options of any size into our own structure, and checks every enum, size and list. Its
 * pointers remain the caller's.
 */
int settings_read(const struct pa_options *opts, struct pa_options *ret_options,
		  struct pa_error *err);

/* As settings_read(), for a session: also checks the options against this machine, fills in
 * defaults, and copies what pointers refer to. Does not attach anything. */
int settings_init(struct settings *s, const struct pa_options *opts, struct pa_error *err);

/* Before another capture with the same options: forgets the PIDs that process_names found, and checks the
 * options against this machine again. */
int settings_renew(struct settings *s, struct pa_error *err);

/* Adds a PID; -E2BIG beyond SETTINGS_MAX_PIDS. */
int settings_add_pid(struct settings *s, pid_t pid);
void settings_done(struct settings *s);

/* The first process or thread that was selected by number; 0 if none was. */
static inline pid_t settings_first_target(const struct pa_options *o)
{
	return o->nr_pids ? o->pids[0] : o->nr_tids ? o->tids[0] : 0;
}

#endif
