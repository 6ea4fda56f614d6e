/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduler statistics as a page of text, in the form of "perf-agent --pmu" since its first version: others
 * read it by line. */
#ifndef WRITE_PMU_TEXT_H
#define WRITE_PMU_TEXT_H

#include <stdbool.h>

#include "base/outfile.h"
#include "stats/sched_report.h"

#define PMU_TEXT_FORMAT "pmu"
#define PMU_TEXT_NAME "pmu" /* in an automatic file name, before the suffix */
#define PMU_TEXT_SUFFIX ".txt"

/*
 * whose: what stands in the heading's parentheses. per_process: a block for each process in place of one for
 * all of them together. Names of processes are sanitized (clean_text.h).
 */
int pmu_text_write(const struct sched_report *r, const char *whose, bool per_process,
		   struct outfile *out, struct pa_error *err);

#endif
