/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>

#include "dwarf/internal.h"
#include "elf/elf_image.h"
#include "elf/elf_strings.h"

#define VIEW_COST_BYTES 32       /* cost of accessing bytes, in addition to reading them */
#define SMALL_BYTES (256u << 10) /* cheaper to read at once than in parts */

void dw_section_init(struct dw_section *s, const struct elf_image *img, const char *name)
{
	*s = (struct dw_section){ .img = img };
	s->at = elf_image_debug_section(img, name);
	if (s->at)
		s->error = elf_image_section_bytes(img, s->at, &s->size, &s->is_packed);
}

void dw_section_done(struct dwarf *d, struct dw_section *s)
{
	if (s->whole) {
		d->whole_bytes -= s->size;
		d->dwo_bytes -= s->is_cached ? s->size : 0;
	}
	free(s->whole);
	if (s->strings)
		elf_strings_done(s->strings);
	free(s->strings);
	*s = (struct dw_section){ 0 };
}

static bool note_end(struct dwarf *d, int r)
{
	d->losses.is_interrupted |= r == -ECANCELED;
	d->losses.is_over_budget |= r == -E2BIG;
	return r == 0;
}

bool dw_work(struct dwarf *d, uint64_t bytes)
{
	return note_end(d, work_charge(&d->work, bytes));
}

/* As dw_work(), but always checks for cancellation. */
static bool work_and_look(struct dwarf *d, uint64_t bytes)
{
	return dw_work(d, bytes) && note_end(d, work_look(&d->work));
}

bool dw_is_over(const struct dwarf *d)
{
	return d->work.end != WORK_GOES_ON;
}

uint64_t dw_room_bytes(const struct dwarf *d)
{
	uint64_t used = d->whole_bytes - d->dwo_bytes + d->cached_bytes +
			(uint64_t)d->cap_ranges * sizeof(*d->ranges);
	uint64_t room = used < d->max_bytes ? d->max_bytes - used : 0;

	return room > DWARF_CACHE_MIN_BYTES ? room : DWARF_CACHE_MIN_BYTES;
}

uint32_t dw_room_for(const struct dwarf *d, size_t item_bytes, uint32_t most)
{
	uint64_t nr = dw_room_bytes(d) / item_bytes;

	return nr < most ? (uint32_t)nr : most;
}

static bool has_room(const struct dwarf *d, uint64_t bytes)
{
	uint64_t most = d->max_bytes < DWARF_MAX_WHOLE_BYTES ? d->max_bytes : DWARF_MAX_WHOLE_BYTES;

	return d->whole_bytes <= most && bytes <= most - d->whole_bytes;
}

static int load_whole(struct dwarf *d, struct dw_section *s)
{
	struct buf b = BUF_INIT(DWARF_MAX_WHOLE_BYTES);
	int r;

	if (!has_room(d, s->size))
		dw_dwos_drop(d);
	if (!has_room(d, s->size)) {
		d->losses.is_over_budget = true;
		return -E2BIG;
	}
	if (!work_and_look(d, s->size))
		return d->losses.is_interrupted ? -ECANCELED : -E2BIG;
	r = elf_image_read_section(s->img, s->at, &b);
	if (r < 0 || b.len != s->size) {
		buf_done(&b);
		return r < 0 ? r : -EBADMSG;
	}
	s->whole = (uint8_t *)b.data;
	d->whole_bytes += s->size;
	return 0;
}

/* Loads the section if it must be held whole. */
static int prepare_section(struct dwarf *d, struct dw_section *s, bool must_be_whole)
{
	int r;

	if (!s->at || (!s->error && s->size == 0))
		return -ENOENT;
	if (s->error)
		return s->error;
	if (s->whole || !(must_be_whole || s->is_packed || s->size <= SMALL_BYTES))
		return 0;
	r = load_whole(d, s);
	if (r < 0 && r != -ENOMEM) {
		s->error = r;
		d->losses.is_damaged |= r != -E2BIG && r != -ECANCELED;
	}
	return r;
}

int dw_section_view(struct dwarf *d, struct dw_section *s, uint64_t offset, uint64_t n,
		    struct dw_view *ret_view)
{
	_cleanup_(freep) uint8_t *bytes = NULL;
	int r = prepare_section(d, s, false);

	if (r < 0)
		return r;
	if (offset > s->size || n > s->size - offset)
		return -EBADMSG;
	if (!work_and_look(d, s->whole ? VIEW_COST_BYTES : VIEW_COST_BYTES + n))
		return -E2BIG;
	if (s->whole) {
		*ret_view = (struct dw_view){ .bytes = s->whole + offset, .n = n };
		return 0;
	}
	bytes = malloc(n ? n : 1);
	if (!bytes)
		return -ENOMEM;
	r = elf_image_read(s->img, s->at->offset + offset, bytes, n);
	if (r < 0)
		return r;
	*ret_view = (struct dw_view){ .bytes = bytes, .n = n, .owned = bytes };
	bytes = NULL;
	return 0;
}

void dw_view_done(struct dw_view *v)
{
	free(v->owned);
	*v = (struct dw_view){ 0 };
}

int dw_section_whole(struct dwarf *d, struct dw_section *s, uint64_t offset,
		     struct cursor *ret_cursor)
{
	int r = prepare_section(d, s, true);

	if (r < 0)
		return r;
	if (offset > s->size)
		return -EBADMSG;
	*ret_cursor = cursor_of(s->whole + offset, s->size - offset);
	return 0;
}

static const char *string_in_part(struct dw_section *s, uint64_t offset)
{
	if (!s->strings) {
		s->strings = malloc(sizeof(*s->strings));
		if (!s->strings)
			return NULL;
		if (elf_strings_init(s->strings, s->img, s->at) < 0) {
			elf_strings_done(s->strings);
			free(TAKE(s->strings));
			return NULL;
		}
	}
	return elf_strings_get(s->strings, offset);
}

const char *dw_section_string(struct dwarf *d, struct dw_section *s, uint64_t offset)
{
	const char *text;
	struct cursor c;
	uint64_t left;

	if (prepare_section(d, s, false) < 0 || offset >= s->size)
		return NULL;
	if (!s->whole)
		return string_in_part(s, offset);
	left = s->size - offset;
	c = cursor_of(s->whole + offset, left < DWARF_MAX_NAME_BYTES ? left : DWARF_MAX_NAME_BYTES);
	text = cursor_str(&c);
	/* Its length is known only now, but it is bounded. */
	return dw_work(d, text ? strlen(text) : DWARF_MAX_NAME_BYTES) ? text : NULL;
}
