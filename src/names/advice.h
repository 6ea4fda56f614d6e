/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice for the user about missing symbols and truncated stacks, by language runtime. All texts are
 * static; "PID" in a text stands for the process (advice_fill_pid()). NULL: nothing is known to help.
 */
#ifndef NAMES_ADVICE_H
#define NAMES_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ADVICE_SIZE 192 /* of a text with its PID */

/* The language runtime of a process that has mapped this file, by the file's name. Static; NULL if
 * the name is not known. */
const char *advice_runtime_of_file(const char *path);

/* The runtime's usual name: "java". */
const char *advice_runtime_title(const char *runtime);

/* For JIT code without symbols, and for stacks that end in it. runtime NULL: unknown. */
const char *advice_for_symbols(const char *runtime);
const char *advice_for_jit_stacks(const char *runtime);

/* For stacks that end in a file's code because it does not keep frame pointers. has_own_stack: see
 * compiled_file. */
const char *advice_for_file(const char *path, bool has_own_stack);

/* Replaces "PID" in text; with pid 0 it stays. to: ADVICE_SIZE bytes. Returns text or to; NULL for
 * NULL. */
const char *advice_fill_pid(const char *text, pid_t pid, char *to);

#endif
