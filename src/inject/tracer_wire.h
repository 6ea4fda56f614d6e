/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol between the agent and its tracer process, in packets. Private to the tracer. */
#ifndef INJECT_TRACER_WIRE_H
#define INJECT_TRACER_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/thread_state.h"
#include "inject/tracer.h"

struct worker_role;

enum tracer_op {
	TRACER_STOP = 1,
	TRACER_RESTART,
	TRACER_FINISH_SYSCALL,
	TRACER_CALL,
	TRACER_POKE,
	TRACER_LET_GO, /* -EBUSY: it could not, and ends */
	TRACER_OPEN_MEMORY,
	TRACER_WRITE_MEMORY,
	TRACER_SHARES_MEMORY,
};

struct tracer_request {
	uint32_t op;
	pid_t pid, other; /* other: the thread, or the process to compare with */
	uint64_t deadline_ns;
	uint64_t addr;
	uint64_t nr_bytes;
	struct thread_call call;
	char path[32];                    /* TRACER_OPEN_MEMORY: in procfs */
	uint8_t bytes[TRACER_POKE_BYTES]; /* only nr_bytes are sent */
};

#define TRACER_REQUEST_BYTES(nr_bytes) (offsetof(struct tracer_request, bytes) + (nr_bytes))

struct tracer_reply {
	int32_t result;          /* 0 or more, or a negative errno */
	int64_t value;           /* TRACER_CALL: what the call returned */
	struct thread_view view; /* TRACER_STOP, TRACER_FINISH_SYSCALL */
};

/* What the tracer processes do (tracer_process.c). */
extern const struct worker_role tracer_role;

#endif
