/* SPDX-License-Identifier: Apache-2.0 */
/* Shortens function names: what distinguishes two functions is kept longest. */
#ifndef CLI_FUNCTION_NAME_H
#define CLI_FUNCTION_NAME_H

#include <stdint.h>
#include <stdio.h>

/*
 * Writes name in at most max_cols columns and returns the columns used. A name that does not fit
 * loses, in this order, its parameters and return type, its template arguments, and its beginning.
 */
uint32_t function_name_put(FILE *out, const char *name, uint32_t max_cols);

#endif
