/* SPDX-License-Identifier: Apache-2.0 */
/* The text of the live status line. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <perfagent/perfagent.h>

#define PROGRESS_TEXT_SIZE 256
#define PROGRESS_INTERVAL_MS 200

/* The agent's current CPU use, not its average: set-up takes more CPU time than sampling. */
struct progress_meter {
	bool has_mark;
	bool has_percent;
	uint64_t mark_elapsed_ns, mark_cpu_ns;
	double cpu_percent; /* of one CPU, over the last whole second */
};

/* Call with every update. */
void progress_measure(struct progress_meter *m, const struct pa_progress *p);

/*
 * Fits the text into max_cols columns by leaving out whole numbers, the least important ones first.
 * is_ending: the user has asked to stop the capture. Returns text.
 */
const char *progress_format(const struct pa_progress *p, const struct progress_meter *m,
			    bool is_ending, uint32_t max_cols, char text[PROGRESS_TEXT_SIZE]);

#endif
