/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/jitdump_file.h"

#include <errno.h>
#include <string.h>

#define JITDUMP_MAGIC 0x4a695444u
#define JITDUMP_VERSION 1
#define JITDUMP_ARCH_TIME 1u /* flag: times are from a CPU's counter, not from our clock */
#define JITDUMP_MAX_HEADER_BYTES 4096

#define HEADER_BYTES 40
#define MOVE_BYTES (JITDUMP_PREFIX_BYTES + 48)
#define DEBUG_BYTES (JITDUMP_PREFIX_BYTES + 16)

struct cursor jitdump_bytes(struct jitdump_file *f, uint64_t offset, size_t want)
{
	size_t got;
	const uint8_t *bytes = jit_reader_get(&f->reader, offset, want, &got);

	return cursor_of(bytes, got);
}

static int read_header(struct jitdump_file *f)
{
	struct cursor c = jitdump_bytes(f, 0, HEADER_BYTES);
	uint32_t magic = cursor_u32(&c), version = cursor_u32(&c), size = cursor_u32(&c);
	uint64_t flags;

	(void)cursor_take(&c, 4 + 4 + 4 + 8); /* machine, padding, PID, time */
	flags = cursor_u64(&c);
	if (c.bad || magic != JITDUMP_MAGIC || version != JITDUMP_VERSION || size < HEADER_BYTES ||
	    size > JITDUMP_MAX_HEADER_BYTES)
		return -EBADMSG;
	f->has_times = !(flags & JITDUMP_ARCH_TIME);
	f->first = size;
	return 0;
}

int jitdump_open(struct jitdump_file *f, int fd, const struct cancel *cancel)
{
	int r;

	*f = (struct jitdump_file){ .until_ns = UINT64_MAX };
	r = jit_reader_init(&f->reader, fd, cancel);
	return r < 0 ? r : read_header(f);
}

void jitdump_close(struct jitdump_file *f)
{
	jit_reader_done(&f->reader);
}

/* ---- records ---- */

int jitdump_record_at(struct jitdump_file *f, uint64_t offset, struct jitdump_record *ret)
{
	struct cursor c = jitdump_bytes(f, offset, JITDUMP_PREFIX_BYTES);
	size_t got = cursor_left(&c);

	ret->offset = offset;
	ret->id = cursor_u32(&c);
	ret->size = cursor_u32(&c);
	ret->time_ns = cursor_u64(&c);
	if (got == 0)
		return 0;
	return c.bad || ret->size < JITDUMP_PREFIX_BYTES ? -EBADMSG : 1;
}

static bool is_in_file(struct jitdump_file *f, const struct jitdump_record *rec)
{
	struct cursor last = jitdump_bytes(f, rec->offset + rec->size - 1, 1);

	return cursor_left(&last) == 1;
}

bool jitdump_read_load(struct jitdump_file *f, const struct jitdump_record *rec,
		       struct jitdump_code *ret)
{
	struct cursor c = jitdump_bytes(f, rec->offset, JITDUMP_LOAD_BYTES);
	uint64_t size;

	(void)cursor_take(&c, JITDUMP_PREFIX_BYTES + 4 + 4 + 8); /* PID, thread, VMA */
	ret->start = cursor_u64(&c);
	size = cursor_u64(&c);
	ret->index = cursor_u64(&c);
	return !c.bad && rec->size > JITDUMP_LOAD_BYTES && size &&
	       !__builtin_add_overflow(ret->start, size, &ret->end);
}

bool jitdump_read_move(struct jitdump_file *f, const struct jitdump_record *rec,
		       struct jitdump_code *ret)
{
	struct cursor c = jitdump_bytes(f, rec->offset, MOVE_BYTES);
	uint64_t size;

	/* PID, thread, VMA, old place */
	(void)cursor_take(&c, JITDUMP_PREFIX_BYTES + 4 + 4 + 8 + 8);
	ret->start = cursor_u64(&c);
	size = cursor_u64(&c);
	ret->index = cursor_u64(&c);
	return !c.bad && rec->size >= MOVE_BYTES && size &&
	       !__builtin_add_overflow(ret->start, size, &ret->end);
}

/* ---- iteration ---- */

/* A LOAD whose name ends inside the file. Writers that buffer leave such a last record while they
 * run: what is missing is code, which is not read anyway. */
static bool has_whole_name(struct jitdump_file *f, const struct jitdump_record *rec)
{
	uint64_t name_bytes = rec->size - JITDUMP_LOAD_BYTES;
	struct cursor name;

	if (rec->id != JITDUMP_LOAD || rec->size <= JITDUMP_LOAD_BYTES)
		return false;
	if (name_bytes > JIT_MAX_NAME_BYTES)
		name_bytes = JIT_MAX_NAME_BYTES;
	name = jitdump_bytes(f, rec->offset + JITDUMP_LOAD_BYTES, name_bytes);
	return cursor_left(&name) && memchr(name.at, '\0', cursor_left(&name));
}

