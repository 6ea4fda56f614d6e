/* SPDX-License-Identifier: Apache-2.0 */
/* Small files whose units share what they refer to, so that reading it for each would take forever. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "dwarf/internal.h"
#include "elf_maker.h"

#define CODE 0x1000u
#define MAX_CPU_NS (NS_PER_S / 2) /* all of them took seconds to minutes */

/* ./check says so where valgrind or the sanitizers make everything ten times as slow, or more. */
static uint64_t max_cpu_ns(void)
{
	return getenv("PERFAGENT_TEST_QUICK") ? 10 * MAX_CPU_NS : MAX_CPU_NS;
}

struct bytes {
	uint8_t data[400u << 10];
	size_t len;
};

static struct bytes info, abbrev, ranges;
static struct elf_maker elf;

static void put(struct bytes *b, uint64_t v, size_t n)
{
	must(b->len + n <= sizeof(b->data));
	memcpy(b->data + b->len, &v, n);
	b->len += n;
}

static void put_uleb(struct bytes *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		put(b, (v & 0x7f) | 0x80, 1);
	put(b, v, 1);
}

/* An entry without children, with the first of these attributes. */
static void put_abbrev(uint64_t code, const uint8_t *attrs, size_t n)
{
	put_uleb(&abbrev, code);
	put(&abbrev, DW_TAG_compile_unit, 2); /* the tag and no children */
	for (size_t i = 0; i < n; i++)
		put_uleb(&abbrev, attrs[i]);
	put(&abbrev, 0, 2);
}

static void put_unit_head(uint32_t die_bytes, uint32_t abbrev_offset)
{
	put(&info, 7 + die_bytes, 4);
	put(&info, 4, 2);
	put(&info, abbrev_offset, 4);
	put(&info, 8, 1);
}

static const uint8_t one_range[] = { DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4 };

/* A unit of one entry, which covers 16 bytes. */
static void put_unit(uint64_t code, uint32_t abbrev_offset)
{
	struct bytes *die = &ranges; /* only for its length */
	size_t before = die->len, n;

	put_uleb(die, code);
	n = die->len - before;
	die->len = before;
	put_unit_head((uint32_t)n + 12, abbrev_offset);
	put_uleb(&info, code);
	put(&info, CODE, 8);
	put(&info, 16, 4);
}

static void begin(void)
{
	info.len = abbrev.len = ranges.len = 0;
	maker_init(&elf);
	maker_segment(&elf, PT_LOAD, PF_R | PF_X, CODE, 0, 0)->p_memsz = 0x1000;
}

static void end_sections(void)
{
	maker_section(&elf, ".debug_info", SHT_PROGBITS, 0, info.data, info.len);
	maker_section(&elf, ".debug_abbrev", SHT_PROGBITS, 0, abbrev.data, abbrev.len);
	if (ranges.len)
		maker_section(&elf, ".debug_ranges", SHT_PROGBITS, 0, ranges.data, ranges.len);
	maker_end(&elf);
}

static int nr_opened;

/* One .dwo file, whatever its name, and no .dwp. */
static void supply_dwo(struct dwarf *d, const char *path)
{
	if (!dwarf_needed_path(d)) {
		dwarf_supply(d, -ENOENT);
		return;
	}
	nr_opened++;
	dwarf_supply(d, open(path, O_RDONLY | O_CLOEXEC));
}

/* Opens the file, with the .dwo file that it asks for, and measures the CPU time. */
static int open_timed(const char *dwo_path, struct dwarf_losses *ret_losses, uint64_t *ret_cpu_ns)
{
	static struct dwarf_frame frames[DWARF_MAX_FRAMES];
	uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct dwarf_files files = { .has_split_files = dwo_path };
	uint32_t nr;
	struct dwarf *d = NULL;
	struct elf_image *img;
	int r;

	end_sections();
	img = maker_open(&elf);
	files.image = files.debug = img;
	r = dwarf_open(&files, &d);
	while (r == 0 && dwarf_resolve(d, UINT64_MAX, frames, &nr) == -EAGAIN)
		supply_dwo(d, dwo_path);
	*ret_losses = d ? *dwarf_losses(d) : (struct dwarf_losses){ 0 };
	*ret_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	dwarf_free(d);
	elf_image_free(img);
	maker_done(&elf);
	return r;
}

static void judge(const char *what, bool should_be_over)
{
	struct dwarf_losses losses;
	uint64_t cpu_ns;
	int r = open_timed(NULL, &losses, &cpu_ns);
	bool is_over = r == -E2BIG || losses.is_over_budget;

	ok(cpu_ns < max_cpu_ns(), "%s: %lu us of CPU time", what, (unsigned long)(cpu_ns / 1000));
	ok(is_over == should_be_over, "%s: %s", what,
	   should_be_over ? "it says that this was over the limits"
			  : "a file within the limits is read completely");
}

static void make_table(uint64_t nr)
{
	for (uint64_t i = 1; i < nr; i++)
		put_abbrev(i, NULL, 0);
	put_abbrev(nr, one_range, sizeof(one_range));
}

static void test_shared_table(void)
{
	begin();
	make_table(30000);
	for (int i = 0; i < 9000; i++)
		put_unit(30000, 0);
	judge("9,000 units and one table of 30,000 abbreviations", false);
	begin();
	make_table(30000);
	for (uint32_t i = 0; i < 9000; i++)
		put_unit(30000, 7 * i);
	judge("9,000 units and tables within one another", true);
}

