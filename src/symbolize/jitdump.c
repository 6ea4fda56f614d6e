/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A jitdump (tools/perf/Documentation/jitdump-specification.txt of Linux): a header, then records,
 * each with its size and time. LOAD tells where a function is and its name, and carries its code,
 * which is passed over; MOVE gives a loaded function another place; DEBUG_INFO stands before the
 * LOAD whose lines it tells. The file is read once; what is kept is one record per sampled address.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "symbolize/jit_cover.h"
#include "symbolize/jit_internal.h"

#define JITDUMP_MAGIC 0x4a695444u
#define JITDUMP_VERSION 1
#define JITDUMP_ARCH_TIME 1u /* flag: times are a CPU's counter, which is not our clock */
#define JITDUMP_MAX_RECORDS (1u << 24)
#define JITDUMP_MAX_HEADER_BYTES 4096
#define JITDUMP_MAX_LINES (1u << 20) /* of one function */
/* Of line records, for all addresses together: each address reads those of its function. */
#define JITDUMP_MAX_LINE_BYTES (1ull << 30)

#define HEADER_BYTES 40
#define PREFIX_BYTES 16
#define LOAD_BYTES (PREFIX_BYTES + 40) /* then the name, then the code */
#define MOVE_BYTES (PREFIX_BYTES + 48)
#define DEBUG_BYTES (PREFIX_BYTES + 16)

/* V8 tells where a line's code will be in the ELF file that `perf inject` makes of it, behind 0x40
 * bytes of headers. */
#define V8_LINE_SHIFT 0x40

enum { RECORD_LOAD = 0, RECORD_MOVE = 1, RECORD_DEBUG = 2, RECORD_CLOSE = 3 };

struct record {
	uint64_t offset;
	uint32_t id, size;
	uint64_t time_ns;
};

struct code {
	uint64_t start, end; /* run-time addresses */
	uint64_t index;      /* the writer's number for it, in all its places */
};

/* A sampled address whose code had been moved there. */
struct moved {
	uint64_t index;
	uint64_t before; /* offset of the MOVE: its LOAD comes earlier */
	uint64_t in_code;
	uint64_t group; /* what was found; as a hit */
	uint32_t address;
};

struct dump {
	struct jit_reader reader;
	const struct jit_task *t;
	struct jit_cover cover;
	bool has_times;
	uint64_t first;      /* offset of the first record */
	uint64_t line_bytes; /* read so far */
	uint64_t *hits;  /* owned; by address: 1 + offset of its LOAD, or of the DEBUG_INFO before
			    it, or of a MOVE; 0: none */
	uint32_t *order; /* owned: addresses by time */
	uint32_t nr_settled;
	struct moved *moved; /* owned */
	uint32_t nr_moved, cap_moved;
};

/* ---- records ---- */

static struct cursor bytes_at(struct dump *d, uint64_t offset, size_t want)
{
	size_t got;
	const uint8_t *bytes = jit_reader_get(&d->reader, offset, want, &got);

	return cursor_of(bytes, got);
}

static int read_header(struct dump *d)
{
	struct cursor c = bytes_at(d, 0, HEADER_BYTES);
	uint32_t magic = cursor_u32(&c), version = cursor_u32(&c), size = cursor_u32(&c);
	uint64_t flags;

	(void)cursor_take(&c, 4 + 4 + 4 + 8); /* machine, padding, PID, time */
	flags = cursor_u64(&c);
	if (c.bad || magic != JITDUMP_MAGIC || version != JITDUMP_VERSION || size < HEADER_BYTES ||
	    size > JITDUMP_MAX_HEADER_BYTES)
		return -EBADMSG;
	d->has_times = !(flags & JITDUMP_ARCH_TIME);
	d->first = size;
	return 0;
}

/* 1: there is one; 0: the file ends here; -EBADMSG: it cannot go on. */
static int record_at(struct dump *d, uint64_t offset, struct record *ret)
{
	struct cursor c = bytes_at(d, offset, PREFIX_BYTES);
	size_t got = cursor_left(&c);

	ret->offset = offset;
	ret->id = cursor_u32(&c);
	ret->size = cursor_u32(&c);
	ret->time_ns = cursor_u64(&c);
	if (got == 0)
		return 0;
	return c.bad || ret->size < PREFIX_BYTES ? -EBADMSG : 1;
}

