/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Off-CPU time: stacks and their values arrive separately, in any order, and are combined here.
 * Both are kept until the model is named.
 */
#ifndef MODEL_MODEL_WAITS_H
#define MODEL_MODEL_WAITS_H

#include "base/idtable.h"
#include "bpf/wait.h"
#include "sample/wait_sum.h"

struct model;
struct sample;

/* One stack of one thread. */
struct model_wait {
	uint64_t id;
	bool is_known; /* the stack has arrived */
	bool has_dump; /* the stack has code whose names depend on its time */
	uint8_t stop;  /* enum pa_stop */
	bool was_walked_again, is_finished;
	uint32_t stack, labels; /* numbers in the profile; without the label of the state */
	int syscall_nr;
	uint64_t time_ns, program;
	struct pa_wait_sum sums[PA_NR_WAIT_STATES];
};

#define MODEL_MAX_WAITS (1u << 20) /* 150 MB */
#define MODEL_SUMMED_PART 16       /* one of them is kept for stacks that the kernel sums up */
struct model_waits {
	struct model_wait *all; /* owned */
	uint32_t nr, cap, max;
	struct idtable by_id;
};

void model_waits_done(struct model_waits *w);

/* Adds values, which come from the pipe. */
void model_add_sum(void *model, const struct wait_sum *sum);

/* Adds a stack. -EEXIST: it has arrived before. */
struct model_wait;
int model_know_wait(struct model *m, const struct sample *s, uint32_t stack, uint32_t labels,
		    bool has_dump);

/* Adds all stacks and values to the profile, when all have arrived. */
void model_place_waits(struct model *m);

/* After naming: kernel frames of the tracepoint that recorded a stack are removed. Without kernel
 * stacks one frame remains, the innermost that is not the scheduler's. */
void model_trim_waits(struct model *m);

/* A function of the kernel through which every thread leaves its CPU. */
bool model_is_scheduler(const char *name);

/* "sleep", "disk", … */
const char *model_wait_state_name(uint8_t state);

#endif
