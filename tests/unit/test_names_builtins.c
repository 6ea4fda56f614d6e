/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols for code in files from perf maps (V8 builtins): which map applies to whose samples. */
#include "elf_maker.h"
#include "fake_proc.h"
#include "replay.h"

#define JIT_START 0x7f0000001000ull
#define FILE_START 0x5000ull
#define BUILTIN_OFFSET 0x40u /* in the file; sampled in every process */

/* Processes: with a perf map (WRITER), or without. */
enum { ROOTS_WRITER = 11, ROOTS, MALLORYS_WRITER, MALLORYS, BOXED_WRITER, NR_PIDS };
#define MALLORY 61234u

struct test_world {
	struct fake f;
	struct capture *c;
	char library[PATH_MAX];
};

static void write_library(struct test_world *w)
{
	struct elf_maker m;

	maker_init(&m);
	maker_section(&m, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "code", 4);
	maker_segment(&m, PT_LOAD, PF_R | PF_X, 0, 0, 4096);
	maker_end(&m);
	fake_write_bytes(&w->f, "libcode.so", m.bytes, m.len);
	fake_path(&w->f, "libcode.so", w->library);
	maker_done(&m);
}

static void begin(struct test_world *w)
{
	struct world_config cfg = {
		.kallsyms_path = "/dev/null", .all = true, .naming_workers = 1, .max_fds = 64
	};

	*w = (struct test_world){ 0 };
	fake_init(&w->f);
	cfg.proc_root = w->f.dir;
	write_library(w);
	must(capture_new(&cfg, NULL, &w->c) == 0);
}

static void end(struct test_world *w)
{
	capture_free(w->c);
	fake_done(&w->f);
}

static const char *name_in(int pid, const char *file)
{
	static char name[64];

	snprintf(name, sizeof(name), "%d/%s", pid, file);
	return name;
}

/* Adds a process in a root that maps the library and JIT memory. map_text: its perf map or NULL. */
static void add_process(struct test_world *w, int pid, uint32_t user, const char *root,
			const char *map_text)
{
	struct file_key k = fake_key(&w->f, "libcode.so");
	char text[3 * PATH_MAX], path[PATH_MAX], map[64];

	snprintf(text, sizeof(text),
		 "5000-6000 r-xp 00000000 %02x:%02x %lu %s\n"
		 "8000-a000 r-xp 00000000 %02x:%02x %lu %s\n"
		 "7f0000001000-7f0000003000 r-xp 00000000 00:00 0 \n",
		 k.major, k.minor, (unsigned long)k.inode, w->library, k.major, k.minor,
		 (unsigned long)k.inode, w->library);
	fake_write(&w->f, name_in(pid, "maps"), text);
	fake_write(&w->f, name_in(pid, "stat"), "1 (x) R 1 1 1");
	fake_write(&w->f, name_in(pid, "comm"), "x\n");
	snprintf(text, sizeof(text), "Uid:\t%u\t%u\t%u\t%u\nNSpid:\t%d\n", user, user, user, user,
		 pid);
	fake_write(&w->f, name_in(pid, "status"), text);
	snprintf(text, sizeof(text), "%s/tmp/other", root);
	fake_write(&w->f, text, "");
	fake_link(&w->f, name_in(pid, "root"), fake_path(&w->f, root, path));
	fake_link(&w->f, name_in(pid, "map_files/5000-6000"), w->library);
	fake_link(&w->f, name_in(pid, "map_files/8000-a000"), w->library);
	if (map_text) {
		snprintf(map, sizeof(map), "%s/tmp/perf-%d.map", root, pid);
		fake_write(&w->f, map, map_text);
		must(chown(fake_path(&w->f, map, path), user, (gid_t)-1) == 0);
	}
	must(capture_scan(w->c, pid) == 0);
}

/* A sample in JIT code, which makes the agent look for the perf map, or in the library. */
static void sample(struct test_world *w, int pid, bool is_in_jit)
{
	uint64_t pc = (is_in_jit ? JIT_START + 8 : FILE_START + BUILTIN_OFFSET) | PA_PC_EXACT;

	must(replay_sample(w->c, 1000, pid, &pc, 0, &pc, 1, 0, PA_STOP_FP_END) == 0);
}

static const char *name_of(const struct profile *p, uint32_t location)
{
	const struct profile_location *l = &p->locations[location];

	return l->nr_lines ? profile_str(p, p->functions[p->lines[l->first_line].function].name)
			   : "";
}

/* True if a sample of the process in the library has that symbol. */
static bool has_symbol(const struct test_world *w, int pid, const char *name)
{
	const struct profile *p = w->c->model->profile;

	for (uint32_t i = 0; i < p->nr_samples; i++) {
		const struct profile_span *labels = &p->label_sets[p->samples[i].labels];
		uint32_t leaf = p->frames[p->stacks[p->samples[i].stack].first];
		uint32_t mapping = p->locations[leaf].mapping;

		if (p->labels[labels->first].num != pid || mapping == PROFILE_NONE ||
		    p->mappings[mapping].kind != PROFILE_MAPPING_FILE)
			continue;
		if (strcmp(name_of(p, leaf), name) == 0)
			return true;
		printf("# process %d: '%s', not '%s'\n", pid, name_of(p, leaf), name);
	}
	return false;
}

