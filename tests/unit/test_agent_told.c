/* SPDX-License-Identifier: Apache-2.0 */
/* Code of a file without names that processes tell about: whose claims name whose samples. */
#include "elf_maker.h"
#include "fake_proc.h"
#include "replay.h"

#define MADE 0x7f0000001000ull
#define FILE_START 0x5000ull
#define SPOT 0x40u /* in the file; sampled by all */

/* Processes: who tells, and who only runs. */
enum { ROOTS_TELLER = 11, ROOTS, MALLORYS_TELLER, MALLORYS, BOXED_TELLER, NR_PIDS };
#define MALLORY 61234u

struct world {
	struct fake f;
	struct capture *c;
	char library[PATH_MAX];
};

static void write_library(struct world *w)
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

static void begin(struct world *w)
{
	struct capture_config cfg = { .kallsyms_path = "/dev/null",
				      .all = true,
				      .period_ns = 1000000,
				      .naming_workers = 1,
				      .max_fds = 64 };

	*w = (struct world){ 0 };
	fake_init(&w->f);
	cfg.proc_root = w->f.dir;
	write_library(w);
	must(capture_new(&cfg, NULL, &w->c) == 0);
}

static void end(struct world *w)
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

/* A process in a root that has the library mapped, and memory for code; with a claim it has a map. */
static void add_process(struct world *w, int pid, uint32_t user, const char *root,
			const char *claim)
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
	if (claim) {
		snprintf(map, sizeof(map), "%s/tmp/perf-%d.map", root, pid);
		fake_write(&w->f, map, claim);
		must(chown(fake_path(&w->f, map, path), user, (gid_t)-1) == 0);
	}
	must(capture_scan(w->c, pid) == 0);
}

/* A sample in made code, so that the process's map is looked for, and one in the library. */
static void sample(struct world *w, int pid, bool is_in_made)
{
	uint64_t pc = (is_in_made ? MADE + 8 : FILE_START + SPOT) | PA_PC_EXACT;

	must(replay_sample(w->c, 1000, pid, &pc, 0, &pc, 1, 0, PA_STOP_FP_END) == 0);
}

static const char *name_of(const struct profile *p, uint32_t location)
{
	const struct profile_location *l = &p->locations[location];

	return l->nr_lines ? profile_str(p, p->functions[p->lines[l->first_line].function].name)
			   : "";
}

/* What the samples of a process in the library are called. */
static bool is_called(const struct world *w, int pid, const char *name)
{
	const struct profile *p = w->c->profile;

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

static void name_all(struct world *w)
{
	must(capture_settle(w->c, true) == 0 && capture_name(w->c, NULL) == 0);
}

/* Where nobody else is, nothing is split. */
static void test_alone(void)
{
	struct world w;

	begin(&w);
	add_process(&w, ROOTS_TELLER, 0, "box", "5040 10 roots\n");
	sample(&w, ROOTS_TELLER, true);
	sample(&w, ROOTS_TELLER, false);
	name_all(&w);
	ok(is_called(&w, ROOTS_TELLER, "roots"), "a process names code of files that it runs");
	ok(nr_in_file(w.c->profile) == 1, "at one location");
	ok(w.c->naming.failures[NAMING_NO_SYMBOL] == 0 && w.c->naming.nr_addresses == 2,
	   "which is counted as named");
	end(&w);
}

/* The list of a process is read for its own code, and once for all files that it is about. */
static void test_one_reading(void)
{
	static const char claims[] = "5040 10 first\n8040 10 second\n";
	uint64_t second = 0x8040 | PA_PC_EXACT, bytes = sizeof(claims) - 1 + 4096;
	struct world w;

	begin(&w);
	add_process(&w, ROOTS_TELLER, 0, "box", claims);
	sample(&w, ROOTS_TELLER, true);
	sample(&w, ROOTS_TELLER, false);
	must(replay_sample(w.c, 1001, ROOTS_TELLER, &second, 0, &second, 1, 0, PA_STOP_FP_END) ==
	     0);
	name_all(&w);
	ok(is_called(&w, ROOTS_TELLER, "first") && is_called(&w, ROOTS_TELLER, "second"),
	   "two stretches of a file have their names");
	ok(JIT_BUDGET_BYTES - w.c->jit_budget.left_bytes == bytes, "the list was charged once");
	end(&w);
}

static void test_split(void)
{
	struct world w;

	begin(&w);
	add_process(&w, MALLORYS_TELLER, MALLORY, "box", "5040 10 FORGED\n");
	add_process(&w, MALLORYS, MALLORY, "box", NULL);
	add_process(&w, ROOTS, 0, "box", NULL);
	sample(&w, MALLORYS_TELLER, true);
	for (int pid = ROOTS; pid <= MALLORYS; pid++)
		sample(&w, pid, false);
	name_all(&w);
	ok(is_called(&w, MALLORYS_TELLER, "FORGED") && is_called(&w, MALLORYS, "FORGED"),
	   "a user's claim names the samples of his processes");
	ok(is_called(&w, ROOTS, "0x40"), "and not those of another user");
	ok(nr_in_file(w.c->profile) == 2, "the location is split in two");
	ok(w.c->profile->nr_mappings == 2, "its mapping is not");
	end(&w);
}

static void test_two_claims(void)
{
	struct world w;

	begin(&w);
	add_process(&w, MALLORYS_TELLER, MALLORY, "box", "5040 10 FORGED\n");
	add_process(&w, ROOTS_TELLER, 0, "box", "5040 10 roots\n");
	add_process(&w, ROOTS, 0, "box", NULL);
	sample(&w, MALLORYS_TELLER, true);
	sample(&w, ROOTS_TELLER, true);
	for (int pid = ROOTS_TELLER; pid <= MALLORYS_TELLER; pid++)
		sample(&w, pid, false);
	name_all(&w);
	ok(is_called(&w, MALLORYS_TELLER, "FORGED") && is_called(&w, ROOTS_TELLER, "roots") &&
		   is_called(&w, ROOTS, "roots"),
	   "where two users claim, each has his own names");
	ok(nr_in_file(w.c->profile) == 2, "and no location is left that no stack has");
	end(&w);
}

static void test_other_root(void)
{
	struct world w;

	begin(&w);
	add_process(&w, BOXED_TELLER, 0, "other", "5040 10 BOXED\n");
	add_process(&w, ROOTS, 0, "box", NULL);
	sample(&w, BOXED_TELLER, true);
	sample(&w, BOXED_TELLER, false);
	sample(&w, ROOTS, false);
	name_all(&w);
	ok(is_called(&w, BOXED_TELLER, "BOXED") && !is_called(&w, ROOTS, "BOXED"),
	   "root of a container names nothing outside of it");
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
	test_two_claims();
	test_other_root();
	return tap_done();
}
