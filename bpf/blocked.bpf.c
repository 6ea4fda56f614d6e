// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Threads that were off the CPU before the capture began, so that no context switch has shown them.
 * Each is recorded as waiting since the begin of the capture, and written out with its registers;
 * user space reads its stack. Loaded separately (src/collect/blocked_iter.c), and run once when the
 * programs of offcpu.bpf.c are attached.
 */
#include "maps.bpf.h"

#include <bpf/bpf_core_read.h>

#include "regs.bpf.h"
#include "sched.bpf.h"
#include "task.bpf.h"
#include "wait.bpf.h"

struct pa_blocked_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pa_blocked);
};
struct pa_blocked_map blocked_scratch SEC(".maps");

enum bpf_func_id___pa_blocked {
	BPF_FUNC_get_task_stack___pa_blocked = 141,
	BPF_FUNC_task_pt_regs___pa_blocked = 175,
};

static __always_inline void add_names(struct pa_blocked *b, struct task_struct *task)
{
	struct task_struct *first = BPF_CORE_READ(task, group_leader);

	bpf_probe_read_kernel(b->thread, sizeof(b->thread), task->comm);
	bpf_probe_read_kernel(b->comm, sizeof(b->comm), first->comm);
}

static __always_inline void add_regs(struct pa_blocked *b, struct task_struct *task)
{
	struct pa_ctx_regs regs;
	const char *frame;

	if (bpf_core_enum_value_exists(enum bpf_func_id___pa_blocked,
				       BPF_FUNC_task_pt_regs___pa_blocked))
		frame = (const char *)bpf_task_pt_regs(task);
	else
		frame = (const char *)BPF_CORE_READ(task, stack) + cfg.thread_size -
			entry_frame_bytes();
	b->has_regs = !(BPF_CORE_READ(task, flags) & cfg.kernel_task_flags) &&
		      BPF_CORE_READ(task, mm) && !bpf_probe_read_kernel(&regs, sizeof(regs), frame);
	if (!b->has_regs)
		return;
	COPY_REGS(b, &regs);
	b->stack_end = stack_end(task, b->sp);
	b->is_compat = is_compat(&regs);
	b->syscall_nr = syscall_nr_of(&regs);
}

static __always_inline void add_kernel(struct pa_blocked *b, struct task_struct *task)
{
	long n = 0;

	if ((cfg.kernel_stacks || !b->has_regs) &&
	    bpf_core_enum_value_exists(enum bpf_func_id___pa_blocked,
				       BPF_FUNC_get_task_stack___pa_blocked))
		n = bpf_get_task_stack(task, b->kernel, sizeof(b->kernel), 0);
	b->nr_kernel = n > 0 ? (u32)n / sizeof(u64) : 0;
}

/* Atomic increments: the program may be preempted, and the other programs count on the same CPU. */
static __always_inline void count_interval(u8 state, bool has_room)
{
	u32 zero = 0;
	struct pa_wait_stats *st = bpf_map_lookup_elem(&wait_stats, &zero);

	if (!st)
		return;
	__sync_fetch_and_add(&st->intervals, 1);
	if (!has_room)
		__sync_fetch_and_add(&st->lost[PA_WAIT_NO_ROOM], 1);
	else if (!is_wanted(state))
		__sync_fetch_and_add(&st->other_state, 1);
}

/* The other programs may have ended the interval already: only they count how it ended. */
static __always_inline void mark_as_ran(const struct pa_blocked *b)
{
	u64 key = b->task;
	struct pa_thread *t = bpf_map_lookup_elem(&threads, &key);

	if (t && t->wait == b->wait)
		t->loss = PA_WAIT_RAN;
}

#define EEXIST 17

static __always_inline bool is_in_state(struct task_struct *task, u8 state)
{
	return state == PA_WAIT_PREEMPTED ? waits_for_cpu(task) : is_asleep(task);
}

/* Enters the thread as waiting; false if it has had a context switch since, or if there is no room.
 * The other programs see the entry from here on. If the thread is still in the same state
 * afterwards, it was neither woken up nor run before that. */
static __always_inline bool begin_before(struct pa_blocked *b, struct task_struct *task)
{
	u64 born = BPF_CORE_READ(task, start_time), begin = proc_stats.waits_on;
	struct pa_thread t = { .since_ns = born > begin ? born : begin,
			       .wait = b->wait,
			       .is_open = 1,
			       .state = b->state,
			       .is_single = 1 };
	u64 key = b->task;
	long r = bpf_map_update_elem(&threads, &key, &t, BPF_NOEXIST);

	if (r == -EEXIST)
		return false;
	count_interval(b->state, r == 0);
	if (r)
		return false;
	if (!is_in_state(task, b->state))
		mark_as_ran(b);
	return true;
}

/* What a task waits for; PA_NR_WAIT_STATES if it is on a CPU, or if such waits are not wanted.
 * Whether a task that waits for a CPU was preempted or woken up is not known. */
static __always_inline u8 state_before(struct task_struct *task)
{
	if (waits_for_cpu(task))
		return is_wanted(PA_WAIT_PREEMPTED) ? PA_WAIT_PREEMPTED : PA_NR_WAIT_STATES;
	if (!is_asleep(task))
		return PA_NR_WAIT_STATES;
	return why_left(false, task_state(task)) == PA_LEAVE_DISK ? PA_WAIT_DISK : PA_WAIT_SLEEP;
}

SEC("iter/task")
int pa_blocked(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	u32 zero = 0, pid;
	struct pa_blocked *b = bpf_map_lookup_elem(&blocked_scratch, &zero);

	if (!task || !b || !proc_stats.waits_on)
		return 0;
	b->state = state_before(task);
	if (b->state == PA_NR_WAIT_STATES)
		return 0;
	pid = task_pid(task);
	if (!pid || pid == wait_cfg.own_pid || is_helper(task, wait_cfg.own_pid) ||
	    !is_member_task(task, pid))
		return 0;
	b->task = (u64)task;
	b->pid = pid;
	b->tid = task_tid(task);
	b->wait = PA_WAIT_SINGLE | PA_WAIT_BEFORE | b->tid;
	if (!is_wanted(b->state) && !is_wanted(PA_WAIT_RUNQUEUE))
		return 0;
	if (!begin_before(b, task))
		return 0;
	add_names(b, task);
	add_regs(b, task);
	add_kernel(b, task);
	bpf_seq_write(ctx->meta->seq, b, sizeof(*b));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
