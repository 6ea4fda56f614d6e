/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line tables (DWARF 4 and 5, 6.2): a program that emits rows of (address, file, line). It is run
 * once; redundant rows are dropped. A row applies up to the next one of its sequence.
 */
#include "base/array.h"
#include "base/bisect.h"
#include "dwarf/internal.h"
#include "dwarf/line_header.h"

#define LINES_MAX_ROWS (16u << 20) /* per unit; 192 MiB */
#define LINES_MAX_SEQUENCES (4u << 20)
#define MAX_STEPS 4096 /* sequences examined for one address */

struct row {
	uint32_t offset; /* from the start of its sequence */
	uint32_t file;
	uint32_t line;
};

struct sequence {
	uint64_t start, end;
	uint64_t max_end; /* of this sequence and all before it */
	uint32_t first_row;
	uint32_t nr_rows;
};

struct dw_lines {
	struct dw_line_header header;
	struct row *rows; /* owned */
	uint32_t nr_rows, cap_rows;
	struct sequence *sequences; /* owned; sorted by start */
	uint32_t nr_sequences, cap_sequences;
};

/* The registers of the machine, and the current sequence. */
struct machine {
	struct dw_lines *l;
	const struct dw_unit *u;
	struct cursor c;
	uint64_t addr;
	uint32_t file, line;
	bool is_open; /* has rows */
	uint64_t start, last;
	uint32_t first_row;
	uint32_t max_rows, max_sequences; /* memory limit, one half for each */
};

struct dw_lines *dw_lines_free(struct dw_lines *l)
{
	if (l) {
		dw_line_header_done(&l->header);
		free(l->rows);
		free(l->sequences);
		free(l);
	}
	return NULL;
}

uint64_t dw_lines_bytes(const struct dw_lines *l)
{
	return dw_line_header_bytes(&l->header) + l->cap_rows * sizeof(*l->rows) +
	       l->cap_sequences * sizeof(*l->sequences);
}

/* end: the address after the last row. */
static int end_sequence(struct machine *m, uint64_t end)
{
	struct dw_lines *l = m->l;
	int r;

	if (!m->is_open)
		return 0;
	m->is_open = false;
	if (end <= m->start || !dw_is_code(m->u->file->d, m->start)) {
		l->nr_rows = m->first_row; /* of code dropped by the linker */
		return 0;
	}
	r = ARRAY_RESERVE(l->sequences, l->cap_sequences, l->nr_sequences + 1, m->max_sequences);
	if (r < 0)
		return r;
	l->sequences[l->nr_sequences++] = (struct sequence){
		.start = m->start,
		.end = end,
		.first_row = m->first_row,
		.nr_rows = l->nr_rows - m->first_row,
	};
	return 0;
}

/* Rows that go backwards, or too far for an offset, begin a new sequence. */
static int begin_sequence(struct machine *m)
{
	int r = end_sequence(m, m->last);

	m->is_open = true;
	m->start = m->addr;
	m->first_row = m->l->nr_rows;
	return r;
}

static int add_row(struct machine *m)
{
	struct dw_lines *l = m->l;
	struct row *last, row;
	int r = 0;

	if (!m->is_open || m->addr < m->last || m->addr - m->start > UINT32_MAX)
		r = begin_sequence(m);
	if (r < 0)
		return r;
	m->last = m->addr;
	row = (struct row){ (uint32_t)(m->addr - m->start), m->file, m->line };
	last = l->nr_rows > m->first_row ? &l->rows[l->nr_rows - 1] : NULL;
	if (last && last->file == row.file && last->line == row.line)
		return 0;
	if (last && last->offset == row.offset) { /* of two rows for one address the later counts */
		*last = row;
		return 0;
	}
	r = ARRAY_RESERVE(l->rows, l->cap_rows, l->nr_rows + 1, m->max_rows);
	if (r < 0)
		return r;
	l->rows[l->nr_rows++] = row;
	return 0;
}

static void reset(struct machine *m)
{
	m->addr = 0;
	m->file = 1;
	m->line = 1;
}

static void advance(struct machine *m, uint64_t nr_instructions)
{
	m->addr += nr_instructions * m->l->header.min_instruction_bytes;
}

static int run_special(struct machine *m, uint8_t opcode)
{
	const struct dw_line_header *h = &m->l->header;
	uint8_t step = (uint8_t)(opcode - h->opcode_base);

	advance(m, step / h->line_range);
	m->line += (uint32_t)(h->line_base + step % h->line_range);
	return add_row(m);
}

static int run_extended(struct machine *m)
{
	uint64_t n = cursor_uleb128(&m->c);
	const uint8_t *bytes = cursor_take(&m->c, n);
	struct cursor c = cursor_of(bytes, bytes ? n : 0);
	int r = 0;

	if (!bytes)
		return -EBADMSG;
	switch (cursor_u8(&c)) {
	case DW_LNE_end_sequence:
		r = end_sequence(m, m->addr);
		reset(m);
		break;
	case DW_LNE_set_address:
		m->addr = n > 8 ? cursor_u64(&c) : cursor_u32(&c);
		break;
	default: /* discriminators, inline file definitions, vendor extensions */
		break;
	}
	return r;
}

