/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every byte of every FDE that libdw lists, and every byte between them, against our table. Where an
 * FDE ends and which rows it has is libdw's word; ours is only asked.
 */
#include <errno.h>
#include <inttypes.h>

#include "elf/elf_image.h"
#include "oracle/unwind_tool/agree.h"
#include "oracle/unwind_tool/oracle.h"
#include "oracle/unwind_tool/tool.h"
#include "unwind/eh_frame.h"
#include "unwind/table.h"

#define MAX_SHOWN 20

struct checker {
	const char *path;
	const char *section;
	const struct unwind_arch *arch;
	const struct cfi *cfi;
	const struct unwind_table *table;
	const struct rule_dict *dict;
	struct oracle oracle;
	uint64_t counts[NR_AGREEMENTS]; /* of pieces on which libdw's row and ours are both one */
	uint64_t nr_fdes, nr_rows, nr_bytes;
	uint64_t nr_empty, nr_padding, nr_overlaps, nr_refused;
	uint64_t nr_gaps_wrong, nr_full_wrong;
	unsigned int nr_shown;
};

static void show(struct checker *c, uint64_t pc, pa_rule rule, const char *what)
{
	if (c->nr_shown++ >= MAX_SHOWN)
		return;
	printf("%s: %s: %016" PRIx64 ": %s: ", c->path, c->section, pc, what);
	rule_print(rule);
	printf("\n");
}

static void check_piece(struct checker *c, const struct oracle_row *row, uint64_t pc, uint64_t end)
{
	pa_rule rule = unwind_table_find(c->table, c->dict, pc);
	enum agreement a = agree_rule(c->arch, row, rule, pc);

	/* A rule that depends on the pc is asked for each. */
	if (is_pc_relative(row))
		for (uint64_t at = pc + 1; at < end && a != AGREE_DIFFER; at++)
			a = agree_rule(c->arch, row, rule, at);
	c->counts[a]++;
	if (a == AGREE_DIFFER)
		show(c, pc, rule, "libdw has another rule");
}

static void check_full_row(struct checker *c, const struct oracle_row *row, uint64_t pc)
{
	struct cfi_full_row full;

	if (cfi_rules_at(c->cfi, pc, &full) == 0 && agree_full_row(c->arch, row, &full, pc))
		return;
	c->nr_full_wrong++;
	show(c, pc, PA_RULE_WORD_NONE, "libdw has other rules for all registers");
}

/* One row of libdw's: our pieces of it. */
static uint64_t check_row(struct checker *c, uint64_t pc, uint64_t end)
{
	struct oracle_row row;

	if (oracle_row_at(&c->oracle, pc, &row) < 0) {
		c->nr_refused++; /* libdw itself has no answer here */
		return end;
	}
	if (row.end < end && row.end > pc)
		end = row.end;
	c->nr_rows++;
	check_full_row(c, &row, pc);
	for (uint64_t at = pc, next; at < end; at = next) {
		next = unwind_table_next(c->table, at);
		if (next == 0 || next > end)
			next = end;
		check_piece(c, &row, at, next);
	}
	free(row.frame);
	return end;
}

/* Between FDEs there is no rule, unless it is padding. */
static void check_gap(struct checker *c, uint64_t start, uint64_t end)
{
	if (end - start <= UNWIND_PADDING_BYTES) {
		c->nr_padding++;
		return;
	}
	for (uint64_t at = start; at && at < end; at = unwind_table_next(c->table, at)) {
		pa_rule rule = unwind_table_find(c->table, c->dict, at);

		if (rule == PA_RULE_WORD_NONE)
			continue;
		c->nr_gaps_wrong++;
		show(c, at, rule, "a rule where no FDE is");
	}
}

static void check_fde(struct checker *c, const struct oracle_fde *fde, uint64_t end)
{
	c->nr_fdes++;
	c->nr_bytes += end - fde->start;
	for (uint64_t pc = fde->start; pc < end;)
		pc = check_row(c, pc, end);
}

