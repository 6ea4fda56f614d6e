/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Off-CPU time: stacks and their values arrive separately, in any order, and are combined here.
 * Both are kept until the model is taken out or named. The model that replaces it inherits the
 * stacks that will get more values, since the kernel sends each only once.
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
	bool is_inherited;      /* its stack and labels are in `inherited`, not in the profile */
	bool is_moved;          /* its values came to the model before, and its stack did not */
	bool is_used;           /* see model_use_wait() */
	uint32_t stack, labels; /* numbers in the profile; without the label of the state */
	int syscall_nr;
	uint64_t time_ns, program;
	uint64_t process; /* see model_count_process() */
	struct pa_wait_sum sums[PA_NR_WAIT_STATES];
};

#define MODEL_MAX_WAITS (1u << 20) /* 160 MB */
#define MODEL_SUMMED_PART 16       /* one of them is kept for stacks that the kernel sums up */
struct model_waits {
	struct model_wait *all; /* owned */
	uint32_t nr, cap, max;
	struct idtable by_id;
	/* Owned; stacks and labels of the models before, of which those with values go to the
	 * profile. NULL: none. */
	struct profile *inherited;
	uint64_t settled_ns; /* no older stack will arrive */
	uint64_t began_ns;   /* older ones were sent to another model; 0: there was none */
	bool is_placed;      /* its values are in the profile */
};

void model_waits_done(struct model_waits *w);

/* Finds or adds the stack with this ID. -ENOMEM; -E2BIG. */
int model_waits_get(struct model_waits *w, uint64_t id, struct model_wait **ret_wait);

/* Adds values, which come from the pipe. */
void model_add_sum(void *model, const struct wait_sum *sum);

/* Adds a stack. -EEXIST: it has arrived before. */
struct model_wait;
int model_know_wait(struct model *m, const struct sample *s, uint32_t stack, uint32_t labels,
		    bool has_dump);

/* No stacks older than until_ns will arrive. */
void model_settle_waits(void *model, uint64_t until_ns);

/* A thread may still get values for the stack with this ID. */
void model_use_wait(struct model *m, uint64_t id);

/*
 * model_inherit.c. Called when `m` replaces `from` at now_ns, and all values that the kernel had
 * sent before the calls of model_use_wait() have arrived: `m` gets the stacks that may get more
 * values, and the values whose stack has not arrived. What there is no room for is lost later, and
 * counted: its values have no stack. Under world_lock().
 */
void model_inherit_waits(struct model *m, struct model *from, uint64_t now_ns);
/* Adds the inherited stacks that have values to the profile. */
void model_bring_in_waits(struct model *m);

/* Adds all stacks and values to the profile, when all have arrived; without effect if it was called
 * before. */
void model_place_waits(struct model *m);

/* After naming: kernel frames of the tracepoint that recorded a stack are removed. Without kernel
 * stacks one frame remains, the innermost that is not the scheduler's. */
void model_trim_waits(struct model *m);

/* A function of the kernel through which every thread leaves its CPU. */
bool model_is_scheduler(const char *name);

/* "sleep", "disk", … */
const char *model_wait_state_name(uint8_t state);

#endif
