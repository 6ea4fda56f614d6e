/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/go_table.h"

#include <errno.h>

#include "base/bisect.h"
#include "base/leb128.h"

#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u
#define MAX_NAME_BYTES 4096  /* names of generic functions have hundreds of bytes */
#define MAX_FILLING_BYTES 63 /* functions are aligned to at most 32 or 64 bytes */
#define MAX_DELTA (1 << 24)  /* bytes; larger frames do not exist */
#define MAX_CHANGE (1 << 25) /* largest value of any kind: lines, files, bytes */
#define PCDATA_INLINED 2     /* index of its table (internal/abi/symtab.go) */
#define FUNCDATA_CALLS 3
#define MAX_PCDATA 64 /* 1.26 has 5 */
#define NO_FILE UINT32_MAX

static struct cursor cursor_at(const struct go_table *t, uint64_t at)
{
	struct cursor c = cursor_of(t->bytes, t->size);

	if (at > t->size)
		c.bad = true;
	else
		c.at += at;
	return c;
}

bool go_table_is_begin(const void *bytes)
{
	struct cursor c = cursor_of(bytes, 8);
	uint32_t magic = cursor_u32(&c);
	uint16_t zero = cursor_u16(&c);
	uint8_t quantum = cursor_u8(&c), pointer_bytes = cursor_u8(&c);

	return (magic == MAGIC_1_18 || magic == MAGIC_1_20) && zero == 0 &&
	       (quantum == 1 || quantum == 4) && pointer_bytes == 8;
}

int go_table_read_header(const void *bytes, size_t n, uint64_t size, struct go_table *ret_table)
{
	struct cursor c = cursor_of(bytes, n);
	const uint8_t *begin = cursor_take(&c, 8);
	struct go_table t = { 0 };
	uint64_t nr = cursor_u64(&c);

	if (c.bad || !go_table_is_begin(begin))
		return -ENOENT;
	(void)cursor_take(&c, 8); /* number of files */
	t.text = cursor_u64(&c);  /* 0 since 1.26, and if it is relocated */
	t.names = cursor_u64(&c);
	t.units = cursor_u64(&c);
	t.files = cursor_u64(&c);
	t.deltas = cursor_u64(&c);
	t.funcs = cursor_u64(&c);
	if (c.bad || nr > GO_MAX_FUNCS || t.names > size || t.deltas > size || t.funcs > size ||
	    t.units > size || t.files > size)
		return -EBADMSG;
	t.nr_funcs = (uint32_t)nr;
	t.quantum = begin[6];
	t.flags_at = begin[0] == (uint8_t)MAGIC_1_18 ? 37 : 41;
	*ret_table = t;
	return 0;
}

int go_table_open(const void *bytes, size_t size, struct go_table *ret_table)
{
	int r = go_table_read_header(bytes, size, size, ret_table);

	if (r == 0) {
		ret_table->bytes = bytes;
		ret_table->size = size;
	}
	return r;
}

const char *go_name_at(const struct go_table *t, int32_t name)
{
	struct cursor c = cursor_at(t, t->names + (uint32_t)name);

	if (cursor_left(&c) > MAX_NAME_BYTES)
		c.end = c.at + MAX_NAME_BYTES;
	return name < 0 ? NULL : cursor_str(&c);
}

const char *go_func_name(const struct go_table *t, const struct go_func *f)
{
	return go_name_at(t, f->name);
}

struct go_call go_call_read(const uint8_t bytes[GO_CALL_BYTES])
{
	struct cursor c = cursor_of(bytes, GO_CALL_BYTES);
	struct go_call call;

	(void)cursor_take(&c, 4); /* the kind of function */
	call.name = cursor_s32(&c);
	call.call_offset = cursor_s32(&c);
	call.start_line = cursor_u32(&c);
	return call;
}

/* After a function's fixed part: offsets of its tables, then offsets into go.func.*. */
static void read_inlined(const struct go_table *t, struct cursor c, uint32_t nr_pcdata,
			 struct go_func *f)
{
	struct cursor tables;
	uint8_t nr_funcdata;

	f->calls = UINT32_MAX;
	(void)cursor_u8(&c);
	nr_funcdata = cursor_u8(&c);
	tables = c;
	(void)cursor_take(&tables, 4 * PCDATA_INLINED);
	if (nr_pcdata > PCDATA_INLINED)
		f->inlined = cursor_u32(&tables);
	if (nr_funcdata <= FUNCDATA_CALLS || nr_pcdata > MAX_PCDATA)
		return;
	(void)cursor_take(&c, 4 * (size_t)(nr_pcdata + FUNCDATA_CALLS));
	f->calls = cursor_u32(&c);
	if (c.bad || t->flags_at < 41) /* 1.18 has another call format */
		f->calls = UINT32_MAX;
}

