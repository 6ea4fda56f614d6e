/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves a record with the world into a sample. */
#ifndef CAPTURE_RESOLVE_H
#define CAPTURE_RESOLVE_H

#include "bpf/abi.h"
#include "sample/sample.h"
#include "stacks/unwinder.h"
#include "world/world.h"

/* A sample, and the storage for what it points to. */
struct resolved {
	struct sample sample;
	struct frame frames[PA_MAX_KERNEL_FRAMES + PA_MAX_USER_FRAMES];
	uint64_t native_pcs
		/* frames of a stack that has other kinds than native, for their resolvers */
		[PA_MAX_USER_FRAMES];
};

/*
 * stack: the copy if the walk is unfinished, otherwise NULL. Reads /proc, if necessary, before the
 * frames are resolved. -EAGAIN: the table of file *ret_missing is awaited; -EBADMSG: an invalid
 * record; -ENOMEM, -E2BIG.
 */
int resolve_record(struct world *w, const struct pa_sample *s, const struct stack_copy *stack,
		   struct resolved *ret, uint32_t *ret_missing);

#endif
