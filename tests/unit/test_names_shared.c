/* SPDX-License-Identifier: Apache-2.0 */
/* Two models of one session: what one has found out is not asked again for the other, and says the same. */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <zlib.h>
#include <zstd.h>

#include "elf_maker.h"
#include "names/shared_names.h"
#include "replay.h"
#include "tap.h"
#include "write/writer.h"

#define CODE_START 0x10000000ull
#define FUNC 0x40u /* in the file as in its image */
#define GAP 0x80u  /* there is nothing */
#define PROFILE_BYTES (1u << 20)

static char directory[] = "/tmp/perf-agent-shared.XXXXXX";
static char kallsyms_path[64], elf_path[64];

/* A session with two triggers has two models, of the same samples here. */
struct pair {
	struct capture *c;    /* with the first model */
	struct model *second; /* owned */
};

/* The second model has no samples so far. */
static void pair_begin(struct pair *p, const atomic_bool *hurry)
{
	struct world_config cfg = { .proc_root = "/proc",
				    .kallsyms_path = kallsyms_path,
				    .all = true,
				    .naming_workers = 1,
				    .hurry = hurry,
				    .max_fds = 64 };
	struct model_config model = { .values = &cpu_values };

	must(capture_new(&cfg, NULL, &p->c) == 0);
	must(model_new(&model, p->c->world, &p->second) == 0);
}

static void pair_init(struct pair *p, const atomic_bool *hurry)
{
	pair_begin(p, hurry);
	must(pipe_add_sink(p->c->pipe, 0, &p->second->sink) == 0);
}

static void pair_done(struct pair *p)
{
	model_free(p->second);
	capture_free(p->c);
}

static void name_both(struct pair *p)
{
	must(capture_name(p->c, NULL) == 0 && model_name(p->second, NULL) == 0);
}

static uint64_t asked(const struct model *m)
{
	return m->naming.stats.nr_addresses - m->naming.stats.nr_shared;
}

static const char *name_of(const struct model *m, uint64_t address)
{
	const struct profile *p = m->profile;

	for (uint32_t i = 0; i < p->nr_locations; i++)
		if (p->locations[i].address == address && p->locations[i].nr_lines)
			return profile_str(
				p,
				p->functions[p->lines[p->locations[i].first_line].function].name);
	return "nowhere";
}

/* ---- a story with files, the kernel, generated code and no mapping ---- */

static void write_kallsyms(void)
{
	FILE *f = fopen(kallsyms_path, "we");

	must(f);
	fprintf(f, "%llx T _stext\n%llx t schedule\t[module]\n", REPLAY_KERNEL_PC - 16,
		REPLAY_KERNEL_PC + 32);
	fclose(f);
}

static size_t write_profile(const struct model *m, char *to)
{
	struct outfile_options opts = { 0 };
	struct outfile *f = NULL;
	struct pa_error err;
	char path[64];
	size_t n;
	FILE *in;

	snprintf(path, sizeof(path), "%s/p.pb.gz", directory);
	must(outfile_open(path, &opts, &f, &err) == 0);
	must(writer_pprof.write(m->profile, f, NULL, &err) == 0 && outfile_commit(f, &err) == 0);
	outfile_free(f);
	in = fopen(path, "re");
	must(in);
	n = fread(to, 1, PROFILE_BYTES, in);
	fclose(in);
	unlink(path);
	must(n > 0 && n < PROFILE_BYTES);
	return n;
}

/* Locations that only their own model can name: in generated code, and in no mapping. */
static uint64_t nr_own(const struct profile *p)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < p->nr_locations; i++)
		nr += p->locations[i].mapping == PROFILE_NONE ||
		      p->mappings[p->locations[i].mapping].kind == PROFILE_MAPPING_JIT;
	return nr;
}

static void add_story(struct pair *p)
{
	uint64_t code[] = { (uintptr_t)add_story, (uintptr_t)zlibVersion,
			    (uintptr_t)ZSTD_versionNumber, (uintptr_t)getenv };

	must(replay_story(p->c, code, sizeof(code) / sizeof(code[0])) == 0);
}

static bool same_notes(const struct model *a, const struct model *b)
{
	for (uint32_t i = 0; i <= a->profile->nr_mappings; i++)
		if (a->naming.notes[i].why != b->naming.notes[i].why ||
		    a->naming.notes[i].advice != b->naming.notes[i].advice)
			return false;
	return true;
}