int go_table_func(const struct go_table *t, uint32_t i, struct go_func *ret_func)
{
	struct cursor c = cursor_at(t, t->funcs + (uint64_t)i * GO_FUNC_TAB_ENTRY_BYTES);
	struct go_func f = { .start = cursor_u32(&c) };
	uint32_t entry = cursor_u32(&c), nr_pcdata;

	f.end = cursor_u32(&c);
	if (c.bad || f.end <= f.start)
		return -EBADMSG;
	c = cursor_at(t, t->funcs + entry);
	(void)cursor_take(&c, 4);
	f.name = cursor_s32(&c);
	(void)cursor_take(&c, 8);
	f.deltas = cursor_u32(&c);
	f.files = cursor_u32(&c);
	f.lines = cursor_u32(&c);
	nr_pcdata = cursor_u32(&c);
	f.unit = cursor_u32(&c);
	f.start_line = t->flags_at > 37 ? cursor_u32(&c) : 0;
	(void)cursor_u8(&c);
	f.flags = cursor_u8(&c);
	if (c.bad)
		return -EBADMSG;
	read_inlined(t, c, nr_pcdata, &f);
	*ret_func = f;
	return 0;
}

static bool begins_at_or_below(const struct go_table *t, uint32_t i, uint64_t offset)
{
	struct cursor c = cursor_at(t, t->funcs + (uint64_t)i * GO_FUNC_TAB_ENTRY_BYTES);

	return cursor_u32(&c) <= offset && !c.bad;
}

int go_table_find(const struct go_table *t, uint64_t offset, struct go_func *ret_func)
{
	uint32_t nr = BISECT(i, t->nr_funcs, begins_at_or_below(t, i, offset));

	if (!nr || go_table_func(t, nr - 1, ret_func) < 0 || offset < ret_func->start ||
	    offset >= ret_func->end)
		return -ENOENT;
	return 0;
}

/* Each file of a unit has a number, by which the unit's part of a table gives the position of its
 * name. */
const char *go_file_name(const struct go_table *t, const struct go_func *f, int64_t file)
{
	struct cursor c;
	uint32_t at;

	if (file < 0 || f->unit == UINT32_MAX)
		return NULL;
	c = cursor_at(t, t->units + 4 * (f->unit + (uint64_t)file));
	at = cursor_u32(&c);
	if (c.bad || at == NO_FILE)
		return NULL;
	c = cursor_at(t, t->files + at);
	if (cursor_left(&c) > MAX_NAME_BYTES)
		c.end = c.at + MAX_NAME_BYTES;
	return cursor_str(&c);
}

struct go_values go_values_of(const struct go_table *t, const struct go_func *f, uint32_t table)
{
	return (struct go_values){ .c = cursor_at(t, t->deltas + table),
				   .func_end = f->end,
				   .end = f->start,
				   .value = -1,
				   .quantum = t->quantum,
				   .is_first = true };
}

int go_values_next(struct go_values *v)
{
	uint64_t change = cursor_uleb128(&v->c), bytes;
	int64_t by = (int64_t)(change >> 1) ^ -(int64_t)(change & 1);

	if (v->c.bad)
		return -EBADMSG;
	if (v->end >= v->func_end || (change == 0 && !v->is_first))
		return 0;
	v->is_first = false;
	if (by < -MAX_CHANGE || by > MAX_CHANGE) /* keeps the sum small */
		return -EBADMSG;
	v->value += by;
	bytes = cursor_uleb128(&v->c);
	if (v->c.bad || bytes == 0 || bytes > (v->func_end - v->end) / v->quantum)
		return -EBADMSG;
	v->start = v->end;
	v->end += bytes * v->quantum;
	return 1;
}

struct go_deltas go_deltas_of(const struct go_table *t, const struct go_func *f)
{
	return (struct go_deltas){ .v = go_values_of(t, f, f->deltas),
				   .end = f->start,
				   .delta = -1 };
}

static bool is_delta(int64_t delta)
{
	return delta >= 0 && delta <= MAX_DELTA && delta % 8 == 0;
}

int go_deltas_next(struct go_deltas *d)
{
	struct go_values *v = &d->v;
	int r = go_values_next(v);

	if (r <= 0)
		return r;
	if (!is_delta(v->value))
		return -EBADMSG;
	/* After the last range there is padding up to the next function. */
	if (cursor_left(&v->c) && *v->c.at == 0 && v->func_end - v->end <= MAX_FILLING_BYTES)
		v->end = v->func_end;
	d->start = v->start;
	d->end = v->end;
	d->delta = v->value;
	return 1;
}
