// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How long each thread of a target is on a CPU, waits for one, or is blocked. Each scheduler event
 * ends one state of a thread and begins another. If an event does not fit, because the one before
 * it was not delivered, the time since then is counted in no state. It is then missing from the sum
 * of the states, which can be compared with the lifetime of the thread.
 *
 * All programs begin at the same moment. A thread without an event since then is still in the state
 * that it had at that moment, and its first event shows which state that was.
 */
#include "thread_time.h"

#include "maps.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "sched.bpf.h"
#include "task.bpf.h"

#define CLOCK_SLACK_NS 100000
#define COMPARE_EVERY_NS 10000000 /* in that time the clocks drift apart by a few ns */

const volatile struct pa_time_config time_cfg = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PA_MAX_TIMED_THREADS);
	__type(key, u64); /* address of the task, unique until its last switch */
	__type(value, struct pa_thread_time);
} thread_times SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pa_ended_times);
} ended_times SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pa_time_stats);
} time_stats SEC(".maps");

static __always_inline struct pa_time_stats *time_stats_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&time_stats, &zero);
}

/* The time; 0 outside the capture. */
static __always_inline u64 time_now(void)
{
	u64 begin = *(volatile u64 *)&proc_stats.times_begin;
	u64 end = *(volatile u64 *)&proc_stats.times_end, now;

	if (!begin)
		return 0;
	now = bpf_ktime_get_ns();
	return now < begin || (end && now > end) ? 0 : now;
}

/* Whether times of a task other than the current one are recorded; called at every event. */
static __always_inline bool is_timed(struct task_struct *task)
{
	u32 pid = task_pid(task);

	return pid && pid != time_cfg.own_pid && is_target_task(task, pid);
}

static __always_inline bool is_current_timed(void)
{
	u32 pid = (u32)bpf_get_current_pid_tgid() ? current_pid() : 0;

	return pid && pid != time_cfg.own_pid && is_target(pid);
}

/* 0 if this kernel does not report it. */
static __always_inline u64 run_delay(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->sched_info))
		return 0;
	return BPF_CORE_READ(task, sched_info.run_delay);
}

/* The earliest begin of a state that no event began. */
static __always_inline u64 first_ns(struct task_struct *task)
{
	u64 born = BPF_CORE_READ(task, start_time), begin = proc_stats.times_begin;

	return born > begin ? born : begin;
}

/* NULL if there is no room. */
static __always_inline struct pa_thread_time *new_thread_time(struct task_struct *task,
							      enum pa_time_state state, u64 since)
{
	struct pa_thread_time t = { .begin_ns = since,
				    .since_ns = since,
				    .run_delay = run_delay(task),
				    .pid = task_pid(task),
				    .tid = task_tid(task),
				    .state = state };
	struct pa_time_stats *st;
	u64 key = (u64)task;

	if (!bpf_map_update_elem(&thread_times, &key, &t, BPF_ANY))
		return bpf_map_lookup_elem(&thread_times, &key);
	st = time_stats_here();
	if (st)
		st->nr_events_no_room++;
	return NULL;
}

/* The clocks of two CPUs may differ, but no state ends before it began. */
static __always_inline void end_state(struct pa_thread_time *t, enum pa_time_state state, u64 now)
{
	if (now < t->since_ns)
		return;
	t->ns[state] += now - t->since_ns;
	t->since_ns = now;
}

static __always_inline void miss_state(struct pa_thread_time *t, u64 now)
{
	t->nr_missed++;
	if (now > t->since_ns)
		t->since_ns = now;
}

/* Converts a time noted by the scheduler's clock to CLOCK_MONOTONIC; 0 if it is unknown or not
 * between `from` and `to`. The scheduler notes a time that it has read slightly earlier. */
static __always_inline u64 noted_time(const struct pa_time_stats *st, u64 noted, u64 from, u64 to)
{
	u64 at = noted + st->clock_ns;

	if (!noted || !st->clock_ns || at + CLOCK_SLACK_NS < from || at > to)
		return 0;
	return at < from ? from : at;
}

/* Compares the clocks when a thread leaves its CPU whose arrival there was the last switch: the
 * scheduler has noted the time of that, too. */
static __always_inline void compare_clocks(struct pa_time_stats *st, const struct pa_thread_time *t,
					   struct task_struct *task, u64 now)
{
	u64 noted = 0;

	if (now - st->compared_ns < COMPARE_EVERY_NS || t->since_ns != st->switched_ns ||
	    st->switched_ns <= proc_stats.times_begin) /* it ran before the begin */
		return;
	if (bpf_core_field_exists(task->sched_info))
		noted = BPF_CORE_READ(task, sched_info.last_arrival);
	st->clock_ns = noted ? t->since_ns - noted : 0;
	st->compared_ns = now;
}

/* Ends the states of a thread that leaves its CPU, although its arrival there, and perhaps its
 * wake-up, were not reported. */
static __always_inline void find_arrival(struct pa_thread_time *t, const struct pa_time_stats *st,
					 struct task_struct *task, u64 now)
{
	u64 at = 0, delay = run_delay(task) - t->run_delay;

