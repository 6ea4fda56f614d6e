/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/file_options.h"

#include <stddef.h>
#include <string.h>

#include "cli/option_handlers.h"

#define FIELD(name) offsetof(struct file_options, name)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define GROUP "Options"

/* clang-format off */
#define TYPE_OPTION                                                                                \
	{ "type", .arg = "T", .group = GROUP, .handle = handle_word, .field = FIELD(value_type),   \
	  .help = "which values to use, if the file has several:\n"                                \
		  "inuse_space (default: that of the file)" }
#define HELP_OPTION                                                                                \
	{ "help", 'h', '?', .group = GROUP, .handle = handle_help, .help = "print this help" }
#define SORT_OPTION                                                                                \
	{ "sort", .arg = "S", .group = GROUP, .handle = handle_choice, .field = FIELD(sort),       \
	  .choices = sort_choices, .choices_text = "self or total",                                \
	  .help = "list functions by self or by total" }
#define TOP_OPTION                                                                                 \
	{ "top", .arg = "N", .group = GROUP, .handle = handle_top, .field = FIELD(top),            \
	  .help = "how many functions to list" }
/* clang-format on */

static const struct option_def report_defs[] = {
	SORT_OPTION,
	TOP_OPTION,
	{ "by", .arg = "LABEL", .group = GROUP, .handle = handle_word, .field = FIELD(label),
	  .help = "a table by the values of a label: thread, state" },
	TYPE_OPTION,
	{ "verbose", 'v', .group = GROUP, .handle = handle_flag, .field = FIELD(verbose),
	  .help = "longer lists" },
	HELP_OPTION,
};

static const struct option_def convert_defs[] = {
	{ "output", 'o', .arg = "OUT", .group = GROUP, .handle = handle_path,
	  .field = FIELD(output), .help = "where to write; - is stdout" },
	{ "format", .arg = "F", .group = GROUP, .handle = handle_word, .field = FIELD(format),
	  .help = "html, folded or json (default: the suffix of\n"
		  "OUT)" },
	TYPE_OPTION,
	HELP_OPTION,
};

static const struct option_def diff_defs[] = {
	SORT_OPTION,
	TOP_OPTION,
	{ "output", 'o', .arg = "OUT.html", .group = GROUP, .handle = handle_path,
	  .field = FIELD(output), .help = "flame graph of NEW, colored by the differences" },
	{ "fail-over", .arg = "PCT", .group = GROUP, .handle = handle_percent,
	  .field = FIELD(fail_over_percent),
	  .help = "exit 3 if the share of a function, self or\n"
		  "total, grew by more than PCT points" },
	TYPE_OPTION,
	HELP_OPTION,
};

static const struct file_command {
	const char *name;
	struct option_table table;
	size_t nr_paths;
	const char *usage; /* after the name */
	const char *text;
} commands[] = {
	{ "report",
	  { report_defs, ARRAY_SIZE(report_defs), NULL },
	  1,
	  "FILE [OPTIONS]",
	  "Prints where the time of a profile went. FILE is of the pprof format, of any\n"
	  "program; - is stdin.\n" },
	{ "convert",
	  { convert_defs, ARRAY_SIZE(convert_defs), NULL },
	  1,
	  "FILE -o OUT [OPTIONS]",
	  "Writes a profile of the pprof format in another one: a flame graph for a\n"
	  "browser (OUT.html), folded stacks (OUT.folded) or the summary as JSON\n"
	  "(OUT.json).\n" },
	{ "diff",
	  { diff_defs, ARRAY_SIZE(diff_defs), NULL },
	  2,
	  "BASE NEW [OPTIONS]",
	  "Lists by how much the share of each function changed from one profile to\n"
	  "another. Functions are matched by name and file.\n" },
};

static const struct file_command *command_named(const char *name)
{
	const struct file_command *c = commands;

	while (strcmp(c->name, name) != 0)
		c++;
	return c;
}

