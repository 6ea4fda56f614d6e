/* SPDX-License-Identifier: Apache-2.0 */
/* Habits of perf(1) users, and what to type here instead. */
#ifndef CLI_PERF_WORDS_H
#define CLI_PERF_WORDS_H

/* Advice for an option, "-g" or "--call-graph"; NULL: none. */
const char *perf_words_option(const char *spelling);

/* Advice for a subcommand of perf, or one whose name is reserved; NULL: the word is neither. */
const char *perf_words_subcommand(const char *word);

#endif
