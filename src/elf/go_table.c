/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/go_table.h"

#include <errno.h>

#include "base/leb128.h"

#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u
#define MAX_NAME_BYTES 4096  /* those of generics have hundreds */
#define MAX_FILLING_BYTES 63 /* functions are aligned to 32 or 64 bytes at most */
#define MAX_DELTA (1 << 24)  /* bytes; frames that large do not exist */

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
	t.text = cursor_u64(&c);  /* 0 since 1.26, and where it is relocated */
	t.names = cursor_u64(&c);
	t.units = cursor_u64(&c);
	t.files = cursor_u64(&c);
	t.deltas = cursor_u64(&c);
	t.funcs = cursor_u64(&c);
	if (c.bad || nr > GO_MAX_FUNCS || t.names > size || t.deltas > size || t.funcs > size)
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

const char *go_func_name(const struct go_table *t, const struct go_func *f)
{
	struct cursor c = cursor_at(t, t->names + (uint32_t)f->name);

	if (cursor_left(&c) > MAX_NAME_BYTES)
		c.end = c.at + MAX_NAME_BYTES;
	return f->name < 0 ? NULL : cursor_str(&c);
}

int go_table_func(const struct go_table *t, uint32_t i, struct go_func *ret_func)
{
	struct cursor c = cursor_at(t, t->funcs + (uint64_t)i * GO_FUNC_TAB_ENTRY_BYTES);
	struct go_func f = { .start = cursor_u32(&c) };
	uint32_t entry = cursor_u32(&c);

	f.end = cursor_u32(&c);
	if (c.bad || f.end <= f.start)
		return -EBADMSG;
	c = cursor_at(t, t->funcs + entry);
	(void)cursor_take(&c, 4);
	f.name = cursor_s32(&c);
	(void)cursor_take(&c, 8);
	f.deltas = cursor_u32(&c);
	(void)cursor_take(&c, t->flags_at - 20);
	f.flags = cursor_u8(&c);
	if (c.bad)
		return -EBADMSG;
	*ret_func = f;
	return 0;
}

struct go_deltas go_deltas_of(const struct go_table *t, const struct go_func *f)
{
	return (struct go_deltas){ .c = cursor_at(t, t->deltas + f->deltas),
				   .func_end = f->end,
				   .end = f->start,
				   .delta = -1,
				   .is_first = true };
}

static bool is_delta(int64_t delta)
{
	return delta >= 0 && delta <= MAX_DELTA && delta % 8 == 0;
}

/* Pairs of numbers: by how much the value changes, and for how many bytes it holds. */
int go_deltas_next(struct go_deltas *d)
{
	uint64_t change = cursor_uleb128(&d->c), bytes;
	int64_t by = (int64_t)(change >> 1) ^ -(int64_t)(change & 1);

	if (d->c.bad)
		return -EBADMSG;
	if (d->end >= d->func_end || (change == 0 && !d->is_first))
		return 0;
	d->is_first = false;
	if (by < -MAX_DELTA - 1 || by > MAX_DELTA + 1) /* so that the sum stays small */
		return -EBADMSG;
	d->delta += by;
	bytes = cursor_uleb128(&d->c);
	if (d->c.bad || !is_delta(d->delta) || bytes == 0 || bytes > d->func_end - d->end)
		return -EBADMSG;
	d->start = d->end;
	d->end += bytes;
	/* Behind the last piece is filling, up to the next function. */
	if (cursor_left(&d->c) && *d->c.at == 0 && d->func_end - d->end <= MAX_FILLING_BYTES)
		d->end = d->func_end;
	return 1;
}
