/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture saw, for programs: one JSON object, described in docs/json-schema.md. */
#ifndef CLI_REPORT_JSON_H
#define CLI_REPORT_JSON_H

#include <perfagent/perfagent.h>

#define REPORT_JSON_SCHEMA_VERSION 1

/*
 * The object as text that ends with a newline; the caller frees it. error is the sentence of what
 * went wrong, or NULL. Bytes that are not UTF-8 become U+FFFD. -ENOMEM.
 */
int report_json(const struct pa_summary *s, const char *error, char **ret_text);

#endif
