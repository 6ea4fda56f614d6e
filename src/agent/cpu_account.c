/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu_account.h"

#include <perfagent/perfagent.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/ended_targets.h"
#include "collect/programs.h"

#define STAT_PATH "/proc/stat"
#define FREED_WITHIN_NS (100 * NS_PER_MS)
#define LOOK_EVERY_US 2000
/* twice the capacity of the map, since reading may start again from its beginning */
#define MAX_ENDED (1u << 14)

static int cpu_time_of_target(const struct programs *p, pid_t id, uint64_t *ret_ns)
{
	return programs_kernel_config(p)->select == PA_SELECT_TIDS
		       ? cpu_time_of_thread(id, ret_ns)
		       : cpu_time_of_process(id, ret_ns);
}

/* Sums the CPU time of the live targets, and sets for each whether the kernel counts it at exit
 * (is_left). Returns the number of targets; -ESRCH: one is gone without an exit, for example a
 * thread that called execve(). */
static int sum_live(const struct programs *p, bool is_left, uint64_t *ret_ns)
{
	_cleanup_(freep) pid_t *ids = NULL;
	uint64_t ns, sum = 0;
	uint32_t nr;
	int r = ended_targets_live(p, &ids, &nr);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < nr; i++) {
		r = cpu_time_of_target(p, ids[i], &ns);
		if (ended_targets_leave(p, ids[i], is_left) < 0)
			continue;
		if (r < 0)
			return r;
		sum += ns;
	}
	*ret_ns = sum;
	return (int)nr;
}

/* The CPU time of targets is known if the kernel side has a list of them, and for a cgroup. If
 * every process is a target (outside of nested PID namespaces), it is that of the whole machine.
 * For a user it is not known. */
void cpu_account_begin(struct cpu_account *a, struct programs *p, int cgroup_fd)
{
	const struct pa_config *cfg = programs_kernel_config(p);

	a->has_machine = cpu_times_read(STAT_PATH, &a->machine) == 0;
	a->is_all = cfg->select == PA_SELECT_ALL && cfg->pidns_is_initial;
	if (cfg->select == PA_SELECT_CGROUP) {
		a->cgroup_fd = cgroup_fd;
		a->has_targets = cpu_time_of_cgroup(cgroup_fd, &a->before_ns) == 0;
	}
	if (cfg->select != PA_SELECT_PIDS && cfg->select != PA_SELECT_TIDS)
		return;
	a->ended_fd = ended_targets_watch(p);
	/* An empty target map means that targets are not listed. */
	a->has_targets = a->ended_fd >= 0 && sum_live(p, true, &a->before_ns) > 0;
}

void cpu_account_lose_target(struct cpu_account *a)
{
	a->has_targets = false;
}

static bool read_targets(const struct programs *p, int cgroup_fd, uint64_t *ret_ns)
{
	return cgroup_fd >= 0 ? cpu_time_of_cgroup(cgroup_fd, ret_ns) == 0
			      : sum_live(p, false, ret_ns) >= 0;
}

void cpu_account_end(struct cpu_account *a, const struct programs *p)
{
	struct cpu_times now;

	a->has_machine = a->has_machine && cpu_times_read(STAT_PATH, &now) == 0;
	if (a->has_machine)
		a->machine = cpu_times_between(&a->machine, &now);
	a->has_targets = a->has_targets && read_targets(p, a->cgroup_fd, &a->live_ns);
}

/* Adds the targets that have exited but were not reaped yet. False: the kernel has not freed all of
 * them. */
static bool count_zombies(struct cpu_account *a, const struct programs *p,
			  const atomic_bool *cancel)
{
	_cleanup_(freep) struct ended_target *ended = calloc(MAX_ENDED, sizeof(*ended));
	bool is_complete;
	uint32_t nr;
	uint64_t ns;

	if (!ended)
		return false;
	is_complete = ended_targets_list(p, ended, MAX_ENDED, &nr);
	for (uint32_t i = 0; i < nr && !atomic_load(cancel); i++) {
		if (cpu_time_of_target(p, ended[i].pid, &ns) < 0)
			is_complete = false;
		else if (ended_targets_take(p, ended[i].key))
			a->live_ns += ns;
	}
	return is_complete;
}

static bool has_ended_targets(const struct programs *p)
{
	struct ended_target first;
	uint32_t nr;

	return !ended_targets_list(p, &first, 1, &nr);
}

/* With TIDs, the ID may belong to another thread by now, one that has called execve(): those that
 * the kernel can free are awaited first. */
static bool count_ended(struct cpu_account *a, const struct programs *p, bool is_last_try,
			const atomic_bool *cancel)
{
	if (programs_kernel_config(p)->select == PA_SELECT_TIDS && !is_last_try)
		return !has_ended_targets(p);
	return count_zombies(a, p, cancel);
}

void cpu_account_settle(struct cpu_account *a, const struct programs *p, const atomic_bool *cancel)
{
	uint64_t until_ns = clock_mono_ns() + FREED_WITHIN_NS;
	bool is_complete = !a->has_targets || count_ended(a, p, false, cancel), is_last_try = false;

	while (!is_complete && !is_last_try && !atomic_load(cancel)) {
		(void)usleep(LOOK_EVERY_US); /* a signal only makes it shorter */
		is_last_try = clock_mono_ns() >= until_ns;
		is_complete = count_ended(a, p, is_last_try, cancel);
	}
	a->has_targets = a->has_targets && is_complete;
	cpu_account_close(a);
}

void cpu_account_close(struct cpu_account *a)
{
	if (a->ended_fd >= 0)
		close(a->ended_fd);
	a->ended_fd = -1;
}

uint64_t cpu_account_steal_ns(const struct cpu_account *a)
{
	return a->has_machine ? a->machine.steal_ns : PA_UNKNOWN;
}

uint64_t cpu_account_targets_ns(const struct cpu_account *a, const struct programs *p)
{
	struct pa_proc_stats st = programs_proc_stats(p);
	uint64_t sum = a->live_ns + st.ended_cpu_ns;

	if (a->is_all)
		return a->has_machine ? a->machine.busy_ns : PA_UNKNOWN;
	if (!a->has_targets || st.ended_lost || st.targets_lost || sum < a->before_ns)
		return PA_UNKNOWN;
	return sum - a->before_ns;
}