static void check_all(struct checker *c)
{
	const struct oracle *o = &c->oracle;
	uint64_t covered = 0;

	for (size_t i = 0; i < o->nr; i++) {
		const struct oracle_fde *fde = &o->fdes[i];
		uint64_t end = fde->end;

		if (fde->start == fde->end || fde->start == 0) {
			c->nr_empty++;
			continue;
		}
		if (i + 1 < o->nr && o->fdes[i + 1].start < end) {
			end = o->fdes[i + 1].start;
			c->nr_overlaps++;
		}
		if (fde->start > covered)
			check_gap(c, covered, fde->start);
		check_fde(c, fde, end);
		covered = end;
	}
	check_gap(c, covered, UINT64_MAX);
}

static uint64_t nr_wrong(const struct checker *c)
{
	return c->counts[AGREE_DIFFER] + c->nr_gaps_wrong + c->nr_full_wrong + c->nr_refused;
}

static void print_counts(const struct checker *c)
{
	static const char *const texts[] = {
#define X(name, text) text,
		AGREEMENTS
#undef X
	};

	printf("%s: %s: %s: %" PRIu64 " FDEs, %" PRIu64 " rows, %" PRIu64
	       " bytes of code by libdw; %" PRIu64 " disagreements",
	       c->path, c->section, nr_wrong(c) ? "DISAGREES" : "agrees", c->nr_fdes, c->nr_rows,
	       c->nr_bytes, nr_wrong(c));
	for (unsigned int i = 0; i < AGREE_DIFFER; i++)
		if (c->counts[i])
			printf("; %" PRIu64 " %s", c->counts[i], texts[i]);
	printf("; %" PRIu64 " gaps are padding", c->nr_padding);
	if (c->nr_empty)
		printf("; %" PRIu64 " FDEs are empty or dropped", c->nr_empty);
	if (c->nr_overlaps)
		printf("; %" PRIu64 " FDEs overlap", c->nr_overlaps);
	printf("\n");
	if (nr_wrong(c))
		printf("%s: %s: %" PRIu64 " rules differ, %" PRIu64 " in gaps, %" PRIu64
		       " of all registers, %" PRIu64 " rows that libdw refuses\n",
		       c->path, c->section, c->counts[AGREE_DIFFER], c->nr_gaps_wrong,
		       c->nr_full_wrong, c->nr_refused);
}

static int check_section(const struct subject *s, struct rule_dict *dict, Elf *elf, bool is_debug)
{
	_cleanup_(unwind_table_freep) struct unwind_table *t = NULL;
	_cleanup_(cfi_freep) struct cfi *cfi = NULL;
	struct checker c = { .path = s->path,
			     .section = is_debug ? ".debug_frame" : ".eh_frame",
			     .dict = dict };
	const struct cfi *source;
	int r;

	r = is_debug ? cfi_open_debug_frame(s->img, s->img, &cfi) : cfi_open_eh_frame(s->img, &cfi);
	if (r < 0)
		return r;
	source = cfi;
	r = unwind_compile(&source, 1, dict, &t);
	if (r < 0)
		return r;
	r = oracle_open(elf, is_debug, &c.oracle);
	if (r < 0)
		return r;
	c.cfi = cfi;
	c.arch = cfi_arch(cfi);
	c.table = t;
	check_all(&c);
	print_counts(&c);
	oracle_close(&c.oracle);
	return nr_wrong(&c) ? 1 : 0;
}

int check(const struct subject *s, struct rule_dict *dict)
{
	int worst = -ENOENT;
	Elf *elf;

	(void)elf_version(EV_CURRENT); /* the one that it knows */
	elf = elf_begin(s->fd, ELF_C_READ, NULL);
	if (!elf) {
		fprintf(stderr, "%s: libelf: %s\n", s->path, elf_errmsg(-1));
		return -ENOEXEC;
	}
	for (int is_debug = 0; is_debug <= 1; is_debug++) {
		int r = check_section(s, dict, elf, is_debug);

		if (r < 0 && r != -ENOENT)
			fprintf(stderr, "%s: %s: %s\n", s->path,
				is_debug ? ".debug_frame" : ".eh_frame", strerror(-r));
		if (r != -ENOENT && (worst == -ENOENT || r != 0))
			worst = r;
	}
	elf_end(elf);
	if (worst == -ENOENT)
		fprintf(stderr, "%s: no call frame information\n", s->path);
	return worst;
}
