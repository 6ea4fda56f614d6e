// SPDX-License-Identifier: Apache-2.0
/*
 * swap_models DIRECTORY SWAPS MILLISECONDS PID...: a capture on and off the CPU whose models are taken
 * out that many times, each named, written to DIRECTORY/<origin>-<n>.pb.gz and freed while sampling
 * goes on; what is left at the end is one more. Second models of the same samples are never taken
 * out: DIRECTORY/<origin>-whole.pb.gz. Prints a line when sampling has begun, then the memory after
 * each, and what the summary accounts for.
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
#define NR_ORIGINS 2

static void fail(const char *what, int r)
{
	fprintf(stderr, "swap_models: %s: %d\n", what, r);
	exit(1);
}

static void write_profile(const struct model *m, const char *directory, uint32_t origin,
			  const char *name)
{
	struct outfile *file;
	struct pa_error err;
	char path[4096];
	int r;

	snprintf(path, sizeof(path), "%s/%u-%s.pb.gz", directory, origin, name);
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

static void swap_one(struct pa_session *s, const char *directory, uint32_t origin, unsigned int i,
		     uint64_t *nr_addresses)
{
	struct model *m = NULL;
	char name[16];
	int r = session_take_model(s, origin, &m);

	if (r == 0)
		r = model_name(m, NULL);
	if (r < 0)
		fail("a model cannot be taken and named", r);
	snprintf(name, sizeof(name), "%u", i);
	write_profile(m, directory, origin, name);
	*nr_addresses += m->profile->nr_locations;
	model_free(m);
}

/* False for what the kernel does not deliver. */
static bool is_ours(const char *loss)
{
	return strcmp(loss, TRIGGER_NOT_DELIVERED) != 0 && strcmp(loss, "no_end") != 0;
}

static void print_section(const struct pa_summary *sum, const struct pa_section *s)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < s->nr_losses; i++) {
		const struct pa_count *loss = PA_ITEM(sum, pa_count, s->losses, i);

		printf("# %s %s %llu\n", s->name, loss->name, (unsigned long long)loss->count);
		if (is_ours(loss->name))
			lost += loss->count;
	}
	printf("%s: samples %llu lost %llu unexplained %lld\n", s->name,
	       (unsigned long long)s->samples, (unsigned long long)lost, (long long)s->unexplained);
}

/* The time of threads by other programs in the kernel. */
static void print_threads(const struct pa_summary *sum)
{
	for (size_t i = 0; i < sum->nr_threads; i++) {
		const struct pa_thread_stat *t = PA_ITEM(sum, pa_thread_stat, sum->threads, i);

		if (!t->tid)
			printf("threads: runnable_ns %llu blocked_ns %llu\n",
			       (unsigned long long)t->runnable_ns,
			       (unsigned long long)t->blocked_ns);
	}
}

/* The off-CPU stacks that are passed from model to model. */
static unsigned int nr_waits(const struct pa_session *s)
{
	unsigned int nr;

	world_lock(s->world);
	nr = s->models[1].now->waits.nr;
	world_unlock(s->world);
	return nr;
}

static void sleep_ms(unsigned int ms)
{
	nanosleep(&(struct timespec){ ms / 1000, (long)(ms % 1000) * 1000000 }, NULL);
}

static int start(struct pa_options *o, struct model *whole[NR_ORIGINS],
		 struct pa_session **ret_session, struct pa_error *err)
{
	static const struct trigger *const triggers[NR_ORIGINS] = { &trigger_oncpu,
								    &trigger_offcpu };
	const struct session_config cfg = { triggers, NR_ORIGINS };
	struct pa_session *s = NULL;
	int r = session_new(&cfg, o, &s, err);

	for (uint32_t i = 0; i < NR_ORIGINS && r == 0; i++) {
		r = model_new(&(struct model_config){ .values = triggers_values(s->triggers, i) },
			      s->world, &whole[i]);
		if (r == 0)
			r = pipe_add_sink(s->pipe, (uint8_t)i, &whole[i]->sink);
	}
	*ret_session = s;
	return r < 0 ? r : pa_session_start(s, err);
}

/* Writes what is left, and the models that were never taken out. */
static void finish(struct pa_session *s, const char *directory, struct model *whole[NR_ORIGINS],
		   uint64_t *nr_addresses)
{
	struct pa_error err;
	int r = pa_session_stop(s, &err);

	if (r < 0)
		fail(err.text, r);
	for (uint32_t i = 0; i < NR_ORIGINS; i++) {
		r = model_name(whole[i], NULL);
		if (r < 0)
			fail("a whole model cannot be named", r);
		write_profile(s->models[i].now, directory, i, "last");
		write_profile(whole[i], directory, i, "whole");
		*nr_addresses += s->models[i].now->profile->nr_locations;
	}
}

int main(int argc, char **argv)
{
	struct pa_options o = { .sz = sizeof(o),
				.sample_rate_hz = 999,
				.modes = PA_MODE_PROFILE | PA_MODE_OFFCPU,
				.off_cpu_states = PA_OFF_CPU_SLEEP | PA_OFF_CPU_DISK |
						  PA_OFF_CPU_RUNQUEUE | PA_OFF_CPU_PREEMPTED };
	unsigned int nr_swaps = argc > 4 ? (unsigned int)strtoul(argv[2], NULL, 10) : 0;
	struct model *whole[NR_ORIGINS] = { NULL };
	struct pa_session *s = NULL;
	const struct pa_summary *sum;
	struct pa_error err = { 0 };
	pid_t pids[MAX_PIDS];
	uint64_t nr_addresses = 0; /* that were named */
	int r;

	for (int i = 4; i < argc && i < MAX_PIDS; i++)
		pids[o.nr_pids++] = (pid_t)strtol(argv[i], NULL, 10);
	o.pids = pids;
	r = start(&o, whole, &s, &err);
	if (r < 0)
		fail(err.text, r);
	printf("begun\n");
	fflush(stdout);
	for (unsigned int i = 0; i < nr_swaps; i++) {
		sleep_ms((unsigned int)strtoul(argv[3], NULL, 10));
		for (uint32_t origin = 0; origin < NR_ORIGINS; origin++)
			swap_one(s, argv[1], origin, i, &nr_addresses);
		printf("live_kib %zu waits %u\n", live_kib(), nr_waits(s));
	}
	finish(s, argv[1], whole, &nr_addresses);
	sum = pa_session_summary(s);
	for (size_t i = 0; i < sum->nr_sections; i++)
		print_section(sum, PA_ITEM(sum, pa_section, sum->sections, i));
	print_threads(sum);
	printf("addresses %llu\naccounted %llu\n", (unsigned long long)nr_addresses,
	       (unsigned long long)sum->naming_addresses);
	pa_session_free(s);
	for (uint32_t i = 0; i < NR_ORIGINS; i++)
		model_free(whole[i]);
	return 0;
}
