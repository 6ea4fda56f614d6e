/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles call frame information into a table: one pass over the FDEs in address order. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "elf/elf_image.h"
#include "unwind/eh_frame.h"
#include "unwind/known_code.h"
#include "unwind/row_builder.h"
#include "unwind/rule.h"
#include "unwind/rule_dict.h"
#include "unwind/table.h"

#define RECENT_BITS 8

/* A cached rule lookup, at an index derived from the rule. */
struct recent {
	pa_rule rule;
	uint16_t id;
};

/* One source and its next usable FDE. */
struct stream {
	const struct cfi *cfi;
	struct cfi_reader *rd; /* owned */
	size_t next, nr;       /* in the index */
	bool has_head;
	bool has_hole; /* malformed FDEs were skipped before the head */
	struct elf_cfi_fde head;
	uint64_t end; /* end of the last FDE that was taken */
};

struct compiler {
	const struct unwind_arch *arch;
	struct rule_dict *dict; /* borrowed from the caller */
	struct stream streams[UNWIND_MAX_SOURCES];
	size_t nr_streams;
	struct known_rule *known; /* owned; by address */
	uint32_t nr_known;
	struct row_builder rows;
	bool has_rows;    /* the builder is set up */
	uint64_t covered; /* end of the FDE added last */
	bool has_hole;    /* a malformed FDE was skipped after it */
	uint64_t claimed; /* the highest end of any FDE so far */
	struct unwind_stats stats;
	uint8_t is_used[(PA_MAX_RULES + 8) / 8]; /* bit per rule */
	uint16_t *rules;                         /* owned; the numbers in use */
	uint32_t nr_rules, cap_rules;
	struct recent recent[1u << RECENT_BITS];
	struct cfi_vm vm;
};

static void compiler_done(struct compiler *c)
{
	for (size_t i = 0; i < c->nr_streams; i++)
		cfi_reader_free(c->streams[i].rd);
	row_builder_done(&c->rows);
	free(c->known);
	free(c->rules);
}

static struct compiler *compiler_free(struct compiler *c)
{
	if (c) {
		compiler_done(c);
		free(c);
	}
	return NULL;
}
DEFINE_CLEANUP(struct compiler *, compiler_free)

/* Advances to the next usable FDE of the source. */
static void stream_fill(struct compiler *c, struct stream *s)
{
	s->has_head = false;
	s->has_hole = false;
	while (s->next < s->nr) {
		int r = cfi_reader_fde(s->rd, s->next++, &s->head);

		if (r == 0) {
			s->has_head = true;
			return;
		}
		c->stats.nr_outside += r == -ERANGE;
		c->stats.nr_bad += r == -EBADMSG;
		s->has_hole |= r == -EBADMSG;
	}
}

/* True if an earlier source covers the start of the FDE at this source's head. */
static bool is_shadowed(const struct compiler *c, const struct stream *s)
{
	for (const struct stream *e = c->streams; e < s; e++)
		if (s->head.start < e->end || (e->has_head && s->head.start == e->head.start))
			return true;
	return false;
}

/* The source whose FDE is next in address order; NULL: all are done. */
static struct stream *next_stream(struct compiler *c)
{
	struct stream *best = NULL;

	for (size_t i = 0; i < c->nr_streams; i++) {
		struct stream *s = &c->streams[i];

		while (s->has_head && is_shadowed(c, s))
			stream_fill(c, s);
		if (s->has_head && (!best || s->head.start < best->head.start))
			best = s;
	}
	return best;
}

static struct recent *recent_of(struct compiler *c, pa_rule rule)
{
	return &c->recent[rule * 0x9e3779b97f4a7c15ull >> (64 - RECENT_BITS)];
}

static bool is_used(const struct compiler *c, uint16_t id)
{
	return c->is_used[id / 8] & (1u << (id % 8));
}

/* Records the first use of a rule by this file. */
static int note_rule(struct compiler *c, uint16_t id)
{
	int r = ARRAY_RESERVE(c->rules, c->cap_rules, c->nr_rules + 1, UNWIND_MAX_RULES);

	if (r < 0)
		return r;
	c->rules[c->nr_rules++] = id;
	c->is_used[id / 8] |= (uint8_t)(1u << (id % 8));
	return 0;
}

/* The number of a rule. If there is no room for it, here or in the dictionary, the row is left to
 * user space. */
