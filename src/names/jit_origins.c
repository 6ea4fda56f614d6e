/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that a process was forked from, whose generated code it inherited. */
#include "names/jit_files_internal.h"
#include "proc/procfs.h"

#define UNTRACKED (1ull << 63) /* with a PID: a program that the tracker does not know */

/* For a process that was forked before the capture: its parent, if both descend from the same execve(). */
static bool find_origin(const struct jit_files *j, const struct jit_process *jp,
			struct process_origin *ret)
{
	pid_t ppid = jp->query.ppid;
	const struct process *p;

	if (ppid <= 0 || !procfs_has_same_exec(j->procfs, jp->query.pid, ppid))
		return false;
	p = tracker_find(j->tracker, ppid, UINT64_MAX);
	*ret = (struct process_origin){ .program = p ? process_program(p, UINT64_MAX)
						     : UNTRACKED | (uint64_t)ppid,
					.pid = ppid,
					.fork_ns = proc_stat_started_ns(&(struct proc_stat){
						.start_ticks = jp->query.start_ticks }) };
	return true;
}

/* The parent in the tracker; NULL: the tracker does not know it (any more). */
static const struct process *tracked(const struct jit_files *j, const struct process_origin *o)
{
	const struct process *p = tracker_find(j->tracker, o->pid, o->fork_ns);

	return p && process_program(p, o->fork_ns) == o->program ? p : NULL;
}

static bool has_lost_pid(const struct jit_files *j, const struct process_origin *o,
			 const struct process *p)
{
	if (o->program & UNTRACKED)
		return false;
	return !p || tracker_find(j->tracker, o->pid, UINT64_MAX) != p ||
	       process_program(p, UINT64_MAX) != o->program;
}

/* Notes the parent of a process; returns the parent if it is new here, otherwise NO_PROCESS. */
static uint32_t note_origin(struct jit_files *j, uint32_t child, const struct process_origin *o,
			    const struct process *p)
{
	uint32_t parent = jit_process_find(j, o->program);
	bool is_new = parent == NO_PROCESS;

	if (is_new)
		parent = jit_process_add(j, o->program, o->pid, p ? process_parent(p) : 0);
	if (parent == NO_PROCESS)
		return NO_PROCESS;
	j->processes[child].parent = parent;
	j->processes[child].forked_ns = o->fork_ns;
	if (!is_new)
		return NO_PROCESS;
	j->processes[parent].has_lost_pid = has_lost_pid(j, o, p);
	if (p)
		jit_process_note_exec(j, parent, p, o->fork_ns);
	return parent;
}

void jit_process_note_origins(struct jit_files *j, uint32_t i, const struct process *p,
			      uint64_t time_ns)
{
	for (uint32_t n = 1; n < JIT_MAX_ORIGINS && p && i != NO_PROCESS; n++) {
		bool is_by_exec = process_exec_ns(p, time_ns) != 0;
		struct process_origin o;

		if (!process_origin(p, time_ns, &o) &&
		    (is_by_exec || !find_origin(j, &j->processes[i], &o)))
			return;
		p = tracked(j, &o);
		i = note_origin(j, i, &o, p);
		time_ns = o.fork_ns;
	}
}