static bool is_in_file(struct dump *d, const struct record *rec)
{
	struct cursor last = bytes_at(d, rec->offset + rec->size - 1, 1);

	return cursor_left(&last) == 1;
}

static bool read_load(struct dump *d, const struct record *rec, struct code *ret)
{
	struct cursor c = bytes_at(d, rec->offset, LOAD_BYTES);
	uint64_t size;

	(void)cursor_take(&c, PREFIX_BYTES + 4 + 4 + 8); /* PID, thread, VMA */
	ret->start = cursor_u64(&c);
	size = cursor_u64(&c);
	ret->index = cursor_u64(&c);
	return !c.bad && rec->size > LOAD_BYTES && size &&
	       !__builtin_add_overflow(ret->start, size, &ret->end);
}

static bool read_move(struct dump *d, const struct record *rec, struct code *ret)
{
	struct cursor c = bytes_at(d, rec->offset, MOVE_BYTES);
	uint64_t size;

	(void)cursor_take(&c, PREFIX_BYTES + 4 + 4 + 8 + 8); /* PID, thread, VMA, old place */
	ret->start = cursor_u64(&c);
	size = cursor_u64(&c);
	ret->index = cursor_u64(&c);
	return !c.bad && rec->size >= MOVE_BYTES && size &&
	       !__builtin_add_overflow(ret->start, size, &ret->end);
}

/* ---- which record covers which address ---- */

static int compare_times(const void *pa, const void *pb, void *ctx)
{
	const uint64_t *times_ns = ctx;
	uint64_t a = times_ns[*(const uint32_t *)pa], b = times_ns[*(const uint32_t *)pb];

	return a < b ? -1 : a > b;
}

/* The addresses whose time comes before time_ns have what they will get. */
static void settle_before(struct dump *d, uint64_t time_ns)
{
	while (d->nr_settled < d->t->nr && d->t->times_ns[d->order[d->nr_settled]] < time_ns) {
		uint32_t i = d->order[d->nr_settled++];

		d->hits[i] = jit_cover_last(&d->cover, i);
	}
}

/* Code that ran before it was told of: nothing else was told of in its place until then. */
static void settle_rest(struct dump *d)
{
	for (; d->nr_settled < d->t->nr; d->nr_settled++) {
		uint32_t i = d->order[d->nr_settled];

		d->hits[i] = jit_cover_last(&d->cover, i);
	}
	for (uint32_t i = 0; i < d->t->nr; i++)
		if (!d->hits[i])
			d->hits[i] = jit_cover_first(&d->cover, i);
}

/* Returns whether the record could be understood. */
static bool note_record(struct dump *d, const struct record *rec, uint64_t *debug)
{
	struct code code;

	if (rec->id == RECORD_DEBUG) {
		*debug = rec->offset + 1;
		return rec->size >= DEBUG_BYTES;
	}
	if (rec->id != RECORD_LOAD && rec->id != RECORD_MOVE)
		return true;
	if (!(rec->id == RECORD_LOAD ? read_load(d, rec, &code) : read_move(d, rec, &code)))
		return false;
	if (d->has_times)
		settle_before(d, rec->time_ns);
	if (rec->id == RECORD_LOAD && *debug) {
		jit_cover_put(&d->cover, code.start, code.end, *debug);
		*debug = 0;
	} else {
		jit_cover_put(&d->cover, code.start, code.end, rec->offset + 1);
	}
	return true;
}

static void note_records(struct dump *d)
{
	struct jit_counts *counts = d->t->counts;
	uint64_t at = d->first, debug = 0;
	struct record rec;
	uint32_t nr = 0;
	int r;

	while ((r = record_at(d, at, &rec)) > 0 && is_in_file(d, &rec)) {
		if (nr++ == JITDUMP_MAX_RECORDS) {
			counts->nr_dumps_cut++;
			break;
		}
		counts->nr_dump_records++;
		if (!note_record(d, &rec, &debug))
			counts->nr_dump_bad_records++;
		at += rec.size;
	}
	if (r < 0 || (r > 0 && nr <= JITDUMP_MAX_RECORDS)) {
		counts->nr_dump_records++; /* the one that is cut short */
		counts->nr_dump_bad_records++;
	}
	settle_rest(d);
}