static int number_new_rule(struct compiler *c, pa_rule rule, uint16_t *ret_id)
{
	bool has_room = c->nr_rules < UNWIND_MAX_RULES;
	uint16_t id = PA_RULE_ID_USER;
	int r = 0;

	if (has_room)
		r = rule_dict_intern(c->dict, rule, &id);
	else if (!rule_dict_find(c->dict, rule, &id) || !is_used(c, id))
		id = PA_RULE_ID_USER;
	if (r == 0 && !is_used(c, id))
		r = note_rule(c, id);
	if (r < 0)
		return r;
	*ret_id = id;
	if (id != PA_RULE_ID_USER) {
		*recent_of(c, rule) = (struct recent){ rule, id };
		return 0;
	}
	c->stats.nr_user++;
	c->stats.nr_refused += rule != PA_RULE_WORD_USER;
	return 0;
}

/* Adds a rule that applies from addr on. */
static inline int add_rule(struct compiler *c, pa_rule rule, uint64_t addr)
{
	const struct recent *recent = recent_of(c, rule);
	uint16_t id;
	int r;

	if (recent->rule == rule)
		return row_builder_add(&c->rows, addr, recent->id);
	r = number_new_rule(c, rule, &id);
	return r < 0 ? r : row_builder_add(&c->rows, addr, id);
}

/* Adds the row for the current state of the machine. */
static inline int add_row(struct compiler *c, struct rule_packer *packer, uint64_t addr)
{
	pa_rule rule = rule_pack_next(packer, &c->vm.state, c->vm.changed);

	c->vm.changed = 0;
	return add_rule(c, rule, addr);
}

/* Adds the first row; if it belongs to a landing pad, the second row replaces it. Returns like
 * cfi_vm_run(). */
static int add_first_row(struct compiler *c, struct rule_packer *packer, uint64_t end)
{
	struct cfi_vm *vm = &c->vm;
	uint64_t start = vm->next, second;
	int r = cfi_vm_run(vm), r2 = 0;
	pa_rule first;

	second = vm->next;
	if (r <= 0 || second != start + CFI_PAD_BYTES || second >= end) {
		r2 = r < 0 ? r : add_row(c, packer, start);
		return r2 < 0 ? r2 : r;
	}
	first = rule_pack(packer, &vm->state);
	r = cfi_vm_run(vm);
	if (r < 0)
		return r;
	if (cfi_is_behind_pad(c->arch, &vm->state.cfa, &vm->state.slots[CFI_SLOT_RA]))
		second = start;
	else
		r2 = add_rule(c, first, start);
	vm->changed = CFI_CHANGED_REST;
	if (r2 == 0)
		r2 = add_row(c, packer, second);
	return r2 < 0 ? r2 : r;
}

/* Runs the instructions up to `end`. -EBADMSG: malformed. */
static int add_rows(struct compiler *c, struct stream *s, const struct elf_cfi_fde *fde,
		    uint64_t end)
{
	struct cfi_vm *vm = &c->vm;
	struct rule_packer packer = { .arch = c->arch,
				      .img = cfi_image(s->cfi),
				      .fde_start = fde->start };
	uint64_t addr;
	int r = packer.img ? elf_image_charge(packer.img, fde->program_bytes) : 0;

	if (r == 0)
		r = cfi_reader_start(s->rd, fde, vm, &packer.cie);
	if (r == 0 && c->arch->lr != UNWIND_NO_REG) {
		r = add_first_row(c, &packer, end);
		if (r == 0)
			return 0;
	}
	if (r < 0)
		return r;
	do {
		addr = vm->next;
		r = cfi_vm_run(vm);
		if (r < 0)
			return r;
		if (vm->changed && addr < end) {
			int r2 = add_row(c, &packer, addr);

			if (r2 < 0)
				return r2;
		}
	} while (r > 0);
	return 0;
}

/* True if the gap before an FDE is padding, which is never executed: too short for code, and not
 * claimed by any FDE. The gap may have been claimed by a malformed FDE, or by one that another FDE
 * truncated. */
static bool is_padding(const struct compiler *c, uint64_t next_start)
{
	return next_start - c->covered <= UNWIND_PADDING_BYTES && !c->has_hole &&
	       c->claimed <= c->covered;
}

static void begin_rows(struct compiler *c, uint64_t start)
{
	if (c->nr_known && c->known[0].start < start)
		start = c->known[0].start;
	row_builder_init(&c->rows, start, c->known, c->nr_known);
	c->has_rows = true;
}

/* Adds the gap between two FDEs, which has no rule unless it is padding. */
static int add_gap(struct compiler *c, uint64_t next_start)
{
	if (!c->has_rows) {
		begin_rows(c, next_start);
		return 0;
	}
	if (next_start == c->covered || is_padding(c, next_start)) {
		c->stats.covered_bytes += next_start - c->covered;
		return 0;
	}
	return row_builder_add(&c->rows, c->covered, PA_RULE_ID_NONE);
}

