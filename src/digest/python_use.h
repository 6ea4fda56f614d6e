/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds processes that ran CPython, by the files on their stacks, and whether the functions of
 * their scripts are visible. CPython 3.12 and later writes them to a perf map if it is started with
 * -X perf.
 */
#ifndef DIGEST_PYTHON_USE_H
#define DIGEST_PYTHON_USE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct profile;

/* True if the file is CPython, by its name: a program (python3.11) or its library
 * (libpython3.11.so.1.0). *ret_minor: the minor version of "3.<minor>"; 0: not in the name. */
bool python_is_interpreter(const char *path, unsigned int *ret_minor);

struct python_process {
	pid_t pid;
	unsigned int minor;  /* of its version, 3.<minor>; 0: unknown */
	bool shows_script;   /* a function of the script is on a stack */
	uint64_t nr_samples; /* with the interpreter on the stack */
};

/* For a profile with symbols; the caller frees the array. */
int python_processes(const struct profile *p, struct python_process **ret_processes,
		     uint32_t *ret_nr);

#endif
