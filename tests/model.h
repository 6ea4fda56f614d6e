/* SPDX-License-Identifier: Apache-2.0 */
/* Models for tests: one small and readable, one large and random but always the same. */
#ifndef TESTS_MODEL_H
#define TESTS_MODEL_H

#include <string.h>

#include "profile/profile.h"
#include "tap.h"

static uint32_t model_string(struct profile *p, const char *s)
{
	uint32_t id;

	must(profile_string(p, s, &id) == 0);
	return id;
}

static uint32_t model_mapping(struct profile *p, const char *path, uint64_t owner, uint64_t start,
			      uint64_t size)
{
	struct profile_mapping m = { .kind = PROFILE_MAPPING_FILE,
				     .owner = owner,
				     .start = start,
				     .limit = start + size,
				     .file_offset = 0x1000,
				     .path = model_string(p, path) };
	uint32_t id;

	must(profile_mapping(p, &m, &id) == 0);
	return id;
}

static uint32_t model_function(struct profile *p, const char *name, const char *file,
			       uint32_t mapping)
{
	struct profile_function f = { .name = model_string(p, name),
				      .system_name = model_string(p, name),
				      .filename = model_string(p, file),
				      .start_line = *file ? 10 : 0,
				      .mapping = mapping };
	uint32_t id;

	must(profile_function(p, &f, &id) == 0);
	return id;
}

__attribute__((unused)) static uint32_t model_bare_location(struct profile *p, uint32_t mapping,
							    uint64_t address)
{
	uint32_t id;

	must(profile_location(p, mapping, address, &id) == 0);
	return id;
}

/* A location named by one function; naming it twice by the same function is fine. */
static uint32_t model_location(struct profile *p, uint32_t mapping, uint64_t address,
			       const char *name)
{
	struct profile_line line = { .function = model_function(p, name, "", mapping) };
	uint32_t id;

	must(profile_location(p, mapping, address, &id) == 0);
	if (!p->locations[id].nr_lines)
		must(profile_set_lines(p, id, &line, 1, true) == 0);
	return id;
}

static uint32_t model_labels(struct profile *p, const char *comm, int64_t pid)
{
	struct profile_label l[2] = {
		{ .key = model_string(p, "comm"), .str = model_string(p, comm) },
		{ .key = model_string(p, "pid"), .num = pid },
	};
	uint32_t id;

	must(profile_label_set(p, l, 2, &id) == 0);
	return id;
}

__attribute__((unused)) static uint32_t model_string_label(struct profile *p, const char *key,
							   const char *value)
{
	struct profile_label l = { .key = model_string(p, key), .str = model_string(p, value) };
	uint32_t id;

	must(profile_label_set(p, &l, 1, &id) == 0);
	return id;
}

/* One label that is a number with a unit. */
__attribute__((unused)) static uint32_t model_unit_label(struct profile *p, int64_t bytes)
{
	struct profile_label l = { .key = model_string(p, "size"),
				   .num = bytes,
				   .unit = model_string(p, "bytes") };
	uint32_t id;

	must(profile_label_set(p, &l, 1, &id) == 0);
	return id;
}

/* n samples of 10 ms with this stack, leaf first. */
static void model_add(struct profile *p, const uint32_t *stack, uint32_t nr, uint32_t labels,
		      int64_t n)
{
	int64_t values[2] = { n, n * 10000000 };
	uint32_t id;

	must(profile_stack(p, stack, nr, &id) == 0);
	must(profile_add(p, id, labels, values) == 0);
}

static struct profile *model_empty(void)
{
	struct profile *p;

	must(profile_new(&p) == 0);
	must(profile_add_type(p, "samples", "count") == 0);
	must(profile_add_type(p, "cpu", "nanoseconds") == 0);
	p->default_type = 1;
	p->period_type = p->types[1];
	p->period = 10000000;
	return p;
}

/*
 * main → work → inner (inlined into work) → spin, 70 samples; main → idle, 20; main → an address
 * without a name, 10; and 5 samples of an address in no mapping in another process.
 */
