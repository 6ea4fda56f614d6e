/* SPDX-License-Identifier: Apache-2.0 */
/* From raw records and events to the model: each address is held against what was there, then. */
#include "base/clock.h"
#include "fake_proc.h"
#include "replay.h"

#define PID 5001
#define KERNEL_FIRST 0xffffffff81000000ull
#define KERNEL_SECOND 0xffffffff81000100ull

/* A function that ends with a call: what follows it in the file is another one. */
__asm__(".pushsection .text\n"
	".type ends_with_call, %function\n"
	"ends_with_call:\n"
	".skip 16, 0\n"
	".size ends_with_call, 16\n"
	".type comes_after, %function\n"
	"comes_after:\n"
	".skip 16, 0\n"
	".size comes_after, 16\n"
	".popsection\n");
extern const char comes_after[];

struct test_world {
	struct fake fake;
	char kallsyms_path[PATH_MAX];
	struct capture *c;
};

static void world_init(struct test_world *w, bool all)
{
	struct world_config cfg = { .proc_root = w->fake.dir,
				    .kallsyms_path = w->kallsyms_path,
				    .all = all,
				    .max_fds = 16 };

	fake_init(&w->fake);
	fake_write(&w->fake, "kallsyms",
		   "ffffffff81000000 T first\nffffffff81000100 T second\n"
		   "ffffffff81000200 T third\n");
	fake_path(&w->fake, "kallsyms", w->kallsyms_path);
	must(capture_new(&cfg, NULL, &w->c) == 0);
}

static void world_done(struct test_world *w)
{
	w->c = capture_free(w->c);
	fake_done(&w->fake);
}

/* Every path is a file of its own. */
static void map_at(struct test_world *w, uint64_t time_ns, uint64_t start, uint64_t end,
		   const char *path)
{
	struct replay_map m = { .start = start, .end = end, .minor = 99, .inode = 1000 };

	for (const char *s = path; *s; s++)
		m.inode = m.inode * 31 + (unsigned char)*s;
	snprintf(m.path, sizeof(m.path), "%s", path);
	must(replay_mmap(w->c, time_ns, PID, &m) == 0);
}

static void task(struct test_world *w, enum process_event_type type, uint64_t time_ns, pid_t pid,
		 pid_t ppid)
{
	must(replay_task(w->c, type, time_ns, pid, ppid) == 0);
}

/* A sample of a user stack, leaf first. */
static void user_sample(struct test_world *w, uint64_t time_ns, pid_t pid, const uint64_t *pcs,
			uint16_t nr)
{
	uint64_t none = 0;

	must(replay_sample(w->c, time_ns, pid, &none, 0, pcs, nr, 0, PA_STOP_END) == 0);
}

static void leaf_sample(struct test_world *w, uint64_t time_ns, pid_t pid, uint64_t pc)
{
	uint64_t exact = pc | PA_PC_EXACT;

	user_sample(w, time_ns, pid, &exact, 1);
}

static void settle(struct test_world *w)
{
	must(capture_settle(w->c, true) == 0);
}

/* Frame `frame` of the sample that was the sample-th new one; NULL: there is none. */
static const struct profile_location *location(const struct test_world *w, uint32_t sample,
					       uint32_t frame)
{
	const struct profile *p = w->c->model->profile;
	const struct profile_span *s;

	if (sample >= p->nr_samples)
		return NULL;
	s = &p->stacks[p->samples[sample].stack];
	return frame < s->nr ? &p->locations[p->frames[s->first + frame]] : NULL;
}

/* Whether that frame is this address of this file; "": in no mapping. */
static bool is_in(const struct test_world *w, uint32_t sample, uint32_t frame, const char *path,
		  uint64_t address)
{
	const struct profile_location *l = location(w, sample, frame);
	const struct profile *p = w->c->model->profile;
	const char *found = "none";

	if (l)
		found = l->mapping == PROFILE_NONE ? ""
						   : profile_str(p, p->mappings[l->mapping].path);
	if (l && strcmp(found, path) == 0 && l->address == address)
		return true;
	printf("# sample %u frame %u: '%s' 0x%lx, not '%s' 0x%lx\n", sample, frame, found,
	       l ? (unsigned long)l->address : 0, path, (unsigned long)address);
	return false;
}

