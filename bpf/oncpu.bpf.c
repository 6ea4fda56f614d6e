// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The on-CPU trigger: one run per tick of a CPU's clock (or cycle counter). */
#include "maps.bpf.h"

#include <bpf/bpf_core_read.h>

#include "compat.bpf.h"
#include "task.bpf.h"
#include "walk.bpf.h"
#if defined(__TARGET_ARCH_x86)
#include "regs_x86.bpf.h"
#else
#include "regs_arm64.bpf.h"
#endif
#include "finish.bpf.h"

#define WAKE_EVERY_NS 2000000 /* per CPU */

const volatile struct pa_config cfg = {};

static __always_inline bool is_kernel_task(struct task_struct *task)
{
	return (BPF_CORE_READ(task, flags) & cfg.kernel_task_flags) != 0;
}

/* The registers of user mode, wherever the sample hit; 0, or why the stack is not walked. */
static __always_inline u32 user_regs(struct bpf_perf_event_data *ctx, struct task_struct *task,
				     struct pa_walk *w)
{
	if (ctx_in_user_mode(ctx))
		return ctx_user_regs(ctx, w);
	return entry_user_regs(entry_frame(task, entry_frame_bytes()), w);
}

static __always_inline void add_user_stack(struct bpf_perf_event_data *ctx, struct pa_scratch *s,
					   struct task_struct *task)
{
	s->sample.nr_user = 0;
	s->sample.generation = 0;
	if (s->sample.flags & PA_SAMPLE_KERNEL_TASK) {
		s->sample.stop = PA_STOP_KERNEL;
		return;
	}
	s->sample.stop = PA_STOP_EXEC; /* its registers are of the image that goes */
	if (task_is_in_execve(task))
		return;
	s->sample.stop = PA_STOP_NO_MM; /* exit has taken the address space away */
	if (!BPF_CORE_READ(task, mm))
		return;
	s->sample.stop = user_regs(ctx, task, &s->walk);
	if (s->sample.stop == PA_STOP_STACK_FAULT)
		return;
	if (s->walk.in_syscall)
		s->sample.flags |= PA_SAMPLE_IN_SYSCALL;
	if (s->sample.stop)
		pa_walk_leaf(s, s->sample.stop);
	else
		pa_walk(s);
}

/* Where in the kernel, if that was asked for. It comes first: the user stack stands behind it. */
static __always_inline void add_kernel_stack(struct bpf_perf_event_data *ctx, struct pa_scratch *s)
{
	struct pa_sample *rec = &s->sample;
	long n;

	rec->nr_kernel = 0;
	if (!cfg.kernel_stacks || !(rec->flags & PA_SAMPLE_IN_KERNEL))
		return;
	n = bpf_get_stack(ctx, rec->pcs, PA_MAX_KERNEL_FRAMES * sizeof(u64), 0);
	if (n > 0)
		rec->nr_kernel = (u32)n / sizeof(u64);
}

/* A sample has at least the address that was running: that of a kernel thread, or of a task without a
 * user stack. */
static __always_inline void add_kernel_leaf(struct bpf_perf_event_data *ctx, struct pa_scratch *s)
{
	struct pa_sample *rec = &s->sample;

	if (rec->nr_kernel || rec->nr_user)
		return;
	rec->pcs[0] = ctx_pc(ctx);
	rec->nr_kernel = 1;
}

static __always_inline void fill_header(struct bpf_perf_event_data *ctx, struct pa_sample *rec,
					struct task_struct *task, u32 pid)
{
	rec->head.type = PA_RECORD_SAMPLE;
	rec->head.pid = pid;
	rec->head.time_ns = bpf_ktime_get_ns();
	rec->weight = ctx->sample_period;
	rec->tid = task_tid(task);
	rec->cpu = bpf_get_smp_processor_id();
	rec->flags = ctx_in_user_mode(ctx) ? 0 : PA_SAMPLE_IN_KERNEL;
	if (is_kernel_task(task))
		rec->flags |= PA_SAMPLE_KERNEL_TASK;
	BPF_CORE_READ_INTO(&rec->comm, task, group_leader, comm);
	bpf_get_current_comm(rec->thread, sizeof(rec->thread));
}

static __always_inline long submit(struct pa_scratch *s)
{
	struct pa_sample *rec = &s->sample;
	u64 size = sizeof(*rec) + ((u64)rec->nr_kernel + rec->nr_user) * sizeof(u64);

	if (rec->flags & PA_SAMPLE_UNFINISHED)
		size += pa_add_regs(s);
	if (size > sizeof(s->bytes))
		size = sizeof(s->bytes); /* cannot be: frames are bounded */
	return bpf_ringbuf_output(&ring, rec, size, BPF_RB_NO_WAKEUP);
}

/* The stack of an unfinished walk; then user space is woken up to learn what was missing, so that
 * the next walk finds it. */
static __always_inline void hand_over(struct pa_scratch *s, struct task_struct *task)
{
	pa_send_stack(s, task);
	if (!pa_is_for_walker(s->sample.stop) &&
	    s->sample.head.time_ns - s->woken_ns > WAKE_EVERY_NS) {
		s->woken_ns = s->sample.head.time_ns;
		pa_wake(s->sample.head.pid);
	}
}

static __always_inline void sample(struct bpf_perf_event_data *ctx, struct pa_tick_stats *st,
				   struct task_struct *task, u32 pid)
{
	u32 zero = 0;
	struct pa_scratch *s = bpf_map_lookup_elem(&scratch, &zero);

	if (!s)
		return; /* cannot be: an array's element 0 exists */
	fill_header(ctx, &s->sample, task, pid);
	add_kernel_stack(ctx, s);
	add_user_stack(ctx, s, task);
	add_kernel_leaf(ctx, s);
	if (pa_is_curable(s))
		s->sample.flags |= PA_SAMPLE_UNFINISHED;
	if (submit(s)) {
		st->ring_full++;
		return;
	}
	st->submitted++;
	if (s->sample.flags & PA_SAMPLE_UNFINISHED)
		hand_over(s, task);
}

SEC("perf_event")
int pa_oncpu(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u32 zero = 0, pid;
	struct pa_tick_stats *st = bpf_map_lookup_elem(&tick_stats, &zero);

	if (!st)
		return 0; /* cannot be: an array's element 0 exists */
	st->ticks++;
	st->weight += ctx->sample_period;
	if ((u32)bpf_get_current_pid_tgid() == 0) {
		st->idle++;
		return 0;
	}
	pid = task_pid(task);
	if (!pid)
		st->outside++;
	else if (!is_target(pid) && !is_exiting_target(task, pid))
		st->other++;
	else
		sample(ctx, st, task, pid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
