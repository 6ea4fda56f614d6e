/* SPDX-License-Identifier: Apache-2.0 */
/* Advice for users of perf(1): what to type instead. */
#ifndef CLI_PERF_WORDS_H
#define CLI_PERF_WORDS_H

/* Advice for an option, "-g" or "--call-graph"; NULL if there is none. */
const char *perf_words_option(const char *spelling);

/* Advice for a subcommand of perf, or a reserved name; NULL if the word is neither. */
const char *perf_words_subcommand(const char *word);

#endif
