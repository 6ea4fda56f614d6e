/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_kernel.h"
#include "tap.h"

#define MANY 200000

static char path[] = "/tmp/test_kallsyms.XXXXXX";
static struct kernel_outcome outcome;
static const char *source = outcome.source;

static int open_path(void *ctx, int *ret_fd)
{
	*ret_fd = open(ctx, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

static int new_kernel(char *list_path, struct symbolizer **ret)
{
	static const struct kernel_list list = { 1, "/proc/kallsyms", open_path };
	struct kernel_sources src = { .lists = &list, .nr_lists = 1, .ctx = list_path };

	return symbolizer_new_kernel(&src, ret, &outcome);
}

static void write_file(const char *text, size_t n)
{
	FILE *f = fopen(path, "w");

	must(f && fwrite(text, 1, n, f) == n && fclose(f) == 0);
}

static struct symbolizer *kernel(const char *text)
{
	struct symbolizer *s = NULL;

	write_file(text, strlen(text));
	must(new_kernel(path, &s) == 0);
	return s;
}

static bool is(struct symbolizer *s, uint64_t addr, const char *name)
{
	struct symbol_result r = { 0 };

	must(s->ops->resolve(s, addr, &r) == 0 && r.nr_frames == 1);
	if (strcmp(r.frames[0].name, name) != 0)
		printf("# 0x%" PRIx64 " is %s, not %s\n", addr, r.frames[0].name, name);
	return strcmp(r.frames[0].name, name) == 0 && r.is_named == (strncmp(name, "0x", 2) != 0);
}

static void test_ranges(void)
{
	struct symbolizer *s = kernel("ffffffff81000000 T _text\n"
				      "ffffffff81000100 t helper\n"
				      "ffffffff81000200 D data\n"
				      "ffffffff81000300 W weak\n"
				      "ffffffff81000400 w also_weak\n");

	ok(strcmp(source, "/proc/kallsyms") == 0, "the source is named");
	ok(is(s, 0xffffffff80ffffff, "0xffffffff80ffffff"),
	   "below the first symbol an address is raw");
	ok(is(s, 0xffffffff81000000, "_text"), "the first address of a symbol is resolved");
	ok(is(s, 0xffffffff810000ff, "_text"),
	   "the last address before the next symbol is resolved");
	ok(is(s, 0xffffffff81000100, "helper"), "the next symbol is resolved");
	ok(is(s, 0xffffffff81000250, "helper"), "data symbols do not name code");
	ok(is(s, 0xffffffff81000300, "weak"), "weak symbols name code");
	ok(is(s, 0xffffffff81001fff, "also_weak"), "the last symbol extends into the next page");
	ok(is(s, 0xffffffff81002000, "0xffffffff81002000"), "the last symbol extends no further");
	ok(is(s, 0x1000, "0x1000"), "an address of user space is raw");
	symbolizer_free(s);
}

static void test_holes(void)
{
	struct symbolizer *s = kernel("ffffffff81000000 T _text\n"
				      "ffffffffc0000000 t bpf_prog_1_f\t[bpf]\n"
				      "ffffffffc0100000 t bpf_prog_2_f\t[bpf]\n");

	ok(is(s, 0xffffffffc003ffff, "bpf_prog_1_f [bpf]"), "a function may be long");
	ok(is(s, 0xffffffffc0040000, "0xffffffffc0040000"),
	   "a function does not extend over a large gap");
	symbolizer_free(s);
}

static void test_modules_and_order(void)
{
	struct symbolizer *s = kernel("ffffffff81000000 T start\n"
				      "ffffffffc0002000 t late\t[mod_b]\n"
				      "ffffffffc0001000 t early\t[mod_a]\n"
				      "ffffffffc0003000 t bpf_prog_6deef7357e7b4530_f\t[bpf]\n"
				      "ffffffffc0004000 t _RNvC3foo3bar\t[rust_mod]\n"
				      "ffffffff81000100 T stop\n");
	struct symbol_result r;

	ok(is(s, 0xffffffffc0001800, "early [mod_a]"), "a module's function has its module");
	ok(is(s, 0xffffffffc0002800, "late [mod_b]"), "lines need not be in order");
	ok(is(s, 0xffffffffc0003001, "bpf_prog_6deef7357e7b4530_f [bpf]"),
	   "BPF programs are named");
	ok(is(s, 0xffffffff81000001, "start"), "functions of the core have no module");
	ok(is(s, 0xffffffffc0004001, "foo::bar [rust_mod]"), "Rust in the kernel is demangled");
	must(s->ops->resolve(s, 0xffffffffc0004001, &r) == 0);
	ok(strcmp(r.frames[0].system_name, "_RNvC3foo3bar [rust_mod]") == 0,
	   "a demangled symbol keeps its raw name");
	symbolizer_free(s);
}

static void test_aliases(void)
{
	struct symbolizer *s = kernel("ffffffff81000000 T first\n"
				      "ffffffff81000000 T last_global\n"
				      "ffffffff81000000 t local\n"
				      "ffffffff81000000 W weak\n"
				      "ffffffff81000100 t one\n"
				      "ffffffff81000100 t two\n");

	ok(is(s, 0xffffffff81000000, "last_global"), "the last global alias is shown");
	ok(is(s, 0xffffffff81000100, "two"), "without a global alias the last local one is shown");
	symbolizer_free(s);
	s = kernel("ffffffff81000100 t one\n"
		   "ffffffff81000000 T first\n"
		   "ffffffff81000000 t local\n"
		   "ffffffff81000000 T last_global\n"
		   "ffffffff81000000 W weak\n"
		   "ffffffff81000100 t two\n");
	ok(is(s, 0xffffffff81000000, "last_global") && is(s, 0xffffffff81000100, "two"),
	   "aliases are chosen the same way if the file had to be sorted");
	symbolizer_free(s);
}

static void test_nothing_to_use(void)
{
	struct symbolizer *s = kernel("0000000000000000 T _text\n0000000000000000 t f\t[m]\n");

	ok(strstr(source, "none: ") == source && strstr(source, "zeroes"), "zeroes: %s", source);
	ok(is(s, 0xffffffff81000000, "0xffffffff81000000"), "without addresses all is raw");
	ok(s->missing == WHY_KERNEL_ZEROES, "without addresses the fix is reported: %s",
	   symbol_why_text(s->missing).advice);
	symbolizer_free(s);
	s = kernel("");
	ok(strstr(source, "none: ") == source, "an empty file: %s", source);
	symbolizer_free(s);
	must(new_kernel((char[]){ "/nonexistent/kallsyms" }, &s) == 0);
	ok(strstr(source, "none: /proc/kallsyms: there is none") == source, "no file: %s", source);
	ok(is(s, 0x10, "0x10"), "without a file all is raw");
	symbolizer_free(s);
	must(new_kernel((char[]){ "/" }, &s) == 0);
	ok(strstr(source, "none: ") == source, "a directory: %s", source);
	symbolizer_free(s);
}

static void test_odd_lines(void)
{
	struct symbolizer *s = kernel("\n\nnonsense\nffffffff81000000\nffffffff81000000 T\n"
				      "ffffffff81000000 T \nffffffff81000000 TT x\n"
				      "fffffffff81000000 T seventeen\nG T g\n"
				      "ffffffff81000010 T good\nffffffff81000020 T unended");

	ok(is(s, 0xffffffff81000000, "0xffffffff81000000"), "lines of another format are skipped");
	ok(is(s, 0xffffffff81000010, "good"), "lines between them are read");
	ok(is(s, 0xffffffff81000020, "unended"), "a last line without a newline is read");
	symbolizer_free(s);
}

static void test_line_longer_than_a_read(void)
{
	/* Its length is that of the read buffer, so that what stands behind it is a line of its own
	 * for a reader that forgets. */
	static const char after[] = "ffffffff81000014 T no\nffffffff81000020 T after\n";
	size_t long_bytes = 256u << 10;
	char *text = malloc(long_bytes + sizeof(after));
	struct symbolizer *s;

	must(text);
	memset(text, 'x', long_bytes);
	memcpy(text, "ffffffff81000010 T ", 19);
	memcpy(text + long_bytes, after, sizeof(after));
	s = kernel(text);
	ok(is(s, 0xffffffff81000018, "0xffffffff81000018"), "a line that is too long is skipped");
	ok(is(s, 0xffffffff81000020, "after"), "the line after it is read");
	symbolizer_free(s);
	free(text);
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void test_many_lines(void)
{
	FILE *f = fopen(path, "w");
	struct symbolizer *s;
	double before;

	must(f);
	for (int i = 0; i < MANY; i++) /* every other line out of order */
		fprintf(f, "%016" PRIx64 " t some_function_%d\t[module_%d]\n",
			0xffffffff81000000 + 16 * (uint64_t)(i ^ 1), i ^ 1, i % 100);
	must(fclose(f) == 0);
	before = cpu_s();
	must(new_kernel(path, &s) == 0);
	/* The budget is 60 ms for 100,000 lines; under a sanitizer or valgrind it takes longer. */
	printf("# %d lines took %.1f ms\n", MANY, 1e3 * (cpu_s() - before));
	ok(is(s, 0xffffffff81000000 + 16ull * 123456 + 15, "some_function_123456 [module_57]"),
	   "one of %d lines is found", MANY);
	symbolizer_free(s);
}

int main(void)
{
	int fd = mkstemp(path);

	must(fd >= 0);
	close(fd);
	test_ranges();
	test_holes();
	test_modules_and_order();
	test_aliases();
	test_nothing_to_use();
	test_odd_lines();
	test_line_longer_than_a_read();
	test_many_lines();
	unlink(path);
	return tap_done();
}
