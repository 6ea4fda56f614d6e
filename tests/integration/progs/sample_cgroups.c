// SPDX-License-Identifier: Apache-2.0
/*
 * sample_cgroups yes|no SECONDS PID...: a sink of its own that counts samples by process and cgroup, of a
 * session that was asked for cgroup IDs, or not. Prints a line when it has begun, and at the end "PID CGROUP
 * SAMPLES" for each pair.
 */
#include <perfagent/perfagent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/session.h"

#define MAX_PIDS 64
#define MAX_PAIRS 256

struct pair {
	pid_t pid;
	uint64_t cgroup_id;
	unsigned int nr;
};

static struct pair pairs[MAX_PAIRS];
static unsigned int nr_pairs;

static void count(void *ctx, const struct sample *s)
{
	unsigned int i = 0;

	while (i < nr_pairs && (pairs[i].pid != s->pid || pairs[i].cgroup_id != s->cgroup_id))
		i++;
	if (i == MAX_PAIRS)
		return;
	if (i == nr_pairs)
		pairs[nr_pairs++] = (struct pair){ s->pid, s->cgroup_id, 0 };
	pairs[i].nr++;
}

int main(int argc, char **argv)
{
	static const struct trigger *const triggers[] = { &trigger_oncpu };
	struct session_config cfg = { .triggers = triggers, .nr_triggers = 1 };
	struct sample_sink sink = { .on_sample = count };
	struct pa_options o = { .sz = sizeof(o), .sample_rate_hz = 199 };
	struct pa_session *s = NULL;
	struct pa_error err = { 0 };
	pid_t pids[MAX_PIDS];
	int r;

	if (argc < 4)
		return 2;
	for (int i = 3; i < argc && i < MAX_PIDS; i++)
		pids[o.nr_pids++] = (pid_t)strtol(argv[i], NULL, 10);
	o.pids = pids;
	cfg.cgroup_ids = strcmp(argv[1], "yes") == 0;
	r = session_new(&cfg, &o, &s, &err);
	if (r == 0)
		r = pipe_add_sink(s->pipe, 0, &sink);
	if (r == 0)
		r = pa_session_start(s, &err);
	if (r == 0) {
		puts("sampling");
		fflush(stdout);
		sleep((unsigned int)strtoul(argv[2], NULL, 10));
		r = pa_session_stop(s, &err);
	}
	if (r < 0)
		fprintf(stderr, "sample_cgroups: %s\n", err.text);
	for (unsigned int i = 0; i < nr_pairs; i++)
		printf("%d %llu %u\n", pairs[i].pid, (unsigned long long)pairs[i].cgroup_id,
		       pairs[i].nr);
	pa_session_free(s);
	return r == 0 ? 0 : 1;
}
