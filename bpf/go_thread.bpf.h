/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What Go's runtime knows about the current thread (go_thread.bpf.c). Global functions, each
 * verified once. */
#ifndef BPF_GO_THREAD_BPF_H
#define BPF_GO_THREAD_BPF_H

#include "maps.bpf.h"

/* What the walk at that level needs to get from one stack of the thread to the other. */
int pa_find_go(u32 level);

/* The parts of both stacks that have to be copied. */
int pa_find_go_stack(u32 level);

#endif