static void test_story(void)
{
	static char one[PROFILE_BYTES], two[PROFILE_BYTES];
	const struct naming_stats *a, *b;
	struct pair p;
	size_t na, nb;

	pair_init(&p, NULL);
	add_story(&p);
	name_both(&p);
	a = &p.c->model->naming.stats;
	b = &p.second->naming.stats;
	ok(a->nr_addresses == p.second->profile->nr_locations && a->nr_shared == 0,
	   "the first model asks for each of its %lu addresses", a->nr_addresses);
	ok(asked(p.second) == nr_own(p.second->profile) && asked(p.second) < b->nr_addresses,
	   "the second asks for %lu of %lu: those in generated code or in no mapping",
	   asked(p.second), b->nr_addresses);
	ok(b->nr_batches == 3 && a->nr_batches > 6,
	   "of %lu sources, %lu are read for the second model", a->nr_batches, b->nr_batches);
	na = write_profile(p.c->model, one);
	nb = write_profile(p.second, two);
	ok(na == nb && memcmp(one, two, na) == 0, "both profiles have the same bytes");
	ok(memcmp(a->failures, b->failures, sizeof(a->failures)) == 0 && a->nr_raw == b->nr_raw &&
		   a->nr_raw > 0,
	   "addresses without a symbol are counted alike");
	ok(same_notes(p.c->model, p.second), "the reasons for missing symbols are the same");
	ok(!strcmp(p.second->naming.kernel.source, "/proc/kallsyms"),
	   "the second model knows the list that the kernel's names are from: '%s'",
	   p.second->naming.kernel.source);
	ok(shared_names_nr(p.c->world->shared_names) == 0, "nothing is kept after the last model");
	pair_done(&p);
}

static void test_only_one(void)
{
	struct world_config cfg = {
		.proc_root = "/proc", .kallsyms_path = kallsyms_path, .all = true, .max_fds = 64
	};
	struct pair p = { 0 };

	must(capture_new(&cfg, NULL, &p.c) == 0);
	add_story(&p);
	must(capture_name(p.c, NULL) == 0);
	ok(shared_names_bytes(p.c->world->shared_names) < 1024 * 1024 &&
		   shared_names_nr(p.c->world->shared_names) == 0,
	   "nothing is kept for nobody");
	pair_done(&p);
}

static void test_limit(void)
{
	struct pair p;

	pair_init(&p, NULL);
	add_story(&p);
	shared_names_limit(p.c->world->shared_names, 1);
	name_both(&p);
	ok(asked(p.second) == p.second->naming.stats.nr_addresses &&
		   !strcmp(name_of(p.second, REPLAY_KERNEL_PC), "_stext"),
	   "what does not fit is asked again");
	pair_done(&p);
	pair_init(&p, NULL);
	add_story(&p);
	/* Room for some sources, but none for what the first name takes. */
	shared_names_limit(p.c->world->shared_names,
			   shared_names_bytes(p.c->world->shared_names) +
				   16 * (sizeof(struct shared_source) + sizeof(uint32_t)) + 1);
	must(capture_name(p.c, NULL) == 0);
	ok(shared_names_nr(p.c->world->shared_names) == 1, "nothing is added to a full store");
	must(model_name(p.second, NULL) == 0);
	ok(p.second->naming.stats.nr_shared == 0, "the next model begins with an empty store");
	pair_done(&p);
}

/* Whoever waits for the end may have got less than there is. */
static void test_hurry(void)
{
	atomic_bool hurry = true;
	struct pair p;

	pair_init(&p, &hurry);
	add_story(&p);
	must(capture_name(p.c, NULL) == 0);
	ok(shared_names_nr(p.c->world->shared_names) == 0, "answers given in a hurry are not kept");
	atomic_store(&hurry, false);
	must(model_name(p.second, NULL) == 0);
	ok(p.second->naming.stats.nr_shared == 0, "the next model asks for all of its addresses");
	pair_done(&p);
}

/* ---- one file ---- */

