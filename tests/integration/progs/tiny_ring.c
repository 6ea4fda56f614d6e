// SPDX-License-Identifier: Apache-2.0
/*
 * tiny_ring PID [on-cpu|off-cpu [FILE]]: a capture through the library with a ring of one page, emptied once
 * a second, so that most samples find it full. FILE is a perf.data of it. Exits 0 if that is reported and every
 * tick, or interval, is accounted for.
 */
#include <perfagent/perfagent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int check(const struct pa_section *s)
{
	uint64_t sum = s->samples, full = 0;

	for (size_t i = 0; i < s->nr_counts; i++)
		sum += s->counts[i].count;
	for (size_t i = 0; i < s->nr_losses; i++) {
		sum += s->losses[i].count;
		printf("%s %llu\n", s->losses[i].name, (unsigned long long)s->losses[i].count);
		if (strcmp(s->losses[i].name, "ring_full") == 0)
			full = s->losses[i].count;
	}
	printf("due %llu sum %llu samples %llu\n", (unsigned long long)s->due,
	       (unsigned long long)sum, (unsigned long long)s->samples);
	return s->due == sum && full > 0 && s->samples > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 1 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	struct pa_output perf_data = { .sz = sizeof(perf_data),
				       .format = "perf.data",
				       .path = argc > 3 ? argv[3] : NULL };
	bool is_off_cpu = argc > 2 && strcmp(argv[2], "off-cpu") == 0;
	struct pa_options o = { .sz = sizeof(o),
				.pids = &pid,
				.nr_pids = 1,
				.modes = is_off_cpu ? PA_MODE_OFFCPU : PA_MODE_PROFILE,
				.sample_rate_hz = 1999,
				.ring_bytes = 4096,
				.drain_interval_ms = 1000,
				.outputs = &perf_data,
				.nr_outputs = argc > 3 };
	struct pa_session *s = NULL;
	struct pa_error err;
	int r = pa_session_new(&o, &s, &err);

	if (r == 0)
		r = pa_session_start(s, &err);
	if (r == 0) {
		sleep(3);
		r = pa_session_stop(s, &err);
	}
	if (r < 0)
		fprintf(stderr, "tiny_ring: %s\n", err.text);
	else
		r = check(pa_session_summary(s)->sections);
	pa_session_free(s);
	return r == 0 ? 0 : 1;
}
