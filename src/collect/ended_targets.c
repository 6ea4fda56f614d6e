/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/ended_targets.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "collect/programs.h"

#define MAX_PIDS (1u << 22) /* include/linux/threads.h: PID_MAX_LIMIT */

int ended_targets_watch(struct programs *p)
{
	int prog_fd = programs_program_fd(p, "pa_free");
	int fd = prog_fd < 0 ? prog_fd : bpf_raw_tracepoint_open("sched_process_free", prog_fd);

	if (fd >= 0)
		programs_count_cpu_time(p);
	return fd;
}

static int compare_pids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

/* Removes duplicates: if the last key read is deleted, reading the map starts again. */
static uint32_t drop_repeated(pid_t *pids, uint32_t nr)
{
	uint32_t to = 0;

	if (nr)
		qsort(pids, nr, sizeof(*pids), compare_pids);
	for (uint32_t i = 0; i < nr; i++)
		if (!to || pids[to - 1] != pids[i])
			pids[to++] = pids[i];
	return to;
}

int ended_targets_live(const struct programs *p, pid_t **ret_pids, uint32_t *ret_nr)
{
	_cleanup_(freep) pid_t *pids = NULL;
	int fd = programs_map_fd(p, "targets");
	uint32_t nr = 0, cap = 0;
	__u32 key, *last = NULL;

	while (bpf_map_get_next_key(fd, last, &key) == 0) {
		int r = ARRAY_RESERVE(pids, cap, nr + 1, MAX_PIDS);

		if (r < 0)
			return r;
		pids[nr++] = (pid_t)key;
		last = &key;
	}
	*ret_nr = drop_repeated(pids, nr);
	*ret_pids = TAKE(pids);
	return 0;
}

int ended_targets_leave(const struct programs *p, pid_t pid, bool is_left)
{
	int fd = programs_map_fd(p, "targets");
	__u32 key = (__u32)pid, state;

	if (bpf_map_lookup_elem(fd, &key, &state) < 0)
		return -ENOENT;
	state = is_left ? state | PA_TARGET_CPU : state & ~PA_TARGET_CPU;
	return bpf_map_update_elem(fd, &key, &state, BPF_EXIST) < 0 ? -ENOENT : 0;
}

/* If the kernel frees the last target that was read, reading the map starts again: hence steps are
 * limited, not only results. */
bool ended_targets_list(const struct programs *p, struct ended_target *to, uint32_t max,
			uint32_t *ret_nr)
{
	int fd = programs_map_fd(p, "ended");
	uint64_t key = 0, next;
	__u32 pid;

	*ret_nr = 0;
	for (uint32_t i = 0; i < max; i++) {
		if (bpf_map_get_next_key(fd, i ? &key : NULL, &next) < 0)
			return true;
		key = next;
		if (bpf_map_lookup_elem(fd, &key, &pid) == 0)
			to[(*ret_nr)++] = (struct ended_target){ key, (pid_t)pid };
	}
	return false;
}

bool ended_targets_take(const struct programs *p, uint64_t key)
{
	return bpf_map_delete_elem(programs_map_fd(p, "ended"), &key) == 0;
}
