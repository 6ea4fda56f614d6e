/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_OWNER_H
#define CLI_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/* The owner of output files. */
struct owner {
	bool is_set;
	uid_t uid;
	gid_t gid;
};

/* The user who called sudo, if this is root and sudo's variables are set. */
struct owner owner_from_environment(void);

#endif