static bool is_named(const struct test_world *w, uint32_t sample, uint32_t frame, const char *name)
{
	const struct profile_location *l = location(w, sample, frame);
	const struct profile *p = w->c->model->profile;
	const char *found = "";

	if (l && l->nr_lines)
		found = profile_str(p, p->functions[p->lines[l->first_line].function].name);
	if (strcmp(found, name) == 0)
		return true;
	printf("# sample %u frame %u: '%s', not '%s'\n", sample, frame, found, name);
	return false;
}

static void test_user_return_address(void)
{
	const uint64_t stack[] = { 0x1500 | PA_PC_EXACT, 0x2000, 0x2000 | PA_PC_EXACT };
	struct test_world w;

	world_init(&w, true);
	task(&w, EVENT_EXEC, 10, PID, 0);
	map_at(&w, 20, 0x1000, 0x2000, "/first");
	map_at(&w, 21, 0x2000, 0x3000, "/second");
	user_sample(&w, 30, PID, stack, 3);
	settle(&w);
	ok(is_in(&w, 0, 0, "/first", 0x1500), "the sampled address is used as it is");
	ok(is_in(&w, 0, 1, "/first", 0x1fff),
	   "a call at the end of a mapping belongs to it, not to the next mapping");
	ok(is_in(&w, 0, 2, "/second", 0x2000), "an address that a signal interrupted is exact");
	world_done(&w);
}

static void test_last_call_of_a_function(void)
{
	const uint64_t after = (uint64_t)(uintptr_t)comes_after;
	const uint64_t stack[] = { after | PA_PC_EXACT, after };
	char name[128], line[1024];
	struct replay_map m;
	struct test_world w;

	world_init(&w, true);
	must(replay_find_map(after, &m));
	snprintf(name, sizeof(name), "%d/map_files/%lx-%lx", PID, (unsigned long)m.start,
		 (unsigned long)m.end);
	fake_link(&w.fake, name, m.path);
	snprintf(line, sizeof(line), "%lx-%lx r-xp %lx %x:%x %lu %s\n", (unsigned long)m.start,
		 (unsigned long)m.end, (unsigned long)m.offset, m.major, m.minor,
		 (unsigned long)m.inode, m.path);
	fake_write(&w.fake, "5001/maps", line);
	user_sample(&w, 30, PID, stack, 2);
	settle(&w);
	must(capture_name(w.c, NULL) == 0);
	ok(is_named(&w, 0, 0, "comes_after"), "the running function is the one at its address");
	ok(is_named(&w, 0, 1, "ends_with_call"),
	   "a caller whose last instruction is the call is named, not the next function");
	world_done(&w);
}

static void test_kernel_return_address(void)
{
	const uint64_t stack[] = { KERNEL_SECOND, KERNEL_SECOND };
	struct test_world w;

	world_init(&w, true);
	must(replay_sample(w.c, 30, 2, stack, 2, NULL, 0,
			   PA_SAMPLE_KERNEL_TASK | PA_SAMPLE_IN_KERNEL, PA_STOP_KERNEL) == 0);
	settle(&w);
	must(capture_name(w.c, NULL) == 0);
	ok(is_in(&w, 0, 0, "[kernel]", KERNEL_SECOND) && is_named(&w, 0, 0, "second"),
	   "kernel: the sampled address is taken as it is");
	ok(is_in(&w, 0, 1, "[kernel]", KERNEL_SECOND - 1) && is_named(&w, 0, 1, "first"),
	   "kernel: a caller whose last instruction is the call is named");
	world_done(&w);
}

static void test_user_frames_below_kernel_frames(void)
{
	const uint64_t kernel[] = { KERNEL_FIRST + 8, KERNEL_SECOND + 8 };
	const uint64_t user[] = { 0x1500 | PA_PC_EXACT, 0x1600 };
	struct test_world w;

	world_init(&w, true);
	task(&w, EVENT_EXEC, 10, PID, 0);
	map_at(&w, 20, 0x1000, 0x2000, "/first");
	must(replay_sample(w.c, 30, PID, kernel, 2, user, 2, PA_SAMPLE_IN_KERNEL, PA_STOP_END) ==
	     0);
	settle(&w);
	ok(is_in(&w, 0, 0, "[kernel]", KERNEL_FIRST + 8) &&
		   is_in(&w, 0, 1, "[kernel]", KERNEL_SECOND + 7),
	   "kernel frames come first");
	ok(is_in(&w, 0, 2, "/first", 0x1500) && is_in(&w, 0, 3, "/first", 0x15ff),
	   "user frames follow the kernel's, the first one exact");
	world_done(&w);
}

