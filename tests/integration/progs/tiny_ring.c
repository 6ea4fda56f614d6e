// SPDX-License-Identifier: Apache-2.0
/*
 * tiny_ring PID: a capture through the library with a ring of one page, emptied once a second, so
 * that most samples find it full. Exits 0 if that is reported and every tick is accounted for.
 */
#include <perfagent/perfagent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int check(const struct pa_summary *s)
{
	uint64_t sum = s->ticks_idle + s->ticks_other + s->ticks_outside + s->samples, full = 0;

	for (size_t i = 0; i < s->nr_losses; i++) {
		sum += s->losses[i].count;
		printf("%s %llu\n", s->losses[i].name, (unsigned long long)s->losses[i].count);
		if (s->losses[i].name[0] == 'r')
			full = s->losses[i].count;
	}
	printf("due %llu sum %llu samples %llu\n", (unsigned long long)s->ticks_due,
	       (unsigned long long)sum, (unsigned long long)s->samples);
	return s->ticks_due == sum && full > 0 && s->samples > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 1 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	struct pa_options o = { .sz = sizeof(o),
				.pids = &pid,
				.nr_pids = 1,
				.sample_rate_hz = 1999,
				.no_pprof = true,
				.ring_bytes = 4096,
				.drain_interval_ms = 1000 };
	struct pa_session *s = NULL;
	struct pa_error err;
	int r = pa_session_new(&o, &s, &err);

	if (r == 0)
		r = pa_session_start(s, &err);
	if (r == 0) {
		sleep(2);
		r = pa_session_stop(s, &err);
	}
	if (r < 0)
		fprintf(stderr, "tiny_ring: %s\n", err.text);
	else
		r = check(pa_session_summary(s));
	pa_session_free(s);
	return r == 0 ? 0 : 1;
}
