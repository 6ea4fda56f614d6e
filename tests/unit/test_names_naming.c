/* SPDX-License-Identifier: Apache-2.0 */
/* What code is called when the file it came from is as it was, and when it is not. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "elf_maker.h"
#include "replay.h"
#include "stacks/unwind_files.h"

#define CODE_START 0x10000000ull
#define FUNC 0x40u /* in the file as in its image */

static char path[] = "/tmp/perf-agent-naming.XXXXXX";

/* One function, and an FDE for it. */
static void make_elf(struct elf_maker *m, struct sym_maker *s)
{
	static const uint32_t eh_frame[] = { 12, 0, 0x78010001, 0x10, 20, 20, FUNC, 0, 0x10, 0, 0 };
	unsigned int i;

	maker_init(m);
	memset(s, 0, sizeof(*s));
	maker_section(m, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "code", 4);
	i = maker_section(m, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, eh_frame, sizeof(eh_frame));
	m->shdrs[i].sh_addr = m->shdrs[i].sh_offset;
	sym_add(s, "func", FUNC, 0x10, STB_GLOBAL, STT_FUNC, 1);
	sym_end(s, m, SHT_SYMTAB);
	maker_segment(m, PT_LOAD, PF_R | PF_X, 0, 0, 4096);
	maker_end(m);
}

static void write_file(const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	/* Some time ago, so that a later write cannot fall into the same tick of the clock. */
	const struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };

	must(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && futimens(fd, old) == 0);
	close(fd);
}

static int map_file(struct capture *c)
{
	struct process_event e = { .type = EVENT_MMAP,
				   .time_ns = 20,
				   .pid = REPLAY_PARENT,
				   .start = CODE_START,
				   .end = CODE_START + 4096,
				   .path = path };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	must(fd >= 0 && fstat(fd, &st) == 0);
	close(fd);
	e.major = major(st.st_dev);
	e.minor = minor(st.st_dev);
	e.inode = st.st_ino;
	e.generation = replay_generation(path);
	return capture_event(c, &e);
}

/* A capture of one sample in the function, not named so far. */
static struct capture *capture_sample(unsigned int max_fds)
{
	struct world_config cfg = {
		.proc_root = "/proc", .kallsyms_path = "/dev/null", .all = true, .max_fds = max_fds
	};
	uint64_t pc = (CODE_START + FUNC + 4) | PA_PC_EXACT;
	struct capture *c = NULL;

	must(capture_new(&cfg, NULL, &c) == 0);
	must(replay_task(c, EVENT_EXEC, 10, REPLAY_PARENT, 0) == 0 && map_file(c) == 0);
	must(replay_sample(c, 100, REPLAY_PARENT, &pc, 0, &pc, 1, 0, PA_STOP_FP_END) == 0);
	must(capture_settle(c, true) == 0);
	must(c->model->profile->nr_locations == 1 && c->model->profile->nr_mappings == 1);
	return c;
}

/* Names it; whether the outcome is this name, and this reason for a missing one. */
static bool gives(struct capture *c, const char *name, const char *why)
{
	const struct profile *p = c->model->profile;
	const char *found, *reason;
	bool is;

	must(capture_name(c, NULL) == 0 && p->locations[0].nr_lines == 1);
	found = profile_str(p, p->functions[p->lines[p->locations[0].first_line].function].name);
	reason = c->model->naming.notes[0].why ? c->model->naming.notes[0].why : "";
	is = strcmp(found, name) == 0 && (!why || strcmp(reason, why) == 0);
	if (!is)
		printf("# named '%s', because '%s'\n", found, reason);
	capture_free(c);
	return is;
}

static void test_unchanged(const struct elf_maker *m)
{
	struct capture *c;

	write_file(m->bytes, m->len);
	ok(gives(capture_sample(8), "func", NULL), "an unchanged file resolves its code");
	c = capture_sample(8);
	must(chmod(path, 0644) == 0);
	ok(gives(c, "func", NULL), "a changed mode does not change the contents");
}

static void test_changed(struct elf_maker *m)
{
	static const char why[] = "the file was changed while it was profiled";
	struct capture *c;
	int fd;

	write_file(m->bytes, m->len);
	c = capture_sample(8);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	must(fd >= 0 && pwrite(fd, m->bytes, m->len, 0) == (ssize_t)m->len);
	close(fd);
	ok(gives(c, "0x10000044", why), "a file written in place resolves nothing");
	write_file(m->bytes, m->len);
	c = capture_sample(8);
	must(truncate(path, 100) == 0);
	ok(gives(c, "0x10000044", why), "a truncated file resolves nothing");
	write_file(m->bytes, m->len);
	c = capture_sample(8);
	must(truncate(path, 0) == 0);
	ok(gives(c, "0x10000044", why), "an emptied file resolves nothing");
}

