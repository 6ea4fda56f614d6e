/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_flame_page hostile|diff|runs|large PATH: writes a flame graph page of a model. hostile: two profiles with names that
 * look like markup, every kind of function, inlined calls, truncated stacks, several processes, threads and states.
 * diff: a profile compared with another. runs: two runs of the same programs, each with its own numbers. large: 50,000 different stacks of 60 frames.
 */
#include <stdlib.h>

#include "model.h"
#include "write/flame_page.h"

#define LARGE_STACKS 50000
#define LARGE_DEPTH 60
#define LARGE_FUNCTIONS 5000
#define LARGE_CALLEES 6
#define LONG_NAME 65536

static uint32_t kind_mapping(struct profile *p, enum profile_mapping_kind kind, const char *path,
			     uint64_t start)
{
	struct profile_mapping m = { .kind = kind,
				     .owner = start,
				     .start = start,
				     .limit = start + 0x10000,
				     .path = model_string(p, path) };
	uint32_t id;

	must(profile_mapping(p, &m, &id) == 0);
	return id;
}

/* A thread of a process; reason and state may be NULL. */
static uint32_t thread_labels(struct profile *p, const char *comm, int64_t pid, int64_t tid,
			      const char *reason, const char *state)
{
	struct profile_label l[6] = {
		{ .key = model_string(p, "comm"), .str = model_string(p, comm) },
		{ .key = model_string(p, "pid"), .num = pid },
		{ .key = model_string(p, "tid"), .num = tid },
		{ .key = model_string(p, "thread"), .str = model_string(p, comm) },
	};
	uint32_t nr = 4, id;

	if (reason)
		l[nr++] = (struct profile_label){ .key = model_string(p, "truncated"),
						  .str = model_string(p, reason) };
	if (state)
		l[nr++] = (struct profile_label){ .key = model_string(p, "state"),
						  .str = model_string(p, state) };
	must(profile_label_set(p, l, nr, &id) == 0);
	return id;
}

/* 60 samples of process 1 in two threads, 40 of process 2, whose stacks are truncated. */
static struct profile *hostile_profile(bool is_off_cpu)
{
	static char long_name[LONG_NAME + 1];
	struct profile *p = model_empty();
	uint32_t app = model_mapping(p, "/usr/bin/<b>app</b>", 1, 0x400000, 0x10000);
	uint32_t kernel = kind_mapping(p, PROFILE_MAPPING_KERNEL, "[kernel]", 0x1000000);
	uint32_t jit = kind_mapping(p, PROFILE_MAPPING_JIT, "[jit]", 0x2000000);
	uint32_t start = model_location(p, app, 0x401000, "main");
	uint32_t script = model_location(
		p, app, 0x402000,
		"</script><script>window.hacked = 1</script><img src=x onerror=hacked()>");
	uint32_t comment = model_location(p, app, 0x403000, "<!--<script>");
	uint32_t bytes = model_location(p, app, 0x404000, "bad \xff bytes\nand lines");
	uint32_t entry = model_location(p, kernel, 0x1000001, "ksys_read");
	uint32_t hot = model_location(p, jit, 0x2000001, "hot");
	uint32_t python = model_location(p, jit, 0x2000002, "py::run:/srv/app.py");
	uint32_t work = model_bare_location(p, app, 0x405000), huge;
	struct profile_line lines[2] = {
		{ .function = model_function(p, "inner", "/src/app.c", app), .line = 12 },
		{ .function = model_function(p, "work", "/src/app.c", app), .line = 40 },
	};
	const char *state = is_off_cpu ? "sleep" : NULL;
	uint32_t a = thread_labels(p, "<i>one</i>", 1, 11, NULL, state);
	uint32_t b = thread_labels(p, "<i>one</i>", 1, 12, NULL, is_off_cpu ? "disk" : NULL);
	uint32_t c = thread_labels(p, "two", 2, 22, "no <unwind> rule", state);

	memset(long_name, 'x', LONG_NAME);
	huge = model_location(p, app, 0x406000, long_name);
	must(profile_set_lines(p, work, lines, 2, true) == 0);
	model_add(p, (uint32_t[]){ work, start }, 2, a, 25);
	model_add(p, (uint32_t[]){ script, start }, 2, a, 10);
	model_add(p, (uint32_t[]){ comment, script, start }, 3, a, 5);
	model_add(p, (uint32_t[]){ entry, bytes, start }, 3, b, 10);
	model_add(p, (uint32_t[]){ huge, start }, 2, b, 10);
	model_add(p, (uint32_t[]){ hot, python }, 2, c, 30);
	model_add(p, (uint32_t[]){ python, hot, python }, 3, c, 10);
	must(profile_add_comment(p, "team=<u>perf</u>") == 0);
	p->time_ns = 1700000000000000000;
	p->duration_ns = 2000000000;
	return p;
}

/* n samples in each of f0 … f3, the last of which has grown. */
static struct profile *grown_profile(int64_t last)
{
	struct profile *p = model_empty();
	uint32_t app = model_mapping(p, "/usr/bin/app", 1, 0x400000, 0x10000);
	uint32_t labels = model_labels(p, "app", 1),
		 start = model_location(p, app, 0x401000, "main");

	for (uint32_t i = 0; i < 4; i++) {
		char name[16];
		uint32_t f;

		snprintf(name, sizeof(name), "f%u", i);
		f = model_location(p, app, 0x402000 + 0x100 * i, name);
		model_add(p, (uint32_t[]){ f, start }, 2, labels, i == 3 ? last : 30);
	}
	return p;
}

