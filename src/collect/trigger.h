/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes the kernel take samples: a clock on each CPU, or for example a task that leaves its
 * CPU. A trigger defines the values of its samples, loads and attaches its programs, and accounts
 * for every event that it saw. Each has its own profile; the ring, the targets, the walker and its
 * tables are shared by the session.
 *
 * The origin of a record is the index of its trigger in the session's list, from 0. A trigger is
 * given its origin at creation, and passes it to its programs before they are loaded.
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
	const struct pa_options *options; /* complete and checked; they outlive the trigger */
	const struct log *log;            /* likewise */
	uint32_t origin;
};

#define TRIGGER_MAX_COUNTS 16
#define TRIGGER_NOT_DELIVERED                                                                      \
	"not_delivered" /* the loss of events that the kernel kept to itself */

/* The account of its events: due = the sum of counts[] + submitted + the sum of losses[]. */
struct trigger_account {
	uint64_t due;
	uint64_t submitted;                         /* written to the ring as records */
	struct pa_count counts[TRIGGER_MAX_COUNTS]; /* events that are not the targets' */
	struct pa_count losses[TRIGGER_MAX_COUNTS];
	uint32_t nr_counts, nr_losses;
	unsigned int nr_cpus; /* on which it was active at any time */
	uint64_t
		nr_unsummed; /* events that the kernel could not sum up for lack of room, and sent */
};

typedef void (*trigger_sum_fn)(void *ctx, uint32_t origin, const struct wait_sum *sum);

/* A thread that was off the CPU before the trigger was enabled. */
struct pa_blocked;
typedef void (*trigger_blocked_fn)(void *ctx, uint32_t origin, const struct pa_blocked *b);

struct trigger_intervals {
	uint64_t nr, ns;
};

/* state is the result of create(). Only create, attach, account, detach and free are mandatory. */
struct trigger {
	const char *name;         /* "on-cpu": in file names and for programs */
	const char *unit, *units; /* "tick", "ticks": for people */

	int (*create)(const struct trigger_setup *setup, struct value_types *ret_values,
		      void **ret_state, struct pa_error *err);
	/* Before the programs are loaded: says what the shared ones have to provide. */
	void (*configure)(void *state, const struct cpus *online, struct programs_config *cfg);
	/* The shared programs are loaded; attaches its own, and nothing runs yet. */
	int (*attach)(void *state, struct programs *p, const struct cpus *online,
		      struct pa_error *err);
	/* Whatever measures time counts from begin_ns on, the moment at which all begin. */
	int (*enable)(void *state, uint64_t begin_ns);
	/* After that: what has begun before. -EOPNOTSUPP: the kernel does not say. */
	int (*blocked)(void *state, trigger_blocked_fn fn, void *ctx);
	/* Whether such a thread has not run since. */
	bool (*is_blocked)(const void *state, const struct pa_blocked *b);
	/* Once in a while: removes those CPUs from `silent` that were active since the last call.
	 * */
	void (*look)(void *state, struct cpus *silent);
	/* After that: CPUs come and go. */
	int (*follow)(void *state, const struct cpus *online);
	/* Nothing that begins later is counted, and nothing that goes on for longer than until end_ns, the
	 * moment at which all end. Quick. */
	void (*disable)(void *state, uint64_t end_ns);
	/* After disable(), before account(): what the kernel has summed up instead of sending it, and
	 * what had not ended then. When it returns none of its programs runs any more. */
	int (*sums)(void *state, trigger_sum_fn fn, void *ctx);
	/* How many it has summed up or sent so far, and how long they were, as of the last look(). */
	struct trigger_intervals (*intervals)(const void *state);
	/* Events lost in the kernel, or not delivered by it, as of the last call. */
	uint64_t (*nr_lost)(const void *state);
	/* After disable(). */
	int (*account)(void *state, struct trigger_account *ret_account);
	/* As before attach(), which may be called again; also if that was never called. */
	void (*detach)(void *state);
	void (*free)(void *state); /* of a detached trigger */
};

/* trigger_oncpu.c: ticks of a clock, or of the cycle counter, on every CPU. */
extern const struct trigger trigger_oncpu;
/* trigger_offcpu.c: intervals in which a thread is not on a CPU. */
extern const struct trigger trigger_offcpu;

/* For account(): the name is for programs, the text for people; that of a count is one word. */
void trigger_count(struct trigger_account *a, const char *name, const char *text, uint64_t count);
void trigger_lose(struct trigger_account *a, const char *name, const char *text, uint64_t count);

/* The triggers of a session. A function that fails leaves the rest to triggers_free(). */
struct triggers;

int triggers_new(const struct trigger *const *list, uint32_t nr, const struct pa_options *options,
		 const struct log *log, struct triggers **ret_triggers, struct pa_error *err);
struct triggers *triggers_free(struct triggers *t); /* accepts NULL */
DEFINE_CLEANUP(struct triggers *, triggers_free)

uint32_t triggers_nr(const struct triggers *t);
const struct trigger *triggers_get(const struct triggers *t, uint32_t origin);
const struct value_types *triggers_values(const struct triggers *t, uint32_t origin);

/* Each calls the functions of all triggers, in the order of the list. */
void triggers_configure(struct triggers *t, const struct cpus *online, struct programs_config *cfg);
int triggers_attach(struct triggers *t, struct programs *p, const struct cpus *online,
		    struct pa_error *err);
int triggers_enable(struct triggers *t, uint64_t begin_ns);
/* The CPUs on which none has seen anything since the last call; unknown counts as silent. */
void triggers_look(struct triggers *t, struct cpus *ret_silent);
int triggers_follow(struct triggers *t, const struct cpus *online); /* continues after a failure */
void triggers_disable(struct triggers *t, uint64_t end_ns);
int triggers_blocked(struct triggers *t, trigger_blocked_fn fn, void *ctx);
bool triggers_is_blocked(const struct triggers *t, uint32_t origin, const struct pa_blocked *b);
int triggers_sums(struct triggers *t, trigger_sum_fn fn, void *ctx);
struct trigger_intervals triggers_intervals(const struct triggers *t);
uint64_t triggers_nr_lost(const struct triggers *t);
int triggers_account(struct triggers *t, uint32_t origin, struct trigger_account *ret_account);

void triggers_detach(struct triggers *t); /* accepts NULL */

#endif
