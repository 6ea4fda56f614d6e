/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a JIT compiler's name for its code: V8 and CPython put the function, its file and its line
 * into one text. Any other text is the name of a function. */
#ifndef SYMBOLIZE_JIT_NAME_H
#define SYMBOLIZE_JIT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parts of the given text, or static strings; not NUL-terminated. */
struct jit_name {
	const char *name;
	size_t name_len; /* at least 1 if the text is not empty */
	const char *file;
	size_t file_len; /* 0: unknown */
	uint32_t line;   /* where the function begins; 0: unknown */
	bool is_v8;
	bool is_nameless; /* name is "(anonymous)" or "(script)" */
};

void jit_name_decode(const char *text, size_t len, struct jit_name *ret_name);

#endif
