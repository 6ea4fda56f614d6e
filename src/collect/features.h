/* SPDX-License-Identifier: Apache-2.0 */
/* What this kernel offers, and whether that is enough for a capture. Asks; changes nothing. */
#ifndef COLLECT_FEATURES_H
#define COLLECT_FEATURES_H

#include "base/error.h"
#include "base/log.h"

#define KERNEL_VERSION_OF(major, minor) ((unsigned int)(major) << 16 | (unsigned int)(minor) << 8)

/* Of the running kernel, comparable with KERNEL_VERSION_OF(); 0: not known. */
unsigned int features_kernel_version(void);

/* The highest rate perf_event_open() accepts, or a negative errno. */
long features_max_sample_rate(void);

/* Everything a capture cannot do without, checked before anything is attached. Names every missing
 * capability. Warns of what will be missing in the result. */
int features_check(const struct log *log, struct pa_error *err);

#endif
