/* SPDX-License-Identifier: Apache-2.0 */
/* What a table is made of: the file itself, its separate debug file, and a file that stays as it is. */
#include "stacks/compile_job.h"

#include <zlib.h>

#include "bare_maker.h"
#include "base/clock.h"
#include "debugfiles/debug_search.h"
#include "fake_proc.h"

#define RSP 7

struct test_world {
	struct fake root;
	struct file file;
	struct rule_dict dict;
	struct compiled_file made;
};

static void begin(struct test_world *w)
{
	*w = (struct test_world){ .file.fd = -1 };
	fake_init(&w->root);
	must(rule_dict_init(&w->dict) == 0);
}

static void open_prog(struct test_world *w)
{
	char path[PATH_MAX];
	struct stat st;

	if (w->file.fd >= 0)
		close(w->file.fd);
	w->file.fd = open(fake_path(&w->root, "prog", path), O_RDONLY | O_CLOEXEC);
	must(w->file.fd >= 0 && fstat(w->file.fd, &st) == 0);
	w->file.path = "/prog";
	w->file.dev = st.st_dev;
	w->file.ino = st.st_ino;
	w->file.mtime_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
	w->file.size = (uint64_t)st.st_size;
}

/* The rule for an address of the program as it is now. */
static pa_rule compile(struct test_world *w, uint64_t addr)
{
	struct debug_query where = { .procfs = &w->root.procfs,
				     .fd = -1,
				     .path = w->file.path,
				     .root = w->root.procfs.fd,
				     .own_root = -1 };

	struct compile_job job = compile_job_of_file(&w->file);

	compiled_file_done(&w->made);
	rule_dict_done(&w->dict);
	must(rule_dict_init(&w->dict) == 0);
	must(compile_job_do(&job, &where, NULL, &w->dict, &w->made) == 0);
	return w->made.table ? unwind_table_find(w->made.table, &w->dict, addr) : PA_RULE_WORD_NONE;
}

static void end(struct test_world *w)
{
	compiled_file_done(&w->made);
	rule_dict_done(&w->dict);
	close(w->file.fd);
	fake_done(&w->root);
}

static void test_separate(void)
{
	struct test_world w;

	begin(&w);
	bare_write(&w.root, "prog", BARE_BUILD_ID);
	open_prog(&w);
	ok(compile(&w, CODE) == PA_RULE_WORD_NONE, "a file without any CFI has no table");
	ok(w.made.nr_loads == 1, "a file without any CFI still has its code ranges");
	bare_write_debug(&w.root, "\xab\xcd\xee", 32);
	ok(compile(&w, CODE) == PA_RULE_WORD_NONE, "another program's debug file gives no table");
	bare_write_debug(&w.root, BARE_BUILD_ID, 32);
	ok(compile(&w, CODE + 0x800) == rule_reg(RSP, 32),
	   "the debug file with the right build-id gives a table");
	end(&w);
}

/* Its debuglink leads to prog.debug beside it, whose checksum is right. */
static void write_linked(struct test_world *w, const char *build_id)
{
	char link[16] = "prog.debug";
	struct elf_maker m;
	uint32_t crc;

	bare_debug(&m, build_id, 32);
	maker_end(&m);
	crc = (uint32_t)crc32_z(0, m.bytes, m.len);
	fake_write_bytes(&w->root, "prog.debug", m.bytes, m.len);
	maker_done(&m);
	bare_begin(&m, build_id);
	bare_code(&m);
	memcpy(link + 12, &crc, 4);
	maker_section(&m, ".gnu_debuglink", SHT_PROGBITS, 0, link, sizeof(link));
	bare_end(&m, &w->root, "prog");
	open_prog(w);
}

static void test_link(void)
{
	struct test_world w;

	begin(&w);
	write_linked(&w, BARE_BUILD_ID);
	ok(compile(&w, CODE) == rule_reg(RSP, 32), "a debuglink leads to a file with the build-id");
	write_linked(&w, NULL);
	ok(compile(&w, CODE) == PA_RULE_WORD_NONE, "no file is read to its end for its checksum");
	end(&w);
}

