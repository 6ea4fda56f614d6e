/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges functions that are one to the reader. The model can have several for one: a function has
 * one source file in the model, but its lines can come from several, and a file that is mapped
 * twice has two of each. Code without a symbol, of which only addresses are known, is one function
 * per file.
 */
#ifndef DIGEST_FUNCTIONS_H
#define DIGEST_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "profile/profile.h"

struct functions {
	const struct profile *p; /* borrowed */
	uint32_t type;           /* index into p->types of the values that are summed up */
	uint32_t nr;             /* function numbers are below this */
	uint32_t *same_as;       /* owned: by function of the model, the first that is the same */
	/* owned: by mapping, the first of the same path; the one past the end: no mapping */
	uint32_t *unnamed_in;
};

int functions_init(struct functions *f, const struct profile *p, uint32_t type);
void functions_done(struct functions *f);

/* The number of functions at a location: 1, plus those inlined there. */
static inline uint32_t functions_nr_at(const struct functions *f, uint32_t location)
{
	uint32_t nr = f->p->locations[location].nr_lines;

	return nr ? nr : 1;
}

/* The number of one of them; line 0 is the innermost. */
uint32_t functions_at(const struct functions *f, uint32_t location, uint32_t line);

/* Borrowed from the profile. Code without a symbol is called "[no symbol]" where it has a file, else
 * "[jit]", "[kernel]", "[vdso]" or "[unknown]". */
const char *functions_name(const struct functions *f, uint32_t number);
const char *functions_file(const struct functions *f, uint32_t number);
bool functions_is_unnamed(const struct functions *f, uint32_t number);

/* The source file of a function of generated code, which has no other file: the script. NULL: the code has a
 * file, or the source is unknown. */
const char *functions_source(const struct functions *f, uint32_t number);

/* Whether it is a Python function of a script: not of those that are frozen into the interpreter, which start and
 * import programs. */
#define FUNCTIONS_PYTHON_PREFIX "py::" /* of the name in CPython's perf map */
bool functions_is_python(const struct functions *f, uint32_t number);

/* Compares by name, then file, then source, then number. */
int functions_compare(const struct functions *f, uint32_t a, uint32_t b);

#endif
