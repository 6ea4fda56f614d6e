/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduler statistics as text, in the unchanged format of "perf-agent --pmu", which other programs
 * parse. */
#ifndef WRITE_PMU_TEXT_H
#define WRITE_PMU_TEXT_H

#include <stdbool.h>

#include "base/outfile.h"
#include "stats/sched_report.h"

#define PMU_TEXT_FORMAT "pmu"
#define PMU_TEXT_NAME "pmu" /* used in an automatic file name, before the suffix */
#define PMU_TEXT_SUFFIX ".txt"

/*
 * whose: the text in parentheses in the heading. per_process: a block for each process instead of
 * one for all processes together. Names of processes are sanitized (clean_text.h).
 */
int pmu_text_write(const struct sched_report *r, const char *whose, bool per_process,
		   struct outfile *out, struct pa_error *err);

#endif
