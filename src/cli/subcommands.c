/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/subcommands.h"

#include <stddef.h>
#include <string.h>

#include "cli/run_diff.h"
#include "cli/run_doctor.h"
#include "cli/run_files.h"
#include "cli/suggest.h"

static const struct subcommand subcommands[] = {
	{ "report", "FILE", false, run_report },
	{ "convert", "FILE -o OUT", false, run_convert },
	{ "diff", "BASE NEW", false, run_diff },
	{ "doctor", "[--pid N]", true, run_doctor },
};

const struct subcommand *subcommand_find(const char *name)
{
	for (size_t i = 0; i < sizeof(subcommands) / sizeof(subcommands[0]); i++)
		if (!strcmp(name, subcommands[i].name))
			return &subcommands[i];
	return NULL;
}

const char *subcommand_suggest(const char *word)
{
	for (size_t i = 0; i < sizeof(subcommands) / sizeof(subcommands[0]); i++)
		if (suggest_is_close(word, strlen(word), subcommands[i].name))
			return subcommands[i].name;
	return NULL;
}
