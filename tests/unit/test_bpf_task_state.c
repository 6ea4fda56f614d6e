/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a task that is looked at waits for a wake-up, and why one leaves its CPU. */
#include "bpf/task_state.h"
#include "collect/features.h"
#include "tap.h"

#define TASK_INTERRUPTIBLE 0x1u
#define TASK_IDLE (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)

static void test_asleep(void)
{
	ok(pa_is_asleep(TASK_INTERRUPTIBLE, false, false),
	   "a task off its CPU and its queue sleeps");
	ok(pa_is_asleep(TASK_UNINTERRUPTIBLE, false, false) &&
		   pa_is_asleep(TASK_STOPPED, false, false),
	   "in whatever state it waits");
	ok(!pa_is_asleep(0, false, false), "a runnable task does not");
	ok(!pa_is_asleep(TASK_INTERRUPTIBLE, true, true),
	   "a task that is about to wait still runs");
	ok(!pa_is_asleep(TASK_INTERRUPTIBLE, true, false),
	   "a task that the scheduler takes off its CPU to wait still runs");
	ok(!pa_is_asleep(TASK_INTERRUPTIBLE, false, true),
	   "a task that is preempted before it waits is runnable");
	ok(!pa_is_asleep(TASK_NEW, false, false), "a new task has never run");
	ok(!pa_is_asleep(TASK_WAKING, false, false), "a task that is being woken up does not wait");
	ok(!pa_is_asleep(TASK_DEAD, false, false), "a task that has exited does not wait");
}

static void test_waiting_for_cpu(void)
{
	ok(pa_waits_for_cpu(0, false, true) && pa_waits_for_cpu(TASK_INTERRUPTIBLE, false, true),
	   "a task on the queue waits for a CPU, also if it was about to sleep");
	ok(!pa_waits_for_cpu(0, true, true), "a task that runs does not wait for a CPU");
	ok(!pa_waits_for_cpu(TASK_INTERRUPTIBLE, false, false),
	   "a task that sleeps does not wait for a CPU");
	ok(!pa_waits_for_cpu(TASK_NEW, false, true) &&
		   !pa_waits_for_cpu(TASK_WAKING, false, true) &&
		   !pa_waits_for_cpu(TASK_DEAD, false, true),
	   "one that is new, being woken up or dead is left to its next event");
}

static void test_leaving(void)
{
	ok(why_left(false, 0) == PA_LEAVE_RUNNABLE &&
		   why_left(true, TASK_INTERRUPTIBLE) == PA_LEAVE_RUNNABLE,
	   "a task that yields or is preempted stays runnable, whatever it was about to wait for");
	ok(why_left(false, TASK_UNINTERRUPTIBLE) == PA_LEAVE_DISK &&
		   why_left(false, TASK_IDLE) == PA_LEAVE_SLEEP &&
		   why_left(false, TASK_INTERRUPTIBLE) == PA_LEAVE_SLEEP,
	   "an uninterruptible sleep is one, unless it is that of a kernel thread without work");
	ok(why_left(true, TASK_DEAD) == PA_LEAVE_DEAD, "a dead task does not come back");
	ok(why_left(false, TASK_TRACED) == PA_LEAVE_STOPPED, "a task that is traced is stopped");
}

static void test_source(void)
{
	ok(features_state_source(KERNEL_VERSION_OF(5, 10)) == PA_STATE_OF_TASK &&
		   features_state_source(KERNEL_VERSION_OF(6, 1)) == PA_STATE_ARG_UNSURE &&
		   features_state_source(KERNEL_VERSION_OF(6, 18)) == PA_STATE_ARG,
	   "where the state is depends on the kernel");
	ok(pa_left_state(PA_STATE_OF_TASK, 0, TASK_INTERRUPTIBLE) == TASK_INTERRUPTIBLE,
	   "before Linux 5.18 the state is read from the task");
	ok(pa_left_state(PA_STATE_ARG, TASK_UNINTERRUPTIBLE, 0) == TASK_UNINTERRUPTIBLE,
	   "since Linux 5.18 the state is an argument");
	ok(pa_left_state(PA_STATE_ARG_UNSURE, TASK_INTERRUPTIBLE, 0) == 0,
	   "a task that a signal keeps from sleeping is runnable, whatever the argument is");
	ok(pa_left_state(PA_STATE_ARG_UNSURE, TASK_UNINTERRUPTIBLE, TASK_WAKING) ==
		   TASK_UNINTERRUPTIBLE,
	   "a task that is woken up at that moment did sleep");
}

int main(void)
{
	test_source();
	test_asleep();
	test_waiting_for_cpu();
	test_leaving();
	return tap_done();
}
