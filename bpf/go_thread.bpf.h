/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What Go's runtime knows of the current thread; go_thread.bpf.c. Global functions, verified once each. */
#ifndef BPF_GO_THREAD_BPF_H
#define BPF_GO_THREAD_BPF_H

#include "maps.bpf.h"

/* What the walk at that level needs to get from one of the thread's stacks to the other. */
int pa_find_go(u32 level);

/* The stacks to be copied for it. */
int pa_find_go_stack(u32 level);

#endif
