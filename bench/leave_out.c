/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leave_out AGENT_PID TARGET_PID RATE_HZ ROUNDS: what the parts of a sample cost. Loads the agent's sampling
 * program again and again, each time without one part (leave_out.h), with the tables of a running agent, and lets
 * them take turns at sampling one process. As CSV: part, its calls per sample, ns per sample without it (the least
 * and the middle of all rounds, by the kernel's own count), and by how much that is less than with all parts. Then the
 * calls of parts that nothing goes without, and the memory, in lines of 64 bytes: what is read of the stack, what
 * becomes a record of the ring, and what is written of the scratch.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <glob.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "leave_out.h"

#include "bpf/walk_state.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#include "leave_out.skel.h"
#pragma GCC diagnostic pop

#define TURN_NS 20000000
#define TURN_SAMPLES 100 /* and at least so many: others may have the CPU */
#define MAX_ROUNDS 1000
#define KERNEL_TASK_FLAGS 0x00204010u /* as src/collect/programs.c sets them for new kernels */

/* The sampling program in one of its forms, and what a sample cost in each of its turns. */
struct variant {
	const char *name;
	__u32 left_out;             /* a bit per part */
	bool is_empty;              /* the program that does nothing */
	struct leave_out_bpf *skel; /* owned */
	struct bpf_program *program;
	int event;
	unsigned int nr_rounds;
	double ns[MAX_ROUNDS]; /* sorted at the end */
	double samples;
};

enum {
	ALL,
	COUNTED,
	EMPTY,
	FIRST_PART,
	NR_VARIANTS = FIRST_PART + NR_LEFT_OUT,
};
static struct variant variants[NR_VARIANTS] = {
	[ALL] = { .name = "all" },
	[COUNTED] = { .name = "counted", .left_out = 1u << PART_COUNTING },
	[EMPTY] = { .name = "empty", .is_empty = true },
#define X(part, text) [FIRST_PART + PART_##part] = { .name = text, .left_out = 1u << PART_##part },
	PARTS_LEFT_OUT
#undef X
};

/* What is measured. */
static struct {
	int agent, target;
	unsigned long rate_hz;
	unsigned int rounds;
} job;

static void die(const char *what)
{
	fprintf(stderr, "leave_out: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The number after a label in a file of /proc/PID/fdinfo; 0: there is none. */
static unsigned int number_in(const char *path, const char *label)
{
	FILE *f = fopen(path, "re");
	char line[256];
	unsigned int nr = 0;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, label, strlen(label)))
			nr = (unsigned int)strtoul(line + strlen(label), NULL, 10);
	if (f)
		(void)fclose(f);
	return nr;
}

/* What the agent fills in; the programs' own memory may look different in another build. */
static const char *const agents_maps[] = { "targets", "processes", "mappings", "blocks",
					   "rules",   "shards",    "ring" };

static bool is_agents(const char *name)
{
	for (size_t i = 0; i < sizeof(agents_maps) / sizeof(agents_maps[0]); i++)
		if (!strcmp(name, agents_maps[i]))
			return true;
	return false;
}

/* Uses the agent's map if it is one that the agent fills in. */
static void share_map(struct bpf_object *obj, unsigned int id)
{
	struct bpf_map_info info = {};
	__u32 size = sizeof(info);
	int fd = bpf_map_get_fd_by_id(id);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
		die("map");
	if (is_agents(info.name) &&
	    bpf_map__reuse_fd(bpf_object__find_map_by_name(obj, info.name), fd) < 0)
		die(info.name);
	close(fd);
}

/* All variants have the same scratch and rule cache. */
static void share_memory(struct leave_out_bpf *skel, const struct leave_out_bpf *first)
{
	if (bpf_map__set_max_entries(skel->maps.rule_cache, (__u32)libbpf_num_possible_cpus()) < 0)
		die("rule cache");
	if (first &&
	    (bpf_map__reuse_fd(skel->maps.rule_cache, bpf_map__fd(first->maps.rule_cache)) < 0 ||
	     bpf_map__reuse_fd(skel->maps.scratch, bpf_map__fd(first->maps.scratch)) < 0))
		die("scratch");
}

static void share_maps(struct bpf_object *obj)
{
	char pattern[64];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/proc/%d/fdinfo/*", job.agent);
	if (glob(pattern, 0, NULL, &found))
		die(pattern);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		unsigned int id = number_in(found.gl_pathv[i], "map_id:");

		if (id)
			share_map(obj, id);
	}
	globfree(&found);
}

static void fill_config(struct leave_out_bpf *skel, __u32 left_out)
{
	skel->rodata->left_out = left_out;
	skel->rodata->cfg.pidns_is_initial = 1;
	skel->rodata->cfg.select = PA_SELECT_PIDS;
	skel->rodata->cfg.kernel_task_flags = KERNEL_TASK_FLAGS;
	skel->rodata->cfg.use_tables = 1;
}

static int open_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000 / job.rate_hz,
		.disabled = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, job.target, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void load(struct variant *v)
{
	v->skel = leave_out_bpf__open();
	if (!v->skel)
		die("open");
	v->program = v->is_empty ? v->skel->progs.empty : v->skel->progs.pa_oncpu;
	fill_config(v->skel, v->left_out);
	share_maps(v->skel->obj);
	share_memory(v->skel, v == variants ? NULL : variants[ALL].skel);
	if (leave_out_bpf__load(v->skel) < 0)
		die(v->name);
	v->skel->bss->spare_ids = (__u64)job.target << 32 | (__u32)job.target;
	v->event = open_event();
	if (v->event < 0 ||
	    ioctl(v->event, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(v->program)) < 0)
		die("perf event");
}

static struct bpf_prog_info stats_of(const struct variant *v)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(v->program), &info, &size) < 0)
		die("statistics");
	return info;
}

/* The agent publishes new lists of mappings at any time. */
static void refresh_process(struct variant *v)
{
	__u32 pid = (__u32)v->skel->bss->spare_ids;
	struct pa_process process;

	if (bpf_map_lookup_elem(bpf_map__fd(v->skel->maps.processes), &pid, &process) < 0)
		die("the agent does not know the process");
	memcpy(&v->skel->bss->spare_process, &process, sizeof(process));
}

static void take_turn(struct variant *v)
{
	const struct timespec turn = { .tv_nsec = TURN_NS };
	struct bpf_prog_info before, after;

	refresh_process(v);
	before = stats_of(v);
	if (ioctl(v->event, PERF_EVENT_IOC_ENABLE, 0) < 0)
		die("enable");
	do {
		nanosleep(&turn, NULL);
		after = stats_of(v);
		if (kill(job.target, 0) < 0)
			die("the process");
	} while (after.run_cnt - before.run_cnt < TURN_SAMPLES);
	if (ioctl(v->event, PERF_EVENT_IOC_DISABLE, 0) < 0)
		die("disable");
	after = stats_of(v);
	v->samples += (double)(after.run_cnt - before.run_cnt);
	v->ns[v->nr_rounds++] = (double)(after.run_time_ns - before.run_time_ns) /
				(double)(after.run_cnt - before.run_cnt);
}

/*
 * The scratch is filled with a pattern, and read after some samples: blocks of 64 bytes that differ were written.
 */
enum place { STATE, REGS, WINDOW, RECORD, NR_PLACES };
static const char *const place_texts[] = {
	[STATE] = "scratch: state of the walk",
	[REGS] = "scratch: registers",
	[WINDOW] = "scratch: window",
	[RECORD] = "scratch: record",
};
#define LINE_BYTES 64u
#define PATTERN 0xa5
#define NOT_NESTED_BYTES 16 /* at the begin: how many samples are under way */

static enum place place_of(__u32 at)
{
	const volatile struct scratch_places *places = &variants[ALL].skel->rodata->places;

	if (at >= places->record)
		return RECORD;
	if (at >= places->window && at < places->window_end)
		return WINDOW;
	return at >= places->regs && at < places->regs_end ? REGS : STATE;
}

/* The scratch of one nesting level on all CPUs. */
static unsigned char *scratch_new(size_t *ret_bytes)
{
	size_t bytes = bpf_map__value_size(variants[ALL].skel->maps.scratch);
	unsigned char *all;

	*ret_bytes = (bytes + 7) / 8 * 8; /* of each CPU */
	all = malloc(*ret_bytes * (size_t)libbpf_num_possible_cpus());
	if (!all)
		die("scratch");
	return all;
}

static void fill_scratch(unsigned char *all, size_t bytes)
{
	__u32 first = 0;

	memset(all, PATTERN, bytes * (size_t)libbpf_num_possible_cpus());
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
		memset(all + (size_t)cpu * bytes, 0, NOT_NESTED_BYTES);
	if (bpf_map_update_elem(bpf_map__fd(variants[ALL].skel->maps.scratch), &first, all,
				BPF_ANY) < 0)
		die("scratch");
}

/* Whether any CPU has written to this line; *ret_place is that of the first byte written. */
static bool is_written(const unsigned char *all, size_t bytes, size_t line, enum place *ret_place)
{
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
		for (size_t at = line; at < line + LINE_BYTES && at < bytes; at++)
			if (at >= NOT_NESTED_BYTES && all[(size_t)cpu * bytes + at] != PATTERN) {
				*ret_place = place_of((__u32)at);
				return true;
			}
	return false;
}

static void print_lines(void)
{
	unsigned int nr[NR_PLACES] = { 0 };
	enum place place = STATE;
	__u32 first = 0;
	size_t bytes;
	unsigned char *all = scratch_new(&bytes);

	fill_scratch(all, bytes);
	take_turn(&variants[ALL]);
	if (bpf_map_lookup_elem(bpf_map__fd(variants[ALL].skel->maps.scratch), &first, all) < 0)
		die("scratch");
	for (size_t line = 0; line < bytes; line += LINE_BYTES)
		if (is_written(all, bytes, line, &place))
			nr[place]++;
	for (int i = 0; i < NR_PLACES; i++)
		printf("lines of %s,%u,,,,\n", place_texts[i], nr[i]);
	free(all);
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double middle_of(const struct variant *v)
{
	return v->ns[v->nr_rounds / 2];
}

static void print_variant(const struct variant *v, double calls)
{
	const struct variant *all = &variants[ALL];

	printf("%s,%.2f,%.0f,%.0f,%.0f,%.0f\n", v->name, calls, v->ns[0], middle_of(v),
	       all->ns[0] - v->ns[0], middle_of(all) - middle_of(v));
}

static void print_all(void)
{
	static const char *const counted_texts[] = {
#define X(part, text) [PART_##part] = text,
		PARTS_COUNTED
#undef X
	};
	const struct variant *counted = &variants[COUNTED];
	const __u64 *calls = counted->skel->bss->nr_calls, *bytes = counted->skel->bss->nr_bytes;

	puts("part,calls_per_sample,ns_least,ns_middle,ns_less_least,ns_less_middle");
	for (int i = 0; i < NR_VARIANTS; i++)
		print_variant(&variants[i],
			      i < FIRST_PART ? 1
					     : (double)calls[i - FIRST_PART] / counted->samples);
	for (int i = NR_LEFT_OUT; i < NR_PARTS; i++)
		printf("%s,%.2f,,,,\n", counted_texts[i], (double)calls[i] / counted->samples);
	printf("lines of the stack,%.1f,,,,\n",
	       (double)bytes[PART_WINDOW] / counted->samples / LINE_BYTES);
	printf("lines of the ring,%.1f,,,,\n",
	       (double)bytes[PART_RING] / counted->samples / LINE_BYTES);
	print_lines();
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fputs("usage: leave_out AGENT_PID TARGET_PID RATE_HZ ROUNDS\n", stderr);
		return 2;
	}
	job.agent = atoi(argv[1]);
	job.target = atoi(argv[2]);
	job.rate_hz = strtoul(argv[3], NULL, 10);
	job.rounds = (unsigned int)atoi(argv[4]);
	if (bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
		die("statistics");
	for (int i = 0; i < NR_VARIANTS; i++)
		load(&variants[i]);
	take_turn(&variants[ALL]); /* fills the cache of rules */
	variants[ALL].nr_rounds = 0;
	for (unsigned int round = 0; round < job.rounds && round < MAX_ROUNDS; round++)
		for (int i = 0; i < NR_VARIANTS; i++)
			take_turn(&variants[i]);
	for (int i = 0; i < NR_VARIANTS; i++)
		qsort(variants[i].ns, variants[i].nr_rounds, sizeof(double), compare);
	print_all();
	for (int i = 0; i < NR_VARIANTS; i++)
		leave_out_bpf__destroy(variants[i].skel);
	return 0;
}
