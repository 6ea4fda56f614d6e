/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/program_times.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>

int program_times_measure(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	return fd < 0 ? -errno : fd;
}

void program_times_add(struct program_times *to, const struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		int fd = bpf_program__fd(program);
		struct bpf_prog_info info = { 0 };
		__u32 size = sizeof(info);
		struct program_time *t = &to->items[to->nr];

		if (to->nr == PROGRAM_TIMES_MAX || fd < 0 ||
		    bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
			continue;
		(void)snprintf(t->name, sizeof(t->name), "%s", bpf_program__name(program));
		t->nr_runs = info.run_cnt;
		t->run_ns = info.run_time_ns;
		to->nr++;
	}
}

uint64_t program_times_sum_ns(const struct program_times *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->nr; i++)
		sum += t->items[i].run_ns;
	return sum;
}
