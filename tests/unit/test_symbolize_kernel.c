/* SPDX-License-Identifier: Apache-2.0 */
/* Which list the kernel's names come from, and what is kept of it between runs. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dwarf_maker.h"
#include "symbolize/kernel_cache.h"
#include "symbolize/kernel_ranges.h"
#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_kernel.h"
#include "tap.h"

#define CORE 0xffffffff81000000u
#define MODULE 0xffffffffc0000000u
#define BPF 0xffffffffc0100000u
#define NOWHERE 0xffffffffe0000000u

static const char list_text[] = "ffffffff81000000 T start\n"
				"ffffffff81000100 T stop\n"
				"ffffffffc0000000 t probe\t[mod]\n"
				"ffffffffc0100000 t bpf_prog_1_f\t[bpf]\n"
				"ffffffffc0200000 t kprobe_insn_page\t[__builtin__kprobes]\n";
static const char zero_text[] = "0000000000000000 T start\n0000000000000000 t probe\t[mod]\n";

static char dir[] = "/tmp/test_symbolize_kernel.XXXXXX";
static char list_path[2][128], cache_path[128];
static unsigned int nr_opened[2]; /* how often each list was read */
static struct kernel_key key;
static unsigned int nr_keys; /* how often it was asked for */
static bool key_changes;
static struct kernel_outcome outcome;

