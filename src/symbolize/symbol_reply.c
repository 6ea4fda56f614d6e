/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbol_reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define MAX_FRAMES (1u << 27)
#define ALL_FLAGS                                                                                  \
	(SYMBOL_IS_NAMED | SYMBOL_IS_RAW | SYMBOL_IS_REUSED | SYMBOL_IS_OUTSIDE | SYMBOL_NO_ROOM)

/* ---- collecting ---- */

int symbol_reply_draft_init(struct symbol_reply_draft *d, uint32_t nr_items)
{
	memset(d, 0, sizeof(*d)); /* including padding, because replies are compared */
	d->head.nr_answers = nr_items;
	d->answers = calloc((size_t)nr_items + 1, sizeof(*d->answers));
	return d->answers ? strtab_init(&d->strings) : -ENOMEM;
}

void symbol_reply_draft_done(struct symbol_reply_draft *d)
{
	free(d->answers);
	free(d->frames);
	strtab_done(&d->strings);
}

static int add_frame(struct symbol_reply_draft *d, const struct symbol_frame *f)
{
	struct symbol_reply_frame to = { .line = f->line, .start_line = f->start_line };
	int r = strtab_intern(&d->strings, f->name, &to.name);

	if (r == 0)
		r = strtab_intern(&d->strings, f->system_name, &to.system_name);
	if (r == 0 && f->filename)
		r = strtab_intern(&d->strings, f->filename, &to.filename);
	if (r == 0)
		d->frames[d->head.nr_frames++] = to;
	return r;
}

int symbol_reply_draft_add(struct symbol_reply_draft *d, uint32_t item,
			   const struct symbol_result *res, uint32_t flags)
{
	uint32_t nr = res->nr_frames < SYMBOL_ANSWER_MAX_FRAMES ? res->nr_frames
								: SYMBOL_ANSWER_MAX_FRAMES;
	uint32_t first = d->head.nr_frames;
	int r = ARRAY_RESERVE(d->frames, d->cap_frames, (size_t)first + nr, MAX_FRAMES);

	for (uint32_t i = 0; i < nr && r == 0; i++)
		r = add_frame(d, &res->frames[i]);
	if (r < 0) {
		d->head.nr_frames = first;
		return r;
	}
	flags |= (res->is_named ? SYMBOL_IS_NAMED : 0) | (res->is_raw ? SYMBOL_IS_RAW : 0) |
		 (res->is_reused ? SYMBOL_IS_REUSED : 0);
	d->answers[item] = (struct symbol_answer){ first, nr, flags };
	return 0;
}

/* ---- writing ---- */

/* Computes where each string will start. -E2BIG: beyond what an offset can express. */
static int place_strings(const struct strtab *strings, uint32_t *offsets, uint32_t *ret_bytes)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < strings->nr_strings; i++) {
		offsets[i] = (uint32_t)bytes;
		bytes += strlen(strtab_get(strings, i)) + 1;
		if (bytes > UINT32_MAX)
			return -E2BIG;
	}
	*ret_bytes = (uint32_t)bytes;
	return 0;
}

static void append_frames(const struct symbol_reply_draft *d, const uint32_t *offsets,
			  struct buf *to)
{
	for (uint32_t i = 0; i < d->head.nr_frames; i++) {
		struct symbol_reply_frame f = d->frames[i];

		f.name = offsets[f.name];
		f.system_name = offsets[f.system_name];
		f.filename = offsets[f.filename];
		memcpy(to->data + to->len, &f, sizeof(f));
		to->len += sizeof(f);
	}
}

static void append_strings(const struct strtab *strings, struct buf *to)
{
	for (uint32_t i = 0; i < strings->nr_strings; i++) {
		const char *s = strtab_get(strings, i);

		to->len = (size_t)(stpcpy(to->data + to->len, s) + 1 - to->data);
	}
}

int symbol_reply_write(const struct symbol_reply_draft *d, struct buf *to)
{
	_cleanup_(freep)
		uint32_t *offsets = calloc((size_t)d->strings.nr_strings + 1, sizeof(*offsets));
	size_t answers_bytes = d->head.nr_answers * sizeof(*d->answers);
	struct symbol_reply_head head = d->head;
	int r = offsets ? place_strings(&d->strings, offsets, &head.strings_bytes) : -ENOMEM;

	if (r == 0)
		r = buf_reserve(to, sizeof(head) + answers_bytes +
					    head.nr_frames * sizeof(*d->frames) +
					    head.strings_bytes);
	if (r == 0)
		r = buf_append(to, &head, sizeof(head));
	if (r == 0)
		r = buf_append(to, d->answers, answers_bytes);
	if (r < 0)
		return r;
	append_frames(d, offsets, to); /* room for both was reserved */
	append_strings(&d->strings, to);
	return 0;
}

/* ---- reading ---- */

static bool is_head_sound(const struct symbol_reply_head *h, uint32_t nr_items, size_t bytes)
{
	return h->nr_answers == nr_items && h->missing < NR_SYMBOL_WHYS &&
	       h->lines < NR_SYMBOL_WHYS && h->limit < NR_SYMBOL_WHYS &&
	       h->replaced < NR_SYMBOL_WHYS && h->strings_bytes &&
	       bytes == sizeof(*h) + nr_items * sizeof(struct symbol_answer) +
				h->nr_frames * sizeof(struct symbol_reply_frame) + h->strings_bytes;
}

/* Every frame and string that is referred to exists. */
static bool is_sound(const struct symbol_reply *r)
{
	uint32_t nr_frames = r->head->nr_frames, strings_bytes = r->head->strings_bytes;

	if (r->strings[strings_bytes - 1] != '\0')
		return false;
	for (uint32_t i = 0; i < r->head->nr_answers; i++) {
		const struct symbol_answer *a = &r->answers[i];

		if (a->nr_frames > SYMBOL_ANSWER_MAX_FRAMES || a->nr_frames > nr_frames ||
		    a->first_frame > nr_frames - a->nr_frames || (a->flags & ~(uint32_t)ALL_FLAGS))
			return false;
	}
	for (uint32_t i = 0; i < nr_frames; i++) {
		const struct symbol_reply_frame *f = &r->frames[i];

		if (f->name >= strings_bytes || f->system_name >= strings_bytes ||
		    f->filename >= strings_bytes)
			return false;
	}
	return true;
}

int symbol_reply_read(struct buf *bytes, uint32_t nr_items, struct symbol_reply *ret_reply)
{
	struct symbol_reply r = { .bytes = *bytes, .head = (const void *)bytes->data };

	*bytes = BUF_INIT(bytes->max);
	*ret_reply = (struct symbol_reply){ 0 };
	if (r.bytes.len < sizeof(*r.head) || !is_head_sound(r.head, nr_items, r.bytes.len)) {
		buf_done(&r.bytes);
		return -EBADMSG;
	}
	r.answers = (const void *)(r.head + 1);
	r.frames = (const void *)(r.answers + nr_items);
	r.strings = (const void *)(r.frames + r.head->nr_frames);
	if (!is_sound(&r)) {
		buf_done(&r.bytes);
		return -EBADMSG;
	}
	*ret_reply = r;
	return 0;
}

void symbol_reply_done(struct symbol_reply *r)
{
	buf_done(&r->bytes);
	*r = (struct symbol_reply){ 0 };
}
