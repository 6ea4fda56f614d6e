// SPDX-License-Identifier: Apache-2.0
/*
 * full_threads SECONDS OUT PID ROOM: profiles the time off the CPU while the kernel's map of threads has room
 * for ROOM of them: the rest of it is filled with threads that are not there. Writes OUT and prints the
 * account.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/session.h"
#include "collect/programs.h"
#include "collect/trigger.h"
#include "sections.h"

static uint32_t room;

static int fill(int map)
{
	struct bpf_map_info info = { 0 };
	uint32_t info_bytes = sizeof(info);
	void *value;
	int r = bpf_obj_get_info_by_fd(map, &info, &info_bytes);

	if (r < 0 || info.key_size != sizeof(uint64_t))
		return r < 0 ? r : -EINVAL;
	value = calloc(1, info.value_size); /* of no open interval */
	if (!value)
		return -ENOMEM;
	/* A task's address is none of these. */
	for (uint64_t key = 1; key + room <= info.max_entries && r == 0; key++)
		r = bpf_map_update_elem(map, &key, value, BPF_NOEXIST);
	free(value);
	return r;
}

static int attach(void *state, struct programs *p, const struct cpus *online, struct pa_error *err)
{
	int r = trigger_offcpu.attach(state, p, online, err);

	return r < 0 ? r : fill(programs_map_fd(p, "threads"));
}

int main(int argc, char **argv)
{
	struct trigger full = trigger_offcpu;
	const struct trigger *const list[] = { &full };
	pid_t pid = argc == 5 ? (pid_t)strtol(argv[3], NULL, 10) : 0;
	const struct pa_output out = { .sz = sizeof(out), .format = "pprof", .path = argv[2] };
	struct pa_options o = {
		.sz = sizeof(o), .pids = &pid, .nr_pids = 1, .outputs = &out, .nr_outputs = 1
	};
	struct pa_session *s = NULL;
	struct pa_error err = { 0 };
	int r;

	if (argc != 5)
		return 2;
	full.attach = attach;
	room = (uint32_t)strtoul(argv[4], NULL, 10);
	r = session_new(&(struct session_config){ list, 1 }, &o, &s, &err);
	if (r == 0)
		r = pa_session_start(s, &err);
	if (r == 0) {
		sleep((unsigned int)strtoul(argv[1], NULL, 10));
		r = pa_session_stop(s, &err);
	}
	if (r < 0)
		fprintf(stderr, "full_threads: %s\n", err.text);
	else
		sections_show(pa_session_summary(s));
	pa_session_free(s);
	return r == 0 ? 0 : 1;
}