static void write_file(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "we");

	must(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

static size_t read_file(const char *path, char *to, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n;

	must(f);
	n = fread(to, 1, size, f);
	must(n < size);
	fclose(f);
	return n;
}

static int open_list(unsigned int i, int *ret_fd)
{
	nr_opened[i]++;
	*ret_fd = open(list_path[i], O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

static int open_first(void *ctx, int *ret_fd)
{
	return open_list(0, ret_fd);
}

static int open_second(void *ctx, int *ret_fd)
{
	return open_list(1, ret_fd);
}

static int read_key(void *ctx, struct kernel_key *ret_key)
{
	if (!key.boot_id[0])
		return -ENOENT;
	*ret_key = key;
	ret_key->modules += key_changes ? nr_keys : 0;
	nr_keys++;
	return 0;
}

static const struct kernel_list lists[] = {
	{ 1, "the file", open_first },
	{ 2, "the iterator", open_second },
};

static struct symbolizer *new_kernel_of(unsigned int nr_lists, const struct kernel_ranges *ranges)
{
	struct kernel_sources src = {
		.lists = lists,
		.nr_lists = nr_lists,
		.ranges = ranges,
		.cache_path = cache_path,
		.read_key = read_key,
	};
	struct symbolizer *s = NULL;

	nr_opened[0] = nr_opened[1] = 0;
	must(symbolizer_new_kernel(&src, &s, &outcome) == 0);
	return s;
}

static struct symbolizer *new_kernel(void)
{
	return new_kernel_of(2, NULL);
}

static bool is(struct symbolizer *s, uint64_t addr, const char *name)
{
	struct symbol_result r = { 0 };

	must(s->ops->resolve(s, addr, &r) == 0 && r.nr_frames == 1);
	if (strcmp(r.frames[0].name, name) != 0)
		printf("# 0x%" PRIx64 " is %s, not %s\n", addr, r.frames[0].name, name);
	return strcmp(r.frames[0].name, name) == 0 && r.is_named == !r.is_raw;
}

static bool has_all(struct symbolizer *s)
{
	return is(s, CORE + 0xff, "start") && is(s, CORE + 0x100, "stop") &&
	       is(s, MODULE + 8, "probe [mod]") && is(s, BPF + 8, "bpf_prog_1_f [bpf]");
}

/* A symbolizer that must give all names; whether it read the first list. */
static bool reads_list(void)
{
	struct symbolizer *s = new_kernel();
	bool has_read = nr_opened[0] > 0;

	must(has_all(s));
	symbolizer_free(s);
	return has_read;
}

static void reset(void)
{
	write_file(list_path[0], list_text, strlen(list_text));
	write_file(list_path[1], list_text, strlen(list_text));
	(void)unlink(cache_path);
	key = (struct kernel_key){ .boot_id = "01234567-89ab-cdef-0123-456789abcdef",
				   .modules = 7 };
	key_changes = false;
	nr_keys = 0;
}

static void test_cache(void)
{
	struct symbolizer *s;
	struct stat st;

	reset();
	s = new_kernel();
	ok(nr_opened[0] == 1 && !outcome.is_cached && !strcmp(outcome.source, "the file"),
	   "cache: the first run reads the list: %s", outcome.source);
	ok(has_all(s), "cache: the first run resolves every name");
	symbolizer_free(s);
	must(stat(cache_path, &st) == 0);
	ok((st.st_mode & 0777) == 0600, "cache: the file is private (%o)", st.st_mode & 0777);
	s = new_kernel();
	ok(nr_opened[0] == 0 && outcome.is_cached && !strcmp(outcome.source, "the file (cached)"),
	   "cache: the second run does not read the list: %s", outcome.source);
	ok(is(s, CORE, "start") && is(s, MODULE, "probe [mod]") && nr_opened[0] == 0,
	   "cache: kernel and module symbols come from the cache");
	ok(is(s, BPF + 8, "bpf_prog_1_f [bpf]") && nr_opened[0] == 1,
	   "cache: for a BPF program the list is read again");
	ok(is(s, NOWHERE, "0xffffffffe0000000") && nr_opened[0] == 1, "once");
	symbolizer_free(s);
	write_file(list_path[0], "ffffffff81000000 T start\n", 25);
	s = new_kernel();
	ok(is(s, BPF + 8, "0xffffffffc0100008"),
	   "cache: a BPF program that is gone is not resolved");
	symbolizer_free(s);
}

static void test_key(void)
{
	reset();
	must(reads_list());
	key.boot_id[0] = 'f';
	ok(reads_list(), "cache: not used after another boot");
	key.modules++;
	ok(reads_list(), "cache: not used with other modules");
	key.boot_id[0] = '\0';
	(void)unlink(cache_path);
	ok(reads_list() && access(cache_path, F_OK) < 0, "cache: not written without a boot ID");
	reset();
	key_changes = true;
	ok(reads_list() && access(cache_path, F_OK) < 0,
	   "cache: not written if modules change while the list is read");
}

/* Whether the cache serves the two that it can know, with no look at the list. */
static bool is_served(void)
{
	struct symbolizer *s = new_kernel();
	bool is_it = is(s, CORE, "start") && is(s, MODULE, "probe [mod]") && !nr_opened[0];

	symbolizer_free(s);
	return is_it;
}

static void test_damage(void)
{
	char good[4096], bad[4096];
	size_t n, nr_wrong = 0, nr_used = 0, nr_kept = 0;

	reset();
	must(reads_list() && is_served());
	n = read_file(cache_path, good, sizeof(good));
	for (size_t i = 0; i < n; i++) {
		struct symbolizer *s;

		memcpy(bad, good, n);
		bad[i] = (char)(bad[i] ^ 0x40);
		write_file(cache_path, bad, n);
		must(chmod(cache_path, 0600) == 0);
		s = new_kernel();
		nr_used += !nr_opened[0];
		nr_wrong += !has_all(s);
		symbolizer_free(s);
		nr_kept += !is_served();
	}
	ok(nr_used == 0, "cache: with any of its %zu bytes changed it is not used (%zu)", n,
	   nr_used);
	ok(nr_wrong == 0, "cache: with a corrupt file the names are right");
	ok(nr_kept == 0, "cache: a corrupt file is rewritten");
	nr_used = 0;
	for (size_t i = 0; i < n; i++) {
		write_file(cache_path, good, i);
		must(chmod(cache_path, 0600) == 0);
		nr_used += !reads_list();
	}
	ok(nr_used == 0, "cache: a truncated file is not used");
	memcpy(bad, good, n);
	bad[n] = 0;
	write_file(cache_path, bad, n + 1);
	ok(reads_list(), "cache: a file with an extra byte is not used");
}

static void test_owner(void)
{
	reset();
	must(reads_list() && is_served());
	must(chmod(cache_path, 0666) == 0);
	ok(!is_served(), "cache: a file that others can write to is not used");
	ok(is_served(), "cache: a file that others can write to is replaced");
	must(rename(cache_path, list_path[1]) == 0 && symlink(list_path[1], cache_path) == 0);
	ok(!is_served(), "cache: a link is not followed");
	must(unlink(cache_path) == 0 && mkdir(cache_path, 0700) == 0);
	ok(!is_served() && strstr(outcome.source, "not cached"), "%s", outcome.source);
	must(rmdir(cache_path) == 0);
	if (geteuid() != 0) {
		tap_skip("needs root to give a file away");
		return;
	}
	must(reads_list() && chown(cache_path, 12345, 12345) == 0);
	ok(!is_served(), "cache: a file of another user is not used");
}

static void test_order(void)
{
	struct symbolizer *s;

	reset();
	write_file(list_path[0], zero_text, strlen(zero_text));
	s = new_kernel();
	ok(has_all(s) && outcome.is_fallback, "a list of zeroes: the next source is used: %s",
	   outcome.source);
	ok(strstr(outcome.source, "the iterator; the file: it shows zeroes") == outcome.source,
	   "the reason is reported");
	symbolizer_free(s);
	key.modules++;
	s = new_kernel();
	ok(has_all(s) && nr_opened[0] == 0 && nr_opened[1] == 1,
	   "for the rest of this boot the working source is first");
	symbolizer_free(s);
	s = new_kernel_of(1, NULL);
	ok(nr_opened[0] == 1 && is(s, CORE, "0xffffffff81000000"),
	   "without permission for a source its cache is not used either");
	symbolizer_free(s);
	key.modules++;
	(void)unlink(list_path[1]);
	s = new_kernel();
	ok(nr_opened[1] == 1 && nr_opened[0] == 1 && is(s, CORE, "0xffffffff81000000"),
	   "when the first source fails the others are tried again");
	ok(!strcmp(outcome.source,
		   "none: the file: it shows zeroes (kptr_restrict, or CAP_SYSLOG is "
		   "missing); the iterator: there is none; mount /proc, or use a kernel "
		   "with CONFIG_KALLSYMS"),
	   "if none works all reasons are reported: %s", outcome.source);
	ok(symbolizer_is_raw(s), "if none works addresses are raw");
	symbolizer_free(s);
}

/* Zeroes are recognised without reading them all: what follows is not even looked at. */
/* A BPF program may lie right behind a module, whose last function's end nobody tells. */
static void test_behind_a_module(void)
{
	static const char text[] = "ffffffff81000000 T start\n"
				   "ffffffffc0000f00 t probe\t[mod]\n"
				   "ffffffffc0001000 t bpf_prog_1_f\t[bpf]\n";
	struct symbolizer *s;

	for (int i = 0; i < 2; i++) {
		if (i == 0)
			reset();
		write_file(list_path[0], text, strlen(text));
		s = new_kernel();
		ok(outcome.is_cached == (i > 0) && is(s, MODULE + 0xfff, "probe [mod]") &&
			   nr_opened[0] == (i == 0) && is(s, MODULE + 0x1008, "bpf_prog_1_f [bpf]"),
		   "a program after a module is not the module's, %s the cache",
		   i ? "with" : "without");
		symbolizer_free(s);
	}
}

/* ---- lines ---- */

/* Code at CORE + 0x1000, with lines, and two of the functions by which a kernel is known. */
static struct elf_image *make_vmlinux(struct elf_maker *m, struct sym_maker *syms)
{
	static struct dwarf_maker dwarf;

	make_plain_dwarf(&dwarf);
	make_dwarf_elf(m, &dwarf);
	sym_add(syms, "vfs_read", 0x5000, 0x10, STB_GLOBAL, STT_FUNC, 1);
	sym_add(syms, "kfree", 0x6000, 0x10, STB_GLOBAL, STT_FUNC, 1);
	sym_end(syms, m, SHT_SYMTAB);
	maker_end(m);
	return maker_open(m);
}

/* The line at CORE + 0x1000; and, in *ret_module, at a module's function that is where the file's
 * other() would be. */
static uint32_t line_of(const char *text, const struct elf_image *vmlinux, uint32_t *ret_module)
{
	struct kernel_sources src = {
		.lists = lists, .nr_lists = 1, .vmlinux = vmlinux, .vmlinux_path = "vmlinux"
	};
	struct symbolizer *s = NULL;
	struct symbol_result r;
	uint32_t line;

	write_file(list_path[0], text, strlen(text));
	must(symbolizer_new_kernel(&src, &s, &outcome) == 0);
	must(s->ops->resolve(s, CORE + 0x1100, &r) == 0);
	*ret_module = r.frames[0].line;
	must(s->ops->resolve(s, CORE + 0x1000, &r) == 0);
	line = r.frames[0].line;
	symbolizer_free(s);
	return line;
}

static void test_lines(void)
{
	static const char right[] = "ffffffff81001000 T outer\n"
				    "ffffffff81001100 t probe\t[mod]\n"
				    "ffffffff81005000 T vfs_read\n"
				    "ffffffff81006000 T kfree\n";
	static const char other[] = "ffffffff81001000 T outer\n"
				    "ffffffff81005010 T vfs_read\n"
				    "ffffffff81006000 T kfree\n";
	struct sym_maker *syms = calloc(1, sizeof(*syms));
	struct elf_image *vmlinux;
	struct elf_maker m;
	uint32_t in_module;

	must(syms);
	vmlinux = make_vmlinux(&m, syms);
	ok(line_of(right, vmlinux, &in_module) == 10, "vmlinux gives lines");
	ok(in_module == 0, "vmlinux gives no lines for modules");
	ok(line_of(other, vmlinux, &in_module) == 0,
	   "a vmlinux whose functions have other distances is not used");
	elf_image_free(vmlinux);
	maker_done(&m);
	free(syms);
}

static void test_zeroes_end_early(void)
{
	static char text[30 * 20000];
	size_t n = 0;
	struct symbolizer *s;

	reset();
	for (int i = 0; i < 19000; i++)
		n += (size_t)sprintf(text + n, "0000000000000000 t zero\n");
	n += (size_t)sprintf(text + n, "ffffffff81000000 T late\n");
	write_file(list_path[0], text, n);
	s = new_kernel_of(1, NULL);
	ok(is(s, CORE, "0xffffffff81000000") && strstr(outcome.source, "zeroes"),
	   "a list that begins with thousands of zeroes is not read to its end");
	symbolizer_free(s);
}

/* True if exactly those addresses are known, by that name; "": by none. */
static bool has_name(const struct kernel_ranges *k, uint64_t start, uint64_t size_bytes,
		     const char *name)
{
	const char *found;

	for (uint64_t a = start; a < start + size_bytes; a++)
		if (!kernel_ranges_find(k, a, &found) || strcmp(found ? found : "", name) != 0)
			return false;
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t a = i ? start + size_bytes : start - 1;

		if (kernel_ranges_find(k, a, &found) && !strcmp(found ? found : "", name))
			return false;
	}
	return true;
}

static void test_reused_range(void)
{
	struct symbol_result r = { 0 };
	struct kernel_ranges k;
	struct symbolizer *s;

	kernel_ranges_init(&k);
	reset();
	must(kernel_ranges_add(&k, BPF, 0x40, "first [bpf]") == 0);
	must(kernel_ranges_add(&k, BPF, 0x40, "first [bpf]") == 0); /* and is unloaded */
	ok(has_name(&k, BPF, 0x40, "first [bpf]") && k.nr == 1 && k.names.len == 12,
	   "reused: a program reported twice is the same");
	must(kernel_ranges_add(&k, BPF + 0x10, 0x10, "second [bpf]") == 0);
	ok(has_name(&k, BPF, 0x10, "first [bpf]") && has_name(&k, BPF + 0x10, 0x10, "") &&
		   has_name(&k, BPF + 0x20, 0x20, "first [bpf]"),
	   "reused: where two programs were in turn, neither is meant");
	must(kernel_ranges_add(&k, BPF - 0x10, 0x60, "third [bpf]") == 0);
	ok(has_name(&k, BPF - 0x10, 0x10, "third [bpf]") && has_name(&k, BPF, 0x40, "") &&
		   has_name(&k, BPF + 0x40, 0x10, "third [bpf]"),
	   "reused: of three programs none is meant; what only one had is its own");
	must(kernel_ranges_add(&k, BPF, 0x40, "first [bpf]") == 0);
	ok(has_name(&k, BPF, 0x40, ""), "reused: this holds to the end");
	s = new_kernel_of(2, &k);
	must(s->ops->resolve(s, BPF + 0x18, &r) == 0);
	ok(r.is_raw && r.is_reused && !r.is_named && s->missing == WHY_KERNEL_REUSED,
	   "reused: such an address is raw, even if the list has a name for it, with the reason");
	ok(is(s, BPF + 0x48, "third [bpf]") && is(s, CORE, "start"),
	   "reused: other addresses are resolved");
	symbolizer_free(s);
	kernel_ranges_done(&k);
}

static void test_full_ranges(void)
{
	struct kernel_ranges k;
	int r = 0;

	kernel_ranges_init(&k);
	for (uint64_t i = 0; r == 0; i++)
		r = kernel_ranges_add(&k, BPF + i * 0x40, 0x40, "many [bpf]");
	must(has_name(&k, BPF, (uint64_t)k.nr * 0x40, "many [bpf]"));
	ok(r == -E2BIG && kernel_ranges_add(&k, BPF + 0x40, 0x40, "more [bpf]") == -E2BIG &&
		   has_name(&k, BPF + 0x40, 0x40, ""),
	   "reused: of two programs, the second without room, neither is meant");
	kernel_ranges_done(&k);
}

static void test_ranges(void)
{
	struct kernel_ranges k;
	struct symbolizer *s;

	kernel_ranges_init(&k);
	reset();
	must(kernel_ranges_add(&k, BPF, 0x40, "new [bpf]") == 0);
	must(kernel_ranges_add(&k, NOWHERE, 0x100, "gone [bpf]") == 0);
	s = new_kernel_of(2, &k);
	ok(is(s, BPF + 0x3f, "new [bpf]"), "code loaded meanwhile is resolved by its event");
	ok(is(s, BPF + 0x40, "bpf_prog_1_f [bpf]"),
	   "code loaded meanwhile is resolved up to its end");
	ok(is(s, NOWHERE + 1, "gone [bpf]"),
	   "code loaded meanwhile is resolved after it was unloaded");
	symbolizer_free(s);
	must(kernel_ranges_add(&k, BPF - 0x1000, 0x10, "below [bpf]") == 0);
	ok(has_name(&k, BPF - 0x1000, 0x10, "below [bpf]") && has_name(&k, BPF, 0x40, "new [bpf]"),
	   "ranges may come in any order");
	ok(kernel_ranges_add(&k, UINT64_MAX, 2, "x") == -EINVAL &&
		   kernel_ranges_add(&k, BPF, 0, "x") == -EINVAL,
	   "an invalid range is refused");
	kernel_ranges_done(&k);
}

/* Writers and readers of one cache in several processes: whoever reads finds it whole. */
static void test_two_at_once(void)
{
	int status, nr_bad = 0;

	reset();
	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			bool good = true;

			for (unsigned int k = 0; k < 200 && good; k++) {
				struct symbolizer *s;

				key.modules = (k + (unsigned int)i) / 2 % 2;
				s = new_kernel();
				good = is(s, CORE, "start") && is(s, MODULE, "probe [mod]");
				symbolizer_free(s);
			}
			_exit(!good || strstr(outcome.source, "not cached"));
		}
	while (wait(&status) > 0)
		nr_bad += status != 0;
	ok(nr_bad == 0, "four processes share a cache that changes all the time");
	must(!reads_list() || is_served());
	ok(is_served(), "four processes leave a valid cache behind");
}

int main(void)
{
	must(mkdtemp(dir));
	for (int i = 0; i < 2; i++)
		snprintf(list_path[i], sizeof(list_path[i]), "%s/list%d", dir, i);
	snprintf(cache_path, sizeof(cache_path), "%s/cache", dir);
	test_cache();
	test_key();
	test_damage();
	test_owner();
	test_order();
	test_behind_a_module();
	test_lines();
	test_zeroes_end_early();
	test_ranges();
	test_reused_range();
	test_full_ranges();
	test_two_at_once();
	for (int i = 0; i < 2; i++)
		(void)unlink(list_path[i]);
	(void)unlink(cache_path);
	must(rmdir(dir) == 0);
	return tap_done();
}
