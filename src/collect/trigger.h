/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes the kernel take samples: a clock on each CPU, or for example a task that leaves its
 * CPU. A trigger defines the values of its samples, loads and attaches its programs, and accounts
 * for every event that it saw. Each trigger has its own profile; the ring, the targets, the walker
 * and its tables are shared by all triggers of a session.
 *
 * The origin of a record is the index of its trigger in the session's list, from 0. A trigger gets
 * its origin at creation, and passes it to its programs before they are loaded.
 */
#ifndef COLLECT_TRIGGER_H
#define COLLECT_TRIGGER_H

#include <perfagent/perfagent.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "collect/cpus.h"
#include "sample/value_types.h"
#include "sample/wait_sum.h"

struct programs;
struct programs_config;

struct trigger_setup {
	const struct pa_options *options; /* complete and checked; must outlive the trigger */
	const struct log *log;            /* must outlive the trigger */
	uint32_t origin;
};

#define TRIGGER_MAX_COUNTS 16
/* name of the loss of events that the kernel did not deliver */
#define TRIGGER_NOT_DELIVERED "not_delivered"

/* The account of a trigger's events: due = the sum of counts[] + submitted + the sum of
 * losses[]. */
struct trigger_account {
	uint64_t due;
	uint64_t submitted;                         /* written to the ring as records */
	struct pa_count counts[TRIGGER_MAX_COUNTS]; /* events that were not of targets */
	struct pa_count losses[TRIGGER_MAX_COUNTS];
	uint32_t nr_counts, nr_losses;
	unsigned int nr_cpus; /* CPUs on which it was active at any time */
	/* events sent as records, because the kernel had no room to sum them up */
	uint64_t nr_unsummed;
};

typedef void (*trigger_sum_fn)(void *ctx, uint32_t origin, const struct wait_sum *sum);

/* The ID of a stack that was sent, and that a thread may still get values for. */
typedef void (*trigger_wait_fn)(void *ctx, uint32_t origin, uint64_t wait);

/* A thread that was off the CPU before the trigger was enabled. */
struct pa_blocked;
typedef void (*trigger_blocked_fn)(void *ctx, uint32_t origin, const struct pa_blocked *b);

struct trigger_intervals {
	uint64_t nr, ns;
};

/* state is the result of create(). Only create, attach, account, detach and free are mandatory. */
struct trigger {
	const char *name;         /* "on-cpu": for file names and machine-readable output */
	const char *unit, *units; /* "tick", "ticks": for text */

	int (*create)(const struct trigger_setup *setup, struct value_types *ret_values,
		      void **ret_state, struct pa_error *err);
	/* Called before the programs are loaded: adds what the trigger needs to their
	 * configuration. */
	void (*configure)(void *state, const struct cpus *online, struct programs_config *cfg);
	/* Called when the shared programs are loaded: attaches the trigger's own, without enabling
	 * them. */
	int (*attach)(void *state, struct programs *p, const struct cpus *online,
		      struct pa_error *err);
	/* Enables the trigger; time is measured from begin_ns on, the moment at which all triggers
	 * begin. */
	int (*enable)(void *state, uint64_t begin_ns);
	/* Called after enable(): passes the threads that were blocked before. -EOPNOTSUPP: the
	 * kernel does not report them. */
	int (*blocked)(void *state, trigger_blocked_fn fn, void *ctx);
	/* Whether such a thread has been blocked without interruption. */
	bool (*is_blocked)(const void *state, const struct pa_blocked *b);
	/* Called once in a while: removes the CPUs from `silent` that were active since the last
	 * call. */
	void (*look)(void *state, struct cpus *silent);
	/* Called when the online CPUs have changed. */
	int (*follow)(void *state, const struct cpus *online);
	/* Nothing that begins later is counted, and what is in progress is counted until end_ns,
	 * the moment at which all triggers end. Must be quick. */
	void (*disable)(void *state, uint64_t end_ns);
	/* Called between enable() and disable(): passes what the kernel has summed up since the last
	 * call, and then the stacks to which threads refer. Values of other stacks that had been sent
	 * by then, other than further sums, are in the ring. */
	int (*part)(void *state, trigger_sum_fn sum, trigger_wait_fn uses, void *ctx);
	/* Called after disable() and before account(): passes what the kernel has summed up instead
	 * of sending it, less what part() passed, and the intervals that have not ended. None of the trigger's programs runs
	 * any more when it returns. */
	int (*sums)(void *state, trigger_sum_fn fn, void *ctx);
	/* The number and total length of the intervals summed up or sent so far, as of the last
	 * look(). */
	struct trigger_intervals (*intervals)(const void *state);
	/* Events lost in the kernel, or not delivered by it, as of the last look(). */
	uint64_t (*nr_lost)(const void *state);
	/* Called after disable(). */
	int (*account)(void *state, struct trigger_account *ret_account);
	/* Returns to the state before attach(), which may be called again. Also valid if attach()
	 * was not called. */
	void (*detach)(void *state);
	void (*free)(void *state); /* of a detached trigger */
};

/* trigger_oncpu.c: ticks of a clock, or of the cycle counter, on every CPU. */
extern const struct trigger trigger_oncpu;
/* trigger_offcpu.c: intervals in which a thread is not on a CPU. */
extern const struct trigger trigger_offcpu;

/* For account(): adds a count; `name` is machine-readable, one word, and `text` is for the user. */
void trigger_count(struct trigger_account *a, const char *name, const char *text, uint64_t count);
void trigger_lose(struct trigger_account *a, const char *name, const char *text, uint64_t count);

/* The triggers of a session. After a failure the caller still calls triggers_free(). */
struct triggers;

int triggers_new(const struct trigger *const *list, uint32_t nr, const struct pa_options *options,
		 const struct log *log, struct triggers **ret_triggers, struct pa_error *err);
struct triggers *triggers_free(struct triggers *t); /* accepts NULL */
DEFINE_CLEANUP(struct triggers *, triggers_free)

uint32_t triggers_nr(const struct triggers *t);
const struct trigger *triggers_get(const struct triggers *t, uint32_t origin);
const struct value_types *triggers_values(const struct triggers *t, uint32_t origin);

/* The following functions call those of all triggers, in the order of the list. */
void triggers_configure(struct triggers *t, const struct cpus *online, struct programs_config *cfg);
int triggers_attach(struct triggers *t, struct programs *p, const struct cpus *online,
		    struct pa_error *err);
int triggers_enable(struct triggers *t, uint64_t begin_ns);
/* The CPUs on which no trigger has seen anything since the last call; a CPU counts as silent if
 * that is unknown. */
void triggers_look(struct triggers *t, struct cpus *ret_silent);
int triggers_follow(struct triggers *t, const struct cpus *online); /* continues after a failure */
void triggers_disable(struct triggers *t, uint64_t end_ns);
int triggers_blocked(struct triggers *t, trigger_blocked_fn fn, void *ctx);
bool triggers_is_blocked(const struct triggers *t, uint32_t origin, const struct pa_blocked *b);
/* -EOPNOTSUPP: it cannot divide what the kernel sums up. */
int triggers_part(struct triggers *t, uint32_t origin, trigger_sum_fn sum, trigger_wait_fn uses,
		  void *ctx);
int triggers_sums(struct triggers *t, trigger_sum_fn fn, void *ctx);
struct trigger_intervals triggers_intervals(const struct triggers *t);
uint64_t triggers_nr_lost(const struct triggers *t);
int triggers_account(struct triggers *t, uint32_t origin, struct trigger_account *ret_account);

void triggers_detach(struct triggers *t); /* accepts NULL */

#endif