static void test_unreadable(struct elf_maker *m)
{
	write_file("#!/bin/sh\n", 10);
	ok(gives(capture_sample(8), "0x10000044", "it is not an ELF file of this machine"),
	   "a script is reported as not an ELF file");
	maker_ehdr(m)->e_phentsize = 1;
	write_file(m->bytes, m->len);
	ok(gives(capture_sample(8), "0x10000044", "its ELF headers are damaged"),
	   "a damaged file is reported as damaged");
	maker_ehdr(m)->e_phentsize = sizeof(Elf64_Phdr);
	write_file(m->bytes, m->len);
	ok(gives(capture_sample(0), "0x10000044", "more files are mapped than may be kept open"),
	   "a file closed over the limit is not reported as gone");
}

/* What an unwind table would be made of; the file is changed in between, or not. */
static enum unwind_state compiled(const struct elf_maker *m, bool is_changed)
{
	struct capture *c;
	struct mapping map = { .kind = MAPPING_FILE,
			       .start = CODE_START,
			       .end = CODE_START + 4096 };
	struct unwind_files u;
	enum unwind_state state;

	write_file(m->bytes, m->len);
	c = capture_sample(8);
	must(unwind_files_init(&u, &(struct unwind_files_config){ .store = c->world->files }) == 0);
	if (is_changed)
		must(utimensat(AT_FDCWD, path, NULL, 0) == 0);
	must(!unwind_files_ask(&u, &map) && unwind_files_wait(&u, UINT64_MAX));
	state = unwind_files_get(&u, &map)->state;
	unwind_files_done(&u);
	capture_free(c);
	return state;
}

static bool counts(struct capture *c, uint64_t nr_raw, uint64_t nr_fallbacks,
		   enum naming_failure why, uint64_t nr_failures)
{
	struct naming_stats *n = &c->model->naming.stats;
	bool is;

	must(capture_name(c, NULL) == 0);
	is = n->nr_batches == 1 && n->nr_addresses == 1 && n->nr_raw == nr_raw &&
	     n->nr_fallbacks == nr_fallbacks && n->failures[why] == nr_failures &&
	     n->batch_ns[0] > 0;
	if (!is)
		printf("# %lu batches, %lu addresses, %lu raw, %lu fallbacks\n", n->nr_batches,
		       n->nr_addresses, n->nr_raw, n->nr_fallbacks);
	capture_free(c);
	return is;
}

static void test_counts(struct elf_maker *m)
{
	write_file(m->bytes, m->len);
	ok(counts(capture_sample(8), 0, 0, NAMING_NO_SYMBOL, 0), "a resolved address is counted");
	ok(counts(capture_sample(0), 1, 1, NAMING_NO_FILE, 1),
	   "an address whose file cannot be read is raw, with that reason, and a fallback");
}

/* The file has a function at the very number that the sample's address is in memory, but the sample
 * lies where the file has no segment. */
static void test_outside(void)
{
	struct sym_maker *s = calloc(1, sizeof(*s));
	struct elf_maker m;

	must(s);
	maker_init(&m);
	maker_section(&m, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "code", 4);
	sym_add(s, "elsewhere", CODE_START + FUNC, 0x10, STB_GLOBAL, STT_FUNC, 1);
	sym_end(s, &m, SHT_SYMTAB);
	maker_segment(&m, PT_LOAD, PF_R | PF_X, CODE_START, 0x800, 0x100);
	maker_end(&m);
	write_file(m.bytes, m.len);
	ok(gives(capture_sample(8), "0x10000044", NULL),
	   "an address in no segment of the file is raw");
	ok(counts(capture_sample(8), 1, 0, NAMING_NO_SYMBOL, 1),
	   "an address in no segment of the file is counted");
	maker_done(&m);
	free(s);
}

#define KERNEL_PC 0xffffffff81000010
#define BPF_PC 0xffffffffc0000010

static const char *name_of(const struct capture *c, uint64_t address)
{
	const struct profile *p = c->model->profile;

	for (uint32_t i = 0; i < p->nr_locations; i++)
		if (p->locations[i].address == address)
			return profile_str(
				p,
				p->functions[p->lines[p->locations[i].first_line].function].name);
	return "nowhere";
}

static int no_iterator(const struct log *log, int *ret_fd)
{
	return -EOPNOTSUPP;
}

/* A sample in the kernel and one in a BPF program that came and went; then, unless it is NULL, one
 * named next came to its place. */
static struct capture *capture_kernel(const char *kallsyms, const char *next)
{
	struct world_config cfg = { .proc_root = "/proc",
				    .kallsyms_path = path,
				    .open_ksyms = no_iterator,
				    .all = true,
				    .max_fds = 8 };
	struct process_event e = { .type = EVENT_KSYMBOL,
				   .time_ns = 20,
				   .start = BPF_PC,
				   .end = BPF_PC + 0x20,
				   .is_bpf = true,
				   .path = "bpf_prog_1_f" };
	uint64_t pcs[] = { KERNEL_PC, BPF_PC };
	struct capture *c = NULL;