/* A sample has 10 ms, and 2 bytes. */
static void add_run_sample(struct profile *p, const uint32_t *stack, uint32_t nr, uint32_t labels,
			   int64_t n)
{
	int64_t values[3];
	uint32_t id;

	for (uint32_t i = 0; i < p->nr_types; i++) {
		const char *unit = profile_str(p, p->types[i].unit);

		values[i] = n * (!strcmp(unit, "nanoseconds") ? 10000000 : *unit == 'b' ? 2 : 1);
	}
	must(profile_stack(p, stack, nr, &id) == 0);
	must(profile_add(p, id, labels, values) == 0);
}

/* main → f, inlined into main or not. */
static uint32_t add_run_stack(struct profile *p, uint32_t app, bool is_inlined, uint32_t stack[2])
{
	struct profile_line lines[2] = { { .function = model_function(p, "f", "", app) },
					 { .function = model_function(p, "main", "", app) } };

	if (is_inlined) {
		stack[0] = model_bare_location(p, app, 0x403000);
		must(profile_set_lines(p, stack[0], lines, 2, true) == 0);
		return 1;
	}
	stack[0] = model_location(p, app, 0x402000, "f");
	stack[1] = model_location(p, app, 0x401000, "main");
	return 2;
}

static void add_run(struct profile *p, bool is_base)
{
	int64_t pid = is_base ? 1000 : 2000;
	uint32_t app = model_mapping(p, is_base ? "/old/app" : "/new/app", 1, 0x400000, 0x10000);
	uint32_t lib = model_mapping(p, "/lib/libx.so", 2, 0x7f0000000000, 0x10000);
	uint32_t one = thread_labels(p, "one", pid, pid, NULL, NULL);
	uint32_t two = thread_labels(p, "two", pid + 1, pid + 1, NULL, NULL);
	uint32_t bare = model_bare_location(p, lib, 0x7f0000000000 + (uint64_t)pid);
	uint32_t same = model_location(p, lib, 0x7f0000000010, "f"), stack[2];
	uint32_t nr = add_run_stack(p, app, is_base, stack);

	add_run_sample(p, stack, nr, one, 60);
	add_run_sample(p, &bare, 1, two, 30);
	add_run_sample(p, &same, 1, two, 10);
}

/* 60 samples of one program, 40 of another. A run has its own PIDs, directory and
 * addresses, its compiler may inline or not, and types have an order of their own. */
static struct profile *run_profile(bool is_base)
{
	static const char *const types[][3] = { { "alloc", "samples", "cpu" },
						{ "cpu", "samples", "alloc" } };
	static const char *const units[][3] = { { "bytes", "count", "nanoseconds" },
						{ "nanoseconds", "count", "bytes" } };
	struct profile *p;
	uint32_t nr_types = is_base ? 2 : 3;

	must(profile_new(&p) == 0);
	for (uint32_t i = 0; i < nr_types; i++)
		must(profile_add_type(p, types[is_base][i], units[is_base][i]) == 0);
	p->default_type = is_base ? 0 : 2;
	add_run(p, is_base);
	return p;
}

/* A function calls a few others, the first of them most often. */
static struct profile *large_profile(void)
{
	struct profile *p = model_empty();
	uint32_t app = model_mapping(p, "/usr/bin/app", 1, 0x400000, 0x1000000);
	uint32_t labels = model_labels(p, "app", 1), frames[LARGE_DEPTH];
	uint64_t s = 1;

	for (uint32_t i = 0; i < LARGE_FUNCTIONS; i++) {
		char name[64];

		snprintf(name, sizeof(name), "library::module_%u::function_%u(int, char const*)",
			 i % 40, i);
		must(model_location(p, app, 0x400000 + 0x10 * i, name) == i);
	}
	while (p->nr_stacks < LARGE_STACKS) {
		uint32_t f = 0;

		for (uint32_t i = LARGE_DEPTH; i > 0; i--) {
			uint32_t r = model_random(&s) % (LARGE_CALLEES * LARGE_CALLEES), callee = 0;

			frames[i - 1] = f;
			while (callee * callee < r)
				callee++;
			f = (f * 7919 + LARGE_CALLEES - callee + 1) % LARGE_FUNCTIONS;
		}
		model_add(p, frames, LARGE_DEPTH, labels, 1 + model_random(&s) % 3);
	}
	return p;
}

int main(int argc, char **argv)
{
	bool is_hostile = argc == 3 && !strcmp(argv[1], "hostile");
	bool is_diff = argc == 3 && !strcmp(argv[1], "diff");
	struct flame_view views[2] = { { .name = "on-cpu" }, { .name = "off-cpu" } };
	struct outfile *out;

	if (argc != 3)
		return 2;
	if (is_hostile) {
		views[0].profile = hostile_profile(false);
		views[1].profile = hostile_profile(true);
	} else if (is_diff) {
		views[0].profile = grown_profile(90);
		views[0].base = grown_profile(10);
	} else if (!strcmp(argv[1], "runs")) {
		views[0].profile = run_profile(false);
		views[0].base = run_profile(true);
	} else {
		views[0].profile = large_profile();
	}
	must(outfile_open(argv[2], NULL, &out, NULL) == 0);
	must(flame_page_write(views, is_hostile ? 2 : 1, "<title>a & b</title>", out, NULL, NULL) ==
	     0);
	must(outfile_commit(out, NULL) == 0);
	outfile_free(out);
	return 0; /* the system takes the models back */
}