static uint32_t nr_in_file(const struct profile *p)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < p->nr_locations; i++)
		nr += p->mappings[p->locations[i].mapping].kind == PROFILE_MAPPING_FILE;
	return nr;
}

static void name_all(struct test_world *w)
{
	must(capture_settle(w->c, true) == 0 && capture_name(w->c, NULL) == 0);
}

/* Without other users, no location is split. */
static void test_alone(void)
{
	struct test_world w;

	begin(&w);
	add_process(&w, ROOTS_WRITER, 0, "box", "5040 10 roots\n");
	sample(&w, ROOTS_WRITER, true);
	sample(&w, ROOTS_WRITER, false);
	name_all(&w);
	ok(has_symbol(&w, ROOTS_WRITER, "roots"),
	   "builtins: a process resolves code of files that it runs");
	ok(nr_in_file(w.c->model->profile) == 1, "builtins: the code is one location");
	ok(w.c->model->naming.stats.failures[NAMING_NO_SYMBOL] == 0 &&
		   w.c->model->naming.stats.nr_addresses == 2,
	   "builtins: the location counts as resolved");
	end(&w);
}

/* A perf map is read once for the JIT code, and once for all files with builtins in it. */
static void test_one_reading(void)
{
	static const char map_text[] = "5040 10 first\n8040 10 second\n";
	uint64_t second = 0x8040 | PA_PC_EXACT, bytes = sizeof(map_text) - 1 + 4096;
	struct test_world w;

	begin(&w);
	add_process(&w, ROOTS_WRITER, 0, "box", map_text);
	sample(&w, ROOTS_WRITER, true);
	sample(&w, ROOTS_WRITER, false);
	must(replay_sample(w.c, 1001, ROOTS_WRITER, &second, 0, &second, 1, 0, PA_STOP_FP_END) ==
	     0);
	name_all(&w);
	ok(has_symbol(&w, ROOTS_WRITER, "first") && has_symbol(&w, ROOTS_WRITER, "second"),
	   "builtins: two ranges of a file have their names");
	ok(JIT_BUDGET_BYTES - w.c->model->naming.jit_budget.left_bytes == bytes,
	   "builtins: the map was charged once");
	end(&w);
}

static void test_split(void)
{
	struct test_world w;

	begin(&w);
	add_process(&w, MALLORYS_WRITER, MALLORY, "box", "5040 10 FORGED\n");
	add_process(&w, MALLORYS, MALLORY, "box", NULL);
	add_process(&w, ROOTS, 0, "box", NULL);
	sample(&w, MALLORYS_WRITER, true);
	for (int pid = ROOTS; pid <= MALLORYS; pid++)
		sample(&w, pid, false);
	name_all(&w);
	ok(has_symbol(&w, MALLORYS_WRITER, "FORGED") && has_symbol(&w, MALLORYS, "FORGED"),
	   "users: a user's map resolves samples of that user's processes");
	ok(has_symbol(&w, ROOTS, "0x40"),
	   "users: a user's map does not resolve samples of another user");
	ok(nr_in_file(w.c->model->profile) == 2, "users: the location is split in two");
	ok(w.c->model->profile->nr_mappings == 2, "users: the mapping is not split");
	end(&w);
}

static void test_two_maps(void)
{
	struct test_world w;

	begin(&w);
	add_process(&w, MALLORYS_WRITER, MALLORY, "box", "5040 10 FORGED\n");
	add_process(&w, ROOTS_WRITER, 0, "box", "5040 10 roots\n");
	add_process(&w, ROOTS, 0, "box", NULL);
	sample(&w, MALLORYS_WRITER, true);
	sample(&w, ROOTS_WRITER, true);
	for (int pid = ROOTS_WRITER; pid <= MALLORYS_WRITER; pid++)
		sample(&w, pid, false);
	name_all(&w);
	ok(has_symbol(&w, MALLORYS_WRITER, "FORGED") && has_symbol(&w, ROOTS_WRITER, "roots") &&
		   has_symbol(&w, ROOTS, "roots"),
	   "users: with two maps each user has their own names");
	ok(nr_in_file(w.c->model->profile) == 2, "users: no location is left without a stack");
	end(&w);
}

static void test_other_root(void)
{
	struct test_world w;

	begin(&w);
	add_process(&w, BOXED_WRITER, 0, "other", "5040 10 BOXED\n");
	add_process(&w, ROOTS, 0, "box", NULL);
	sample(&w, BOXED_WRITER, true);
	sample(&w, BOXED_WRITER, false);
	sample(&w, ROOTS, false);
	name_all(&w);
	ok(has_symbol(&w, BOXED_WRITER, "BOXED") && !has_symbol(&w, ROOTS, "BOXED"),
	   "users: root of a container resolves nothing outside of it");
	end(&w);
}

int main(void)
{
	if (!fake_can_look_into_roots())
		return tap_done();
	if (geteuid() != 0) {
		tap_skip("giving files to another user needs root");
		return tap_done();
	}
	test_alone();
	test_one_reading();
	test_split();
	test_two_maps();
	test_other_root();
	return tap_done();
}
