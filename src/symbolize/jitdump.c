/* SPDX-License-Identifier: Apache-2.0 */
/* Names and lines from a jitdump. The file is read once; one record per sampled address is kept. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/bisect.h"
#include "symbolize/jitdump_file.h"

#define JITDUMP_MAX_LINES (1u << 20) /* for one function */
/* Limit of line records for all addresses together, because each address reads those of its
 * function. */
#define JITDUMP_MAX_LINE_BYTES (1ull << 30)

/* V8 adds 0x40 to the address of a line's code, the size of the headers in the ELF file that `perf
 * inject` creates. */
#define V8_LINE_SHIFT 0x40

/* A sampled address to which code was moved. */
struct moved {
	uint64_t index;
	uint64_t before; /* offset of the MOVE; the LOAD is before it */
	uint64_t in_code;
	uint64_t group; /* the result, a number as in jitdump_hits */
	uint32_t address;
};

struct dump {
	struct jitdump_file file;
	const struct jit_task *t;
	struct jitdump_hits hits;
	uint64_t line_bytes; /* bytes of line records read so far */
	struct moved *moved; /* owned */
	uint32_t nr_moved, cap_moved;
};

/* ---- lines ---- */

struct line_entry {
	uint64_t addr;
	uint32_t line;
	const char *file;
};

/* "\xff" alone stands for the file of the previous entry. */
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

/* The line of an address: that of the last entry at or before it. One invalid entry discards all,
 * because V8 in Node 20 writes freed memory instead of names. */
