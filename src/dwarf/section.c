/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>

#include "dwarf/internal.h"
#include "elf/elf_image.h"
#include "elf/elf_strings.h"

#define SMALL_BYTES (256u << 10) /* cheaper to read once than in parts */

void dw_section_init(struct dw_section *s, const struct elf_image *img, const char *name)
{
	*s = (struct dw_section){ .img = img };
	s->at = elf_image_debug_section(img, name);
	if (s->at)
		s->error = elf_image_section_bytes(img, s->at, &s->size, &s->is_packed);
}

void dw_section_done(struct dwarf *d, struct dw_section *s)
{
	if (s->whole)
		d->whole_bytes -= s->size;
	free(s->whole);
	if (s->strings)
		elf_strings_done(s->strings);
	free(s->strings);
	*s = (struct dw_section){ 0 };
}

bool dw_work(struct dwarf *d, uint64_t bytes)
{
	if (cancel_is_asked(d->files.cancel)) {
		d->losses.is_interrupted = true;
		return false;
	}
	if (bytes > d->work_left_bytes) {
		d->losses.is_over_budget = true;
		return false;
	}
	d->work_left_bytes -= bytes;
	return true;
}

static int load_whole(struct dwarf *d, struct dw_section *s)
{
	struct buf b = BUF_INIT(DWARF_MAX_WHOLE_BYTES);
	int r;

	if (cancel_is_asked(d->files.cancel)) {
		d->losses.is_interrupted = true;
		return -ECANCELED;
	}
	if (s->size > DWARF_MAX_WHOLE_BYTES - d->whole_bytes) {
		d->losses.is_over_budget = true;
		return -E2BIG;
	}
	r = elf_image_read_section(s->img, s->at, &b);
	if (r < 0 || b.len != s->size) {
		buf_done(&b);
		return r < 0 ? r : -EBADMSG;
	}
	s->whole = (uint8_t *)b.data;
	d->whole_bytes += s->size;
	return 0;
}

/* Loads it if it is one that is held whole. */
static int prepare(struct dwarf *d, struct dw_section *s, bool must_be_whole)
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
		d->losses.is_damaged |= r != -E2BIG;
	}
	return r;
}

int dw_section_view(struct dwarf *d, struct dw_section *s, uint64_t offset, uint64_t n,
		    struct dw_view *ret_view)
{
	_cleanup_(freep) uint8_t *bytes = NULL;
	int r = prepare(d, s, false);

	if (r < 0)
		return r;
	if (offset > s->size || n > s->size - offset)
		return -EBADMSG;
	if (s->whole) {
		*ret_view = (struct dw_view){ .bytes = s->whole + offset, .n = n };
		return 0;
	}
	if (!dw_work(d, n))
		return -E2BIG;
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
	int r = prepare(d, s, true);

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
	struct cursor c;

	if (prepare(d, s, false) < 0 || offset >= s->size)
		return NULL;
	if (!s->whole)
		return string_in_part(s, offset);
	c = cursor_of(s->whole + offset, s->size - offset);
	return cursor_str(&c);
}
