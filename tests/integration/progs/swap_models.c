// SPDX-License-Identifier: Apache-2.0
/*
 * swap_models DIRECTORY SWAPS MILLISECONDS PID...: a capture whose model is taken out that many times,
 * each named, written to DIRECTORY/<n>.pb.gz and freed while sampling goes on; what is left at the end
 * is one more. A second model of the same samples is never taken out: DIRECTORY/whole.pb.gz. Prints
 * what the summary accounts for, and the memory after each.
 */
#include <malloc.h>
#include <perfagent/perfagent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/session.h"

#define MAX_PIDS 64

static void fail(const char *what, int r)
{
	fprintf(stderr, "swap_models: %s: %d\n", what, r);
	exit(1);
}

static void write_profile(const struct model *m, const char *directory, const char *name)
{
	struct outfile *file;
	struct pa_error err;
	char path[4096];
	int r;

	snprintf(path, sizeof(path), "%s/%s.pb.gz", directory, name);
	r = outfile_open(path, &(struct outfile_options){ 0 }, &file, &err);
	if (r == 0)
		r = writer_pprof.write(m->profile, file, NULL, &err);
	if (r == 0)
		r = outfile_commit(file, &err);
	if (r < 0)
		fail(err.text, r);
	outfile_free(file);
}

/* What is allocated: how much of it malloc keeps for later is its own affair. */
static size_t live_kib(void)
{
	struct mallinfo2 m = mallinfo2();

	return (m.uordblks + m.hblkhd) / 1024;
}

static void swap_one(struct pa_session *s, const char *directory, unsigned int i,
		     uint64_t *nr_addresses)
{
	struct model *m = NULL;
	char name[16];
	int r = session_take_model(s, 0, &m);

	if (r == 0)
		r = model_name(m, NULL);
	if (r < 0)
		fail("a model cannot be taken and named", r);
	snprintf(name, sizeof(name), "%u", i);
	write_profile(m, directory, name);
	*nr_addresses += m->profile->nr_locations;
	model_free(m);
	printf("live_kib %zu\n", live_kib());
}

static void print_summary(const struct pa_section *s)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < s->nr_losses; i++) {
		printf("# %s %llu\n", s->losses[i].name, (unsigned long long)s->losses[i].count);
		if (strcmp(s->losses[i].name, TRIGGER_NOT_DELIVERED) != 0)
			lost += s->losses[i].count;
	}
	printf("samples %llu\nlost %llu\n", (unsigned long long)s->samples,
	       (unsigned long long)lost);
}

static void sleep_ms(unsigned int ms)
{
	nanosleep(&(struct timespec){ ms / 1000, (long)(ms % 1000) * 1000000 }, NULL);
}

int main(int argc, char **argv)
{
	static const struct trigger *const triggers[] = { &trigger_oncpu };
	struct session_config cfg = { triggers, 1 };
	struct pa_options o = { .sz = sizeof(o), .sample_rate_hz = 999 };
	unsigned int nr_swaps = argc > 4 ? (unsigned int)strtoul(argv[2], NULL, 10) : 0;
	struct model *whole = NULL;
	struct pa_session *s = NULL;
	struct pa_error err;
	pid_t pids[MAX_PIDS];
	uint64_t nr_addresses = 0; /* that were named */
	int r;

	for (int i = 4; i < argc && i < MAX_PIDS; i++)
		pids[o.nr_pids++] = (pid_t)strtol(argv[i], NULL, 10);
	o.pids = pids;
	r = session_new(&cfg, &o, &s, &err);
	if (r == 0)
		r = model_new(&(struct model_config){ .values = triggers_values(s->triggers, 0) },
			      s->world, &whole);
	if (r == 0)
		r = pipe_add_sink(s->pipe, 0, &whole->sink);
	if (r == 0)
		r = pa_session_start(s, &err);
	if (r < 0)
		fail(err.text, r);
	for (unsigned int i = 0; i < nr_swaps; i++) {
		sleep_ms((unsigned int)strtoul(argv[3], NULL, 10));
		swap_one(s, argv[1], i, &nr_addresses);
	}
	r = pa_session_stop(s, &err);
	if (r == 0)
		r = model_name(whole, NULL);
	if (r < 0)
		fail(err.text, r);
	write_profile(s->models[0].now, argv[1], "last");
	write_profile(whole, argv[1], "whole");
	nr_addresses += s->models[0].now->profile->nr_locations;
	print_summary(pa_session_summary(s)->sections);
	printf("addresses %llu\naccounted %llu\n", (unsigned long long)nr_addresses,
	       (unsigned long long)pa_session_summary(s)->naming_addresses);
	pa_session_free(s);
	model_free(whole);
	return 0;
}
