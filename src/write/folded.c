/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks. Lines are neither built nor kept in memory: samples are sorted by comparing the
 * text that they would give, equal neighbours are summed, and each line is written from the model.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "write/text.h"
#include "write/writer.h"

#define OUT_BYTES 65536u
#define NO_COMM "[unknown]"
#define NO_NAME "[unknown]"

struct folded {
	const struct profile *p; /* borrowed, like the next three, for one call of write() */
	struct outfile *out;
	const atomic_bool *cancel;
	struct pa_error *err;

	struct strtab names;      /* as they are written: equal text has one number */
	struct buf text;          /* owned: a name that is being made */
	uint32_t *function_names; /* owned, by function: name */
	uint32_t *location_names; /* owned, by location: name, where there are no lines */
	uint32_t *comm_names;     /* owned, by label set: name */
	uint32_t *order;          /* owned: samples, sorted by their lines */

	size_t nr_bytes; /* of bytes[], not written yet */
	char bytes[OUT_BYTES];
};

static struct folded *folded_free(struct folded *f)
{
	if (!f)
		return NULL;
	strtab_done(&f->names);
	buf_done(&f->text);
	free(f->function_names);
	free(f->location_names);
	free(f->comm_names);
	free(f->order);
	free(f);
	return NULL;
}
DEFINE_CLEANUP(struct folded *, folded_free)

static uint32_t *numbers_new(uint32_t nr)
{
	return calloc((size_t)nr + 1, sizeof(uint32_t));
}

static int folded_new(const struct profile *p, struct folded **ret_folded)
{
	_cleanup_(folded_freep) struct folded *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->p = p;
	f->text = BUF_INIT(4 * (size_t)STRTAB_MAX_BYTES); /* U+FFFD is three bytes for one */
	r = strtab_init(&f->names);
	if (r < 0)
		return r;
	f->function_names = numbers_new(p->nr_functions);
	f->location_names = numbers_new(p->nr_locations);
	f->comm_names = numbers_new(p->nr_label_sets);
	f->order = numbers_new(p->nr_samples);
	if (!f->function_names || !f->location_names || !f->comm_names || !f->order)
		return -ENOMEM;
	*ret_folded = TAKE(f);
	return 0;
}

static int add_name(struct folded *f, const char *s, uint32_t *ret_name)
{
	int r;

	buf_clear(&f->text);
	r = text_append_frame(&f->text, s);
	if (r < 0)
		return r;
	return strtab_intern_n(&f->names, f->text.data, f->text.len, ret_name);
}

static const char *comm_of(const struct profile *p, uint32_t label_set)
{
	const struct profile_span *set = &p->label_sets[label_set];

	for (uint32_t i = 0; i < set->nr; i++) {
		const struct profile_label *l = &p->labels[set->first + i];

		if (l->str && strcmp(profile_str(p, l->key), "comm") == 0)
			return profile_str(p, l->str);
	}
	return NO_COMM;
}

static int name_function(struct folded *f, uint32_t i)
{
	const char *name = profile_str(f->p, f->p->functions[i].name);

	return add_name(f, *name ? name : NO_NAME, &f->function_names[i]);
}

static int name_location(struct folded *f, uint32_t i)
{
	char hex[24];

	if (f->p->locations[i].nr_lines)
		return 0;
	(void)snprintf(hex, sizeof(hex), "0x%" PRIx64, f->p->locations[i].address);
	return add_name(f, hex, &f->location_names[i]);
}

static int name_comm(struct folded *f, uint32_t i)
{
	return add_name(f, comm_of(f->p, i), &f->comm_names[i]);
}

static int name_each(struct folded *f, uint32_t nr, int (*name_one)(struct folded *, uint32_t))
{
	int r = 0;

	for (uint32_t i = 0; i < nr && r >= 0; i++)
		r = name_one(f, i);
	return r;
}

static int make_names(struct folded *f)
{
	int r = name_each(f, f->p->nr_functions, name_function);

	if (r < 0)
		return r;
	r = name_each(f, f->p->nr_locations, name_location);
	if (r < 0)
		return r;
	return name_each(f, f->p->nr_label_sets, name_comm);
}

/* Walks the frames of a sample from the root to the leaf, outermost line first. */
struct walk {
	const struct folded *f;
	const uint32_t *frames;
	uint32_t nr_frames; /* not begun yet */
	uint32_t location;
	uint32_t nr_lines; /* of location, not given yet */
};

static struct walk walk_of(const struct folded *f, uint32_t sample)
{
	const struct profile_span *s = &f->p->stacks[f->p->samples[sample].stack];

	return (struct walk){ .f = f,
			      .frames = s->nr ? f->p->frames + s->first : NULL,
			      .nr_frames = s->nr };
}

static bool walk_is_over(const struct walk *w)
{
	return w->nr_frames == 0 && w->nr_lines == 0;
}

/* The next name, or PROFILE_NONE at the end. */
static uint32_t walk_next(struct walk *w)
{
	const struct profile *p = w->f->p;
	const struct profile_location *l;

	if (walk_is_over(w))
		return PROFILE_NONE;
	if (w->nr_lines == 0) {
		w->location = w->frames[--w->nr_frames];
		w->nr_lines = p->locations[w->location].nr_lines;
		if (w->nr_lines == 0)
			return w->f->location_names[w->location];
	}
	l = &p->locations[w->location];
	return w->f->function_names[p->lines[l->first_line + --w->nr_lines].function];
}

