/* SPDX-License-Identifier: Apache-2.0 */
/* What this kernel offers and what this process may do. Asks; changes nothing. */
#ifndef COLLECT_FEATURES_H
#define COLLECT_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"

#define KERNEL_VERSION_OF(major, minor) ((unsigned int)(major) << 16 | (unsigned int)(minor) << 8)

/* Of the running kernel, comparable with KERNEL_VERSION_OF(); 0: not known. */
unsigned int features_kernel_version(void);

/* The highest rate perf_event_open() accepts, or a negative errno. */
long features_max_sample_rate(void);

/* A capability and what a capture needs it for. */
struct privilege {
	int cap;           /* CAP_* */
	const char *name;  /* "CAP_BPF" */
	const char *use;   /* what does not work without it */
	bool is_essential; /* a capture cannot start without it */
};

const struct privilege *features_privileges(size_t *ret_nr);

/* Whether this thread has it effectively, itself or through CAP_SYS_ADMIN where that includes it. */
bool features_has(const struct privilege *p);

/* Everything a capture cannot do without, checked before anything is attached. Names every missing
 * capability. Warns of what will be missing in the result. */
int features_check(const struct log *log, struct pa_error *err);

#endif
