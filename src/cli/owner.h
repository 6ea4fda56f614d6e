/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_OWNER_H
#define CLI_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/* Whom files belong to. */
struct owner {
	bool is_set;
	uid_t uid;
	gid_t gid;
};

/* The user who called sudo, when this is root and sudo says who. */
struct owner owner_from_environment(void);

#endif
