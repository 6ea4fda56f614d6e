/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table says all about an option: its names, its argument, what help says, what it does.
 * Parsing is getopt_long()'s, with two differences: names cannot be abbreviated (tomorrow's option
 * would change what a prefix means), and every mistake is told in one line of the same form.
 */
#ifndef CLI_OPTPARSE_H
#define CLI_OPTPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define OPTPARSE_MAX_OPTIONS 64

/* What a handler may return besides a negative errno after usage_error(). */
#define OPTPARSE_CONTINUE 0
#define OPTPARSE_STOP 1 /* the rest of the command line does not matter: --help, --version */

/* A word that an option takes, and the value of an enum it stands for; the last has no word. */
struct option_choice {
	const char *word;
	int value;
};

struct option_def {
	const char *name;
	char letter;          /* 0: no short form */
	bool is_arg_optional; /* only as --name=VALUE */
	bool is_repeatable;   /* may be given more than once */
	const char *arg;      /* as help shows it; NULL: takes no value */
	const char *group;    /* heading in help, where it differs from the previous one */
	const char *help;     /* a newline begins another line */
	size_t field;         /* for the handler: offsetof() in its context */
	const struct option_choice *choices; /* for the handler, where the value is one of a few */
	const char *choices_text;            /* the same as people list them */
	int (*handle)(void *ctx, const struct option_def *def, const char *value);
};

struct option_table {
	const struct option_def *defs;
	size_t nr_defs;
};

/*
 * Hands each option of argv to its handler. *ret_rest is the index of the first argument after the
 * options; *ret_has_dashes whether it came after "--". Returns OPTPARSE_CONTINUE, OPTPARSE_STOP, or
 * a negative errno when a mistake was told.
 */
int optparse(const struct option_table *table, int argc, char *const argv[], void *ctx,
	     int *ret_rest, bool *ret_has_dashes);

/* The options part of --help. */
void optparse_help(const struct option_table *table, FILE *out);

/*
 * "perf-agent: what: sentence (see --help)" on stderr. The sentence is "what is wrong; what to do".
 * Returns -EINVAL, the result of whoever found the mistake.
 */
int usage_error(const char *what, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same about an option, by its long name. */
int option_error(const struct option_def *def, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
