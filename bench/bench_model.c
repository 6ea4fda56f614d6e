/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_model [SAMPLES [FRAMES [PROCESSES]]]: what the model, its digest and its writers cost, as CSV on standard output:
 * step, CPU nanoseconds per sample, CPU milliseconds, resident memory after it and output in KiB.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "digest/commands.h"
#include "digest/functions.h"
#include "digest/hot_paths.h"
#include "digest/top.h"
#include "model.h"
#include "write/writer.h"

#define NR_FUNCTIONS 20000

struct bench {
	struct profile *p;
	uint32_t nr_samples;
	uint32_t nr_frames;
	uint32_t *locations;
	uint32_t *labels; /* of each process */
	uint32_t nr_processes;
	uint64_t began_cpu_ns;
};

static long rss_kib(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	must(f && fscanf(f, "%*s %ld", &pages) == 1);
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void report(struct bench *b, const char *step, uint64_t out_bytes)
{
	uint64_t ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - b->began_cpu_ns;

	printf("%s,%" PRIu64 ",%" PRIu64 ",%ld,%" PRIu64 "\n", step, ns / b->nr_samples,
	       (uint64_t)(ns / NS_PER_MS), rss_kib(), out_bytes / 1024);
	fflush(stdout);
	b->began_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void prepare(struct bench *b)
{
	uint32_t m = model_mapping(b->p, "/usr/bin/app", 1, 0x400000, 16ull * NR_FUNCTIONS);

	b->locations = calloc(NR_FUNCTIONS, sizeof(*b->locations));
	must(b->locations);
	for (uint32_t i = 0; i < NR_FUNCTIONS; i++) {
		char name[64];

		snprintf(name, sizeof(name), "app::module_%u::function_%u(int)", i % 97, i);
		b->locations[i] = model_location(b->p, m, 0x400000 + 16ull * i, name);
	}
	b->labels = calloc(b->nr_processes, sizeof(*b->labels));
	must(b->labels);
	for (uint32_t i = 0; i < b->nr_processes; i++)
		b->labels[i] = model_labels(b->p, i % 2 ? "worker" : "main", i);
}

/* Stacks like those of programs: a walk through a call graph in which a function calls one of
 * three others, mostly the first. */
static void add_samples(struct bench *b, bool is_dry)
{
	uint32_t frames[PROFILE_MAX_FRAMES];
	uint64_t state = 1;

	for (uint32_t i = 0; i < b->nr_samples; i++) {
		uint32_t f = 0;

		for (uint32_t k = b->nr_frames; k-- > 0;) {
			uint32_t random = model_random(&state);

			frames[k] = b->locations[f];
			f = (f * 31 + 7 + (random & 3 ? 0 : random % 3)) % NR_FUNCTIONS;
		}
		__asm__ volatile("" : : "r"(frames) : "memory"); /* a dry run is made, too */
		if (!is_dry)
			model_add(b->p, frames, b->nr_frames, b->labels[i % b->nr_processes], 1);
	}
}

static void write_with(struct bench *b, const struct writer *writer)
{
	struct pa_error err = { 0 };
	struct outfile *out;

	must(outfile_open("/dev/null", NULL, &out, &err) == 0);
	must(writer->write(b->p, out, NULL, &err) == 0 && outfile_commit(out, &err) == 0);
	report(b, writer->name, outfile_size(out));
	outfile_free(out);
}

static void digest(struct bench *b)
{
	struct process_share *processes;
	struct command_share *commands;
	struct top_function *top;
	struct hot_path *paths;
	struct functions f;
	uint32_t nr;

	must(functions_init(&f, b->p, b->p->count_type) == 0);
	must(digest_top(&f, &top, &nr) == 0);
	report(b, "top", 0);
	must(digest_hot_paths(&f, &paths, &nr) == 0);
	report(b, "hot_paths", 0);
	must(digest_processes(b->p, &processes, &nr) == 0 &&
	     digest_commands(b->p, processes, nr, &commands, &nr) == 0);
	report(b, "commands", 0);
	free(top);
	free(paths);
	free(processes);
	free(commands);
	functions_done(&f);
}

int main(int argc, char **argv)
{
	struct bench b = { .nr_samples = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000,
			   .nr_frames = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 30,
			   .nr_processes = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 256 };

	must(b.nr_samples > 0 && b.nr_frames <= PROFILE_MAX_FRAMES && b.nr_processes > 0);
	b.p = model_empty();
	prepare(&b);
	printf("step,cpu_ns_per_sample,cpu_ms,rss_kib,out_kib\n");
	b.began_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	add_samples(&b, true);
	report(&b, "make_stacks", 0); /* the bench's own cost, part of the next two */
	add_samples(&b, false);
	report(&b, "add_new", 0);
	add_samples(&b, false);
	report(&b, "add_again", 0);
	digest(&b);
	write_with(&b, &writer_pprof);
	write_with(&b, &writer_folded);
	printf("# %u stacks, %u samples\n", b.p->nr_stacks, b.p->nr_samples);
	free(b.locations);
	free(b.labels);
	profile_free(b.p);
	return 0;
}
