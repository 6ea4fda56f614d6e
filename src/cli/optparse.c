/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/optparse.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <string.h>

#include "cli/suggest.h"
#include "cli/terminal_text.h"

#define LONG_ONLY 256 /* getopt values for long options: LONG_ONLY + index in the table */
#define MESSAGE_MAX 1024
#define HELP_COLUMN 30
#define SPELLING_SIZE 64

struct parser {
	const struct option_table *table;
	struct option longs[OPTPARSE_MAX_OPTIONS + 1];
	char shorts[2 + 3 * OPTPARSE_MAX_OPTIONS + 1];
};

int usage_error(const char *what, const char *fmt, ...)
{
	char text[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* may be truncated */
	va_end(ap);
	(void)fputs("perf-agent: ", stderr);
	(void)text_put(stderr, what, TEXT_NO_LIMIT);
	(void)fputs(": ", stderr);
	(void)text_put(stderr, text, TEXT_NO_LIMIT);
	(void)fputs(" (see --help)\n", stderr);
	return -EINVAL;
}

int option_error(const struct option_def *def, const char *fmt, ...)
{
	char text[MESSAGE_MAX], what[64];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)snprintf(what, sizeof(what), "--%s", def->name);
	return usage_error(what, "%s", text);
}

static int getopt_value(const struct option_table *table, size_t i)
{
	return table->defs[i].letter ? table->defs[i].letter : LONG_ONLY + (int)i;
}

/* '+': the first argument that is not an option ends the options, so that a missing "--" is
 * noticed. ':': a missing value is distinguished from an unknown option. */
static void parser_init(struct parser *p, const struct option_table *table)
{
	char *at = p->shorts;

	*p = (struct parser){ .table = table };
	*at++ = '+';
	*at++ = ':';
	for (size_t i = 0; i < table->nr_defs; i++) {
		const struct option_def *def = &table->defs[i];

		p->longs[i].name = def->name;
		p->longs[i].val = getopt_value(table, i);
		p->longs[i].has_arg = !def->arg              ? no_argument
				      : def->is_arg_optional ? optional_argument
							     : required_argument;
		if (!def->letter)
			continue;
		*at++ = def->letter;
		if (def->arg)
			*at++ = ':';
	}
}

static const struct option_def *find_def(const struct option_table *table, int value)
{
	for (size_t i = 0; i < table->nr_defs; i++)
		if (getopt_value(table, i) == value)
			return &table->defs[i];
	return NULL;
}

/* A letter that getopt_long() cannot handle: -?. */
static const struct option_def *find_other_letter(const struct option_table *table, int letter)
{
	for (size_t i = 0; i < table->nr_defs; i++)
		if (letter && table->defs[i].other_letter == letter)
			return &table->defs[i];
	return NULL;
}

/* True if arg, "--name" or "--name=value", has the complete name. */
static bool is_spelled_out(const char *arg, const struct option_def *def)
{
	size_t len = strcspn(arg + 2, "=");

	return len == strlen(def->name) && !strncmp(arg + 2, def->name, len);
}

/* arg: "-x", "--name" or "--name=value". */
static int unknown_option(const struct option_table *table, const char *arg)
{
	size_t len = strcspn(arg, "=");
	const char *advice, *name = NULL;
	char spelling[SPELLING_SIZE];

	(void)snprintf(spelling, sizeof(spelling), "%.*s", (int)len, arg);
	advice = table->advise ? table->advise(spelling) : NULL;
	if (advice)
		return usage_error(arg, "unknown option; %s", advice);
	if (len > 2)
		name = suggest_option(table, arg + 2, len - 2);
	if (name)
		return usage_error(arg, "unknown option; did you mean --%s?", name);
	return usage_error(arg, "unknown option; check its spelling");
}

static int parse_mistake(const struct parser *p, int value, const char *arg)
{
	const struct option_def *def = optopt ? find_def(p->table, optopt) : NULL;
	bool is_long = !strncmp(arg, "--", 2);
	char letter[3] = { '-', (char)optopt, '\0' };

	if (def && (!is_long || is_spelled_out(arg, def)))
		return value == ':' ? option_error(def, "a value is missing; write --%s %s",
						   def->name, def->arg)
				    : option_error(def, "takes no value; write --%s", def->name);
	return unknown_option(p->table, is_long ? arg : letter);
}

static int handle_one(const struct option_def *def, const char *value, void *ctx)
{
	if (value && !*value)
		return option_error(def, "the value is empty; write --%s%s%s", def->name,
				    def->is_arg_optional ? "=" : " ", def->arg);
	return def->handle(ctx, def, value);
}

int optparse(const struct option_table *table, int argc, char *const argv[], void *ctx,
	     int *ret_rest, bool *ret_has_dashes)
{
	const char *last_value = NULL;
	struct parser p;

	parser_init(&p, table);
	opterr = 0;
	optind = 0; /* glibc: resets its state */
	for (;;) {
		const char *arg = argv[optind ? optind : 1];
		int value = getopt_long(argc, argv, p.shorts, p.longs, NULL), r;
		const struct option_def *def = value < 0 ? NULL : find_def(table, value);

		if (value < 0)
			break;
		if (!def && strncmp(arg, "--", 2) != 0)
			def = find_other_letter(table, optopt);
		if (!def || (!strncmp(arg, "--", 2) && !is_spelled_out(arg, def)))
			return parse_mistake(&p, value, arg);
		last_value = optarg;
		r = handle_one(def, optarg, ctx);
		if (r != OPTPARSE_CONTINUE)
			return r;
	}
	*ret_rest = optind;
	/* in "-o -- x", the dashes are the value of -o */
	*ret_has_dashes = optind > 1 && argv[optind - 1] != last_value &&
			  !strcmp(argv[optind - 1], "--");
	return OPTPARSE_CONTINUE;
}

static void help_names(const struct option_def *def, FILE *out)
{
	const char *open = def->is_arg_optional ? "[=" : " ";
	char names[128], letter[5] = "    ";

	if (def->letter)
		(void)snprintf(letter, sizeof(letter), "-%c, ", def->letter);
	(void)snprintf(names, sizeof(names), "  %s--%s%s%s%s", letter, def->name,
		       def->arg ? open : "", def->arg ? def->arg : "",
		       def->is_arg_optional ? "]" : "");
	(void)fprintf(out, "%-*s", HELP_COLUMN, names);
	if (strlen(names) >= HELP_COLUMN)
		(void)fprintf(out, "\n%*s", HELP_COLUMN, "");
}

static void help_text(const char *text, FILE *out)
{
	for (;;) {
		size_t len = strcspn(text, "\n");

		(void)fprintf(out, "%.*s\n", (int)len, text);
		if (!text[len])
			return;
		text += len + 1;
		(void)fprintf(out, "%*s", HELP_COLUMN, "");
	}
}

void optparse_help(const struct option_table *table, FILE *out)
{
	const char *group = "";

	for (size_t i = 0; i < table->nr_defs; i++) {
		const struct option_def *def = &table->defs[i];

		if (strcmp(group, def->group))
			(void)fprintf(out, "\n%s:\n", def->group);
		group = def->group;
		help_names(def, out);
		help_text(def->help, out);
	}
}