static void test_exec(void)
{
	struct test_world w;

	world_init(&w, true);
	task(&w, EVENT_EXEC, 10, PID, 0);
	map_at(&w, 20, 0x1000, 0x5000, "/old");
	leaf_sample(&w, 30, PID, 0x1800);
	leaf_sample(&w, 31, PID, 0x3800);
	task(&w, EVENT_EXEC, 40, PID, 0);
	leaf_sample(&w, 41, PID, 0x1801);
	map_at(&w, 50, 0x1000, 0x2000, "/new");
	leaf_sample(&w, 60, PID, 0x1800);
	leaf_sample(&w, 61, PID, 0x3800);
	settle(&w);
	ok(is_in(&w, 0, 0, "/old", 0x1800), "before an exec an address is in the old program");
	ok(is_in(&w, 3, 0, "/new", 0x1800), "after an exec the same address is in the new program");
	ok(is_in(&w, 1, 0, "/old", 0x3800),
	   "before an exec an address that only the old program mapped is in it");
	ok(is_in(&w, 4, 0, "", 0x3800),
	   "after an exec an address that only the old program mapped is in nothing");
	ok(is_in(&w, 2, 0, "", 0x1801),
	   "after an exec an address is in nothing until the new program is mapped");
	world_done(&w);
}

static void test_fork_and_exit(void)
{
	struct test_world w;

	world_init(&w, true);
	task(&w, EVENT_EXEC, 10, PID, 0);
	map_at(&w, 20, 0x1000, 0x5000, "/parent");
	task(&w, EVENT_FORK, 30, PID + 1, PID);
	leaf_sample(&w, 40, PID + 1, 0x1800);
	task(&w, EVENT_EXIT, 50, PID + 1, 0);
	task(&w, EVENT_FORK, 60, PID + 1, 1);
	leaf_sample(&w, 70, PID + 1, 0x1801);
	settle(&w);
	ok(is_in(&w, 0, 0, "/parent", 0x1800), "a child runs its parent's code");
	ok(is_in(&w, 1, 0, "", 0x1801),
	   "the next process with the same PID does not run the old code");
	world_done(&w);
}

static void test_only_targets_are_followed(void)
{
	struct test_world w;

	world_init(&w, false);
	task(&w, EVENT_EXEC, 10, PID, 0);
	map_at(&w, 20, 0x1000, 0x5000, "/stranger");
	task(&w, EVENT_FORK, 30, PID + 1, PID);
	ok(tracker_nr_processes(w.c->world->tracker) == 0,
	   "events of other processes leave nothing behind");
	world_done(&w);
}

#define ONE_MAPPING "1000-2000 r-xp 00000000 00:63 11 /known\n"
#define TWO_MAPPINGS ONE_MAPPING "8000-9000 r-xp 00000000 00:63 12 /missed\n"
#define THREE_MAPPINGS TWO_MAPPINGS "a000-b000 r-xp 00000000 00:63 13 /later\n"

/* A target that has mapped something since it was first looked at. */
static void init_missed(struct test_world *w, uint64_t *ret_time_ns)
{
	world_init(w, false);
	fake_write(&w->fake, "5001/stat", "5001 (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0");
	fake_write(&w->fake, "5001/maps", ONE_MAPPING);
	fake_write(&w->fake, "5002/maps", ONE_MAPPING);
	must(capture_scan(w->c, PID) == 0);
	fake_write(&w->fake, "5001/maps", TWO_MAPPINGS);
	*ret_time_ns = clock_mono_ns() + NS_PER_S; /* a sample from after any scan */
}

