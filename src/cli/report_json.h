/* SPDX-License-Identifier: Apache-2.0 */
/* The summary as one machine-readable JSON object, documented in docs/json-schema.md. */
#ifndef CLI_REPORT_JSON_H
#define CLI_REPORT_JSON_H

#include <perfagent/perfagent.h>

#define REPORT_JSON_SCHEMA_VERSION 1
#define REPORT_JSON_MAX_BYTES (64u << 20) /* for all texts, before escaping */

/*
 * Returns the object as text that ends with a newline; the caller frees it. error is the message of
 * what went wrong, or NULL. Bytes that are not UTF-8 become U+FFFD. -E2BIG: more than
 * REPORT_JSON_MAX_BYTES; -ENOMEM.
 */
int report_json(const struct pa_summary *s, const char *error, char **ret_text);

#endif
