/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that are not machine code, of kinds made up here: from their words in a record to the profile. */
#include <sys/syscall.h>

#include "replay.h"
#include "tap.h"

#define NO_AUX 3u
#define NO_AUX_EITHER 4u
#define ONE_AUX 9u
#define TWO_AUX 17u
#define WORD(kind, addr) ((uint64_t)(kind) << PA_FRAME_KIND_SHIFT | (addr))
#define PLACE 0x7f0000001000ull

static uint64_t code[2]; /* in this program */
static unsigned int nr_asked;
static uint64_t asked_aux[2];

/* Only while it runs: what the words point to is gone later. */
static bool name_two(void *ctx, const struct sample *s, const struct frame *f,
		     struct frame_name *ret)
{
	static char name[32];

	nr_asked++;
	memcpy(asked_aux, f->aux, sizeof(asked_aux));
	snprintf(name, sizeof(name), "%s_%d", (const char *)ctx, (int)f->aux[0]);
	*ret = (struct frame_name){ name, "script.x", (uint32_t)f->aux[1], 1 };
	return f->aux[0] != 404;
}

static char prefix[] = "function";
static const struct frame_type without = { .kind = NO_AUX }, either = { .kind = NO_AUX_EITHER },
			       one = { .kind = ONE_AUX },
			       two = { .kind = TWO_AUX, .name = name_two, .ctx = prefix };

static struct capture *new_capture(void)
{
	struct world_config cfg = {
		.proc_root = "/proc", .kallsyms_path = "/dev/null", .all = true, .max_fds = 8
	};
	struct capture *c = NULL;

	code[0] = (uintptr_t)new_capture;
	code[1] = (uintptr_t)name_two;
	must(capture_new(&cfg, NULL, &c) == 0);
	must(world_add_frame_type(c->world, &without) == 0 &&
	     world_add_frame_type(c->world, &either) == 0 &&
	     world_add_frame_type(c->world, &one) == 0 &&
	     world_add_frame_type(c->world, &two) == 0);
	must(replay_processes(c, code, 1) == 0);
	nr_asked = 0;
	return c;
}

static void add(struct capture *c, pid_t pid, const uint64_t *words, uint16_t nr)
{
	must(replay_sample(c, 100, pid, words, 0, words, nr, 0, PA_STOP_END) == 0);
}

static void settle(struct capture *c)
{
	must(capture_settle(c, true) == 0);
}

/* Between two frames of machine code, one with two words beside its address. */
static void add_script(struct capture *c, pid_t pid, uint64_t first, uint64_t second)
{
	const uint64_t words[] = { (code[0] + 1) | PA_PC_EXACT, WORD(TWO_AUX, PLACE), first, second,
				   code[1] + 1 };

	add(c, pid, words, 5);
}

static const char *name_of(const struct profile *p, uint32_t location)
{
	const struct profile_location *l = &p->locations[location];

	return l->nr_lines ? profile_str(p, p->functions[p->lines[l->first_line].function].name)
			   : "";
}

/* Frame i of stack nr, leaf first. */
static const struct profile_location *frame(const struct profile *p, uint32_t nr, uint32_t i)
{
	must(nr < p->nr_stacks && i < p->stacks[nr].nr);
	return &p->locations[p->frames[p->stacks[nr].first + i]];
}

static void test_words(void)
{
	struct capture *c = new_capture();
	const struct profile *p = c->model->profile;
	const uint64_t words[] = { (code[0] + 1) | PA_PC_EXACT,
				   WORD(NO_AUX, PLACE),
				   WORD(ONE_AUX, PLACE),
				   11,
				   WORD(TWO_AUX, PLACE),
				   21,
				   22,
				   code[1] + 1 };

	add(c, REPLAY_PARENT, words, 8);
	settle(c);
	ok(p->nr_stacks == 1 && p->stacks[0].nr == 5, "words: each kind takes as many as it has");
	ok(frame(p, 0, 0)->kind == 0 && frame(p, 0, 0)->mapping != PROFILE_NONE &&
		   frame(p, 0, 4)->kind == 0 && frame(p, 0, 4)->mapping != PROFILE_NONE,
	   "words: machine code around them is found in its file");
	ok(frame(p, 0, 1)->kind == NO_AUX && !frame(p, 0, 1)->aux[0] &&
		   frame(p, 0, 2)->kind == ONE_AUX && frame(p, 0, 2)->aux[0] == 11 &&
		   !frame(p, 0, 2)->aux[1] && frame(p, 0, 3)->kind == TWO_AUX &&
		   frame(p, 0, 3)->aux[0] == 21 && frame(p, 0, 3)->aux[1] == 22,
	   "words: the auxiliary ones are part of the place");
	capture_free(c);
}