static void test_lost_events(void)
{
	struct process_event lost = { .type = EVENT_LOST, .nr_lost = 3 };
	uint64_t time_ns;
	struct test_world w;

	init_missed(&w, &time_ns);
	leaf_sample(&w, time_ns, PID, 0x8100);
	settle(&w);
	ok(is_in(&w, 0, 0, "/missed", 0x8100),
	   "code without a mapping event is looked up in /proc");
	fake_write(&w.fake, "5001/maps", THREE_MAPPINGS);
	leaf_sample(&w, time_ns + 1, PID, 0xa100);
	settle(&w);
	ok(is_in(&w, 1, 0, "", 0xa100),
	   "code without a mapping event is not looked up again at once");
	must(capture_event(w.c, &lost) == 0);
	leaf_sample(&w, time_ns + 2, PID, 0xa100);
	leaf_sample(&w, time_ns + 2, PID, 0x1100);
	settle(&w);
	ok(is_in(&w, 2, 0, "/later", 0xa100),
	   "after lost events /proc shows what they did not report");
	ok(is_in(&w, 3, 0, "/known", 0x1100), "after lost events known mappings stay");
	ok(w.c->world->nr_events_lost == 3, "lost events are counted");
	ok(!tracker_find(w.c->world->tracker, PID + 1, UINT64_MAX),
	   "after lost events other processes stay unknown");
	world_done(&w);
}

/* A sample in code without an event, before the process went on to something else; of that tells
 * what /proc shows. */
static void look_at_what_came_after(struct test_world *w, enum process_event_type then)
{
	world_init(w, true);
	task(w, EVENT_EXEC, 10, PID, 0);
	map_at(w, 20, 0x1000, 0x2000, "/known");
	task(w, then, NS_PER_S + 1, PID, 0);
	fake_write(&w->fake, "5001/maps", TWO_MAPPINGS);
	leaf_sample(w, NS_PER_S, PID, 0x8100);
	settle(w);
}

static void test_only_the_same_program_is_looked_at_again(void)
{
	struct test_world w;

	look_at_what_came_after(&w, EVENT_EXEC);
	ok(is_in(&w, 0, 0, "", 0x8100), "code is not looked up in a later program");
	world_done(&w);
	look_at_what_came_after(&w, EVENT_EXIT);
	ok(is_in(&w, 0, 0, "", 0x8100),
	   "code is not looked up in the next process with the same PID");
	world_done(&w);
}

static void test_siblings_of_one_pid(void)
{
	struct test_world w;

	world_init(&w, true);
	task(&w, EVENT_EXEC, 10, PID + 1, 0);
	task(&w, EVENT_FORK, 20, PID, PID + 1);
	task(&w, EVENT_EXIT, NS_PER_S + 1, PID, 0);
	task(&w, EVENT_FORK, NS_PER_S + 2, PID, PID + 1);
	fake_write(&w.fake, "5001/maps", TWO_MAPPINGS);
	leaf_sample(&w, NS_PER_S, PID, 0x8100);
	settle(&w);
	ok(is_in(&w, 0, 0, "", 0x8100),
	   "code is not looked up in the next process, even if it runs the same program");
	world_done(&w);
}

static void test_lost_events_are_made_up_for_once(void)
{
	struct process_event lost = { .type = EVENT_LOST, .nr_lost = 1 };
	uint64_t time_ns;
	struct test_world w;

	init_missed(&w, &time_ns);
	must(capture_event(w.c, &lost) == 0);
	settle(&w);
	fake_write(&w.fake, "5001/maps", ONE_MAPPING);
	leaf_sample(&w, time_ns, PID, 0x8100);
	settle(&w);
	ok(is_in(&w, 0, 0, "/missed", 0x8100), "one loss causes one scan of /proc");
	world_done(&w);
}

