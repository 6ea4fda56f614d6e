/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by all triggers: takes a sample of the current task and sends it. A trigger is a program
 * that decides whether to take a sample, accounts for its outcome, and supplies the values.
 */
#ifndef BPF_TAKE_SAMPLE_BPF_H
#define BPF_TAKE_SAMPLE_BPF_H

#include "maps.bpf.h"

#include <bpf/bpf_core_read.h>

#include "compat.bpf.h"
#include "copy_stack.bpf.h"
#include "regs.bpf.h"
#include "ring_room.h"
#include "task.bpf.h"
#include "walk.bpf.h"

#define WAKE_EVERY_NS 2000000 /* per CPU and level */

/* The outcome of a sample, counted by each trigger. */
enum pa_outcome {
	PA_SUBMITTED,
	PA_RING_FULL,
	PA_RING_BUSY, /* an NMI cannot wait for the ring's lock */
	PA_TOO_NESTED,
};

/* The context in which a sample is taken. */
struct pa_moment {
	void *ctx;                        /* the program's */
	struct bpf_perf_event_data *perf; /* ctx if it is that of a perf event, otherwise NULL */
	u64 time_ns;                      /* 0: not read yet */
	u32 pid;                          /* of the current task */
	u8 origin;                        /* enum pa_origin */
};

static __always_inline bool is_kernel_task(void)
{
	return (CURRENT(flags) & cfg.kernel_task_flags) != 0;
}

static __always_inline bool is_in_user_mode(const struct pa_moment *m)
{
	return m->perf && ctx_in_user_mode(m->perf);
}

static __always_inline void fill_header(struct pa_scratch *s, const struct pa_moment *m)
{
	struct pa_sample *rec = &s->sample;

	rec->head.type = PA_RECORD_SAMPLE;
	rec->head.pid = m->pid;
	rec->head.time_ns = m->time_ns ? m->time_ns : bpf_ktime_get_ns();
	rec->cgroup_id = cfg.cgroup_ids ? bpf_get_current_cgroup_id() : 0;
	rec->tid = current_tid();
	rec->cpu = bpf_get_smp_processor_id();
	rec->serial = s->nr_taken++ * PA_MAX_NESTING | s->walk.level;
	rec->generation = 0;
	rec->syscall_nr = 0;
	rec->origin = m->origin;
	rec->flags = is_in_user_mode(m) ? 0 : PA_SAMPLE_IN_KERNEL;
	if (is_kernel_task())
		rec->flags |= PA_SAMPLE_KERNEL_TASK;
}

static __always_inline void fill_names(struct pa_sample *rec)
{
	read_current_names(rec->comm, rec->thread);
}

/* The kernel stack, if requested. It comes first: the user stack follows it. */
static __always_inline void add_kernel_stack(struct pa_scratch *s, const struct pa_moment *m,
					     u32 nr_values)
{
	struct pa_sample *rec = &s->sample;
	long n;

	rec->nr_kernel = 0;
	if (!cfg.kernel_stacks || !(rec->flags & PA_SAMPLE_IN_KERNEL))
		return;
	n = bpf_get_stack(m->ctx, s->words + nr_values, PA_MAX_KERNEL_FRAMES * sizeof(u64), 0);
	if (n > 0)
		rec->nr_kernel = (u32)n / sizeof(u64);
}

/* Reads the user registers, whichever mode the sample interrupted; returns 0, or why the stack is
 * not walked. */
static __always_inline u32 user_regs(const struct pa_moment *m, struct pa_walk *w)
{
	if (is_in_user_mode(m))
		return ctx_user_regs(m->perf, w);
	return entry_user_regs(entry_frame(entry_frame_bytes()), w);
}

/* Writes the frames at the cursor; returns why there are no more. */
static __always_inline u32 walk_user_stack(struct pa_scratch *s, const struct pa_moment *m)
{
	struct pa_sample *rec = &s->sample;
	u32 stop;

	if (rec->flags & PA_SAMPLE_KERNEL_TASK)
		return PA_STOP_KERNEL;
	if (is_in_execve())
		return PA_STOP_EXEC; /* its registers belong to the old image */
	if (is_without_memory())
		return PA_STOP_NO_MM;
	stop = user_regs(m, &s->walk);
	if (stop == PA_STOP_STACK_FAULT)
		return stop;
	if (s->walk.in_syscall) {
		rec->flags |= PA_SAMPLE_IN_SYSCALL;
		rec->syscall_nr = s->walk.syscall_nr;
	}
	if (!stop)
		return pa_walk(s, m->pid, rec->cpu, &rec->generation);
	pa_walk_leaf(s);
	return stop;
}

static __always_inline void add_user_stack(struct pa_scratch *s, const struct pa_moment *m,
					   u32 nr_values)
{
	struct pa_sample *rec = &s->sample;
	u32 first = nr_values + rec->nr_kernel;

	s->at = first;
	s->limit = first + PA_MAX_USER_FRAMES;
	rec->stop = walk_user_stack(s, m);
	rec->nr_user = s->at - first;
}

/* How many kernel frames are recorded of a task without user frames. The innermost belong to the
 * tracepoint and the scheduler; user space recognizes and removes them. */