void file_options_help(const char *subcommand, FILE *out)
{
	const struct file_command *c = command_named(subcommand);

	(void)fprintf(out, "usage: perf-agent %s %s\n%s", c->name, c->usage, c->text);
	optparse_help(&c->table, out);
}

static int add_path(const struct file_command *c, struct file_options *o, const char *path)
{
	if (!*path)
		return usage_error(c->name, "the name of a file is empty; write perf-agent %s %s",
				   c->name, c->usage);
	if (o->nr_paths == c->nr_paths)
		return usage_error(path, "one file too many; write perf-agent %s %s", c->name,
				   c->usage);
	o->paths[o->nr_paths++] = path;
	return 0;
}

/* Options may also follow the files. */
static int parse_words(const struct file_command *c, int argc, char *argv[], struct file_options *o)
{
	bool has_dashes = false;
	int rest, r;

	do {
		r = optparse(&c->table, argc, argv, o, &rest, &has_dashes);
		if (r != OPTPARSE_CONTINUE)
			return r;
		for (; rest < argc && r == 0; rest++) {
			r = add_path(c, o, argv[rest]);
			if (!has_dashes)
				break;
		}
		argc -= rest;
		argv += rest;
	} while (r == 0 && argc > 1);
	return r;
}

static int parse_file_options(int argc, char *argv[], struct file_options *o)
{
	const struct file_command *c = command_named(argv[0]);
	int r;

	*o = (struct file_options){ .fail_over_percent = FILE_OPTIONS_NO_LIMIT };
	r = parse_words(c, argc, argv, o);
	if (r != OPTPARSE_CONTINUE)
		return r < 0 ? r : 0;
	if (o->nr_paths < c->nr_paths)
		return usage_error(c->name, "%s missing; write perf-agent %s %s",
				   c->nr_paths == 1 ? "a file is" : "two files are needed, one is",
				   c->name, c->usage);
	return 0;
}

int file_options_report(int argc, char *argv[], struct file_options *ret_options)
{
	return parse_file_options(argc, argv, ret_options);
}

/* "json" of "a/b.json"; NULL if there is no suffix. */
static const char *suffix_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');

	return dot ? dot + 1 : NULL;
}

static bool is_format(const char *format)
{
	return !strcmp(format, "html") || !strcmp(format, "folded") || !strcmp(format, "json");
}

int file_options_convert(int argc, char *argv[], struct file_options *o)
{
	int r = parse_file_options(argc, argv, o);

	if (r < 0 || o->action == OPTIONS_HELP)
		return r;
	if (!o->output)
		return usage_error("convert", "an output is missing; write -o OUT.html, %s",
				   "-o OUT.folded or -o OUT.json");
	if (o->format && !is_format(o->format))
		return usage_error("--format", "'%s' is unknown; give html, folded or json",
				   o->format);
	if (!o->format)
		o->format = suffix_of(o->output);
	if (!o->format || !is_format(o->format))
		return usage_error("-o",
				   "the suffix of '%s' is not that of a format; write %s, or give "
				   "--format",
				   o->output, "OUT.html, OUT.folded or OUT.json");
	return 0;
}

int file_options_diff(int argc, char *argv[], struct file_options *o)
{
	int r = parse_file_options(argc, argv, o);

	if (r < 0 || o->action == OPTIONS_HELP)
		return r;
	if (!strcmp(o->paths[0], "-") && !strcmp(o->paths[1], "-"))
		return usage_error("diff", "standard input can be read once; give two files");
	if (!o->output)
		return 0;
	if (!strcmp(o->output, "-"))
		return usage_error("-o", "the table goes to stdout; write -o OUT.html");
	o->format = suffix_of(o->output);
	if (!o->format || strcmp(o->format, "html") != 0)
		return usage_error("-o", "a difference is written as a page; write -o OUT.html");
	return 0;
}
