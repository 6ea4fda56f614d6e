// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The off-CPU trigger. A thread's stack is walked when the thread leaves its CPU, in its own
 * context, from the registers that were saved when it entered the kernel. How long the thread
 * stayed off the CPU is known when it is woken up, or runs again. Raw tracepoints, for the reason
 * given in procmon.bpf.c; they run with interrupts off, so that only an NMI can interrupt them.
 */
#include "take_sample.bpf.h"

#include <bpf/bpf_tracing.h>

#include "new_stack.bpf.h"
#include "sched.bpf.h"
#include "wait.bpf.h"

const volatile struct pa_wait_config wait_cfg = {};

static __always_inline struct pa_wait_stats *stats_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&wait_stats, &zero);
}

static __always_inline u8 loss_of(enum pa_outcome outcome)
{
	if (outcome == PA_SUBMITTED)
		return PA_WAIT_NOT_LOST;
	return outcome == PA_RING_FULL   ? PA_WAIT_RING_FULL
	       : outcome == PA_RING_BUSY ? PA_WAIT_RING_BUSY
					 : PA_WAIT_NESTED;
}

#define HASH_MUL 0x9e3779b97f4a7c15ull
#define HASH_MUL_2 0xc2b2ae3d27d4eb4full

static __always_inline u64 mix(u64 hash, u64 word, u64 mul)
{
	hash = (hash ^ word) * mul;
	return hash ^ hash >> 29;
}

/*
 * Adds all words of a sample to both hashes in its scratch. A global function, so that the verifier
 * checks the long loop once.
 */
__attribute__((noinline)) int pa_hash_words(u32 level)
{
	struct pa_scratch *s = bpf_map_lookup_elem(&scratch, &level);
	u64 a, b;
	u32 nr;

	if (!s)
		return 0;
	a = s->wait_id;
	b = s->new_wait.check;
	nr = s->at;
	for (u32 i = 0; i < PA_WORD_SLOTS; i++) {
		u64 word;

		if (i >= nr)
			break;
		word = s->words[i];
		a = mix(a, word, HASH_MUL);
		b = mix(b, word, HASH_MUL_2);
	}
	s->wait_id = a;
	s->new_wait.check = b;
	return 0;
}

/* Hashes what identifies a stack: the thread, its names, its system call, the process's mappings,
 * and the frames. */
static __always_inline void hash_stack(struct pa_scratch *s)
{
	struct pa_sample *rec = &s->sample;
	u64 task = (u64)rec->head.pid << 32 | rec->tid;
	u64 how = (u64)rec->generation << 32 | (u32)rec->syscall_nr << 16 | rec->stop << 8 |
		  rec->flags;

	s->wait_id = mix(mix(wait_cfg.seed, task, HASH_MUL), how, HASH_MUL);
	s->new_wait.check = mix(mix(~wait_cfg.seed, task, HASH_MUL_2), how, HASH_MUL_2);
	for (u32 i = 0; i < 2 * PA_COMM_SIZE; i += sizeof(u64)) {
		u64 part;

		__builtin_memcpy(&part, (char *)rec + offsetof(struct pa_sample, comm) + i,
				 sizeof(part));
		s->wait_id = mix(s->wait_id, part, HASH_MUL);
		s->new_wait.check = mix(s->new_wait.check, part, HASH_MUL_2);
	}
	pa_hash_words(s->walk.level);
	s->wait_id &= ~(PA_WAIT_SINGLE | PA_WAIT_UNSUMMED);
}

/* The ID of a stack that is not summed up with others: unfinished, or its hash is taken. */
static __always_inline u64 single_id(struct pa_wait_stats *st, u32 cpu)
{
	return PA_WAIT_SINGLE | (u64)cpu << PA_WAIT_SINGLE_CPU_SHIFT | st->nr_singles++;
}

/* The share that pa_has_wait_room() reserves for other processes is not needed if there is only one
 * target. */
static __always_inline bool has_room(u64 own, u64 all)
{
	return (has_target_list() && proc_stats.nr_targets == 1) || pa_has_wait_room(own, all);
}

/* How many sums its process has, and all together. */
struct sum_room {
	u64 *own, *all; /* not NULL: elements of an array */
};

static __always_inline bool find_room(struct pa_scratch *s, struct sum_room *ret_room)
{
	u32 all_at = PA_WAIT_OWNERS, own_at = s->sample.head.pid % PA_WAIT_OWNERS;

	ret_room->all = bpf_map_lookup_elem(&wait_owners, &all_at);
	ret_room->own = bpf_map_lookup_elem(&wait_owners, &own_at);
	return ret_room->all && ret_room->own && has_room(*ret_room->own, *ret_room->all);
}