/* A program with .eh_frame for so much of its code. */
static void write_covered(struct test_world *w, uint64_t start, uint64_t size)
{
	struct elf_maker m;

	bare_begin(&m, BARE_BUILD_ID);
	bare_code(&m);
	bare_frames(&m, false, start, size, 16);
	bare_end(&m, &w->root, "prog");
	open_prog(w);
}

static void test_partial(void)
{
	struct test_world w;

	begin(&w);
	bare_write_debug(&w.root, BARE_BUILD_ID, 32);
	write_covered(&w, CODE, 0x100);
	ok(compile(&w, CODE) == rule_reg(RSP, 16), "the program's own CFI comes first");
	ok(compile(&w, CODE + 0x100) == rule_reg(RSP, 32), "the debug file's CFI fills the gaps");
	write_covered(&w, CODE, 0xc00);
	ok(compile(&w, CODE + 0xc00) == PA_RULE_WORD_NONE,
	   "with CFI for three quarters of the code no debug file is looked for");
	write_covered(&w, CODE, 0xbf0);
	ok(compile(&w, CODE + 0xc00) == rule_reg(RSP, 32),
	   "with CFI for less of the code a debug file is looked for");
	end(&w);
}

static void test_changed(void)
{
	char path[PATH_MAX];
	struct test_world w;

	begin(&w);
	write_covered(&w, CODE, BARE_BYTES);
	ok(compile(&w, CODE) == rule_reg(RSP, 16) && !w.made.was_changed,
	   "an unchanged file has a table");
	must(truncate(fake_path(&w.root, "prog", path), (off_t)w.file.size + 1) == 0);
	ok(compile(&w, CODE) == PA_RULE_WORD_NONE && w.made.was_changed,
	   "a file written to since it was opened has no table");
	end(&w);
}

/* 256 MiB of code and 256 MiB to look for Go's table in, of which nothing is stored. */
static void write_sparse(struct test_world *w)
{
	uint64_t hole_bytes = 256ull << 20;
	struct elf_maker m;
	char path[PATH_MAX];
	unsigned int i;

	bare_begin(&m, NULL);
	maker_section(&m, ".go.buildinfo", SHT_PROGBITS, SHF_ALLOC, "go", 2);
	i = maker_section(&m, ".data.rel.ro", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, NULL, 0);
	m.shdrs[i].sh_offset = 1 << 20;
	m.shdrs[i].sh_size = hole_bytes;
	maker_segment(&m, PT_LOAD, PF_R | PF_X, CODE, (1 << 20) + hole_bytes, hole_bytes);
	bare_frames(&m, false, CODE, 64, 16);
	bare_end(&m, &w->root, "prog");
	must(truncate(fake_path(&w->root, "prog", path), (off_t)((1 << 20) + 2 * hole_bytes)) == 0);
	open_prog(w);
}

static bool is_asked(const void *ctx)
{
	return true;
}

static void test_limits(void)
{
	struct cancel cancel = { is_asked, NULL };
	uint64_t began_ns, cpu_ns;
	struct test_world w;

	begin(&w);
	write_sparse(&w);
	began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	(void)compile(&w, CODE);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	ok(w.made.end == WORK_OVER_BYTES && !w.made.table, "a file made of holes is abandoned");
	ok(cpu_ns < NS_PER_S / 2, "a file made of holes is abandoned early: %lu us of CPU time",
	   (unsigned long)(cpu_ns / 1000));
	compiled_file_done(&w.made);
	write_covered(&w, CODE, BARE_BYTES);
	compile_file(&w.file, -1, &cancel, &w.dict, &w.made);
	ok(w.made.end != WORK_OVER_BYTES, "an honest file is not abandoned");
	compiled_file_done(&w.made);
	write_sparse(&w);
	compile_file(&w.file, -1, &cancel, &w.dict, &w.made);
	ok(w.made.end == WORK_CANCELLED && !w.made.table, "compiling can be cancelled");
	end(&w);
}

int main(void)
{
	test_limits();
	test_changed();
	if (!fake_can_look_into_roots())
		return tap_done();
	test_separate();
	test_link();
	test_partial();
	return tap_done();
}
