/* SPDX-License-Identifier: Apache-2.0 */
/* What an old program makes of a new library's summary. */
#ifndef TESTS_OLD_READER_H
#define TESTS_OLD_READER_H

#include <stddef.h>

/* The sizes that it knows. */
size_t old_size_of_count(void);
size_t old_size_of_function(void);

/* By PA_ITEM(). */
const char *old_failure_name(const void *summary, size_t i);
const char *old_function_name(const void *summary, size_t i);

#endif
