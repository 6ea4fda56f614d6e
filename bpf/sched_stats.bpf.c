// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Scheduler statistics: how long tasks stay on a CPU, how long they wait for one, why they leave
 * it, and what the hardware counters count meanwhile. A time slice is recorded when it ends,
 * together with the wait before it: its task is the current one at that moment, so that every way
 * to select targets works. Raw tracepoints and a hash of threads instead of tp_btf and task
 * storage: the same code runs on all kernels, and libbpf need not read all of the kernel's types to
 * load it.
 */
#include "sched_stats.h"
#include "maps.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "sched.bpf.h"
#include "task.bpf.h"

const volatile struct pa_config cfg = {};
const volatile struct pa_sched_config sched_cfg = {};
struct pa_proc_stats proc_stats SEC(PA_SHARED) = {};
__u32 sched_is_on; /* set by user space, so that all programs begin and end at the same moment */

/* set at the first context switch: this kernel does not mark waits for I/O */
__u32 sched_lacks_iowait;

/* The current time slice of a CPU. */
struct pa_slice {
	u64 since_ns;
	u64 wait_ns; /* the wait for the CPU before this slice, if has_wait */
	u64 task;    /* struct task_struct *; 0: none, or not a target */
	u8 is_whole; /* the begin of the slice was seen */
	u8 has_wait;
	u8 counted;                               /* a bit per enum pa_counter_kind */
	u8 lacks_wait;                            /* there was a wait, but its begin was not seen */
	struct pa_counter_sum at[PA_NR_COUNTERS]; /* counter values when the slice began */
};

struct pa_slice_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pa_slice);
} sched_slice SEC(".maps");

/* Threads that are or may be targets: since when each waits for a CPU; 0: it does not wait. The key
 * is the address of the task, which is unique until its last switch: execve() in a thread that is
 * not the first of its process changes its TID. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PA_MAX_SCHED_THREADS);
	__type(key, u64);
	__type(value, u64);
} sched_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pa_sched_counts);
} sched_counts SEC(".maps");

/* All targets together; with pa_sched_config.per_process, the targets that have no entry of their
 * own. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pa_sched_stats);
} sched_total SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* PA_MAX_SCHED_PROCESSES if processes are listed */
	__type(key, struct pa_sched_key);
	__type(value, struct pa_sched_stats);
} sched_processes SEC(".maps");

/* Processes whose last thread has ended: user space reads their entry, and frees it. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1); /* PA_MAX_SCHED_PROCESSES if processes are listed */
	__type(value, struct pa_sched_key);
} sched_ended SEC(".maps");

/* The initial value of a process's entry, too big for the stack. Never written. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pa_sched_stats);
} sched_blank SEC(".maps");

/* Sized by user space: one event per CPU. */
struct pa_event_map {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u32));
};
struct pa_event_map sched_cycles SEC(".maps");
struct pa_event_map sched_instructions SEC(".maps");
struct pa_event_map sched_cache_misses SEC(".maps");

/* The clocks of events and of slices are read one after the other. */
#define COUNTER_SLACK_NS 100000

_Static_assert(sizeof(struct pa_counter_sum) == sizeof(struct bpf_perf_event_value),
	       "the helper writes one");

/* Returns 0 on success; the map is a constant once this is inlined. */
static __always_inline long read_counter(void *map, struct pa_counter_sum *to)
{
	return bpf_perf_event_read_value(map, BPF_F_CURRENT_CPU, (void *)to, sizeof(*to));
}

static __always_inline bool has_counter(enum pa_counter_kind kind)
{
	return sched_cfg.counters >> kind & 1;
}

#define EACH_COUNTER(X)                                                                            \
	X(PA_COUNTER_CYCLES, &sched_cycles)                                                        \
	X(PA_COUNTER_INSTRUCTIONS, &sched_instructions)                                            \
	X(PA_COUNTER_CACHE_MISSES, &sched_cache_misses)

static __always_inline void begin_counters(struct pa_slice *slice)
{
	slice->counted = 0;
#define X(kind, map)                                                                               \
	if (has_counter(kind) && !read_counter(map, &slice->at[kind]))                             \
		slice->counted |= 1u << (kind);
	EACH_COUNTER(X)
#undef X
}

/* False if the event did not count all the time between two readings: it is of a CPU that was offline
 * meanwhile, and stands still, or was replaced. */
