/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What users can do about missing names and truncated stacks, by what runs there. All texts are static;
 * "PID" in one stands for the process (cure_fill_pid()). NULL: nothing is known to help.
 */
#ifndef AGENT_CURES_H
#define AGENT_CURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CURE_SIZE 192 /* of a text with its PID */

/* The language runtime that a process runs which has mapped this file, by the file's name. Static;
 * NULL: the file says nothing. */
const char *cure_runtime_of_file(const char *path);

/* Code that a runtime (NULL: an unknown one) generated has no names, or was not left by a walk. */
const char *cure_for_names(const char *runtime);
const char *cure_for_generated_code(const char *runtime);

/* A file's code was left by frame pointer, which led nowhere. has_own_stack: see compiled_file. */
const char *cure_for_file(const char *path, bool has_own_stack);

/* text with its "PID" replaced; pid 0: it stays. to: CURE_SIZE bytes. Returns to, or NULL for NULL. */
const char *cure_fill_pid(const char *text, pid_t pid, char *to);

#endif