	if (bpf_core_field_exists(task->sched_info))
		at = noted_time(st, BPF_CORE_READ(task, sched_info.last_arrival), t->since_ns, now);
	if (!at || t->state == PA_TIME_ON_CPU || t->state == PA_TIME_UNKNOWN) {
		miss_state(t, at ? at : now);
	} else {
		if (t->state == PA_TIME_BLOCKED && delay <= at - t->since_ns)
			end_state(t, PA_TIME_BLOCKED, at - delay);
		end_state(t, PA_TIME_RUNNABLE, at);
	}
	end_state(t, PA_TIME_ON_CPU, now);
}

/* Ends the states of a thread that gets a CPU, although its wake-up was not reported. */
static __always_inline void find_wakeup(struct pa_thread_time *t, const struct pa_time_stats *st,
					struct task_struct *task, u64 now)
{
	u64 at = 0;

	if (t->state == PA_TIME_BLOCKED && bpf_core_field_exists(task->sched_info))
		at = noted_time(st, BPF_CORE_READ(task, sched_info.last_queued), t->since_ns, now);
	if (at)
		end_state(t, PA_TIME_BLOCKED, at);
	else
		miss_state(t, now);
	end_state(t, PA_TIME_RUNNABLE, now);
}

/* A global function, verified once. Its result stays in memory, so that the verifier sees one path
 * through the loop. */
__attribute__((noinline)) int pa_find_shortest(u32 nr)
{
	u32 zero = 0;
	struct pa_ended_times *e = bpf_map_lookup_elem(&ended_times, &zero);

	if (!e)
		return 0;
	*(volatile u64 *)&e->shortest_ns = ~0ull;
	for (u32 i = 0; i < PA_MAX_ENDED_THREADS; i++) {
		u64 ns = e->threads[i].since_ns - e->threads[i].begin_ns;

		if (i >= nr)
			break;
		if (ns >= *(volatile u64 *)&e->shortest_ns)
			continue;
		*(volatile u64 *)&e->shortest_ns = ns;
		*(volatile u32 *)&e->shortest = i;
	}
	return 0;
}

/* Adds a thread to the list of ended ones; if the list is full, in place of the shortest-lived
 * one. */
static __always_inline void list_ended(const struct pa_thread_time *t)
{
	u32 zero = 0;
	struct pa_ended_times *e = bpf_map_lookup_elem(&ended_times, &zero);
	u64 at;

	if (!e)
		return;
	at = e->nr;
	if (at < PA_MAX_ENDED_THREADS)
		e->nr++;
	else if (t->since_ns - t->begin_ns > e->shortest_ns)
		at = e->shortest;
	asm volatile(""
		     : "+r"(at)); /* the compiler would drop the check, which the verifier needs */
	if (at >= PA_MAX_ENDED_THREADS)
		return;
	e->threads[at] = *t;
	if (e->nr == PA_MAX_ENDED_THREADS)
		pa_find_shortest(PA_MAX_ENDED_THREADS);
}

/* Every thread is in the sum, whether or not it is listed. */
static __always_inline void end_thread(struct pa_thread_time *t, struct pa_time_stats *st)
{
	st->nr_ended++;
	st->ended_ns += t->since_ns - t->begin_ns;
	st->ended_missed += t->nr_missed;
	for (u32 i = 0; i < PA_NR_TIME_STATES; i++)
		st->ended_in[i] += t->ns[i];
	list_ended(t);
}

/* The task of the last switch has left this CPU without an event. Only its state is changed here,
 * in one store, because it may have an event on another CPU at this moment. Its missing time is
 * counted with its next event. */
static __always_inline void mark_as_gone(const struct pa_time_stats *st)
{
	u64 key = st->running;
	struct pa_thread_time *t = bpf_map_lookup_elem(&thread_times, &key);

	if (t && t->state == PA_TIME_ON_CPU && t->since_ns == st->switched_ns)
		t->state = PA_TIME_UNKNOWN;
}

/* The current task leaves its CPU. It is a target if it has an entry, or if is_current_timed(). */
static __always_inline void leave_cpu(struct pa_time_stats *st, struct task_struct *task,
				      enum pa_leave why, u64 now)
{
	bool was_switched_to = !st->running || st->running == (u64)task;
	u64 key = (u64)task, since = st->switched_ns;
	struct pa_thread_time *t = bpf_map_lookup_elem(&thread_times, &key);
	enum pa_time_state state = PA_TIME_ON_CPU;

	if (!was_switched_to)
		mark_as_gone(st);
	if (!t) {
		if (!is_current_timed())
			return;
		if (!was_switched_to)
			state = PA_TIME_UNKNOWN;
		if (!was_switched_to || !since)
			since = first_ns(task);
		t = new_thread_time(task, state, since);
		if (!t)
			return;
	}
	if (t->state == PA_TIME_ON_CPU && was_switched_to) {
		compare_clocks(st, t, task, now);
		end_state(t, PA_TIME_ON_CPU, now);
	} else {
		find_arrival(t, st, task, now);
	}
	t->state = why == PA_LEAVE_RUNNABLE ? PA_TIME_RUNNABLE : PA_TIME_BLOCKED;
	if (why != PA_LEAVE_DEAD) {
		t->run_delay = run_delay(task);
		return;
	}
	end_thread(t, st);
	bpf_map_delete_elem(&thread_times, &key);
}