static __always_inline bool has_counted(const struct pa_counter_sum *from,
					const struct pa_counter_sum *now, u64 slice_ns)
{
	u64 enabled_ns = now->enabled_ns - from->enabled_ns;

	return now->enabled_ns > from->enabled_ns && now->value >= from->value &&
	       enabled_ns + enabled_ns / 8 + COUNTER_SLACK_NS >= slice_ns;
}

static __always_inline void add_difference(struct pa_counter_sum *to,
					   const struct pa_counter_sum *from,
					   const struct pa_counter_sum *now)
{
	__sync_fetch_and_add(&to->value, now->value - from->value);
	__sync_fetch_and_add(&to->enabled_ns, now->enabled_ns - from->enabled_ns);
	__sync_fetch_and_add(&to->running_ns, now->running_ns - from->running_ns);
}

static __always_inline void end_counters(const struct pa_slice *slice, struct pa_sched_stats *st,
					 struct pa_sched_counts *counts, u64 slice_ns)
{
	struct pa_counter_sum now;
	bool is_missing = false;

#define X(kind, map)                                                                               \
	if (has_counter(kind)) {                                                                   \
		if ((slice->counted >> (kind)&1) && !read_counter(map, &now) &&                    \
		    has_counted(&slice->at[kind], &now, slice_ns))                                 \
			add_difference(&st->counters[kind], &slice->at[kind], &now);               \
		else                                                                               \
			is_missing = true;                                                         \
	}
	EACH_COUNTER(X)
#undef X
	counts->uncounted += is_missing;
}

static __always_inline void hist_add(struct pa_histogram *h, u64 ns)
{
	u64 i = pa_hist_bucket(ns);

	asm volatile(""
		     : "+r"(i)); /* the compiler would drop the check, which the verifier needs */
	if (i >= PA_HIST_BUCKETS)
		return; /* impossible */
	__sync_fetch_and_add(&h->sum_ns, ns);
	__sync_fetch_and_add(&h->counts[i], 1);
}

static __always_inline struct pa_sched_key current_key(u32 pid)
{
	struct task_struct *first = CURRENT(group_leader);

	return (struct pa_sched_key){ .start_time = BPF_CORE_READ(first, start_time), .pid = pid };
}

/* The entry of a process; its name is updated whenever its first thread leaves a CPU. */
static __always_inline struct pa_sched_stats *process_stats(u32 pid)
{
	struct task_struct *first = CURRENT(group_leader);
	struct pa_sched_key key = current_key(pid);
	struct pa_sched_stats *st = bpf_map_lookup_elem(&sched_processes, &key), *blank;
	u32 zero = 0;

	if (!st) {
		blank = bpf_map_lookup_elem(&sched_blank, &zero);
		if (!blank)
			return NULL; /* impossible: an array's element 0 exists */
		bpf_map_update_elem(&sched_processes, &key, blank, BPF_NOEXIST);
		st = bpf_map_lookup_elem(&sched_processes, &key);
		if (st)
			bpf_probe_read_kernel(st->comm, sizeof(st->comm), first->comm);
	} else if ((u32)bpf_get_current_pid_tgid() == bpf_get_current_pid_tgid() >> 32) {
		bpf_get_current_comm(st->comm, sizeof(st->comm));
	}
	return st;
}

static __always_inline struct pa_sched_stats *stats_of(u32 pid, struct pa_sched_counts *counts)
{
	struct pa_sched_stats *st;
	u32 zero = 0;

	if (sched_cfg.per_process) {
		st = process_stats(pid);
		if (st)
			return st;
		counts->unlisted++;
	}
	return bpf_map_lookup_elem(&sched_total, &zero);
}

/* Whether the current task, which is exiting, is the last of its process. All other threads but the
 * first are gone after their last switch; the first one stays until it is waited for. */
static __always_inline bool is_last_thread(void)
{
	struct task_struct *first = CURRENT(group_leader);
	struct signal_struct *signal = CURRENT(signal);

	return BPF_CORE_READ(signal, nr_threads) <= 1 && BPF_CORE_READ(first, exit_state);
}

/* An entry for which the queue has no room is kept until the end of the capture, like that of a
 * process whose end is not seen. */
