/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines and inlined functions of Go from its runtime's table, for programs without debug
 * information. Inlined calls are read from Go 1.20 on. For older versions, inlined code has the
 * file of the surrounding function, but no line, which would be that of another function.
 */
#include <errno.h>

#include "base/buf.h"
#include "elf/elf_image.h"
#include "elf/go_search.h"
#include "elf/go_text.h"
#include "symbolize/symbolize_internal.h"

/* Limit on steps through tables, which are walked again for each address: 64 million steps, half a
 * second. Beyond it lines are missing, but not names, for which the file's own limit applies. */
#define WORK_BYTES (256u << 20)
#define CHARGE_STEPS 64 /* steps through a table between two charges */
#define STEP_COST_BYTES 4
#define GO_MAX_FRAMES 64 /* frames at one address */

struct go_lines {
	const struct elf_image *img; /* borrowed */
	struct buf bytes;
	struct go_table table;
	struct work work;
	uint64_t text;
	uint64_t calls; /* link-time address of the inlined calls; 0: unknown */
	struct symbol_frame frames[GO_MAX_FRAMES];
};

struct go_lines *go_lines_free(struct go_lines *l)
{
	if (l) {
		buf_done(&l->bytes);
		free(l);
	}
	return NULL;
}

int go_lines_new(const struct elf_image *img, const struct cancel *cancel,
		 struct go_lines **ret_lines)
{
	_cleanup_(go_lines_freep) struct go_lines *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->img = img;
	l->work = (struct work){ .left_bytes = WORK_BYTES, .cancel = cancel };
	l->bytes = BUF_INIT(GO_MAX_TABLE_BYTES);
	r = go_search_load(img, &l->bytes, &l->table);
	if (r == 0)
		r = go_text_find(img, &l->table, NULL, &l->text);
	if (r < 0)
		return r;
	l->calls = go_text_calls(img, &l->table);
	*ret_lines = TAKE(l);
	return 0;
}

/* The value of a table at an offset. -ENOENT if there is none; -EBADMSG, -E2BIG, -ECANCELED. */
static int value_at(struct go_lines *l, const struct go_func *f, uint32_t table, uint64_t offset,
		    int64_t *ret_value)
{
	struct go_values v = go_values_of(&l->table, f, table);

	if (!table)
		return -ENOENT;
	for (uint32_t i = 0;; i++) {
		int r = i % CHARGE_STEPS ? 0
					 : work_charge(&l->work, CHARGE_STEPS * STEP_COST_BYTES);

		if (r == 0)
			r = go_values_next(&v);
		if (r <= 0)
			return r < 0 ? r : -ENOENT;
		if (offset < v.end) {
			*ret_value = v.value;
			return 0;
		}
	}
}

/* Adds a line. Malformed data only means that the line is missing. */
static void add_line(struct go_lines *l, const struct go_func *f, uint64_t offset,
		     struct symbol_frame *to)
{
	int64_t file, line;

	if (value_at(l, f, f->files, offset, &file) < 0)
		return;
	to->filename = go_file_name(&l->table, f, file);
	if (to->filename && value_at(l, f, f->lines, offset, &line) == 0 && line > 0 &&
	    line <= INT32_MAX)
		to->line = (uint32_t)line;
}

static uint32_t start_line_of(uint32_t line)
{
	return line <= INT32_MAX ? line : 0;
}

/* -ENOENT: unknown. */
static int read_call(const struct go_lines *l, const struct go_func *f, int64_t number,
		     struct go_call *ret_call)
{
	uint64_t addr = l->calls + f->calls + (uint64_t)number * GO_CALL_BYTES, offset;
	uint8_t bytes[GO_CALL_BYTES];

	if (!l->calls || f->calls == UINT32_MAX || elf_image_offset_of(l->img, addr, &offset) < 0 ||
	    elf_image_read(l->img, offset, bytes, sizeof(bytes)) < 0)
		return -ENOENT;
	*ret_call = go_call_read(bytes);
	if (ret_call->call_offset < 0 || (uint32_t)ret_call->call_offset >= f->end - f->start)
		return -ENOENT;
	return 0;
}

/* Adds the inlined functions at an offset, innermost first; sets the offset of the outermost call,
 * and returns the number of functions. -ENOENT: unknown. */
static int add_inlined(struct go_lines *l, const struct go_func *f, uint64_t *offset)
{
	int nr = 0;

	for (;;) {
		int64_t number = -1;
		struct go_call call;
		const char *name;
		int r = value_at(l, f, f->inlined, *offset, &number);

		if (number < 0)
			return r == 0 || r == -ENOENT ? nr : -ENOENT;
		name = nr + 1 < GO_MAX_FRAMES && read_call(l, f, number, &call) == 0
			       ? go_name_at(&l->table, call.name)
			       : NULL;
		if (!name || !name[0])
			return -ENOENT;
		l->frames[nr] = (struct symbol_frame){
			.name = name,
			.system_name = name,
			.start_line = start_line_of(call.start_line),
		};
		add_line(l, f, *offset, &l->frames[nr++]);
		*offset = f->start + (uint64_t)call.call_offset;
	}
}

bool go_lines_is_over(const struct go_lines *l)
{
	return l->work.end == WORK_OVER_BYTES;
}

void go_lines_add(struct go_lines *l, uint64_t addr, struct symbol_result *result)
{
	struct symbol_frame outer = result->frames[0];
	uint64_t offset = addr - l->text;
	struct go_func f;
	int nr;

	if (addr < l->text || go_table_find(&l->table, offset, &f) < 0)
		return;
	nr = add_inlined(l, &f, &offset);
	outer.start_line = start_line_of(f.start_line);
	add_line(l, &f, nr < 0 ? f.start : offset, &outer); /* nothing is inlined at the start */
	if (nr < 0) {
		outer.line = 0;
		nr = 0;
	}
	l->frames[nr++] = outer;
	result->frames = l->frames;
	result->nr_frames = (uint32_t)nr;
}
