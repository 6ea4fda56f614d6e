/* SPDX-License-Identifier: Apache-2.0 */
/* The D and Ada part of demangle(): both write at most size bytes with the NUL. False: not such a
 * name, or too long; `to` is then unspecified. */
#ifndef SYMBOLIZE_DEMANGLE_D_H
#define SYMBOLIZE_DEMANGLE_D_H

#include <stdbool.h>
#include <stddef.h>

bool demangle_d(const char *symbol, char *to, size_t size);
bool demangle_ada(const char *symbol, char *to, size_t size);

#endif