static __always_inline void end_process(struct pa_sched_stats *st, u32 pid)
{
	struct pa_sched_key key = current_key(pid);

	if (st->has_ended || !is_last_thread() || !bpf_map_lookup_elem(&sched_processes, &key))
		return;
	st->has_ended = !bpf_map_push_elem(&sched_ended, &key, 0);
}

/* Records the slice of the current task, and the wait before it. */
static __always_inline void record_slice(const struct pa_slice *slice, struct pa_sched_stats *st,
					 struct pa_sched_counts *counts, u64 now, bool is_over)
{
	if (slice->is_whole && is_over)
		hist_add(&st->on_cpu, now - slice->since_ns);
	else
		__sync_fetch_and_add(&st->open_ns, now - slice->since_ns);
	if (slice->has_wait)
		hist_add(&st->run_queue, slice->wait_ns);
	counts->waits_lost += slice->lacks_wait;
	if (sched_cfg.counters)
		end_counters(slice, st, counts, now - slice->since_ns);
}

/* Whether a task other than the current one is a target, or becomes one by execve() before it
 * leaves its CPU, as far as can be known. */
static __always_inline bool may_be_target(struct task_struct *task)
{
	u32 pid = task_pid(task), select = cfg.select, tid;

	if (!pid || pid == sched_cfg.own_pid)
		return false;
	if (select == PA_SELECT_PIDS)
		return bpf_map_lookup_elem(&targets, &pid);
	if (select == PA_SELECT_TIDS) {
		tid = task_tid(task);
		return bpf_map_lookup_elem(&targets, &tid);
	}
	if (select == PA_SELECT_USER)
		return BPF_CORE_READ(task, real_cred, euid.val) == cfg.uid;
	return true;
}

/* since: 0 if the thread does not wait for a CPU. */
static __always_inline void set_wait(u64 task, u64 since, struct pa_sched_counts *counts)
{
	u64 *known = bpf_map_lookup_elem(&sched_threads, &task);

	if (known)
		*known = since;
	else if (bpf_map_update_elem(&sched_threads, &task, &since, BPF_ANY) && since)
		counts->waits_lost++;
}

static __always_inline enum pa_switch_reason switch_reason(enum pa_leave why)
{
	switch (why) {
	case PA_LEAVE_RUNNABLE:
		return PA_SWITCH_PREEMPTED;
	case PA_LEAVE_STOPPED:
		return PA_SWITCH_STOPPED;
	case PA_LEAVE_DEAD:
		return PA_SWITCH_EXITED;
	case PA_LEAVE_DISK:
		if (is_in_iowait((void *)bpf_get_current_task()))
			return PA_SWITCH_IO_WAIT;
		break;
	case PA_LEAVE_SLEEP:
		break;
	}
	return PA_SWITCH_VOLUNTARY;
}

/* The current task is a target and leaves its CPU. */
static __always_inline void record_switch(const struct pa_slice *slice, u64 task, u32 pid, u64 now,
					  enum pa_leave why, struct pa_sched_counts *counts)
{
	struct pa_sched_stats *st = stats_of(pid, counts);
	u32 reason = switch_reason(why);

	counts->recorded++;
	if (!st)
		return; /* impossible: an array's element 0 exists */
	if (slice->task == task)
		record_slice(slice, st, counts, now, true);
	else
		counts->unseen++;
	if (reason < PA_NR_SWITCH_REASONS)
		__sync_fetch_and_add(&st->reasons[reason], 1);
	if (why != PA_LEAVE_DEAD)
		set_wait(task, why == PA_LEAVE_RUNNABLE ? now : 0, counts);
	else if (sched_cfg.per_process)
		end_process(st, pid);
}

static __always_inline void leave_cpu(const struct pa_slice *slice, u64 task, u64 now,
				      enum pa_leave why, struct pa_sched_counts *counts)
{
	u32 pid;

	counts->switches++;
	if (!(u32)bpf_get_current_pid_tgid()) {
		counts->idle++;
		return;
	}
	pid = current_pid();
	if (!pid)
		counts->outside++;
	else if (pid == sched_cfg.own_pid)
		counts->own++;
	else if (!is_target(pid))
		counts->other++;
	else
		record_switch(slice, task, pid, now, why, counts);
	if (why == PA_LEAVE_DEAD)
		bpf_map_delete_elem(&sched_threads, &task); /* a missing entry means the same */
}