__attribute__((unused)) static struct profile *model_example(void)
{
	struct profile *p = model_empty();
	uint32_t app = model_mapping(p, "/usr/bin/app", 1, 0x400000, 0x10000);
	uint32_t lib = model_mapping(p, "/usr/lib/libspin.so", 2, 0x7f0000000000, 0x8000);
	uint32_t start = model_location(p, app, 0x401000, "main");
	uint32_t spin = model_location(p, lib, 0x7f0000000100, "spin");
	uint32_t idle = model_location(p, app, 0x402000, "idle");
	uint32_t bare = model_bare_location(p, app, 0x403004);
	uint32_t lost = model_bare_location(p, PROFILE_NONE, 0xdead);
	uint32_t work = model_bare_location(p, app, 0x404000);
	struct profile_line lines[2] = {
		{ .function = model_function(p, "inner", "/src/app.c", app), .line = 12 },
		{ .function = model_function(p, "work", "/src/app.c", app), .line = 40 },
	};
	uint32_t first = model_labels(p, "app", 41), second = model_labels(p, "other", 42);

	must(profile_set_lines(p, work, lines, 2, true) == 0);
	p->mappings[app].build_id = model_string(p, "0123456789abcdef");
	model_add(p, (uint32_t[]){ spin, work, start }, 3, first, 70);
	model_add(p, (uint32_t[]){ idle, start }, 2, first, 20);
	model_add(p, (uint32_t[]){ bare, start }, 2, first, 10);
	model_add(p, (uint32_t[]){ lost }, 1, second, 5);
	must(profile_add_comment(p, "team=perf") == 0);
	p->time_ns = 1700000000000000000;
	p->duration_ns = 2000000000;
	return p;
}

static uint32_t model_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

static void model_random_things(struct profile *p, uint64_t *s)
{
	char text[32];

	for (uint64_t i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "/lib/lib%d.so", (int)i);
		(void)model_mapping(p, text, i, (i + 1) << 32, 1 << 20);
	}
	for (int i = 0; i < 300; i++) {
		snprintf(text, sizeof(text), "function_%d(int)", i);
		(void)model_function(p, text, i % 3 ? "dir/file.cc" : "", model_random(s) % 20);
	}
	for (int i = 0; i < 1000; i++) {
		uint32_t mapping = model_random(s) % 20;
		uint64_t offset = model_random(s) % (1 << 20);
		uint32_t nr = model_random(s) % 4, id;
		struct profile_line lines[4] = { { 0 } };

		must(profile_location(p, mapping, ((uint64_t)mapping + 1) << 32 | offset, &id) ==
		     0);
		for (uint32_t k = 0; k < nr; k++) {
			lines[k].function = model_random(s) % 300;
			lines[k].line = model_random(s) % 3 ? model_random(s) : 0;
		}
		if (nr && !p->locations[id].nr_lines)
			must(profile_set_lines(p, id, lines, nr, model_random(s) % 2) == 0);
	}
}

/* Thousands of things with values from all over their ranges. */
__attribute__((unused)) static struct profile *model_large(uint64_t seed)
{
	struct profile *p = model_empty();
	uint32_t frames[200], labels[10];
	uint64_t s = seed;

	model_random_things(p, &s);
	for (int i = 0; i < 10; i++) {
		char comm[16];

		snprintf(comm, sizeof(comm), "thread-%d", i);
		labels[i] = i == 7 ? model_unit_label(p, 4096)
				   : model_labels(p, comm, i == 5 ? INT64_MIN : i);
	}
	for (int i = 0; i < 5000; i++) {
		uint32_t nr = model_random(&s) % 200;

		for (uint32_t k = 0; k < nr; k++)
			frames[k] = model_random(&s) % p->nr_locations;
		model_add(p, frames, nr, labels[model_random(&s) % 10],
			  (int64_t)(model_random(&s) % 1000) - 1);
	}
	p->time_ns = INT64_MAX - 10;
	p->duration_ns = 10;
	return p;
}

#endif