/* Compiles one FDE up to the start of the next. A malformed FDE is only counted. */
static int add_fde(struct compiler *c, struct stream *s, const struct elf_cfi_fde *fde,
		   uint64_t end)
{
	struct row_mark mark;
	int r;

	r = add_gap(c, fde->start);
	if (r < 0)
		return r;
	mark = c->rows.at;
	r = add_rows(c, s, fde, end);
	c->has_hole = r == -EBADMSG || cfi_is_suspect(s->cfi);
	if (r == -EBADMSG) {
		c->stats.nr_bad++;
		row_builder_rewind(&c->rows, &mark);
		return 0;
	}
	c->covered = end;
	c->stats.covered_bytes += end - fde->start;
	if (fde->end > c->claimed)
		c->claimed = fde->end;
	return r;
}

static int add_all(struct compiler *c)
{
	struct stream *s;
	int r = 0;

	for (size_t i = 0; i < c->nr_streams; i++)
		stream_fill(c, &c->streams[i]);
	s = next_stream(c);
	while (r == 0 && s) {
		struct elf_cfi_fde fde = s->head;
		struct stream *next;
		uint64_t end;

		c->has_hole |= s->has_hole;
		s->end = fde.end;
		stream_fill(c, s);
		next = next_stream(c);
		end = next && next->head.start < fde.end ? next->head.start : fde.end;
		if (end > fde.start)
			r = add_fde(c, s, &fde, end);
		s = next;
	}
	if (r == 0 && c->has_rows)
		return row_builder_add(&c->rows, c->covered, PA_RULE_ID_NONE);
	if (r == 0 && c->nr_known)
		begin_rows(c, c->known[0].start);
	return r;
}

static int add_sources(struct compiler *c, const struct cfi *const *sources, size_t nr)
{
	if (nr > UNWIND_MAX_SOURCES)
		return -EINVAL;
	if (nr)
		c->arch = cfi_arch(sources[0]);
	for (; c->nr_streams < nr; c->nr_streams++) {
		struct stream *s = &c->streams[c->nr_streams];
		int r;

		s->cfi = sources[c->nr_streams];
		if (cfi_arch(s->cfi) != c->arch)
			return -EINVAL;
		r = cfi_reader_new(s->cfi, false, &s->rd);
		if (r < 0)
			return r;
		s->nr = cfi_nr_fdes(s->cfi);
		c->stats.nr_fdes += (uint32_t)s->nr;
		c->stats.nr_bad += (uint32_t)cfi_nr_damaged(s->cfi);
	}
	return 0;
}

static int add_known(struct compiler *c, const struct known_code *known)
{
	int r = 0;

	if (known->nr == 0)
		return 0;
	c->known = calloc(known->nr, sizeof(*c->known));
	if (!c->known)
		return -ENOMEM;
	for (; r == 0 && c->nr_known < known->nr; c->nr_known++) {
		const struct known_range *from = &known->ranges[c->nr_known];
		struct known_rule *to = &c->known[c->nr_known];

		*to = (struct known_rule){ .start = from->start, .end = from->end };
		r = number_new_rule(c, from->rule, &to->rule);
		c->stats.covered_bytes += to->end - to->start;
	}
	return r;
}

static int make_table(struct compiler *c, struct unwind_table **ret_table)
{
	_cleanup_(unwind_table_freep) struct unwind_table *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	r = row_builder_finish(&c->rows, t);
	if (r < 0)
		return r;
	t->rules = TAKE(c->rules);
	t->nr_rules = c->nr_rules;
	t->stats = c->stats;
	*ret_table = TAKE(t);
	return 0;
}

int unwind_compile_known(const struct cfi *const *sources, size_t nr,
			 const struct known_code *known, struct rule_dict *dict,
			 struct unwind_table **ret_table)
{
	_cleanup_(compiler_freep) struct compiler *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->dict = dict;
	/* these two numbers are fixed, and not listed */
	c->is_used[0] = 1u << PA_RULE_ID_NONE | 1u << PA_RULE_ID_USER;
	r = add_sources(c, sources, nr);
	if (r == 0)
		r = add_known(c, known);
	if (r == 0)
		r = add_all(c);
	return r < 0 ? r : make_table(c, ret_table);
}

int unwind_compile(const struct cfi *const *sources, size_t nr, struct rule_dict *dict,
		   struct unwind_table **ret_table)
{
	static const struct known_code nothing;

	if (nr == 0)
		return -EINVAL;
	return unwind_compile_known(sources, nr, &nothing, dict, ret_table);
}