static void skip_operands(struct machine *m, uint8_t opcode)
{
	for (uint8_t i = 0; i < m->l->header.operands[opcode]; i++)
		(void)cursor_uleb128(&m->c);
}

static int run_standard(struct machine *m, uint8_t opcode)
{
	const struct dw_line_header *h = &m->l->header;

	switch (opcode) {
	case DW_LNS_copy:
		return add_row(m);
	case DW_LNS_advance_pc:
		advance(m, cursor_uleb128(&m->c));
		break;
	case DW_LNS_advance_line:
		m->line += (uint32_t)cursor_sleb128(&m->c);
		break;
	case DW_LNS_set_file:
		m->file = (uint32_t)cursor_uleb128(&m->c);
		break;
	case DW_LNS_const_add_pc:
		advance(m, (uint8_t)(255 - h->opcode_base) / h->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		m->addr += cursor_u16(&m->c);
		break;
	default:
		skip_operands(m, opcode);
		break;
	}
	return 0;
}

static int run_program(struct machine *m)
{
	int r = 0;

	reset(m);
	while (r == 0 && !m->c.bad && cursor_left(&m->c)) {
		uint8_t opcode = cursor_u8(&m->c);

		if (opcode >= m->l->header.opcode_base)
			r = run_special(m, opcode);
		else if (opcode == 0)
			r = run_extended(m);
		else
			r = run_standard(m, opcode);
	}
	if (r == 0 && m->is_open) /* without an end, the extent of the last row is unknown */
		r = end_sequence(m, m->last);
	return r;
}

static int by_start(const void *pa, const void *pb)
{
	const struct sequence *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void sort_sequences(struct dw_lines *l)
{
	uint64_t max_end = 0;

	if (l->nr_sequences)
		qsort(l->sequences, l->nr_sequences, sizeof(*l->sequences), by_start);
	for (uint32_t i = 0; i < l->nr_sequences; i++) {
		if (l->sequences[i].end > max_end)
			max_end = l->sequences[i].end;
		l->sequences[i].max_end = max_end;
	}
}

static int run_line_program(struct dw_lines *l, const struct dw_unit *u)
{
	_cleanup_(dw_view_done) struct dw_view v = { 0 };
	struct dw_file *f = u->file;
	struct machine m = { .l = l, .u = u };
	int r = dw_section_view(f->d, &f->sections[DW_SEC_LINE], l->header.program_offset,
				l->header.program_bytes, &v);

	if (r < 0)
		return r;
	if (!dw_work(f->d, v.n))
		return -E2BIG;
	m.max_rows = dw_room_for(f->d, 2 * sizeof(struct row), LINES_MAX_ROWS);
	m.max_sequences = dw_room_for(f->d, 2 * sizeof(struct sequence), LINES_MAX_SEQUENCES);
	m.c = cursor_of(v.bytes, v.n);
	r = run_program(&m);
	sort_sequences(l);
	return r;
}

int dw_lines_new(const struct dw_unit *u, struct dw_lines **ret_lines)
{
	_cleanup_(dw_lines_freep) struct dw_lines *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	r = dw_line_header_init(&l->header, u);
	if (r == 0)
		r = run_line_program(l, u);
	if (r == -ENOMEM)
		return r;
	u->file->d->losses.is_damaged |= r == -EBADMSG;
	u->file->d->losses.is_over_budget |= r == -E2BIG && !u->file->d->losses.is_interrupted;
	*ret_lines = TAKE(l); /* with everything that could be read */
	return 0;
}

static const struct row *find_row(const struct dw_lines *l, const struct sequence *s, uint64_t addr)
{
	uint32_t nr = BISECT(i, s->nr_rows, l->rows[s->first_row + i].offset <= addr - s->start);

	return nr ? &l->rows[s->first_row + nr - 1] : NULL;
}

bool dw_lines_find(const struct dw_lines *l, uint64_t addr, uint32_t *ret_file, uint32_t *ret_line)
{
	uint32_t nr = BISECT(i, l->nr_sequences, l->sequences[i].start <= addr);

	for (int i = 0; nr && l->sequences[nr - 1].max_end > addr && i < MAX_STEPS; nr--, i++) {
		const struct sequence *s = &l->sequences[nr - 1];
		const struct row *row = addr < s->end ? find_row(l, s, addr) : NULL;

		if (row) {
			*ret_file = row->file;
			*ret_line = row->line;
			return true;
		}
	}
	return false;
}

int dw_lines_path(const struct dw_lines *l, const struct dw_unit *u, uint32_t file,
		  const char **ret_path)
{
	return dw_line_header_path(&l->header, u, file, ret_path);
}
