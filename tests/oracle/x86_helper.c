/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86_helper insns: for each line of bytes, in hexadecimal digits, the size of the instruction and
 * what it is (enum x86_op, a register or 16, a value); "bad" where there is none.
 * x86_helper exits FILE…: at each instruction of each function what the code itself says of its
 * caller, against what the file says: how often they agree, cannot be compared, differ, and how often
 * the code says nothing. Those that differ follow.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf/elf_fde.h"
#include "elf/elf_image.h"
#include "tap.h"
#include "unwind/eh_frame.h"
#include "unwind/known_code.h"
#include "unwind/rule_dict.h"
#include "unwind/table.h"
#include "unwind/x86_exit.h"
#include "unwind/x86_insn.h"

#define MAX_SHOWN 40

static void print_insn(const char *hex)
{
	uint8_t bytes[64];
	struct x86_insn i;
	unsigned int byte;
	size_t n = 0;

	while (n < sizeof(bytes) && sscanf(hex + 2 * n, "%2x", &byte) == 1)
		bytes[n++] = (uint8_t)byte;
	if (x86_insn_decode(bytes, n, &i) < 0)
		puts("bad");
	else
		printf("%u %d %u %" PRId64 "\n", i.size, (int)i.op, i.reg, i.value);
}

struct counts {
	unsigned long nr_same, nr_mixed, nr_other, nr_silent;
};

/* What is asked so often is not read through the image, which bounds what it reads. */
struct source {
	const struct elf_image *img;
	int fd;
	uint64_t start; /* of the function that is compared */
};

static long read_code(void *ctx, uint64_t addr, void *to, size_t n)
{
	const struct source *s = ctx;
	uint64_t offset;

	if (elf_image_offset_of(s->img, addr, &offset) < 0)
		return -1;
	return pread(s->fd, to, n, (off_t)offset);
}

/* Where the caller's frame pointer is, from sp or fp on; files leave the rule in force behind the
 * instruction that restores it. */
static int64_t fp_slot(pa_rule rule)
{
	int64_t slot = PA_RULE_CFA_OFF(rule) + PA_RULE_SLOT(rule);

	if (PA_RULE_FP_KIND(rule) != PA_FP_AT_CFA)
		return INT64_MIN;
	return PA_RULE_CFA_REG(rule) == PA_REG_X86_SP && slot < 0 ? INT64_MIN : slot;
}

static bool is_same(pa_rule a, pa_rule b)
{
	return PA_RULE_CFA_OFF(a) == PA_RULE_CFA_OFF(b) && fp_slot(a) == fp_slot(b);
}

static void compare(struct counts *c, struct source *s, uint64_t pc, pa_rule theirs)
{
	struct x86_code code = { read_code, s };
	struct x86_exit e;
	pa_rule ours;

	if (x86_exit_find(&code, pc, &e) == 0)
		ours = e.rule;
	else if (x86_exit_of_call(&code, s->start, pc, &ours) < 0)
		ours = PA_RULE_WORD_NONE;
	if (ours == PA_RULE_WORD_NONE) {
		c->nr_silent++;
	} else if (PA_RULE_CFA_KIND(theirs) != PA_CFA_REG ||
		   PA_RULE_CFA_REG(ours) != PA_RULE_CFA_REG(theirs)) {
		c->nr_mixed++;
	} else if (is_same(ours, theirs)) {
		c->nr_same++;
	} else if (c->nr_other++ < MAX_SHOWN) {
		printf("# %" PRIx64 ": CFA %u%+d fp %u %d, not %+d fp %u %d\n", pc,
		       PA_RULE_CFA_REG(ours), (int)PA_RULE_CFA_OFF(ours), PA_RULE_FP_KIND(ours),
		       (int)PA_RULE_SLOT(ours), (int)PA_RULE_CFA_OFF(theirs),
		       PA_RULE_FP_KIND(theirs), (int)PA_RULE_SLOT(theirs));
	}
}

/* Nobody comes to what fills up behind a jump, and the file still says what held before it. */
static bool is_filling(const uint8_t *bytes, enum x86_op before)
{
	return (before == X86_RET || before == X86_JMP || before == X86_JMP_INDIRECT ||
		before == X86_CALL) &&
	       (bytes[0] == 0x90 || bytes[0] == 0x66 || (bytes[0] == 0x0f && bytes[1] == 0x1f));
}

static void compare_function(struct counts *c, struct source *s, const struct unwind_table *table,
			     const struct rule_dict *dict, uint64_t pc, uint64_t end)
{
	uint8_t bytes[X86_INSN_MAX_BYTES];
	enum x86_op before = X86_OTHER;
	struct x86_insn i;

	s->start = pc;
	while (pc < end) {
		long n = read_code(s, pc, bytes, sizeof(bytes));

		if (n <= 0 || x86_insn_decode(bytes, (size_t)n, &i) < 0)
			return;
		if (!is_filling(bytes, before)) {
			compare(c, s, pc, unwind_table_find(table, dict, pc));
			before = i.op;
		}
		pc += i.size;
	}
}

static void compare_file(const char *path)
{
	struct source s;
	struct elf_image *img = NULL;
	struct elf_fdes *fdes = NULL;
	struct cfi *cfi = NULL;
	struct unwind_table *table = NULL;
	struct rule_dict dict;
	struct known_code known = { 0 };
	struct counts c = { 0 };
	const struct cfi *source;
	uint64_t at, fde, from, to;

	s.fd = open(path, O_RDONLY | O_CLOEXEC);
	must(elf_image_open_fd(s.fd, &img) == 0);
	s.img = img;
	must(rule_dict_init(&dict) == 0);
	must(elf_fdes_open(img, &fdes) == 0 && cfi_open_eh_frame(img, &cfi) == 0);
	source = cfi;
	must(unwind_compile_known(&source, 1, &known, &dict, &table) == 0);
	for (size_t i = 0; i < elf_fdes_nr(fdes); i++) {
		elf_fdes_at(fdes, i, &at, &fde);
		if (elf_fdes_find(fdes, at, &from, &to) == 0)
			compare_function(&c, &s, table, &dict, from, to);
	}
	printf("%lu same, %lu mixed, %lu other, %lu silent: %s\n", c.nr_same, c.nr_mixed,
	       c.nr_other, c.nr_silent, path);
}

int main(int argc, char **argv)
{
	char line[256];

	if (argc > 1 && strcmp(argv[1], "insns") == 0)
		while (fgets(line, sizeof(line), stdin))
			print_insn(line);
	for (int i = 2; i < argc && strcmp(argv[1], "exits") == 0; i++)
		compare_file(argv[i]);
	return 0;
}