/* False: there is no room for another sum. */
static __always_inline bool add_sum(struct pa_scratch *s, const struct sum_room *room)
{
	u64 id = s->wait_id;

	if (!room->all || !room->own || bpf_map_update_elem(&waits, &id, &s->new_wait, BPF_NOEXIST))
		return false;
	__sync_fetch_and_add(room->all, 1);
	__sync_fetch_and_add(room->own, 1);
	return true;
}

/* Sends a stack that is not in the map, under this ID, and makes room for its sums. */
static __always_inline u8 send_stack(struct pa_wait_stats *st, struct pa_thread *t,
				     struct pa_scratch *s, u64 id)
{
	bool may_sum = !t->is_single, is_summed = false;
	struct sum_room room = {};
	u8 loss;

	if (may_sum && !find_room(s, &room)) {
		id |= PA_WAIT_UNSUMMED;
		t->is_single = 1;
	}
	t->wait = id;
	s->words[0] = id;
	loss = loss_of(send(s));
	if (loss)
		return loss;
	if (!t->is_single)
		is_summed = add_sum(s, &room);
	t->is_single = !is_summed;
	st->waits_full += may_sum && !is_summed;
	return PA_WAIT_NOT_LOST;
}

/* Finds the entry of this stack in the map of sums; sends the stack if it is new. */
static __always_inline u8 identify_stack(struct pa_wait_stats *st, struct pa_thread *t,
					 struct pa_scratch *s, struct task_struct *task)
{
	struct pa_wait *w = NULL;
	u64 id;

	t->is_single = (s->sample.flags & PA_SAMPLE_UNFINISHED) != 0;
	if (!t->is_single) {
		hash_stack(s);
		id = s->wait_id;
		w = bpf_map_lookup_elem(&waits, &id);
		t->is_single = w && w->check != s->new_wait.check;
	}
	if (t->is_single)
		id = single_id(st, s->sample.cpu);
	t->wait = id;
	if (w && !t->is_single)
		return PA_WAIT_NOT_LOST;
	if (is_helper(task, wait_cfg.own_pid))
		return PA_WAIT_HELPER; /* only here, to keep it out of most switches */
	return send_stack(st, t, s, id);
}

static __always_inline u8 take_stack(struct pa_wait_stats *st, struct pa_thread *t,
				     const struct pa_moment *m)
{
	u32 zero = 0;
	struct pa_scratch *first = bpf_map_lookup_elem(&scratch, &zero), *s;
	u64 no_id = 0;
	u8 loss;

	s = first ? enter(first) : NULL;
	if (!s)
		return PA_WAIT_NESTED;
	gather(s, m, &no_id, 1);
	fill_names(&s->sample);
	s->sample.flags |= PA_SAMPLE_WAIT;
	loss = identify_stack(st, t, s, (struct task_struct *)bpf_get_current_task());
	leave(first);
	return loss;
}

/* As take_stack(), for a thread that the current task creates. */
static __always_inline u8 take_new_stack(struct pa_wait_stats *st, struct pa_thread *t,
					 const struct pa_moment *m, struct task_struct *task,
					 u32 pid)
{
	u32 zero = 0;
	struct pa_scratch *first = bpf_map_lookup_elem(&scratch, &zero), *s;
	u8 loss;

	s = first ? enter(first) : NULL;
	if (!s)
		return PA_WAIT_NESTED;
	gather_new(s, m, task, pid);
	s->sample.flags |= PA_SAMPLE_WAIT;
	loss = identify_stack(st, t, s, task);
	leave(first);
	return loss;
}

static __always_inline struct pa_thread *thread_of(u64 task)
{
	struct pa_thread *t = bpf_map_lookup_elem(&threads, &task), none = {};

	if (t)
		return t;
	bpf_map_update_elem(&threads, &task, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&threads, &task);
}

/* The current task, a target, leaves its CPU. */
static __always_inline void begin_wait(struct pa_wait_stats *st, const struct pa_moment *m,
				       u64 task, enum pa_leave why, u64 now)
{
	u8 state = why == PA_LEAVE_RUNNABLE ? PA_WAIT_PREEMPTED
		   : why == PA_LEAVE_DISK   ? PA_WAIT_DISK
					    : PA_WAIT_SLEEP;
	bool has_runqueue = state != PA_WAIT_PREEMPTED && is_wanted(PA_WAIT_RUNQUEUE);
	struct pa_thread *t;

	if (!is_wanted(state) && !has_runqueue) {
		st->other_state++;
		return;
	}
	t = thread_of(task);
	if (!t) {
		st->lost[PA_WAIT_NO_ROOM]++;
		return;
	}
	check_ended(st, t);
	t->loss = take_stack(st, t, m);
	begin_interval(st, t, state, now);
}