/* ---- lines ---- */

struct line_entry {
	uint64_t addr;
	uint32_t line;
	const char *file;
};

/* "\xff" alone stands for the file of the entry before. */
static bool read_entry(struct cursor *c, struct line_entry *e)
{
	const char *file;

	e->addr = cursor_u64(c);
	e->line = cursor_u32(c);
	(void)cursor_u32(c); /* discriminator, or column */
	file = cursor_str(c);
	if (c->bad)
		return false;
	if (strcmp(file, "\xff") != 0 || !e->file)
		e->file = file;
	for (const char *p = e->file; *p; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p == 0x7f)
			return false;
	return e->file[0] != '\0';
}

/* The line of an address: that of the last entry at or before it. One entry that is wrong spoils
 * all, for V8 of Node 20 writes freed memory where names should be. */
static bool find_line(struct cursor c, const struct code *code, uint64_t addr, uint64_t shift,
		      struct line_entry *ret)
{
	struct line_entry e = { 0 };
	uint64_t start, nr;

	(void)cursor_take(&c, PREFIX_BYTES);
	start = cursor_u64(&c);
	nr = cursor_u64(&c);
	if (c.bad || start != code->start || nr > JITDUMP_MAX_LINES)
		return false;
	*ret = (struct line_entry){ 0 };
	for (uint64_t i = 0; i < nr; i++) {
		if (!read_entry(&c, &e) || e.addr - shift - code->start > code->end - code->start)
			return false;
		if (e.addr - shift <= addr && (!ret->file || e.addr >= ret->addr))
			*ret = e;
	}
	return true;
}

/* Lines that cannot be read leave what the name told. */
static int set_line(struct dump *d, uint32_t i, const struct record *debug, const struct code *code,
		    uint64_t addr, bool is_v8)
{
	struct jit_found *f = &d->t->found[i];
	struct line_entry e;

	if (debug->size > JIT_READ_BYTES || d->line_bytes > JITDUMP_MAX_LINE_BYTES) {
		d->t->counts->nr_dump_bad_lines++;
		return 0;
	}
	d->line_bytes += debug->size;
	if (!find_line(bytes_at(d, debug->offset, debug->size), code, addr,
		       is_v8 ? V8_LINE_SHIFT : 0, &e)) {
		d->t->counts->nr_dump_bad_lines++;
		return 0;
	}
	if (!e.file)
		return 0;
	f->line = e.line;
	return strtab_intern(d->t->strings, e.file, &f->filename);
}

/* ---- names ---- */

/* The LOAD at or soon after offset, and the DEBUG_INFO before it (size 0: none). */
static bool find_load(struct dump *d, uint64_t offset, struct record *ret_load,
		      struct record *ret_debug)
{
	*ret_debug = (struct record){ 0 };
	for (int i = 0; i < 4 && record_at(d, offset, ret_load) > 0; i++) {
		if (ret_load->id == RECORD_LOAD)
			return true;
		if (ret_load->id == RECORD_DEBUG)
			*ret_debug = *ret_load;
		offset += ret_load->size;
	}
	return false;
}

static int name_from_load(struct dump *d, uint32_t i, uint64_t offset, uint64_t in_code,
			  bool is_moved)
{
	struct record load, debug;
	struct code code;
	struct cursor c;
	bool is_v8;
	int r;

	if (!find_load(d, offset, &load, &debug) || !read_load(d, &load, &code))
		return 0;
	if (!is_moved)
		in_code = d->t->addrs[i] - code.start;
	if (in_code >= code.end - code.start)
		return 0;
	c = bytes_at(d, load.offset + LOAD_BYTES,
		     load.size - LOAD_BYTES < JIT_MAX_NAME_BYTES ? load.size - LOAD_BYTES
								 : JIT_MAX_NAME_BYTES);
	r = jit_found_set(d->t, i, (const char *)c.at, cursor_left(&c), &is_v8);
	if (r < 0 || !debug.size)
		return r;
	return set_line(d, i, &debug, &code, code.start + in_code, is_v8);
}