/* The exec that the walker's side tells of, whether or not the side-band did. */
static void test_exec_heard(void)
{
	struct pa_record exec = { .type = PA_RECORD_EXEC, .pid = PID };
	struct test_world w;

	world_init(&w, true);
	task(&w, EVENT_EXEC, NS_PER_S, PID, 0);
	map_at(&w, NS_PER_S + 1, 0x8000, 0x9000, "/old");
	fake_write(&w.fake, "5001/maps", TWO_MAPPINGS);
	exec.time_ns = NS_PER_S + 1000;
	must(capture_record(w.c, &exec, sizeof(exec)) == 0);
	leaf_sample(&w, NS_PER_S + 2000, PID, 0x8100);
	exec.time_ns = 5 * NS_PER_S;
	must(capture_record(w.c, &exec, sizeof(exec)) == 0);
	leaf_sample(&w, 5 * NS_PER_S - 1, PID, 0x8200);
	leaf_sample(&w, 5 * NS_PER_S + 1, PID, 0x8300);
	settle(&w);
	ok(is_in(&w, 0, 0, "/old", 0x8100), "an exec that is already known changes nothing");
	ok(is_in(&w, 1, 0, "/old", 0x8200), "an exec without an event does not change the past");
	ok(is_in(&w, 2, 0, "/missed", 0x8300), "after an exec without an event /proc counts");
	world_done(&w);
}

static void test_empty_and_broken_records(void)
{
	const uint64_t none = 0, of_no_kind = 31ull << PA_FRAME_KIND_SHIFT | 0x1000;
	struct pa_record notice = { .type = PA_RECORD_NOTICE, .pid = PID };
	struct pa_sample incomplete = { .head = { .type = PA_RECORD_SAMPLE }, .nr_user = 1 };
	struct test_world w;

	world_init(&w, true);
	must(replay_sample(w.c, 30, PID, &none, 0, &none, 0, 0, PA_STOP_EXEC) == 0);
	must(capture_record(w.c, &notice, sizeof(notice)) == 0);
	must(capture_record(w.c, &incomplete, sizeof(incomplete)) == 0);
	must(capture_record(w.c, &incomplete, sizeof(incomplete.head)) == 0);
	incomplete.origin = 5;
	must(capture_record(w.c, &incomplete, sizeof(incomplete)) == 0);
	must(replay_sample(w.c, 31, PID, &none, 0, &of_no_kind, 1, 0, PA_STOP_END) == 0);
	settle(&w);
	ok(w.c->model->profile->nr_samples == 1 && !location(&w, 0, 0),
	   "a sample may have no frame");
	ok(capture_stats(w.c)->nr_records == 4 && w.c->model->stats.nr_kept == 1 &&
		   capture_stats(w.c)->nr_bad == 3,
	   "samples with wrong sizes or unknown frames are counted as bad, others are not samples");
	ok(w.c->pipe->nr_bad_origin == 1, "a sample of an unknown trigger is counted");
	ok(w.c->model->stats.stops[PA_STOP_EXEC] == 1, "stop reasons are counted");
	world_done(&w);
}

/* Every process runs a file of its own; some are sampled. Long after, only those files are there. */
static void test_what_is_gone_is_given_back(void)
{
	const uint32_t nr = 200;
	char path[32], wanted[32];
	uint32_t nr_named = 0;
	struct test_world w;

	world_init(&w, true);
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t at = 1000 + i * 100;

		snprintf(path, sizeof(path), "/new%u", i);
		task(&w, EVENT_FORK, at, PID, 1);
		map_at(&w, at + 10, 0x1000, 0x2000, path);
		if (i % 10 == 0)
			leaf_sample(&w, at + 20, PID, 0x1500);
		task(&w, EVENT_EXIT, at + 30, PID, 0);
		w.c->world->forgot_ns = 0; /* it is due */
		settle(&w);
	}
	ok(tracker_nr_processes(w.c->world->tracker) <= 2, "%u of %u processes are kept",
	   tracker_nr_processes(w.c->world->tracker), nr);
	ok(filestore_nr_held(w.c->world->files) <= nr / 10 + 1,
	   "%u of %u files are kept, %u of them with samples", filestore_nr_held(w.c->world->files),
	   nr, nr / 10);
	for (uint32_t i = 0; i < w.c->model->profile->nr_mappings; i++) {
		const struct profile_mapping *m = &w.c->model->profile->mappings[i];
		const struct file *f = filestore_get(w.c->world->files, (uint32_t)m->owner);

		snprintf(wanted, sizeof(wanted), "/new%u", i * 10);
		nr_named += f && strcmp(f->path, wanted) == 0 &&
			    strcmp(strtab_get(&w.c->model->profile->strings, m->path), wanted) == 0;
	}
	ok(nr_named == nr / 10, "files with samples can be read for symbols");
	ok(w.c->model->stats.nr_processes == nr / 10, "%llu processes have samples",
	   (unsigned long long)w.c->model->stats.nr_processes);
	must(capture_name(w.c, NULL) == 0);
	w.c->world->forgot_ns = 0;
	settle(&w);
	ok(filestore_nr_held(w.c->world->files) <= 1, "%u files are held once all are named",
	   filestore_nr_held(w.c->world->files));
	world_done(&w);
}

