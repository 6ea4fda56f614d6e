/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corrupt_cfi CASES FILE…: damaged ELF files (corrupt.h), compiled: no crash, no hang. For some of the
 * cases libdw, in a child process since it may not survive them, is asked about the functions whose
 * entries were not touched: no row of ours may contradict it.
 */
#include <errno.h>
#include <sys/wait.h>

#include "corrupt.h"
#include "elf/elf_image.h"
#include "oracle/unwind_tool/agree.h"
#include "oracle/unwind_tool/oracle.h"
#include "unwind/eh_frame.h"
#include "unwind/rule_dict.h"
#include "unwind/table.h"

#define MAX_FILE_BYTES (2u << 20)
#define COMPARED_CASES 500 /* of all files together */
#define MAX_SHOWN 10
#define FDE_HEAD_BYTES 16 /* length, CIE, start, size */

struct counts {
	unsigned long nr_tables, nr_compared, nr_rules, nr_survived;
	unsigned int nr_contradictions;
};

struct file {
	struct corrupt_file whole;
	struct oracle oracle; /* of the file as it was */
	Elf *elf;
	size_t hot_start, hot_end;  /* .eh_frame_hdr and .eh_frame: where damage matters most */
	unsigned long compared_end; /* how many cases may be compared by then */
	struct counts *counts;
};

static void load(struct file *f, const char *path)
{
	corrupt_load(&f->whole, path, MAX_FILE_BYTES);
	f->elf = elf_memory((char *)f->whole.bytes, f->whole.size);
	must(f->elf && oracle_open(f->elf, false, &f->oracle) == 0);
	f->hot_start = f->oracle.section_offset;
	f->hot_end = f->hot_start + f->oracle.fdes[0].next;
	for (size_t i = 0; i < f->oracle.nr; i++)
		if (f->hot_start + f->oracle.fdes[i].next > f->hot_end)
			f->hot_end = f->hot_start + f->oracle.fdes[i].next;
	/* The search table stands before the section, 8 bytes for each FDE. */
	f->hot_start -= 8 * f->oracle.nr < f->hot_start ? 8 * f->oracle.nr : f->hot_start;
}

static void unload(struct file *f)
{
	oracle_close(&f->oracle);
	elf_end(f->elf);
	free(f->whole.bytes);
}

/* One in four is truncated; of the flips half hit the unwind information, some the headers. */
static struct damage choose(void *ctx, uint64_t *state)
{
	const struct file *f = ctx;
	struct damage d = { .size = f->whole.size };

	if (random_below(state, 4) == 0) {
		d.size = random_below(state, d.size);
		return d;
	}
	d.nr_flips = 1 + random_below(state, CORRUPT_MAX_FLIPS);
	for (size_t i = 0; i < d.nr_flips; i++) {
		uint64_t where = random_below(state, 8);

		if (where < 4)
			d.flips[i] = f->hot_start + random_below(state, f->hot_end - f->hot_start);
		else if (where == 4)
			d.flips[i] = random_below(state, 1024);
		else
			d.flips[i] = random_below(state, d.size);
	}
	for (size_t i = 0; i < d.nr_flips; i++)
		d.masks[i] = random_bit(state);
	return d;
}

static bool is_touched(const struct damage *d, uint64_t start, uint64_t end)
{
	if (end > d->size)
		return true;
	for (size_t i = 0; i < d->nr_flips; i++)
		if (d->flips[i] >= start && d->flips[i] < end)
			return true;
	return false;
}

static bool is_fde_touched(const struct file *f, const struct damage *d,
			   const struct oracle_fde *fde)
{
	uint64_t at = f->oracle.section_offset;

	return is_touched(d, at + fde->offset, at + fde->next) ||
	       is_touched(d, at + fde->cie, at + fde->cie_next);
}

/* Whether the headers are whole, on which every address stands. */
static bool has_headers(const struct file *f, const struct damage *d)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)f->whole.bytes;
	uint64_t sections_end = e->e_shoff + e->e_shnum * sizeof(Elf64_Shdr);

	/* Truncated sections mislead no one. */
	return !is_touched(d, 0, e->e_phoff + e->e_phnum * sizeof(Elf64_Phdr)) &&
	       (d->nr_flips == 0 || !is_touched(d, e->e_shoff, sections_end));
}

struct comparison {
	const struct file *file;
	const struct damage *damage;
	const struct cfi *cfi;
	const struct unwind_table *table;
	const struct rule_dict *dict;
	const struct oracle *oracle; /* of the damaged file */
	struct cfi_reader *reader;   /* likewise */
	unsigned long nr_rules;
	unsigned int nr_contradictions;
};

/* Whether a touched entry of the damaged file says, to libdw or to us, that it is about pc: then it
 * is a matter of taste which one to believe. */
static bool is_claimed(const struct comparison *c, uint64_t pc)
{
	uint64_t at = c->file->oracle.section_offset;
	struct elf_cfi_fde ours;

	for (size_t i = 0; i < c->oracle->nr; i++) {
		const struct oracle_fde *fde = &c->oracle->fdes[i];

		if (pc >= fde->start && pc < fde->end && is_fde_touched(c->file, c->damage, fde))
			return true;
	}
	for (size_t i = cfi_nr_fdes_to(c->cfi, pc); i > 0; i--)
		if (cfi_reader_fde(c->reader, i - 1, &ours) == 0)
			return pc < ours.end && is_touched(c->damage, at + ours.offset,
							   at + ours.offset + FDE_HEAD_BYTES);
	return false;
}

