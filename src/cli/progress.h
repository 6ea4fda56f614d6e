/* SPDX-License-Identifier: Apache-2.0 */
/* The text of the live line: how far the capture is and what it has seen. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <perfagent/perfagent.h>

#define PROGRESS_TEXT_SIZE 256
#define PROGRESS_INTERVAL_MS 200

/*
 * Fits max_cols columns by leaving out whole numbers, the least telling ones first. is_ending:
 * the capture was asked to end. Returns text.
 */
const char *progress_format(const struct pa_progress *p, bool is_ending, uint32_t max_cols,
			    char text[PROGRESS_TEXT_SIZE]);

#endif
