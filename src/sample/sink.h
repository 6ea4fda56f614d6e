/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A consumer of samples: a model, a streamed file, a callback. Called by one thread at a time. A
 * sink counts what it could not accept, and reports what should end the capture in flush().
 */
#ifndef SAMPLE_SINK_H
#define SAMPLE_SINK_H

#include "sample/process_event.h"
#include "sample/sample.h"
#include "sample/wait_sum.h"

struct sample_sink {
	/* In order of completion: samples that waited for an unwind table come later. */
	void (*on_sample)(void *ctx, const struct sample *s);
	/* Delivered at once, possibly before older samples that are still in flight. NULL: not
	 * interested. */
	void (*on_event)(void *ctx, const struct process_event *e);
	/* Called once per turn and at the end. NULL: nothing to do. */
	int (*flush)(void *ctx);
	void *ctx; /* borrowed */
	/* Values of a sample that is delivered separately, before or after them. NULL: not
	 * interested. */
	void (*on_sum)(void *ctx, const struct wait_sum *sum);
	/* Called once per turn, before flush(): no samples older than until_ns will follow. NULL:
	 * not interested. */
	void (*on_settled)(void *ctx, uint64_t until_ns);
};

#endif