static void test_kinds(void)
{
	struct capture *c = new_capture();
	const struct profile *p = c->model->profile;
	const uint64_t words[] = { code[0] | PA_PC_EXACT, WORD(NO_AUX, PLACE),
				   WORD(NO_AUX_EITHER, PLACE) };

	add(c, REPLAY_PARENT, words, 3);
	settle(c);
	ok(p->nr_locations == 3 && frame(p, 0, 1)->address == frame(p, 0, 2)->address,
	   "kinds: two at one address are two places");
	capture_free(c);
}

static void test_places(void)
{
	struct capture *c = new_capture();
	const struct profile *p = c->model->profile;

	add_script(c, REPLAY_PARENT, 1, 10);
	add_script(c, REPLAY_PARENT, 2, 10);
	add_script(c, REPLAY_PARENT, 2, 10);
	settle(c);
	ok(p->nr_stacks == 2 && p->nr_samples == 2 && profile_count(p, 0) == 1 &&
		   profile_count(p, 1) == 2,
	   "places: two at one address do not fall together, one seen twice does");
	ok(nr_asked == 2 && asked_aux[0] == 2 && asked_aux[1] == 10,
	   "places: each is named once, when it is seen first");
	must(replay_task(c, EVENT_EXEC, 60, REPLAY_CHILD, 0) == 0);
	add_script(c, REPLAY_CHILD, 1, 10);
	settle(c);
	ok(nr_asked == 3, "places: the same words mean something else in another program");
	capture_free(c);
}

static void test_names(void)
{
	struct capture *c = new_capture();
	const struct profile *p = c->model->profile;
	const struct naming_stats *st = &c->model->naming.stats;
	uint64_t nr_failed = 0;

	add_script(c, REPLAY_PARENT, 1, 10);
	add_script(c, REPLAY_PARENT, 404, 10);
	settle(c);
	ok(capture_name(c, NULL) == 0, "names: what has a name already does not stop the others");
	ok(strcmp(name_of(p, 1), "function_1") == 0 && p->locations[1].is_named &&
		   p->lines[p->locations[1].first_line].line == 10,
	   "names: the one given when the sample came stays: '%s'", name_of(p, 1));
	ok(strstr(name_of(p, 0), "new_capture") != NULL,
	   "names: those of machine code come at the end: '%s'", name_of(p, 0));
	ok(strcmp(name_of(p, 3), "0x7f0000001000") == 0,
	   "names: a place that its kind cannot name is an address: '%s'", name_of(p, 3));
	for (unsigned int i = 0; i < NAMING_NR_FAILURES; i++)
		nr_failed += st->failures[i];
	ok(p->nr_locations == 4 && st->nr_addresses == 4 && nr_failed == 1 &&
		   st->failures[NAMING_NO_MAPPING] == 1,
	   "names: %d addresses, %d of them without a name", (int)st->nr_addresses, (int)nr_failed);
	capture_free(c);
}

static void test_bad_records(void)
{
	struct capture *c = new_capture();
	const uint64_t truncated[] = { code[0], WORD(TWO_AUX, PLACE), 1 };
	const uint64_t unknown[] = { code[0], WORD(TWO_AUX + 1, PLACE), 1, 2 };

	add(c, REPLAY_PARENT, truncated, 3);
	settle(c);
	ok(capture_stats(c)->nr_bad == 1 && !c->model->profile->nr_samples,
	   "bad records: the last frame is truncated");
	add(c, REPLAY_PARENT, unknown, 4);
	settle(c);
	ok(capture_stats(c)->nr_bad == 2 && !c->model->profile->nr_samples,
	   "bad records: a kind that nobody knows");
	capture_free(c);
}

static void test_types(void)
{
	struct capture *c = new_capture();
	const struct frame_type native = { .kind = 0 }, high = { .kind = NR_FRAME_TYPES };

	ok(world_add_frame_type(c->world, &one) == -EEXIST, "types: a kind has one");
	ok(world_add_frame_type(c->world, &native) == -EINVAL &&
		   world_add_frame_type(c->world, &high) == -EINVAL,
	   "types: kinds are 1 to 31");
	capture_free(c);
}

int main(void)
{
	test_words();
	test_kinds();
	test_places();
	if (syscall(SYS_openat2, -1, "", NULL, 0) < 0 && errno == ENOSYS)
		tap_skip("names: needs openat2(), which valgrind does not have");
	else
		test_names();
	test_bad_records();
	test_types();
	return tap_done();
}
