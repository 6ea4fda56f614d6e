/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table describes each option completely: its names, its argument, its help text, its handler.
 * Parsing is that of getopt_long() with two differences: names cannot be abbreviated, because a new
 * option could change the meaning of a prefix; and every error is one line of the same form.
 */
#ifndef CLI_OPTPARSE_H
#define CLI_OPTPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define OPTPARSE_MAX_OPTIONS 64

/* Results of a handler, in addition to a negative errno after usage_error(). */
#define OPTPARSE_CONTINUE 0
#define OPTPARSE_STOP 1 /* ignore the rest of the command line: --help, --version */

/* A word that an option accepts and the enum value it stands for; the last entry has no word. */
struct option_choice {
	const char *word;
	int value;
};

struct option_def {
	const char *name;
	char letter;          /* 0: no short form */
	char other_letter;    /* also accepted, but not in help; 0: none */
	bool is_arg_optional; /* only as --name=VALUE */
	const char *arg;      /* as help shows it; NULL: takes no value */
	const char *group;    /* heading in help, where it differs from the previous one */
	const char *help;     /* may have several lines */
	/* of struct pa_options that it sets, one or several words; NULL: none */
	const char *member;
	size_t field;                        /* for the handler: offsetof() in its context */
	size_t clears;                       /* offset of a bool that the option resets; 0: none */
	const struct option_choice *choices; /* for the handler: the accepted words */
	const char *choices_text;            /* the accepted words, for messages */
	int (*handle)(void *ctx, const struct option_def *def, const char *value);
};

struct option_table {
	const struct option_def *defs;
	size_t nr_defs;
	/* Returns advice for an option that is not in the table, "-x" or "--name"; may return NULL,
	 * may be NULL. */
	const char *(*advise)(const char *spelling);
};

/*
 * Calls the handler of each option in argv, once for each time that it is given. *ret_rest is the
 * index of the first argument after the options; *ret_has_dashes tells whether it came after "--".
 * Returns OPTPARSE_CONTINUE, OPTPARSE_STOP, or a negative errno after an error was printed.
 */
int optparse(const struct option_table *table, int argc, char *const argv[], void *ctx,
	     int *ret_rest, bool *ret_has_dashes);

/* Prints the options part of --help. */
void optparse_help(const struct option_table *table, FILE *out);

/*
 * Prints "perf-agent: what: sentence (see --help)" to stderr. The sentence is "what is wrong; what
 * to do". Returns -EINVAL, for the caller to return.
 */
int usage_error(const char *what, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As usage_error(), for an option, by its long name. */
int option_error(const struct option_def *def, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
