/* SPDX-License-Identifier: Apache-2.0 */
/* Demangles C++, Rust, D and Ada. Hostile names cost bounded time and memory. */
#ifndef SYMBOLIZE_DEMANGLE_H
#define SYMBOLIZE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#define DEMANGLE_MAX_IN 4096
#define DEMANGLE_MAX_OUT 16384

/* Writes the readable form of a mangled symbol to `to` (NUL-terminated, at most size bytes with the
 * NUL). False: the name has no mangling prefix, does not parse, or either name is too long; `to` is
 * then unspecified and the name should be shown as it is. */
bool demangle(const char *symbol, char *to, size_t size);

/* True if a symbol is from rustc, in either mangling. */
bool is_rust_symbol(const char *symbol);

#endif