static void compare_at(struct comparison *c, uint64_t pc)
{
	pa_rule rule = unwind_table_find(c->table, c->dict, pc);
	struct oracle_row row;

	if (rule == PA_RULE_WORD_NONE || is_claimed(c, pc) ||
	    oracle_row_at(c->oracle, pc, &row) < 0)
		return;
	c->nr_rules++;
	if (agree_rule(cfi_arch(c->cfi), &row, rule, pc) == AGREE_DIFFER &&
	    c->nr_contradictions++ < MAX_SHOWN)
		printf("# %llx: %llx\n", (unsigned long long)pc, (unsigned long long)rule);
	free(row.frame);
}

/* In the child. */
static void compare(struct comparison *c, uint8_t *copy)
{
	Elf *elf = elf_memory((char *)copy, c->damage->size);
	const struct oracle *before = &c->file->oracle;
	struct oracle damaged = { 0 };

	if (!elf)
		return;
	/* Without sections libdw lists no FDEs, but it finds them. */
	if (oracle_open(elf, false, &damaged) < 0)
		damaged.cfi = dwarf_getcfi_elf(elf);
	if (!damaged.cfi)
		return;
	c->oracle = &damaged;
	must(cfi_reader_new(c->cfi, false, &c->reader) == 0);
	for (size_t i = 0; i < before->nr; i++) {
		const struct oracle_fde *fde = &before->fdes[i];

		if (is_fde_touched(c->file, c->damage, fde) || fde->start == fde->end)
			continue;
		compare_at(c, fde->start);
		compare_at(c, fde->start + (fde->end - fde->start) / 2);
		compare_at(c, fde->end - 1);
	}
}

static void show_damage(const struct file *f, const struct damage *d)
{
	printf("# ... in %s, %zu of %zu bytes, flips at", f->whole.path, d->size, f->whole.size);
	for (size_t i = 0; i < d->nr_flips; i++)
		printf(" %zx", d->flips[i]);
	printf("\n");
}

static void compare_in_child(struct comparison *c, uint8_t *copy, struct counts *n)
{
	int fds[2], status;
	pid_t pid;

	must(pipe(fds) == 0);
	fflush(stdout);
	pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		alarm(CORRUPT_CASE_LIMIT_S);
		compare(c, copy);
		fflush(stdout);
		_exit(write(fds[1], c, sizeof(*c)) == sizeof(*c) ? 0 : 1);
	}
	close(fds[1]);
	n->nr_compared++;
	/* A libdw that does not survive has said nothing. */
	if (read(fds[0], c, sizeof(*c)) == sizeof(*c)) {
		n->nr_survived++;
		n->nr_rules += c->nr_rules;
		n->nr_contradictions += c->nr_contradictions;
		if (c->nr_contradictions)
			show_damage(c->file, c->damage);
	}
	close(fds[0]);
	must(waitpid(pid, &status, 0) == pid);
}

static void run(void *ctx, const struct damage *d, uint8_t *copy, uint64_t *state)
{
	const struct file *f = ctx;
	struct counts *n = f->counts;
	struct unwind_table *t = NULL;
	struct elf_image *img = NULL;
	struct cfi *cfi = NULL;
	struct rule_dict dict;
	const struct cfi *source;

	must(rule_dict_init(&dict) == 0);
	if (elf_image_open_mem(copy, d->size, &img) == 0 && cfi_open_eh_frame(img, &cfi) == 0) {
		source = cfi;
		if (unwind_compile(&source, 1, &dict, &t) == 0)
			n->nr_tables++;
	}
	if (t && n->nr_compared < f->compared_end && has_headers(f, d)) {
		struct comparison c = {
			.file = f, .damage = d, .cfi = cfi, .table = t, .dict = &dict
		};

		compare_in_child(&c, copy, n);
	}
	unwind_table_free(t);
	cfi_free(cfi);
	elf_image_free(img);
	rule_dict_done(&dict);
}

int main(int argc, char **argv)
{
	static const struct corrupt_test test = { choose, run };
	unsigned long nr_cases = corrupt_nr_cases(argc, argv);
	unsigned long nr_compared = COMPARED_CASES / (unsigned long)(argc - 2);
	struct corrupt_counts cases = { 0 };
	struct counts n = { 0 };

	(void)elf_version(EV_CURRENT); /* the one that it knows */
	for (int i = 2; i < argc; i++) {
		struct file f = { .compared_end = n.nr_compared + nr_compared, .counts = &n };

		load(&f, argv[i]);
		corrupt_run(&f.whole, nr_cases, &test, &f, &cases);
		unload(&f);
		ok(true, "%s: %lu damaged copies, no crash and no hang", argv[i], nr_cases);
	}
	printf("# %lu cases, %lu tables, slowest %llu us; %lu compared, libdw survived %lu, %lu "
	       "rules\n",
	       cases.nr_cases, n.nr_tables, (unsigned long long)cases.slowest_ns / 1000,
	       n.nr_compared, n.nr_survived, n.nr_rules);
	ok(n.nr_rules > 0, "libdw has answered for entries that were not touched");
	ok(n.nr_contradictions == 0, "no row contradicts it");
	return tap_done();
}
