/* SPDX-License-Identifier: Apache-2.0 */
/* Which features this kernel has, and whether they suffice for a capture. Changes nothing. */
#ifndef COLLECT_FEATURES_H
#define COLLECT_FEATURES_H

#include "base/error.h"
#include "base/log.h"
#include "bpf/abi.h"

/* Where messages send the user; the command line shortens it. */
#define DOCTOR_NAMES "pa_doctor() or perf-agent doctor"

#define KERNEL_VERSION_OF(major, minor) ((unsigned int)(major) << 16 | (unsigned int)(minor) << 8)

/* Version of the running kernel, comparable with KERNEL_VERSION_OF(); 0: unknown. */
unsigned int features_kernel_version(void);

/* Where a kernel of that version reports the state of a task that leaves its CPU. */
enum pa_state_source features_state_source(unsigned int version);

/* The highest rate perf_event_open() accepts, or a negative errno. */
long features_max_sample_rate(void);

/* Checks everything that a capture requires, before anything is attached. Names every missing
 * capability. Warns about data that the result will lack. */
int features_check(const struct log *log, struct pa_error *err);

#endif
