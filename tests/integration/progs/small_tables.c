// SPDX-License-Identifier: Apache-2.0
/*
 * small_tables BYTES SECONDS OUT PID…: a capture through the library with that little room for unwind
 * tables. Prints what became of them, one "name number" per line.
 */
#include <perfagent/perfagent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_PIDS 256

static void show(const char *name, uint64_t value)
{
	printf("%s %llu\n", name, (unsigned long long)value);
}

static void show_all(const struct pa_summary *s)
{
	show("samples", s->samples);
	show("complete", s->stacks_complete);
	show("finished", s->walks_finished);
	show("tables", s->nr_tables);
	show("evicted", s->tables_evicted);
	show("refused", s->tables_refused);
	show("peak", s->tables_peak_bytes);
}

int main(int argc, char **argv)
{
	pid_t pids[MAX_PIDS];
	struct pa_output out = { .sz = sizeof(out), .format = "pprof" };
	struct pa_options o = { .sz = sizeof(o),
				.pids = pids,
				.sample_rate_hz = 499,
				.outputs = &out,
				.nr_outputs = 1 };
	struct pa_session *s = NULL;
	struct pa_error err;
	int r;

	if (argc < 5 || argc - 4 > MAX_PIDS)
		return 2;
	o.table_bytes = strtoul(argv[1], NULL, 10);
	out.path = argv[3];
	for (; o.nr_pids < (size_t)(argc - 4); o.nr_pids++)
		pids[o.nr_pids] = (pid_t)strtol(argv[4 + o.nr_pids], NULL, 10);
	r = pa_session_new(&o, &s, &err);
	if (r == 0)
		r = pa_session_start(s, &err);
	if (r == 0) {
		sleep((unsigned int)strtoul(argv[2], NULL, 10));
		r = pa_session_stop(s, &err);
	}
	if (r < 0)
		fprintf(stderr, "small_tables: %s\n", err.text);
	else
		show_all(pa_session_summary(s));
	pa_session_free(s);
	return r == 0 ? 0 : 1;
}
