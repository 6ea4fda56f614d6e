/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks and labels that are copied to another profile. */
#include <string.h>

#include "profile/profile_copy.h"
#include "tap.h"

#define START 0x400000
#define OTHER_START 0x7f0000000000

static struct profile *new_profile(void)
{
	struct profile *p = NULL;

	must(profile_new(&p) == 0);
	return p;
}

static uint32_t string(struct profile *p, const char *s)
{
	uint32_t id;

	must(profile_string(p, s, &id) == 0);
	return id;
}

static uint32_t mapping(struct profile *p, uint64_t start)
{
	struct profile_mapping m = { .kind = PROFILE_MAPPING_FILE,
				     .owner = 3,
				     .start = start,
				     .limit = start + 0x1000,
				     .file_offset = 0x2000,
				     .path = string(p, "/bin/x"),
				     .build_id = string(p, "abcd") };
	uint32_t id;

	must(profile_mapping(p, &m, &id) == 0);
	return id;
}

/* A location in the file, one of another kind that has its name already, and one in no mapping. */
static uint32_t stack(struct profile *p)
{
	struct profile_location typed = { .mapping = PROFILE_NONE, .kind = 2, .aux = { 5, 6 } };
	struct profile_function fn = { .name = string(p, "f"),
				       .system_name = string(p, "_f"),
				       .filename = string(p, "f.x"),
				       .start_line = 7,
				       .mapping = mapping(p, START) };
	struct profile_line line = { .line = 8 };
	uint32_t locations[3], id;

	must(profile_location(p, fn.mapping, START + 0x10, &locations[0]) == 0 &&
	     profile_place(p, &typed, &locations[1]) == 0 &&
	     profile_location(p, PROFILE_NONE, 0x99, &locations[2]) == 0 &&
	     profile_function(p, &fn, &line.function) == 0 &&
	     profile_set_lines(p, locations[1], &line, 1, true) == 0 &&
	     profile_stack_of(p, 1000, locations, 3, &id) == 0);
	return id;
}

/* Copies the stack to a profile that has other numbers and another base of the file. */
static uint32_t copy_stack(struct profile *from, struct profile *to)
{
	_cleanup_(profile_copy_done) struct profile_copy c = { 0 };
	uint32_t id, again, at = stack(from);

	(void)string(to, "a string that moves all numbers");
	(void)mapping(to, OTHER_START);
	must(profile_copy_init(&c, from, to) == 0 && profile_copy_stack(&c, at, &id) == 0 &&
	     profile_copy_stack(&c, at, &again) == 0);
	ok(again == id && to->nr_stacks == 1 && to->nr_locations == 3 && to->nr_mappings == 1,
	   "a stack that is copied twice is there once");
	return id;
}

static const struct profile_location *location(const struct profile *p, uint32_t id, uint32_t frame)
{
	must(frame < p->stacks[id].nr);
	return &p->locations[p->frames[p->stacks[id].first + frame]];
}

static void test_stack(void)
{
	_cleanup_(profile_freep) struct profile *from = new_profile(), *to = new_profile();
	uint32_t id = copy_stack(from, to);

	ok(location(to, id, 0)->address == OTHER_START + 0x10,
	   "a location is at the same place of its file, by the base of the other profile");
	ok(location(to, id, 2)->mapping == PROFILE_NONE && location(to, id, 2)->address == 0x99,
	   "a location in no mapping keeps its address");
	ok(to->stack_users[id] == 1000, "a stack keeps its user");
}

static void test_names(void)
{
	_cleanup_(profile_freep) struct profile *from = new_profile(), *to = new_profile();
	const struct profile_location *l = location(to, copy_stack(from, to), 1);
	const struct profile_function *f;

	ok(l->kind == 2 && l->aux[1] == 6, "a location of another kind keeps its words");
	must(l->nr_lines == 1 && l->is_named);
	f = &to->functions[to->lines[l->first_line].function];
	ok(to->lines[l->first_line].line == 8 && f->start_line == 7, "a name keeps its lines");
	ok(!strcmp(profile_str(to, f->name), "f") &&
		   !strcmp(profile_str(to, f->system_name), "_f") &&
		   !strcmp(profile_str(to, f->filename), "f.x") && f->mapping == 0,
	   "a function keeps its names, file and mapping");
}

static void test_labels(void)
{
	_cleanup_(profile_freep) struct profile *from = new_profile(), *to = new_profile();
	_cleanup_(profile_copy_done) struct profile_copy c = { 0 };
	struct profile_label labels[] = {
		{ .key = string(from, "comm"), .str = string(from, "x") },
		{ .key = string(from, "bytes"), .num = 5, .unit = string(from, "KiB") }
	};
	const struct profile_label *l;
	uint32_t at, id;

	(void)string(to, "a string that moves all numbers");
	must(profile_label_set(from, labels, 2, &at) == 0 && profile_copy_init(&c, from, to) == 0 &&
	     profile_copy_labels(&c, at, &id) == 0);
	l = to->labels + to->label_sets[id].first;
	ok(to->label_sets[id].nr == 2 && !strcmp(profile_str(to, l[0].key), "comm") &&
		   !strcmp(profile_str(to, l[0].str), "x"),
	   "a label with a text is the same in the copy");
	ok(!strcmp(profile_str(to, l[1].key), "bytes") && l[1].num == 5 && !l[1].str &&
		   !strcmp(profile_str(to, l[1].unit), "KiB"),
	   "a label with a number keeps its unit");
}

int main(void)
{
	test_stack();
	test_names();
	test_labels();
	return tap_done();
}