/* Equal places have equal names: most of two neighbours is passed without looking at them. */
static void skip_equal_frames(struct walk *a, struct walk *b)
{
	if (a->nr_lines || b->nr_lines)
		return;
	while (a->nr_frames && b->nr_frames &&
	       a->frames[a->nr_frames - 1] == b->frames[b->nr_frames - 1]) {
		a->nr_frames--;
		b->nr_frames--;
	}
}

/* Two different names, each followed by ';' or, at the end of its line, by nothing. */
static int compare_names(const struct folded *f, uint32_t a, bool a_is_last, uint32_t b,
			 bool b_is_last)
{
	const unsigned char *s = (const unsigned char *)strtab_get(&f->names, a);
	const unsigned char *t = (const unsigned char *)strtab_get(&f->names, b);
	int c, d;

	for (; *s == *t; s++, t++)
		; /* ends, for the two differ */
	c = *s || a_is_last ? *s : ';';
	d = *t || b_is_last ? *t : ';';
	return c - d;
}

static int compare_samples(const struct folded *f, uint32_t a, uint32_t b)
{
	struct walk wa = walk_of(f, a), wb = walk_of(f, b);
	uint32_t name_a = f->comm_names[f->p->samples[a].labels];
	uint32_t name_b = f->comm_names[f->p->samples[b].labels];

	while (name_a == name_b) {
		if (name_a == PROFILE_NONE)
			return 0;
		skip_equal_frames(&wa, &wb);
		name_a = walk_next(&wa);
		name_b = walk_next(&wb);
	}
	if (name_a == PROFILE_NONE)
		return -1;
	if (name_b == PROFILE_NONE)
		return 1;
	return compare_names(f, name_a, walk_is_over(&wa), name_b, walk_is_over(&wb));
}

static int compare(const void *left, const void *right, void *ctx)
{
	return compare_samples(ctx, *(const uint32_t *)left, *(const uint32_t *)right);
}

static int flush(struct folded *f)
{
	int r = outfile_write(f->out, f->bytes, f->nr_bytes, f->err);

	f->nr_bytes = 0;
	return r;
}

static int put(struct folded *f, const char *s)
{
	size_t n = strlen(s);
	int r;

	if (n > sizeof(f->bytes) - f->nr_bytes) {
		r = flush(f);
		if (r < 0)
			return r;
	}
	if (n > sizeof(f->bytes))
		return outfile_write(f->out, s, n, f->err);
	memcpy(f->bytes + f->nr_bytes, s, n);
	f->nr_bytes += n;
	return 0;
}

static int put_line(struct folded *f, uint32_t sample, int64_t count)
{
	struct walk w = walk_of(f, sample);
	char number[24];
	int r = put(f, strtab_get(&f->names, f->comm_names[f->p->samples[sample].labels]));

	while (r >= 0 && !walk_is_over(&w)) {
		r = put(f, ";");
		if (r >= 0)
			r = put(f, strtab_get(&f->names, walk_next(&w)));
	}
	if (r < 0)
		return r;
	(void)snprintf(number, sizeof(number), " %" PRId64 "\n", count);
	return put(f, number);
}

/* The sum of *i and all after it that give the same line; *i is then the first that does not. */
static int64_t sum_of_line(const struct folded *f, uint32_t *i)
{
	uint32_t first = f->order[*i];
	int64_t sum = 0;

	do {
		int64_t value = f->p->samples[f->order[*i]].values[0];

		/* A sum that does not fit stays at the end: no true count comes near it. */
		if (__builtin_add_overflow(sum, value, &sum))
			sum = value < 0 ? INT64_MIN : INT64_MAX;
		(*i)++;
	} while (*i < f->p->nr_samples && compare_samples(f, first, f->order[*i]) == 0);
	return sum;
}

static int put_lines(struct folded *f)
{
	for (uint32_t i = 0; i < f->p->nr_samples;) {
		uint32_t first = f->order[i];
		int64_t sum = sum_of_line(f, &i);
		int r;

		if (f->cancel && atomic_load_explicit(f->cancel, memory_order_relaxed))
			return error_set(f->err, ECANCELED, "writing '%s' was cancelled",
					 outfile_path(f->out));
		r = put_line(f, first, sum);
		if (r < 0)
			return r;
	}
	return flush(f);
}

static int folded_write(const struct profile *p, struct outfile *out, const atomic_bool *cancel,
			struct pa_error *err)
{
	_cleanup_(folded_freep) struct folded *f = NULL;
	int r = folded_new(p, &f);

	if (r >= 0)
		r = make_names(f);
	if (r < 0)
		return error_set(err, -r, "%s while writing '%s'",
				 r == -ENOMEM ? "out of memory" : "too many names",
				 outfile_path(out));
	f->out = out;
	f->cancel = cancel;
	f->err = err;
	for (uint32_t i = 0; i < p->nr_samples; i++)
		f->order[i] = i;
	qsort_r(f->order, p->nr_samples, sizeof(*f->order), compare, f);
	return put_lines(f);
}

const struct writer writer_folded = { .name = "folded", .write = folded_write };