/* `next` begins to run. Counters are read for targets only. */
static __always_inline void enter_cpu(struct pa_slice *slice, struct task_struct *next, u64 now)
{
	u64 task = (u64)next, *since;

	slice->task = 0;
	if (!BPF_CORE_READ(next, pid))
		return; /* the idle task */
	since = bpf_map_lookup_elem(&sched_threads, &task);
	if (!since && !may_be_target(next))
		return;
	slice->has_wait = since && *since;
	slice->lacks_wait = since &&
			    !*since; /* its last switch off a CPU was seen, but no wake-up */
	if (since && *since) {
		slice->wait_ns = now > *since ? now - *since
					      : 0; /* *since is from the clock of another CPU */
		*since = 0;
	}
	slice->is_whole = 1;
	slice->since_ns = now;
	slice->task = task;
	if (sched_cfg.counters)
		begin_counters(slice);
}

SEC("raw_tp/sched_switch")
int BPF_PROG(pa_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	u32 zero = 0;
	struct pa_slice *slice = bpf_map_lookup_elem(&sched_slice, &zero);
	struct pa_sched_counts *counts = bpf_map_lookup_elem(&sched_counts, &zero);
	u64 now;

	if (!*(volatile u32 *)&sched_is_on || !slice || !counts)
		return 0;
	if (!has_iowait_flag())
		sched_lacks_iowait = 1;
	now = bpf_ktime_get_ns();
	leave_cpu(slice, (u64)prev, now, why_left(preempt, left_state(ctx, prev)), counts);
	enter_cpu(slice, next, now);
	return 0;
}

/* A task that is woken before it has left its CPU does not wait: its time is reset when it leaves.
 * A new task may have the address of one whose last switch was not reported. */
static __always_inline int note_wakeup(struct task_struct *task, bool is_new)
{
	u64 key = (u64)task, *since, now;
	u32 zero = 0;
	struct pa_sched_counts *counts;

	if (!*(volatile u32 *)&sched_is_on)
		return 0;
	since = bpf_map_lookup_elem(&sched_threads, &key);
	if (since && *since && !is_new)
		return 0; /* it was preempted, and has been waiting since */
	/* One that is not a target yet may leave its CPU as such, which resets nothing. */
	if (!since && (is_on_cpu(task) || !may_be_target(task)))
		return 0;
	now = bpf_ktime_get_ns();
	counts = bpf_map_lookup_elem(&sched_counts, &zero);
	if (since)
		*since = now;
	else if (counts)
		set_wait(key, now, counts);
	return 0;
}

SEC("raw_tp/sched_wakeup")
int BPF_PROG(pa_sched_wakeup, struct task_struct *task)
{
	return note_wakeup(task, false);
}

SEC("raw_tp/sched_wakeup_new")
int BPF_PROG(pa_sched_wakeup_new, struct task_struct *task)
{
	return note_wakeup(task, true);
}

/* The PID of the current task if it is a target; otherwise 0. */
static __always_inline u32 target_pid(void)
{
	u32 pid = (u32)bpf_get_current_pid_tgid() ? current_pid() : 0;

	return pid && pid != sched_cfg.own_pid && is_target(pid) ? pid : 0;
}

/* Run by user space once on every CPU when the capture begins: the current task has been running
 * since an unknown time. */
SEC("raw_tp")
int pa_sched_begin(void *ctx)
{
	u32 zero = 0;
	struct pa_slice *slice = bpf_map_lookup_elem(&sched_slice, &zero);

	if (!slice || slice->task || !target_pid())
		return 0;
	slice->has_wait = slice->lacks_wait = 0;
	slice->is_whole = 0;
	slice->since_ns = bpf_ktime_get_ns();
	slice->task = bpf_get_current_task();
	if (sched_cfg.counters)
		begin_counters(slice);
	return 0;
}

/* Run by user space once on every CPU when the capture ends: the current task continues to run. */
SEC("raw_tp")
int pa_sched_end(void *ctx)
{
	u32 zero = 0, pid = target_pid();
	struct pa_slice *slice = bpf_map_lookup_elem(&sched_slice, &zero);
	struct pa_sched_counts *counts = bpf_map_lookup_elem(&sched_counts, &zero);
	struct pa_sched_stats *st;

	if (!slice || !counts || !pid || slice->task != bpf_get_current_task())
		return 0;
	st = stats_of(pid, counts);
	if (st)
		record_slice(slice, st, counts, bpf_ktime_get_ns(), false);
	slice->task = 0;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
