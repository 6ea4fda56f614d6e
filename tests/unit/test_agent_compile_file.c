/* SPDX-License-Identifier: Apache-2.0 */
/* What a table is made of: the file itself, its separate debug file, and a file that stays as it is. */
#include "agent/compile_file.h"

#include <zlib.h>

#include "agent/debug_search.h"
#include "bare_maker.h"
#include "base/clock.h"
#include "fake_proc.h"

#define RSP 7

struct world {
	struct fake root;
	struct file file;
	struct rule_dict dict;
	struct compiled_file made;
};

static void begin(struct world *w)
{
	*w = (struct world){ .file.fd = -1 };
	fake_init(&w->root);
	must(rule_dict_init(&w->dict) == 0);
}

static void open_prog(struct world *w)
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
static pa_rule compile(struct world *w, uint64_t addr)
{
	struct debug_query where = { .procfs = &w->root.procfs,
				     .fd = -1,
				     .path = w->file.path,
				     .root = w->root.procfs.fd,
				     .own_root = -1 };

	compiled_file_done(&w->made);
	compile_file(&w->file, &where, NULL, &w->dict, &w->made);
	return w->made.table ? unwind_table_find(w->made.table, &w->dict, addr) : PA_RULE_WORD_NONE;
}

static void end(struct world *w)
{
	compiled_file_done(&w->made);
	rule_dict_done(&w->dict);
	close(w->file.fd);
	fake_done(&w->root);
}

static void test_separate(void)
{
	struct world w;

	begin(&w);
	bare_write(&w.root, "prog", BARE_BUILD_ID);
	open_prog(&w);
	ok(compile(&w, CODE) == PA_RULE_WORD_NONE, "without any rules there is no table");
	ok(w.made.nr_loads == 1, "but its code is known");
	bare_write_debug(&w.root, "\xab\xcd\xee", 32);
	ok(compile(&w, CODE) == PA_RULE_WORD_NONE, "nor with another program's debug file");
	bare_write_debug(&w.root, BARE_BUILD_ID, 32);
	ok(compile(&w, CODE + 0x800) == rule_reg(RSP, 32), "the debug file of the build-id counts");
	end(&w);
}

/* Its debuglink leads to prog.debug beside it, whose checksum is right. */
static void write_linked(struct world *w, const char *build_id)
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
	struct world w;

	begin(&w);
	write_linked(&w, BARE_BUILD_ID);
	ok(compile(&w, CODE) == rule_reg(RSP, 32), "a debuglink leads to one with the build-id");
	write_linked(&w, NULL);
	ok(compile(&w, CODE) == PA_RULE_WORD_NONE, "no file is read to its end for its checksum");
	end(&w);
}

/* A program with .eh_frame for so much of its code. */
static void write_covered(struct world *w, uint64_t start, uint64_t size)
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
	struct world w;

	begin(&w);
	bare_write_debug(&w.root, BARE_BUILD_ID, 32);
	write_covered(&w, CODE, 0x100);
	ok(compile(&w, CODE) == rule_reg(RSP, 16), "what the program says itself counts first");
	ok(compile(&w, CODE + 0x100) == rule_reg(RSP, 32), "the debug file where it is silent");
	write_covered(&w, CODE, 0xc00);
	ok(compile(&w, CODE + 0xc00) == PA_RULE_WORD_NONE,
	   "with rules for three quarters of the code nothing is looked for");
	write_covered(&w, CODE, 0xbf0);
	ok(compile(&w, CODE + 0xc00) == rule_reg(RSP, 32), "with less it is");
	end(&w);
}

static void test_changed(void)
{
	char path[PATH_MAX];
	struct world w;

	begin(&w);
	write_covered(&w, CODE, BARE_BYTES);
	ok(compile(&w, CODE) == rule_reg(RSP, 16) && !w.made.was_changed, "a file at rest");
	must(truncate(fake_path(&w.root, "prog", path), (off_t)w.file.size + 1) == 0);
	ok(compile(&w, CODE) == PA_RULE_WORD_NONE && w.made.was_changed,
	   "one that was written to since it was opened has no table");
	end(&w);
}

/* 256 MiB of code and 256 MiB to look for Go's table in, of which nothing is stored. */
static void write_sparse(struct world *w)
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
	struct debug_query where = { .fd = -1, .path = "/prog" };
	uint64_t began_ns, cpu_ns;
	struct world w;

	begin(&w);
	write_sparse(&w);
	began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	(void)compile(&w, CODE);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	ok(w.made.end == WORK_OVER_BYTES && !w.made.table, "a file made of holes is given up");
	ok(cpu_ns < NS_PER_S / 2, "... early: %lu us of CPU time", (unsigned long)(cpu_ns / 1000));
	compiled_file_done(&w.made);
	write_covered(&w, CODE, BARE_BYTES);
	compile_file(&w.file, &where, &cancel, &w.dict, &w.made);
	ok(w.made.end != WORK_OVER_BYTES, "an honest one is not");
	compiled_file_done(&w.made);
	write_sparse(&w);
	compile_file(&w.file, &where, &cancel, &w.dict, &w.made);
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
