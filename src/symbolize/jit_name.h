/* SPDX-License-Identifier: Apache-2.0 */
/* What a JIT calls a piece of its code, taken apart: V8 and CPython put the function, its file and
 * its line into one text. Any other text is a function's name as it is. */
#ifndef SYMBOLIZE_JIT_NAME_H
#define SYMBOLIZE_JIT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pieces of the text that was given, or of static strings; none ends with a NUL. */
struct jit_name {
	const char *name;
	size_t name_len; /* at least 1 when the text has a byte */
	const char *file;
	size_t file_len; /* 0: not told */
	uint32_t line;   /* where the function begins; 0: not told */
	bool is_v8;
};

void jit_name_decode(const char *text, size_t len, struct jit_name *ret_name);

#endif
