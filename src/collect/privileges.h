/* SPDX-License-Identifier: Apache-2.0 */
/* Which capabilities a capture needs on this machine, and which of them are present. Changes
 * nothing. */
#ifndef COLLECT_PRIVILEGES_H
#define COLLECT_PRIVILEGES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* The facts about a machine that decide whether a capability is needed. */
struct machine {
	unsigned int kernel_version; /* as KERNEL_VERSION_OF() */
	bool is_memlock_limited;     /* there is a hard limit on locked memory */
	bool is_perf_closed; /* perf_event_paranoid is above 2, and this kernel enforces it */
};

struct machine machine_examine(void);

/* A capability and what a capture needs it for. */
struct privilege {
	int cap;                                    /* CAP_* */
	const char *name;                           /* "CAP_BPF" */
	const char *use;                            /* what does not work without it */
	bool is_essential;                          /* a capture cannot start without it */
	bool admin_includes;                        /* CAP_SYS_ADMIN suffices */
	bool (*is_needed)(const struct machine *m); /* NULL: on every machine */
};

/* All capabilities, including those that this machine does not need. */
const struct privilege *privileges(size_t *ret_nr);

bool privilege_is_needed(const struct privilege *p, const struct machine *m);

/* True if the capability is effective in this thread, itself or through CAP_SYS_ADMIN where that
 * includes it. */
bool privilege_is_held(const struct privilege *p);

/* True if file capabilities could provide it: it is in the bounding set. */
bool privilege_is_grantable(const struct privilege *p);

/* True if the capability is effective in this thread. */
bool privilege_has_cap(int cap);

/* The group whose members may execute a program file with capabilities. */
#define PRIVILEGES_GROUP "perf-agent"

/* The setcap command that gives a program file all capabilities that this machine needs, quoted for
 * a shell. With is_open, which says that everybody may execute the file, commands before it leave that to
 * PRIVILEGES_GROUP. */
int privileges_setcap_command(const struct machine *m, const char *program, bool is_open,
			      struct buf *to);

#endif