#define MAX_LEAF_FRAMES 24

/* Ensures that a sample has at least the running address, also if it is of a kernel thread, or of a
 * task without a user stack. */
static __always_inline void add_kernel_leaf(struct pa_scratch *s, const struct pa_moment *m,
					    u32 nr_values)
{
	struct pa_sample *rec = &s->sample;
	u64 *leaf = s->words + nr_values;
	long n = sizeof(*leaf);

	if (rec->nr_kernel || rec->nr_user)
		return;
	if (m->perf)
		*leaf = ctx_pc(m->perf);
	else
		n = bpf_get_stack(m->ctx, leaf, MAX_LEAF_FRAMES * sizeof(*leaf), 0);
	if (n <= 0)
		return;
	rec->nr_kernel = (u32)n / sizeof(*leaf);
	s->at += rec->nr_kernel;
}

/* The ring counts as full if it was full before or after the attempt: user space may have made room
 * in between. */
static __always_inline enum pa_outcome ring_refusal(u64 in_use_before, u64 bytes)
{
	u64 in_use = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);

	if (in_use < in_use_before)
		in_use = in_use_before;
	return pa_ring_is_full(in_use, bytes, bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE))
		       ? PA_RING_FULL
		       : PA_RING_BUSY;
}

static __always_inline enum pa_outcome submit(struct pa_scratch *s)
{
	struct pa_sample *rec = &s->sample;
	u64 bytes = sizeof(*rec) + (u64)s->at * sizeof(u64);
	u64 in_use = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);

	if (rec->flags & PA_SAMPLE_UNFINISHED) {
		u32 leaf = (rec->nr_values + rec->nr_kernel) & (PA_WORD_SLOTS - 1);

		pa_add_regs(s, PA_FRAME_ADDR(s->words[leaf]));
		bytes += sizeof(struct pa_stack_regs);
	}
	if (bytes > PA_SCRATCH_RECORD_BYTES)
		bytes = PA_SCRATCH_RECORD_BYTES; /* impossible: frames are bounded */
	return bpf_ringbuf_output(&ring, rec, bytes, BPF_RB_NO_WAKEUP) ? ring_refusal(in_use, bytes)
								       : PA_SUBMITTED;
}

/* Sends the stack of an unfinished walk, and wakes user space up to publish what was missing, so
 * that the next walk succeeds. */
static __always_inline void send_unfinished(struct pa_scratch *s)
{
	pa_send_stack(s);
	if (!pa_is_for_walker(s->sample.stop) &&
	    s->sample.head.time_ns - s->woken_ns > WAKE_EVERY_NS) {
		s->woken_ns = s->sample.head.time_ns;
		pa_wake(s->sample.head.pid);
	}
}

/* Fills in the sample of the current task, with its stack. */
static __always_inline void gather(struct pa_scratch *s, const struct pa_moment *m,
				   const u64 *values, u32 nr_values)
{
	struct pa_sample *rec = &s->sample;

	fill_header(s, m);
	rec->nr_values = nr_values;
	for (u32 i = 0; i < nr_values; i++)
		s->words[i] = values[i];
	add_kernel_stack(s, m, nr_values);
	add_user_stack(s, m, nr_values);
	add_kernel_leaf(s, m, nr_values);
	if (pa_can_be_finished(s))
		rec->flags |= PA_SAMPLE_UNFINISHED;
}

static __always_inline enum pa_outcome send(struct pa_scratch *s)
{
	enum pa_outcome outcome;

	outcome = submit(s);
	if (outcome == PA_SUBMITTED && (s->sample.flags & PA_SAMPLE_UNFINISHED))
		send_unfinished(s);
	return outcome;
}

/* The scratch of the next nesting level, or NULL. A sample that interrupts between two of these
 * instructions restores the count before they continue. */
static __always_inline struct pa_scratch *enter(struct pa_scratch *first)
{
	u32 level = first->nesting;
	struct pa_scratch *s = first;

	if (level >= PA_MAX_NESTING)
		return NULL;
	if (level)
		s = bpf_map_lookup_elem(&scratch, &level);
	if (!s)
		return NULL; /* impossible: the array has an element for each level */
	*(volatile u32 *)&first->nesting = level + 1;
	s->walk.level = level;
	return s;
}

static __always_inline void leave(struct pa_scratch *first)
{
	(*(volatile u32 *)&first->nesting)--;
}

/* Takes a sample of the current task; nr_values is a constant, at most PA_MAX_VALUES. */
static __always_inline enum pa_outcome pa_take_sample(const struct pa_moment *m, const u64 *values,
						      u32 nr_values)
{
	u32 zero = 0;
	struct pa_scratch *first = bpf_map_lookup_elem(&scratch, &zero), *s;
	enum pa_outcome outcome = PA_TOO_NESTED;

	if (!first)
		return outcome; /* impossible: an array's element 0 exists */
	s = enter(first);
	if (!s)
		return outcome;
	gather(s, m, values, nr_values);
	fill_names(&s->sample);
	outcome = send(s);
	leave(first);
	return outcome;
}

#endif