/* Sampled code that each process makes, and who runs it: a capture may last for days. */
static void test_processes_are_forgotten(void)
{
	const struct replay_map anon = { .start = 0x1000, .end = 0x2000, .path = "//anon" };
	const uint32_t nr = 500;
	struct test_world w;

	world_init(&w, true);
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t at = 1000 + i * 100;

		task(&w, EVENT_FORK, at, PID, 1);
		must(replay_mmap(w.c, at + 10, PID, &anon) == 0);
		leaf_sample(&w, at + 20, PID, 0x1500);
		task(&w, EVENT_EXIT, at + 30, PID, 0);
		w.c->world->forgot_ns = 0; /* it is due */
		settle(&w);
	}
	ok(w.c->world->nr_owners < nr / 2, "of %u processes %u owners are remembered", nr,
	   w.c->world->nr_owners);
	ok(jit_files_nr_processes(w.c->world->jit) >= nr,
	   "generated code of %u processes is remembered until it is named",
	   jit_files_nr_processes(w.c->world->jit));
	must(capture_name(w.c, NULL) == 0);
	w.c->world->forgot_ns = 0;
	settle(&w);
	ok(jit_files_nr_processes(w.c->world->jit) <= 1,
	   "generated code of %u processes is remembered once it is named",
	   jit_files_nr_processes(w.c->world->jit));
	ok(jit_files_counts(w.c->world->jit).nr[JIT_MAP_NONE] +
			   jit_files_counts(w.c->world->jit).nr[JIT_MAP_GONE] ==
		   nr,
	   "maps of processes that are forgotten stay counted");
	world_done(&w);
}

static bool is_program(const struct test_world *w, const char *path)
{
	const struct profile *p = w->c->model->profile;

	return strcmp(profile_str(p, p->program), path) == 0;
}

static void test_program(void)
{
	struct test_world w;
	struct replay_map other = { .start = 0x9000, .end = 0xa000, .path = "/bin/other" };

	world_init(&w, true);
	w.c->model->program_pid = PID;
	w.c->model->sink.on_event = model_follow_program;
	map_at(&w, 10, 0x1000, 0x2000, "/lib/loaded.so");
	ok(is_program(&w, ""), "program: a file that is mapped without an execve() is none");
	must(replay_task(w.c, EVENT_EXEC, 20, PID, 0) == 0);
	must(replay_mmap(w.c, 21, PID + 1, &other) == 0);
	map_at(&w, 22, 0x1000, 0x2000, "/bin/sh");
	map_at(&w, 23, 0x3000, 0x4000, "/lib/ld.so");
	ok(is_program(&w, "/bin/sh"),
	   "program: it is the first file that is mapped after an execve()");
	must(replay_task(w.c, EVENT_EXEC, 30, PID, 0) == 0);
	map_at(&w, 31, 0x1000, 0x2000, "/bin/app");
	ok(is_program(&w, "/bin/app"), "program: the last execve() counts");
	world_done(&w);
}

int main(void)
{
	test_user_return_address();
	test_last_call_of_a_function();
	test_kernel_return_address();
	test_user_frames_below_kernel_frames();
	test_exec();
	test_exec_heard();
	test_fork_and_exit();
	test_only_targets_are_followed();
	test_lost_events();
	test_only_the_same_program_is_looked_at_again();
	test_siblings_of_one_pid();
	test_lost_events_are_made_up_for_once();
	test_empty_and_broken_records();
	test_what_is_gone_is_given_back();
	test_program();
	test_processes_are_forgotten();
	return tap_done();
}