void jitdump_walk_init(struct jitdump_walk *w, struct jitdump_file *f, struct jit_counts *counts)
{
	*w = (struct jitdump_walk){ .file = f, .counts = counts, .at = f->first };
}

/* The next record that is complete, or that lacks only code. */
static bool next_record(struct jitdump_walk *w, struct jitdump_record *ret)
{
	int r = jitdump_record_at(w->file, w->at, ret);

	if (r == 0)
		return false;
	if (w->nr == JITDUMP_MAX_RECORDS) {
		w->counts->nr_dumps_too_large++;
		return false;
	}
	w->nr++;
	w->counts->nr_dump_records++;
	if (r < 0 || (!is_in_file(w->file, ret) && !has_whole_name(w->file, ret))) {
		w->counts->nr_dump_bad_records++;
		return false;
	}
	w->at += ret->size;
	return true;
}

/* 1: code; 0: something else; -EBADMSG: invalid. */
static int read_change(struct jitdump_walk *w, const struct jitdump_record *rec,
		       struct jitdump_change *ret)
{
	bool is_load = rec->id == JITDUMP_LOAD;

	if (rec->id == JITDUMP_DEBUG) {
		w->debug = rec->offset + 1;
		return rec->size >= DEBUG_BYTES ? 0 : -EBADMSG;
	}
	if (!is_load && rec->id != JITDUMP_MOVE)
		return 0;
	if (!(is_load ? jitdump_read_load(w->file, rec, &ret->code)
		      : jitdump_read_move(w->file, rec, &ret->code)))
		return -EBADMSG;
	ret->time_ns = rec->time_ns;
	ret->number = is_load && w->debug ? w->debug : rec->offset + 1;
	if (is_load)
		w->debug = 0;
	return !w->file->has_times || rec->time_ns <= w->file->until_ns;
}

bool jitdump_walk_next(struct jitdump_walk *w, struct jitdump_change *ret)
{
	struct jitdump_record rec;
	int r = 0;

	while (r <= 0 && next_record(w, &rec)) {
		r = read_change(w, &rec, ret);
		w->counts->nr_dump_bad_records += r < 0;
	}
	return r > 0;
}

/* ---- records by address ---- */

static int compare_times(const void *pa, const void *pb, void *ctx)
{
	const uint64_t *times_ns = ctx;
	uint64_t a = times_ns[*(const uint32_t *)pa], b = times_ns[*(const uint32_t *)pb];

	return a < b ? -1 : a > b;
}

/* Indexes of addresses, in order of time; the caller frees them. */
static uint32_t *order_by_time(const uint64_t *times_ns, uint32_t nr)
{
	uint32_t *order = calloc((size_t)nr + 1, sizeof(*order));

	for (uint32_t i = 0; order && i < nr; i++)
		order[i] = i;
	if (order)
		qsort_r(order, nr, sizeof(*order), compare_times, (void *)(uintptr_t)times_ns);
	return order;
}

static void find_hits(struct jitdump_hits *h, struct jitdump_walk *w, const uint64_t *times_ns,
		      const uint32_t *order, uint32_t nr)
{
	struct jitdump_change change;
	uint32_t k = 0;

	while (jitdump_walk_next(w, &change)) {
		/* Addresses with an earlier time have their final result. */
		for (; w->file->has_times && k < nr && times_ns[order[k]] < change.time_ns; k++)
			h->numbers[order[k]] = jit_cover_last(&h->cover, order[k]);
		jit_cover_put(&h->cover, change.code.start, change.code.end, change.number);
	}
	for (; k < nr; k++)
		h->numbers[order[k]] = jit_cover_last(&h->cover, order[k]);
	for (uint32_t i = 0; i < nr; i++)
		if (!h->numbers[i])
			h->numbers[i] = jit_cover_first(&h->cover, i);
}

int jitdump_hits_init(struct jitdump_hits *h, struct jitdump_file *f, const uint64_t *addrs,
		      const uint64_t *times_ns, uint32_t nr, struct jit_counts *counts)
{
	_cleanup_(freep) uint32_t *order = order_by_time(times_ns, nr);
	struct jitdump_walk w;
	int r;

	*h = (struct jitdump_hits){ .numbers = calloc((size_t)nr + 1, sizeof(*h->numbers)) };
	r = jit_cover_init(&h->cover, addrs, nr);
	if (r < 0 || !h->numbers || !order)
		return -ENOMEM;
	jitdump_walk_init(&w, f, counts);
	find_hits(h, &w, times_ns, order, nr);
	return 0;
}

void jitdump_hits_done(struct jitdump_hits *h)
{
	free(h->numbers);
	jit_cover_done(&h->cover);
}