	write_file(kallsyms, strlen(kallsyms));
	must(capture_new(&cfg, NULL, &c) == 0 && capture_event(c, &e) == 0);
	e.path = next;
	must(!next || capture_event(c, &e) == 0);
	for (unsigned int i = 0; i < 2; i++)
		must(replay_sample(c, 100 + i, 2, &pcs[i], 1, NULL, 0,
				   PA_SAMPLE_KERNEL_TASK | PA_SAMPLE_IN_KERNEL,
				   PA_STOP_KERNEL) == 0);
	must(capture_settle(c, true) == 0 && capture_name(c, NULL) == 0);
	return c;
}

static void test_kernel(void)
{
	static const char list[] = "ffffffff81000000 T start\nffffffff81000100 T end\n";
	struct capture *c = capture_kernel(list, NULL);

	ok(!strcmp(name_of(c, KERNEL_PC), "start"), "kernel code is resolved by its list");
	ok(!strcmp(name_of(c, BPF_PC), "bpf_prog_1_f [bpf]"),
	   "a BPF program is resolved by its load event");
	ok(!strcmp(c->model->naming.kernel.source, "/proc/kallsyms") &&
		   c->model->naming.stats.nr_fallbacks == 0,
	   "from '%s'", c->model->naming.kernel.source);
	capture_free(c);
	c = capture_kernel(list, "bpf_prog_2_g");
	ok(!strcmp(name_of(c, KERNEL_PC), "start") && strstr(name_of(c, BPF_PC), "0x") &&
		   c->model->naming.stats.failures[NAMING_REUSED] == 1 &&
		   c->model->naming.stats.nr_raw == 1,
	   "an address that two BPF programs used is raw and counted: %s", name_of(c, BPF_PC));
	capture_free(c);
	c = capture_kernel("0000000000000000 T start\n", NULL);
	ok(!strcmp(name_of(c, KERNEL_PC), "0xffffffff81000010"),
	   "without a list kernel code is raw");
	ok(strstr(c->model->naming.kernel.source, "none: /proc/kallsyms: it shows zeroes") ==
			   c->model->naming.kernel.source &&
		   strstr(c->model->naming.kernel.source,
			  "the kernel's symbol iterator: this kernel has none"),
	   "the reason for missing kernel symbols is reported: %s", c->model->naming.kernel.source);
	ok(c->model->naming.stats.nr_batches == 1 && c->model->naming.stats.nr_fallbacks == 1 &&
		   c->model->naming.stats.failures[NAMING_NO_KERNEL_LIST] ==
			   c->model->naming.stats.nr_raw &&
		   c->model->naming.stats.nr_raw >= 1,
	   "missing kernel symbols are counted");
	capture_free(c);
}

/* What a kind of frame points to may be gone at the end: it has named the place itself. */
static void test_named_before(const struct elf_maker *m)
{
	struct profile_function fn = { .mapping = PROFILE_NONE };
	struct profile_line line = { .line = 7 };
	struct capture *c;
	struct profile *p;

	write_file(m->bytes, m->len);
	c = capture_sample(8);
	p = c->model->profile;
	must(profile_string(p, "told", &fn.name) == 0 &&
	     profile_function(p, &fn, &line.function) == 0);
	must(profile_set_lines(p, 0, &line, 1, true) == 0);
	ok(capture_name(c, NULL) == 0 && p->lines[p->locations[0].first_line].line == 7,
	   "a location that was named before is left as it is");
	ok(c->model->naming.stats.nr_addresses == 1 && c->model->naming.stats.nr_batches == 0,
	   "a location that was named before is counted as named, and no file is read for it");
	capture_free(c);
}

int main(void)
{
	struct sym_maker *s;
	struct elf_maker m;
	int fd;

	if (syscall(SYS_openat2, -1, "", NULL, 0) < 0 && errno == ENOSYS) {
		tap_skip("needs openat2(), which valgrind does not have");
		return tap_done();
	}
	s = calloc(1, sizeof(*s));
	fd = mkstemp(path);
	must(fd >= 0 && s);
	close(fd);
	make_elf(&m, s);
	test_unchanged(&m);
	test_changed(&m);
	test_unreadable(&m);
	test_counts(&m);
	test_outside();
	test_kernel();
	test_named_before(&m);
	ok(compiled(&m, false) == UNWIND_READY,
	   "an unwind table is compiled from an unchanged file");
	ok(compiled(&m, true) == UNWIND_NONE, "no unwind table is compiled from a changed file");
	maker_done(&m);
	unlink(path);
	free(s);
	return tap_done();
}
