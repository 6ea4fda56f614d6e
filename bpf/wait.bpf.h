/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Off-CPU intervals: their maps, and what happens when one begins and ends. */
#ifndef BPF_WAIT_BPF_H
#define BPF_WAIT_BPF_H

#include "maps.bpf.h"
#include "wait.h"

extern const volatile struct pa_wait_config wait_cfg;

/* Hashes are preallocated, because the programs run while the scheduler's locks are held. The key
 * is the address of the task, which is unique until its last switch, even if execve() changes its
 * TID. */
#define PA_MAX_THREADS 65536
struct pa_thread_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PA_MAX_THREADS);
	__type(key, __u64);
	__type(value, struct pa_thread);
};

struct pa_wait_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PA_MAX_WAITS);
	__type(key, __u64); /* the stack's ID */
	__type(value, struct pa_wait);
};

/* The number of sums that processes have in the map, by PID; PIDs with the same remainder share an
 * entry. The last entry is the total. */
#define PA_WAIT_OWNERS 4096
struct pa_wait_owner_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PA_WAIT_OWNERS + 1);
	__type(key, __u32);
	__type(value, __u64);
};

struct pa_wait_stats_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pa_wait_stats);
};

struct pa_thread_map threads SEC(".maps") __weak;
struct pa_wait_map waits SEC(".maps") __weak;
struct pa_wait_owner_map wait_owners SEC(".maps") __weak;
struct pa_wait_stats_map wait_stats SEC(".maps") __weak;

static __always_inline bool is_wanted(u8 state)
{
	return wait_cfg.states >> state & 1;
}

static __always_inline bool is_counted(const struct pa_thread *t)
{
	return !t->loss && is_wanted(t->state);
}

/* Ends an interval that is not measured. Such intervals are counted when they begin; but
 * blocked.bpf.c finds out late that a thread runs, so the interval is counted here, once. */
static __always_inline void end_uncounted(struct pa_wait_stats *st, struct pa_thread *t)
{
	if (t->loss != PA_WAIT_RAN)
		return;
	t->loss = PA_WAIT_NOT_LOST;
	if (is_wanted(t->state))
		st->other_state++;
}

/* A thread that is on a CPU, or has exited, has come back from its wait, even if no event reported
 * that. */
static __always_inline void check_ended(struct pa_wait_stats *st, struct pa_thread *t)
{
	if (t->is_open && is_counted(t))
		st->no_end++;
	else if (t->is_open)
		end_uncounted(st, t);
	t->is_open = 0;
}

/* Begins an interval that st->intervals already counts. The stack of the thread is known, or
 * t->loss is the reason why not. */
static __always_inline void begin_interval(struct pa_wait_stats *st, struct pa_thread *t, u8 state,
					   u64 now)
{
	t->since_ns = now;
	t->state = state;
	t->is_open = 1;
	if (!is_wanted(state))
		st->other_state++;
	else if (t->loss)
		st->lost[t->loss & (PA_NR_WAIT_LOSSES - 1)]++;
}

static __always_inline bool send_interval(const struct pa_thread *t, u64 ns, u64 now)
{
	struct pa_wait_end end = {
		.head = { .type = PA_RECORD_WAIT, .time_ns = now },
		.wait = t->wait,
		.ns = ns,
		.state = t->state,
		.origin = wait_cfg.origin,
	};

	return !bpf_ringbuf_output(&ring, &end, sizeof(end), BPF_RB_NO_WAKEUP);
}

static __always_inline bool sum_up(const struct pa_thread *t, u64 ns)
{
	u64 id = t->wait;
	struct pa_wait *w = bpf_map_lookup_elem(&waits, &id);
	struct pa_wait_sum *sum;

	if (!w)
		return false; /* impossible: entries stay */
	sum = &w->sums[t->state & (PA_NR_WAIT_STATES - 1)];
	sum->nr++;
	sum->ns += ns;
	if (ns > sum->max_ns)
		sum->max_ns = ns;
	return true;
}

static __always_inline void end_interval(struct pa_wait_stats *st, struct pa_thread *t, u64 now)
{
	u64 ns = now - t->since_ns;

	t->is_open = 0;
	if (!is_counted(t)) {
		end_uncounted(st, t);
		return;
	}
	if (ns < wait_cfg.min_ns) {
		st->too_short++;
		return;
	}
	st->ended_ns += ns;
	if (!t->is_single && sum_up(t, ns))
		st->summed++;
	else if (send_interval(t, ns, now))
		st->submitted++;
	else
		st->end_lost++;
}

#endif
