/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that were off the CPU before the capture began, read with an iterator over all tasks. */
#ifndef COLLECT_BLOCKED_ITER_H
#define COLLECT_BLOCKED_ITER_H

#include "bpf/wait.h"

struct programs;
typedef void (*blocked_fn)(void *ctx, const struct pa_blocked *b);

/* Calls fn for each target; the BPF programs consider it waiting from then on. -EOPNOTSUPP if the
 * kernel cannot do this. */
int blocked_iter_read(const struct programs *p, blocked_fn fn, void *ctx);

#endif
