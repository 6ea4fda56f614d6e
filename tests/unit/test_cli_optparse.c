/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing alone; what the options of perf-agent mean is the business of cli_rules.sh. */
#include <string.h>
#include <unistd.h>

#include "cli/optparse.h"
#include "tap.h"

#define LOG_SIZE 256

struct result {
	char log[LOG_SIZE]; /* "name=value " for each option */
	int status;
	int rest;
	bool has_dashes;
};

static int record(void *ctx, const struct option_def *def, const char *value)
{
	struct result *r = ctx;
	size_t len = strlen(r->log);

	(void)snprintf(r->log + len, LOG_SIZE - len, "%s=%s ", def->name, value ? value : "");
	return strcmp(def->name, "stop") ? OPTPARSE_CONTINUE : OPTPARSE_STOP;
}

static const struct option_def defs[] = {
	{ "flag", 'f', .group = "Some", .help = "a flag", .handle = record },
	{ "value", 'v', .arg = "V", .group = "Some", .help = "one\ntwo", .handle = record },
	{ "maybe", .arg = "M", .is_arg_optional = true, .group = "Other", .help = "perhaps",
	  .handle = record },
	{ "stop", .group = "Other", .help = "stops", .handle = record },
};
static const struct option_table table = { defs, sizeof(defs) / sizeof(defs[0]) };

#define parse(...) parse_args((char *[]){ (char[]){ "x" }, __VA_ARGS__, NULL })

static struct result parse_args(char **argv)
{
	struct result r = { .rest = -1 };
	int argc = 0;

	while (argv[argc])
		argc++;
	r.status = optparse(&table, argc, argv, &r, &r.rest, &r.has_dashes);
	return r;
}

#define A(s) ((char[]){ s })

static void test_forms(void)
{
	struct result r = parse(A("-f"), A("-v1"), A("-v"), A("2"), A("--value"), A("3"),
				A("--value=4"), A("-fv5"), A("--maybe"), A("--maybe=6"));

	ok(r.status == OPTPARSE_CONTINUE &&
		   !strcmp(r.log, "flag= value=1 value=2 value=3 value=4 flag= value=5 maybe= "
				  "maybe=6 "),
	   "every form of an option is understood");
	ok(r.rest == 11 && !r.has_dashes, "nothing is left");
}

static void test_rest(void)
{
	struct result r = parse(A("-f"), A("--"), A("-f"), A("x"));

	ok(r.rest == 3 && r.has_dashes && !strcmp(r.log, "flag= "),
	   "after -- nothing is an option");
	r = parse(A("-f"), A("x"), A("-f"));
	ok(r.rest == 2 && !r.has_dashes, "the first argument ends the options, without dashes");
	r = parse(A("-v"), A("--"), A("x"));
	ok(r.rest == 3 && !r.has_dashes && !strcmp(r.log, "value=-- "),
	   "dashes that are a value do not end the options");
	r = parse(A("-v"), A("--"), A("--"), A("x"));
	ok(r.rest == 4 && r.has_dashes, "dashes after dashes that are a value end the options");
	r = parse(A("--stop"), A("--nonsense"));
	ok(r.status == OPTPARSE_STOP, "what stands after an option that stops does not matter");
}

static void test_help(void)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	must(f);
	optparse_help(&table, f);
	must(fclose(f) == 0 && text);
	ok(!strcmp(text, "\nSome:\n"
			 "  -f, --flag                  a flag\n"
			 "  -v, --value V               one\n"
			 "                              two\n"
			 "\nOther:\n"
			 "      --maybe[=M]             perhaps\n"
			 "      --stop                  stops\n"),
	   "help is the table in columns");
	free(text);
}

int main(void)
{
	test_forms();
	test_rest();
	test_help();
	return tap_done();
}
