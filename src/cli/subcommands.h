/* SPDX-License-Identifier: Apache-2.0 */
/* Words that are subcommands, not commands to profile, if they are the first argument. */
#ifndef CLI_SUBCOMMANDS_H
#define CLI_SUBCOMMANDS_H

#include <stdbool.h>

struct subcommand {
	const char *name;
	const char *arguments; /* for messages */
	bool is_privileged; /* false: it reads and writes files as its caller may, and needs no capabilities */
	/* argv[0] is the name. Returns the exit status. */
	int (*run)(int argc, char *argv[]);
};

/* NULL if there is none with that name. */
const struct subcommand *subcommand_find(const char *name);

/* The name of the subcommand that word is with a few typos; NULL: none. */
const char *subcommand_suggest(const char *word);

#endif