static int note_moved(struct dump *d, uint32_t i, const struct record *rec)
{
	struct code code;
	int r;

	if (!read_move(d, rec, &code) || d->t->addrs[i] < code.start || d->t->addrs[i] >= code.end)
		return 0; /* changed since */
	r = ARRAY_RESERVE(d->moved, d->cap_moved, (size_t)d->nr_moved + 1, d->t->nr);
	if (r < 0)
		return r;
	d->moved[d->nr_moved++] = (struct moved){ .index = code.index,
						  .before = rec->offset,
						  .in_code = d->t->addrs[i] - code.start,
						  .address = i };
	return 0;
}

static int name_loaded(struct dump *d)
{
	struct record rec;
	int r = 0;

	for (uint32_t i = 0; i < d->t->nr && r == 0; i++) {
		if (!d->hits[i] || record_at(d, d->hits[i] - 1, &rec) <= 0)
			continue;
		if (rec.id == RECORD_MOVE)
			r = note_moved(d, i, &rec);
		else
			r = name_from_load(d, i, d->hits[i] - 1, 0, false);
	}
	return r;
}

static int compare_moved(const void *pa, const void *pb)
{
	const struct moved *a = pa, *b = pb;

	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	return a->before > b->before ? -1 : a->before < b->before;
}

static uint32_t first_moved(const struct dump *d, uint64_t index)
{
	uint32_t low = 0, high = d->nr_moved;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (d->moved[mid].index < index)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Once more through the file, for the loads of what was moved. As many steps as records and moved
 * addresses: those of one index are looked at again for each of its loads, which are one. */
static int name_moved(struct dump *d)
{
	uint64_t at = d->first, debug = 0;
	struct record rec;
	struct code code;
	int r = 0;

	if (!d->nr_moved)
		return 0;
	qsort(d->moved, d->nr_moved, sizeof(*d->moved), compare_moved);
	for (uint32_t nr = 0; nr < JITDUMP_MAX_RECORDS && record_at(d, at, &rec) > 0; nr++) {
		if (rec.id == RECORD_DEBUG)
			debug = rec.offset + 1;
		if (rec.id == RECORD_LOAD && read_load(d, &rec, &code)) {
			uint32_t k = first_moved(d, code.index);

			/* Of the first load alone: a writer that uses its numbers again is lying. */
			for (; k < d->nr_moved && d->moved[k].index == code.index &&
			       !d->moved[k].group && rec.offset < d->moved[k].before;
			     k++)
				d->moved[k].group = debug ? debug : rec.offset + 1;
			debug = 0;
		}
		at += rec.size;
	}
	for (uint32_t k = 0; k < d->nr_moved && r == 0; k++)
		if (d->moved[k].group)
			r = name_from_load(d, d->moved[k].address, d->moved[k].group - 1,
					   d->moved[k].in_code, true);
	return r;
}

/* ---- all of it ---- */

static void dump_done(struct dump *d)
{
	jit_reader_done(&d->reader);
	jit_cover_done(&d->cover);
	free(d->hits);
	free(d->order);
	free(d->moved);
}

static int dump_init(struct dump *d, int fd, const struct jit_task *t)
{
	int r;

	*d = (struct dump){ .t = t };
	d->hits = calloc((size_t)t->nr + 1, sizeof(*d->hits));
	d->order = calloc((size_t)t->nr + 1, sizeof(*d->order));
	r = jit_reader_init(&d->reader, fd, t->cancel);
	if (r == 0)
		r = jit_cover_init(&d->cover, t->addrs, t->nr);
	if (r < 0 || !d->hits || !d->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->nr; i++)
		d->order[i] = i;
	qsort_r(d->order, t->nr, sizeof(*d->order), compare_times, (void *)(uintptr_t)t->times_ns);
	return 0;
}

int jitdump_read(int fd, const struct jit_task *t)
{
	_cleanup_(dump_done) struct dump d = { 0 };
	int r = dump_init(&d, fd, t);

	if (r < 0)
		return r;
	t->counts->nr_dumps++;
	r = read_header(&d);
	if (r < 0) {
		t->counts->nr_dumps_bad++;
		return r;
	}
	note_records(&d);
	d.reader.read_bytes = JIT_READ_HERE_AND_THERE_BYTES;
	r = name_loaded(&d);
	d.reader.read_bytes = JIT_READ_BYTES;
	return r < 0 ? r : name_moved(&d);
}
