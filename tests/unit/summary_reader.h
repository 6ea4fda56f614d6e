/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the summary of a capture back from what --json wrote, so that reports of real captures can be
 * printed again. */
#ifndef TESTS_SUMMARY_READER_H
#define TESTS_SUMMARY_READER_H

#include <jansson.h>
#include <perfagent/perfagent.h>

struct summary_reader {
	struct pa_summary summary; /* owns its lists; its strings are json's */
	json_t *json;              /* owned */
};

/* Members that the file lacks are 0, NULL, empty or PA_UNKNOWN. false: it is not a JSON object, or memory is short. */
bool summary_reader_init(struct summary_reader *r, const char *path);
void summary_reader_done(struct summary_reader *r);

#endif
