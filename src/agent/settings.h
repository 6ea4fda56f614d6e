/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's options, checked, completed with defaults and owned by the session. */
#ifndef AGENT_SETTINGS_H
#define AGENT_SETTINGS_H

#include <perfagent/perfagent.h>

struct settings {
	struct pa_options o; /* its pointers are owned copies, but for log_ctx */
};

/* Reads options of any size. Names what is wrong; nothing is attached for that. */
int settings_init(struct settings *s, const struct pa_options *opts, struct pa_error *err);
void settings_done(struct settings *s);

#endif
