/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/option_handlers.h"

#include <stdlib.h>
#include <string.h>

#include "cli/digits.h"
#include "cli/options.h"

/* --follow-children after --no-follow-children: the last one wins. */
static void take_back(void *ctx, const struct option_def *def)
{
	if (def->clears)
		*(bool *)((char *)ctx + def->clears) = false;
}

int handle_flag(void *ctx, const struct option_def *def, const char *value)
{
	*(bool *)((char *)ctx + def->field) = true;
	take_back(ctx, def);
	return OPTPARSE_CONTINUE;
}

/* "-o --strict" is more likely a forgotten path than a file with that name. */
int handle_path(void *ctx, const struct option_def *def, const char *value)
{
	if (!strncmp(value, "--", 2))
		return option_error(def, "'%s' looks like an option; write ./%s if it is a file",
				    value, value);
	*(const char **)((char *)ctx + def->field) = value;
	take_back(ctx, def);
	return OPTPARSE_CONTINUE;
}

/* A name that is not that of a file. */
int handle_word(void *ctx, const struct option_def *def, const char *value)
{
	if (!strncmp(value, "--", 2))
		return option_error(def, "'%s' looks like an option; write --%s %s", value,
				    def->name, def->arg);
	*(const char **)((char *)ctx + def->field) = value;
	return OPTPARSE_CONTINUE;
}

int handle_top(void *ctx, const struct option_def *def, const char *value)
{
	uint64_t n;

	if (parse_digits(value, strlen(value), OPTIONS_MAX_TOP, &n) < 0 || n == 0)
		return option_error(def, "'%s' is not a number of functions; give 1 to %d", value,
				    OPTIONS_MAX_TOP);
	*(unsigned int *)(void *)((char *)ctx + def->field) = (unsigned int)n;
	return OPTPARSE_CONTINUE;
}

/* "5", "0.5", "5%"; strtod() alone would also take 0x5, 5e0 and nan. */
int handle_percent(void *ctx, const struct option_def *def, const char *value)
{
	bool is_number = strspn(value, "0123456789") > 0;
	char *end;
	double percent = strtod(value, &end);

	if (*end == '%')
		end++;
	if (!is_number || *end || value[strspn(value, "0123456789.%")] || percent > 100)
		return option_error(def, "'%s' is not a percentage; give 0 to 100, as in --%s 5",
				    value, def->name);
	*(double *)(void *)((char *)ctx + def->field) = percent;
	return OPTPARSE_CONTINUE;
}

int handle_choice(void *ctx, const struct option_def *def, const char *value)
{
	for (const struct option_choice *c = def->choices; c->word; c++) {
		if (strcmp(value, c->word) != 0)
			continue;
		memcpy((char *)ctx + def->field, &c->value, sizeof(c->value));
		return OPTPARSE_CONTINUE;
	}
	return option_error(def, "'%s' is unknown; give %s", value, def->choices_text);
}

int handle_help(void *ctx, const struct option_def *def, const char *value)
{
	*(enum options_action *)ctx = OPTIONS_HELP;
	return OPTPARSE_STOP;
}

const struct option_choice sort_choices[] = {
	{ "self", REPORT_SORT_SELF },
	{ "total", REPORT_SORT_TOTAL },
	{ 0 },
};
