/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a walk stands between two frames. */
#ifndef BPF_WALK_STATE_H
#define BPF_WALK_STATE_H

#include "abi.h"

struct pa_walk {
	__u64 pc;
	__u64 sp; /* every frame record lies above it */
	__u64 fp;
	__u32 nr;   /* frames found so far, the sampled one included */
	__u32 stop; /* enum pa_stop, once pa_walk_frame() has said that the walk is over */
};

#endif