static void test_shared_ranges(void)
{
	static const uint8_t attrs[] = { DW_AT_ranges, DW_FORM_sec_offset };

	begin();
	put_abbrev(1, attrs, sizeof(attrs));
	for (int i = 0; i < 20000; i++) {
		put(&ranges, CODE, 8);
		put(&ranges, CODE + 16, 8);
	}
	put(&ranges, 0, 8);
	put(&ranges, 0, 8);
	for (int i = 0; i < 9000; i++) {
		put_unit_head(5, 0);
		put(&info, 1, 1);
		put(&info, 0, 4);
	}
	judge("9,000 units and one list of 20,000 ranges", true);
}

/* Attributes without bytes cost the entry nothing. */
static void test_empty_attributes(void)
{
	begin();
	put_uleb(&abbrev, 1);
	put(&abbrev, DW_TAG_compile_unit | 1 << 8, 2);
	put_uleb(&abbrev, DW_AT_stmt_list);
	put_uleb(&abbrev, DW_FORM_sec_offset);
	put(&abbrev, 0, 2);
	put_uleb(&abbrev, 2);
	put(&abbrev, DW_TAG_subprogram, 2);
	for (int i = 0; i < 100000; i++) {
		put_uleb(&abbrev, DW_AT_declaration);
		put_uleb(&abbrev, DW_FORM_flag_present);
	}
	put(&abbrev, 0, 2);
	put_unit_head(5 + 300000, 0);
	put(&info, 1, 1);
	put(&info, 0, 4);
	for (int i = 0; i < 300000; i++)
		put(&info, 2, 1);
	judge("300,000 entries of 100,000 attributes without bytes", false);
}

/* Skeletons, each with an identity of its own, so that each looks for its unit in the file. */
static void test_shared_dwo(void)
{
	static const uint8_t attrs[] = { 0xb0, 0x42,          DW_FORM_string,  0xb1,
					 0x42, DW_FORM_data8, DW_AT_stmt_list, DW_FORM_sec_offset };
	char path[] = "/tmp/test_dwarf_bounds.XXXXXX";
	struct dwarf_losses losses;
	uint64_t cpu_ns;
	int fd = mkstemp(path), r;

	must(fd >= 0);
	begin();
	put_abbrev(1, one_range, sizeof(one_range));
	for (int i = 0; i < 1000; i++)
		put_unit(1, 0);
	maker_section(&elf, ".debug_info.dwo", SHT_PROGBITS, 0, info.data, info.len);
	maker_section(&elf, ".debug_abbrev.dwo", SHT_PROGBITS, 0, abbrev.data, abbrev.len);
	maker_end(&elf);
	must(write(fd, elf.bytes, elf.len) == (ssize_t)elf.len);
	maker_done(&elf);
	begin();
	put_uleb(&abbrev, 1);
	put(&abbrev, DW_TAG_compile_unit, 2);
	for (size_t i = 0; i < sizeof(attrs); i++)
		put(&abbrev, attrs[i], 1);
	put(&abbrev, 0, 3);
	for (uint64_t i = 1; i <= 5000; i++) {
		put_unit_head(1 + 2 + 8 + 4, 0);
		put(&info, 1, 1);
		put(&info, 'x', 2);
		put(&info, i, 8);
		put(&info, 0, 4);
	}
	r = open_timed(path, &losses, &cpu_ns);
	ok(cpu_ns < max_cpu_ns(), "5,000 skeletons and one .dwo of 1,000 units: %lu us of CPU time",
	   (unsigned long)(cpu_ns / 1000));
	ok(nr_opened > 0 && nr_opened <= 4, "the .dwo file is opened %d times", nr_opened);
	ok(r == 0 || r == -E2BIG, "the .dwo file costs nothing else");
	close(fd);
	unlink(path);
}

/* A section that is a hole allows no work. */
static void test_hole(void)
{
	char path[] = "/tmp/test_dwarf_bounds.XXXXXX";
	int fd = mkstemp(path);
	struct dwarf_files files = { 0 };
	struct dwarf *d = NULL;
	struct elf_image *img;
	unsigned int i;

	must(fd >= 0 && unlink(path) == 0);
	begin();
	put_abbrev(1, one_range, sizeof(one_range));
	put_unit(1, 0);
	i = maker_section(&elf, ".debug_str", SHT_PROGBITS, 0, NULL, 0);
	elf.shdrs[i].sh_offset = 1 << 20;
	elf.shdrs[i].sh_size = 1ull << 40;
	end_sections();
	must(write(fd, elf.bytes, elf.len) == (ssize_t)elf.len);
	maker_done(&elf);
	if (ftruncate(fd, (1ll << 40) + (1 << 20)) < 0) {
		ok(true, "# SKIP no file of 1 TiB can be made here");
	} else {
		must(elf_image_open_fd(fd, &img) == 0);
		files.image = files.debug = img;
		must(dwarf_open(&files, &d) == 0);
		ok(d->work.left_bytes <= DWARF_FREE_WORK_BYTES + (1 << 20),
		   "1 TiB of holes allows no work");
		dwarf_free(d);
		elf_image_free(img);
	}
	close(fd);
}

int main(void)
{
	test_shared_table();
	test_shared_ranges();
	test_empty_attributes();
	test_shared_dwo();
	test_hole();
	return tap_done();
}