static void write_elf(const char *function)
{
	const struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
	struct sym_maker *s = calloc(1, sizeof(*s));
	int fd = open(elf_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct elf_maker m;

	must(s && fd >= 0);
	maker_init(&m);
	maker_section(&m, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "code", 4);
	sym_add(s, function, FUNC, 0x10, STB_GLOBAL, STT_FUNC, 1);
	sym_end(s, &m, SHT_SYMTAB);
	maker_segment(&m, PT_LOAD, PF_R | PF_X, 0, 0, 4096);
	maker_end(&m);
	/* Some time ago, so that a later write cannot fall into the same tick of the clock. */
	must(write(fd, m.bytes, m.len) == (ssize_t)m.len && futimens(fd, old) == 0);
	close(fd);
	maker_done(&m);
	free(s);
}

static void map_elf(struct capture *c, pid_t pid, uint64_t start)
{
	struct replay_map m = { .start = start, .end = start + 4096 };
	struct stat st;

	must(stat(elf_path, &st) == 0);
	m.major = major(st.st_dev);
	m.minor = minor(st.st_dev);
	m.inode = st.st_ino;
	snprintf(m.path, sizeof(m.path), "%s", elf_path);
	must(replay_task(c, EVENT_EXEC, 10, pid, 0) == 0 && replay_mmap(c, 20, pid, &m) == 0);
}

static void sample_at(struct capture *c, uint64_t time_ns, pid_t pid, uint64_t address)
{
	uint64_t pc = address | PA_PC_EXACT;

	must(replay_sample(c, time_ns, pid, &pc, 0, &pc, 1, 0, PA_STOP_FP_END) == 0);
}

/* The function and what lies behind it, for both models. */
static void sample_elf(struct pair *p)
{
	map_elf(p->c, REPLAY_PARENT, CODE_START);
	sample_at(p->c, 100, REPLAY_PARENT, CODE_START + FUNC + 4);
	sample_at(p->c, 101, REPLAY_PARENT, CODE_START + GAP);
	must(capture_settle(p->c, true) == 0);
}

static void test_file(void)
{
	struct pair p;

	write_elf("func");
	pair_init(&p, NULL);
	sample_elf(&p);
	name_both(&p);
	ok(!strcmp(name_of(p.second, CODE_START + FUNC + 4), "func") && asked(p.second) == 0 &&
		   p.second->naming.stats.nr_batches == 0,
	   "a file that was read once is not read again, not even for an address without a symbol");
	pair_done(&p);
}

/* The samples of the second model come after those of the first, from a process that has the file elsewhere. */
static void test_elsewhere(void)
{
	const uint64_t start = CODE_START + 0x100000;
	struct model *third = NULL;
	struct pair p;

	pair_begin(&p, NULL);
	must(model_new(&(struct model_config){ .values = &cpu_values }, p.c->world, &third) == 0);
	sample_elf(&p);
	must(pipe_replace_sink(p.c->pipe, 0, &p.c->model->sink, &p.second->sink) == 0);
	map_elf(p.c, REPLAY_CHILD, start);
	sample_at(p.c, 200, REPLAY_CHILD, start + FUNC + 4);
	sample_at(p.c, 201, REPLAY_CHILD, start + FUNC + 8);
	must(capture_settle(p.c, true) == 0);
	must(pipe_replace_sink(p.c->pipe, 0, &p.second->sink, &third->sink) == 0);
	sample_at(p.c, 202, REPLAY_CHILD, start + FUNC + 4);
	sample_at(p.c, 203, REPLAY_CHILD, start + FUNC + 8);
	must(capture_settle(p.c, true) == 0);
	name_both(&p);
	must(model_name(third, NULL) == 0);
	ok(!strcmp(name_of(p.second, start + FUNC + 4), "func") &&
		   !strcmp(name_of(p.second, start + FUNC + 8), "func") && asked(p.second) == 1,
	   "a place in a file is known wherever the file is mapped, and only a new place is asked "
	   "for");
	ok(third->naming.stats.nr_addresses == 2 && asked(third) == 0,
	   "the third model knows what either of the two before has found out");
	model_free(third);
	pair_done(&p);
}

static void test_changed(void)
{
	struct pair p;

	pair_init(&p, NULL);
	sample_elf(&p);
	must(capture_name(p.c, NULL) == 0);
	write_elf("func");
	must(utimensat(AT_FDCWD, elf_path, NULL, 0) == 0);
	must(model_name(p.second, NULL) == 0);
	ok(!strcmp(name_of(p.second, CODE_START + FUNC + 4), "0x10000044") &&
		   !strcmp(p.second->naming.notes[0].why,
			   "the file was changed while it was profiled"),
	   "what was known of a file does not count after a write to it");
	pair_done(&p);
}

/* A number of the store may be given to another file when nothing holds the first one. */
static void test_forgotten(void)
{
	struct profile_mapping m = { .kind = PROFILE_MAPPING_FILE, .owner = 3 },
			       other = { .kind = PROFILE_MAPPING_FILE, .owner = 4 };
	struct shared_names *s = NULL;
	uint32_t source;

	must(shared_names_new(&s) == 0 && shared_names_add_source(s, &m, &source) == 0 &&
	     shared_names_add_source(s, &other, &source) == 0);
	must(shared_names_find_source(s, &m, &source));
	shared_names_forget_file(s, 3);
	shared_names_forget_file(s, 1000);
	ok(!shared_names_find_source(s, &m, &source), "a file is forgotten with its number");
	ok(shared_names_find_source(s, &other, &source), "other files are still known");
	shared_names_free(s);
}

static void test_world_forgets(void)
{
	struct profile_mapping m = { .kind = PROFILE_MAPPING_FILE, .owner = 0 };
	struct pair p;
	uint32_t source;

	pair_init(&p, NULL);
	sample_elf(&p);
	must(capture_name(p.c, NULL) == 0);
	must(shared_names_find_source(p.c->world->shared_names, &m, &source));
	world_forget_file(p.c->world, 0);
	ok(!shared_names_find_source(p.c->world->shared_names, &m, &source),
	   "the world forgets the names of a file with its number");
	pair_done(&p);
}

/* ---- the kernel ---- */

#define BPF_PC 0xffffffffc0000010

static void load_bpf(struct capture *c, const char *name)
{
	struct process_event e = { .type = EVENT_KSYMBOL,
				   .time_ns = 20,
				   .start = BPF_PC,
				   .end = BPF_PC + 0x20,
				   .is_bpf = true,
				   .path = name };

	must(capture_event(c, &e) == 0);
}

static void sample_kernel(struct capture *c, uint64_t time_ns, uint64_t pc)
{
	must(replay_sample(c, time_ns, 2, &pc, 1, NULL, 0,
			   PA_SAMPLE_KERNEL_TASK | PA_SAMPLE_IN_KERNEL, PA_STOP_KERNEL) == 0);
}

static void test_kernel(void)
{
	struct pair p;

	pair_init(&p, NULL);
	load_bpf(p.c, "bpf_prog_1_f");
	sample_kernel(p.c, 100, BPF_PC);
	sample_kernel(p.c, 101, REPLAY_KERNEL_PC);
	must(capture_settle(p.c, true) == 0);
	name_both(&p);
	ok(!strcmp(name_of(p.second, BPF_PC), "bpf_prog_1_f [bpf]") && asked(p.second) == 0,
	   "the kernel's list is read once for both");
	pair_done(&p);
	pair_init(&p, NULL);
	load_bpf(p.c, "bpf_prog_1_f");
	sample_kernel(p.c, 100, BPF_PC);
	must(capture_settle(p.c, true) == 0 && capture_name(p.c, NULL) == 0);
	load_bpf(p.c, "bpf_prog_2_g");
	must(model_name(p.second, NULL) == 0);
	ok(strstr(name_of(p.second, BPF_PC), "0x") && asked(p.second) == 1 &&
		   p.second->naming.stats.failures[NAMING_REUSED] == 1,
	   "what was known of the kernel does not count after a program was loaded");
	pair_done(&p);
}

int main(void)
{
	test_forgotten();
	if (syscall(SYS_openat2, -1, "", NULL, 0) < 0 && errno == ENOSYS) {
		tap_skip("needs openat2(), which valgrind does not have");
		return tap_done();
	}
	must(mkdtemp(directory));
	snprintf(kallsyms_path, sizeof(kallsyms_path), "%s/kallsyms", directory);
	snprintf(elf_path, sizeof(elf_path), "%s/elf", directory);
	write_kallsyms();
	test_story();
	test_only_one();
	test_limit();
	test_hurry();
	test_file();
	test_elsewhere();
	test_changed();
	test_world_forgets();
	test_kernel();
	unlink(elf_path);
	unlink(kallsyms_path);
	rmdir(directory);
	return tap_done();
}