static bool find_line(struct cursor c, const struct jitdump_code *code, uint64_t addr,
		      uint64_t shift, struct line_entry *ret)
{
	struct line_entry e = { 0 };
	uint64_t start, nr;

	(void)cursor_take(&c, JITDUMP_PREFIX_BYTES);
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

/* Sets the line. If lines cannot be read, the line that is part of the name remains. */
static int set_line(struct dump *d, uint32_t i, const struct jitdump_record *debug,
		    const struct jitdump_code *code, uint64_t addr, bool is_v8)
{
	struct jit_found *f = &d->t->found[i];
	struct line_entry e;

	if (debug->size > JIT_READ_BYTES || d->line_bytes > JITDUMP_MAX_LINE_BYTES) {
		d->t->counts->nr_dump_bad_lines++;
		return 0;
	}
	d->line_bytes += debug->size;
	if (!find_line(jitdump_bytes(&d->file, debug->offset, debug->size), code, addr,
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
static bool find_load(struct dump *d, uint64_t offset, struct jitdump_record *ret_load,
		      struct jitdump_record *ret_debug)
{
	*ret_debug = (struct jitdump_record){ 0 };
	for (int i = 0; i < 4 && jitdump_record_at(&d->file, offset, ret_load) > 0; i++) {
		if (ret_load->id == JITDUMP_LOAD)
			return true;
		if (ret_load->id == JITDUMP_DEBUG)
			*ret_debug = *ret_load;
		offset += ret_load->size;
	}
	return false;
}

static int name_from_load(struct dump *d, uint32_t i, uint64_t offset, uint64_t in_code,
			  bool is_moved)
{
	struct jitdump_record load, debug;
	struct jitdump_code code;
	struct cursor c;
	bool is_v8;
	int r;

	if (!find_load(d, offset, &load, &debug) || !jitdump_read_load(&d->file, &load, &code))
		return 0;
	if (!is_moved)
		in_code = d->t->list->addrs[i] - code.start;
	if (in_code >= code.end - code.start)
		return 0;
	c = jitdump_bytes(&d->file, load.offset + JITDUMP_LOAD_BYTES,
			  load.size - JITDUMP_LOAD_BYTES < JIT_MAX_NAME_BYTES
				  ? load.size - JITDUMP_LOAD_BYTES
				  : JIT_MAX_NAME_BYTES);
	r = jit_found_set(d->t, i, (const char *)c.at, cursor_left(&c), &is_v8);
	if (r < 0 || !debug.size)
		return r;
	return set_line(d, i, &debug, &code, code.start + in_code, is_v8);
}

static int note_moved(struct dump *d, uint32_t i, const struct jitdump_record *rec)
{
	struct jitdump_code code;
	int r;

	if (!jitdump_read_move(&d->file, rec, &code) || d->t->list->addrs[i] < code.start ||
	    d->t->list->addrs[i] >= code.end)
		return 0; /* the file has changed since */
	r = ARRAY_RESERVE(d->moved, d->cap_moved, (size_t)d->nr_moved + 1, d->t->list->nr);
	if (r < 0)
		return r;
	d->moved[d->nr_moved++] = (struct moved){ .index = code.index,
						  .before = rec->offset,
						  .in_code = d->t->list->addrs[i] - code.start,
						  .address = i };
	return 0;
}

static int name_loaded(struct dump *d)
{
	struct jitdump_record rec;
	int r = 0;

	for (uint32_t i = 0; i < d->t->list->nr && r == 0; i++) {
		if (d->t->found[i].name || !d->hits.numbers[i] ||
		    jitdump_record_at(&d->file, d->hits.numbers[i] - 1, &rec) <= 0)
			continue;
		if (rec.id == JITDUMP_MOVE)
			r = note_moved(d, i, &rec);
		else
			r = name_from_load(d, i, d->hits.numbers[i] - 1, 0, false);
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
	return BISECT(i, d->nr_moved, d->moved[i].index < index);
}

/* Reads the file a second time, to find the loads of moved code. The number of steps is that of
 * records and moved addresses: those of one index are visited again for each of its loads, and
 * there is one load per index. */
static int name_moved(struct dump *d)
{
	uint64_t at = d->file.first, debug = 0;
	struct jitdump_record rec;
	struct jitdump_code code;
	int r = 0;

	if (!d->nr_moved)
		return 0;
	qsort(d->moved, d->nr_moved, sizeof(*d->moved), compare_moved);
	for (uint32_t nr = 0; nr < JITDUMP_MAX_RECORDS && jitdump_record_at(&d->file, at, &rec) > 0;
	     nr++) {
		if (rec.id == JITDUMP_DEBUG)
			debug = rec.offset + 1;
		if (rec.id == JITDUMP_LOAD && jitdump_read_load(&d->file, &rec, &code)) {
			uint32_t k = first_moved(d, code.index);

			/* Only the first load counts: a writer that reuses its numbers is invalid.
			 * */
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

/* ---- the whole file ---- */

static void dump_done(struct dump *d)
{
	jitdump_close(&d->file);
	jitdump_hits_done(&d->hits);
	free(d->moved);
}

/* For an address with a known version only that version counts, whatever was there at other times;
 * and only the dump that the version refers to. */
static int find_hits(struct dump *d)
{
	const struct jit_task *t = d->t;
	int r = jitdump_hits_init(&d->hits, &d->file, t->list->addrs, t->list->times_ns,
				  t->list->nr, t->counts);

	for (uint32_t i = 0; i < t->list->nr && r == 0; i++)
		if (t->list->versions[i])
			d->hits.numbers[i] = t->has_versions ? t->list->versions[i] : 0;
	return r;
}

int jitdump_read(int fd, const struct jit_task *t)
{
	_cleanup_(dump_done) struct dump d = { .t = t };
	int r = jitdump_open(&d.file, fd, t->cancel);

	if (r == -ENOMEM)
		return r;
	d.file.until_ns = t->until_ns;
	d.file.reader.max_bytes = t->max_bytes;
	t->counts->nr_dumps++;
	t->counts->nr_dumps_bad += r < 0;
	if (r == 0)
		r = find_hits(&d);
	if (r < 0)
		return r;
	d.file.reader.read_bytes = JIT_READ_HERE_AND_THERE_BYTES;
	r = name_loaded(&d);
	d.file.reader.read_bytes = JIT_READ_BYTES;
	return r < 0 ? r : name_moved(&d);
}