static __always_inline void enter_cpu(struct pa_time_stats *st, struct task_struct *task, u64 now)
{
	u64 key = (u64)task;
	struct pa_thread_time *t = bpf_map_lookup_elem(&thread_times, &key);

	if (!t) {
		if (!is_timed(task))
			return;
		t = new_thread_time(task, PA_TIME_RUNNABLE, first_ns(task));
		if (!t)
			return;
	}
	if (t->state == PA_TIME_RUNNABLE)
		end_state(t, PA_TIME_RUNNABLE, now);
	else
		find_wakeup(t, st, task, now);
	t->state = PA_TIME_ON_CPU;
}

SEC("raw_tp/sched_switch")
int BPF_PROG(pa_time_switch, bool is_preempted, struct task_struct *prev, struct task_struct *next)
{
	struct pa_time_stats *st = time_stats_here();
	u64 now = time_now();
	u32 state = left_state(ctx, prev);

	if (!st || !now)
		return 0;
	leave_cpu(st, prev, why_left(is_preempted, state), now);
	enter_cpu(st, next, now);
	st->switched_ns = now;
	st->running = (u64)next;
	return 0;
}

/* Run by user space once on every CPU when the capture begins: the current task has been running
 * since then. */
SEC("raw_tp")
int pa_time_begin(void *ctx)
{
	struct pa_time_stats *st = time_stats_here();
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 key = (u64)task, begin = proc_stats.times_begin;

	if (!st || !begin || st->running)
		return 0;
	st->running = key;
	st->switched_ns = begin;
	if (is_current_timed() && !bpf_map_lookup_elem(&thread_times, &key))
		new_thread_time(task, PA_TIME_ON_CPU, begin);
	return 0;
}

/* A task that is woken up before it has left its CPU keeps its state. */
SEC("raw_tp/sched_wakeup")
int BPF_PROG(pa_time_wakeup, struct task_struct *task)
{
	u64 key = (u64)task, now = time_now();
	struct pa_thread_time *t;

	if (!now)
		return 0;
	t = bpf_map_lookup_elem(&thread_times, &key);
	if (!t && !is_on_cpu(task) && is_timed(task))
		t = new_thread_time(task, PA_TIME_BLOCKED, first_ns(task));
	if (!t || t->state == PA_TIME_RUNNABLE)
		return 0;
	if (t->state == PA_TIME_BLOCKED)
		end_state(t, PA_TIME_BLOCKED, now);
	else if (is_off_cpu(task))
		miss_state(t, now);
	else
		return 0;
	t->state = PA_TIME_RUNNABLE;
	return 0;
}

/* Ends the thread whose task had the address of a new one, if its last switch was not reported.
 * Otherwise the times of the new one, which may not be a target, would be added to it. */
static __always_inline void end_previous(struct task_struct *task)
{
	struct pa_time_stats *st = time_stats_here();
	u64 key = (u64)task;
	struct pa_thread_time *t = bpf_map_lookup_elem(&thread_times, &key);

	if (!t || !st)
		return;
	t->nr_missed++;
	end_thread(t, st);
	bpf_map_delete_elem(&thread_times, &key);
}

/* A new thread is in the cgroup of its creator, the current task. */
SEC("raw_tp/sched_wakeup_new")
int BPF_PROG(pa_time_new, struct task_struct *task)
{
	u64 now = time_now();

	if (!now)
		return 0;
	end_previous(task);
	if (is_timed(task) || (cfg.select == PA_SELECT_CGROUP && is_current_timed()))
		new_thread_time(task, PA_TIME_RUNNABLE, now);
	return 0;
}

/* Adds the threads that have had no event, and may have none until the end. Run once, loaded
 * separately (src/collect/task_iter.c). */
SEC("iter/task")
int pa_time_silent(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	u64 key = (u64)task, begin = proc_stats.times_begin;
	struct pa_thread_time t = { .begin_ns = begin, .since_ns = begin };
	u32 state;

	if (!task || !begin || BPF_CORE_READ(task, start_time) > begin)
		return 0;
	t.pid = task_pid(task);
	if (!t.pid || t.pid == time_cfg.own_pid || !is_member_task(task, t.pid))
		return 0;
	state = task_state(task);
	if (state & TASK_DEAD)
		return 0;
	t.state = is_on_cpu(task)       ? PA_TIME_ON_CPU
		  : waits_for_cpu(task) ? PA_TIME_RUNNABLE
		  : state               ? PA_TIME_BLOCKED
					: PA_TIME_RUNNABLE;
	t.tid = task_tid(task);
	t.run_delay = run_delay(task);
	bpf_map_update_elem(&thread_times, &key, &t,
			    BPF_NOEXIST); /* fails if it has had an event since */
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