/* Removes a thread from the map, whether or not it has an open interval. */
static __always_inline void forget_thread(struct pa_wait_stats *st, u64 task)
{
	struct pa_thread *t = bpf_map_lookup_elem(&threads, &task);

	if (!t)
		return;
	check_ended(st, t);
	bpf_map_delete_elem(&threads, &task);
}

static __always_inline void switch_out(struct pa_wait_stats *st, void *ctx, u64 task,
				       enum pa_leave why, u64 now)
{
	struct pa_moment m = { .ctx = ctx, .time_ns = now, .origin = wait_cfg.origin };
	u64 *count = NULL;

	if (why == PA_LEAVE_DEAD)
		forget_thread(st, task);
	if ((u32)bpf_get_current_pid_tgid() == 0) {
		count = &st->idle;
	} else {
		m.pid = current_pid();
		if (!m.pid)
			count = &st->outside;
		else if (m.pid == wait_cfg.own_pid)
			count = &st->own;
		else if (!is_target(m.pid))
			count = &st->other;
		else if (why == PA_LEAVE_DEAD)
			count = &st->exited;
	}
	if (!count) {
		begin_wait(st, &m, task, why, now);
		return;
	}
	++*count;
}

static __always_inline void switch_in(struct pa_wait_stats *st, u64 task, u64 now)
{
	struct pa_thread *t = bpf_map_lookup_elem(&threads, &task);

	if (t && t->is_open)
		end_interval(st, t, now);
}

/* The kernel does not report every switch: 2 to 4 in a thousand were missing where this was
 * measured. */
static __always_inline void check_delivered(struct pa_wait_stats *st, u64 prev, u64 next)
{
	if (st->running && st->running != prev) {
		st->intervals++;
		st->not_delivered++;
	}
	st->running = next;
}

SEC("raw_tp/sched_switch")
int BPF_PROG(pa_switch, bool is_preempted, struct task_struct *prev, struct task_struct *next)
{
	struct pa_wait_stats *st = stats_here();
	u64 now = bpf_ktime_get_ns();
	u32 state = left_state(ctx, prev);

	if (!st || !proc_stats.waits_on)
		return 0;
	st->intervals++;
	check_delivered(st, (u64)prev, (u64)next);
	switch_in(st, (u64)next, now);
	switch_out(st, ctx, (u64)prev, why_left(is_preempted, state), now);
	return 0;
}

SEC("raw_tp/sched_wakeup")
int BPF_PROG(pa_wakeup, struct task_struct *task)
{
	u64 key = (u64)task, now;
	struct pa_thread *t = bpf_map_lookup_elem(&threads, &key);
	struct pa_wait_stats *st;

	if (!t || !t->is_open || t->state > PA_WAIT_DISK)
		return 0;
	st = stats_here();
	if (!st || !proc_stats.waits_on)
		return 0;
	now = bpf_ktime_get_ns();
	end_interval(st, t, now);
	if (!is_wanted(PA_WAIT_RUNQUEUE))
		return 0;
	st->intervals++;
	begin_interval(st, t, PA_WAIT_RUNQUEUE, now);
	return 0;
}

/* A new task is in the cgroup of its creator, the current task. Kernel threads have no user stack
 * to be read. */
static __always_inline bool is_new_target(struct task_struct *task, u32 pid)
{
	if (!pid || pid == wait_cfg.own_pid || BPF_CORE_READ(task, flags) & cfg.kernel_task_flags)
		return false;
	return cfg.select == PA_SELECT_CGROUP ? is_target(pid) : is_target_task(task, pid);
}

/* A thread was created, and waits for a CPU for the first time. */
SEC("raw_tp/sched_wakeup_new")
int BPF_PROG(pa_new, struct task_struct *task)
{
	struct pa_moment m = { .ctx = ctx, .origin = wait_cfg.origin };
	struct pa_wait_stats *st = stats_here();
	struct pa_thread *t;
	u32 pid;

	/* A task created by a kernel thread has no user stack yet. */
	if (!is_wanted(PA_WAIT_RUNQUEUE) || !st || !proc_stats.waits_on || is_kernel_task())
		return 0;
	pid = task_pid(task);
	if (!is_new_target(task, pid))
		return 0;
	m.time_ns = bpf_ktime_get_ns();
	m.pid = current_pid();
	st->intervals++;
	t = thread_of((u64)task);
	if (!t) {
		st->lost[PA_WAIT_NO_ROOM]++;
		return 0;
	}
	check_ended(st, t);
	t->loss = take_new_stack(st, t, &m, task, pid);
	begin_interval(st, t, PA_WAIT_RUNQUEUE, m.time_ns);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
