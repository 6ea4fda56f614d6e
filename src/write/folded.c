/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks. Lines are neither built nor kept in memory: samples are sorted by comparing the
 * text that they would give, equal neighbours are summed, and each line is written from the model.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "write/clean_text.h"
#include "write/text_out.h"
#include "write/writer.h"

#define NO_COMM "[unknown]"
#define NO_NAME "[unknown]"

/* The suffixes by which flamegraph.pl and inferno recognize kinds of frames. */
#define KERNEL_MARK "_[k]"
#define JIT_MARK "_[j]"
#define INLINED_MARK "_[i]"

struct folded {
	const struct profile *p; /* borrowed for one call of write() */

	struct strtab names;      /* as written: equal texts have the same number */
	struct buf text;          /* owned: the name that is being built */
	uint32_t *function_names; /* owned, by function: name */
	uint32_t *inlined_names;  /* owned, by function: name when inlined; 0: never */
	uint32_t *location_names; /* owned, by location: name, if there are no lines */
	uint32_t *comm_names;     /* owned, by label set: name */
	uint32_t *order;          /* owned: samples, sorted by their lines */
	struct text_out out;
};

static struct folded *folded_free(struct folded *f)
{
	if (!f)
		return NULL;
	strtab_done(&f->names);
	buf_done(&f->text);
	free(f->function_names);
	free(f->inlined_names);
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
	f->inlined_names = numbers_new(p->nr_functions);
	f->location_names = numbers_new(p->nr_locations);
	f->comm_names = numbers_new(p->nr_label_sets);
	f->order = numbers_new(p->nr_samples);
	if (!f->function_names || !f->inlined_names || !f->location_names || !f->comm_names ||
	    !f->order)
		return -ENOMEM;
	*ret_folded = TAKE(f);
	return 0;
}

static int append_source(struct buf *to, const char *source)
{
	int r = buf_append(to, " (", 2);

	if (r == 0)
		r = text_append_frame(to, source);
	return r < 0 ? r : buf_append(to, ")", 1);
}

/* source: "" or what the name is distinguished by. */
static int add_name(struct folded *f, const char *s, const char *source, const char *mark,
		    uint32_t *ret_name)
{
	int r;

	buf_clear(&f->text);
	r = text_append_frame(&f->text, s);
	if (r == 0 && *source)
		r = append_source(&f->text, source);
	if (r == 0)
		r = buf_append(&f->text, mark, strlen(mark));
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

/* The suffix for code in a mapping, or outside of all mappings. */
static const char *mark_of(const struct profile *p, uint32_t mapping)
{
	if (mapping == PROFILE_NONE)
		return "";
	if (p->mappings[mapping].kind == PROFILE_MAPPING_KERNEL)
		return KERNEL_MARK;
	return p->mappings[mapping].kind == PROFILE_MAPPING_JIT ? JIT_MARK : "";
}

static const char *function_name(const struct folded *f, uint32_t i)
{
	const char *name = profile_str(f->p, f->p->functions[i].name);

	return *name ? name : NO_NAME;
}

/* The script of a function of generated code, without directories: two scripts often have functions of one
 * name. "" if it is not known, or part of the name already, as in "(anonymous srv.js:5)". */
static const char *function_source(const struct folded *f, uint32_t i)
{
	const struct profile_function *fn = &f->p->functions[i];
	const char *source = path_name(profile_str(f->p, fn->filename));

	if (fn->mapping == PROFILE_NONE || f->p->mappings[fn->mapping].kind != PROFILE_MAPPING_JIT)
		return "";
	return strstr(function_name(f, i), source) ? "" : source;
}

static int name_function(struct folded *f, uint32_t i)
{
	return add_name(f, function_name(f, i), function_source(f, i),
			mark_of(f->p, f->p->functions[i].mapping), &f->function_names[i]);
}

/* Names the inlined functions of a location: those of all lines except the last. */
static int name_inlined(struct folded *f, const struct profile_location *l)
{
	int r = 0;

	for (uint32_t i = 0; i + 1 < l->nr_lines && r >= 0; i++) {
		uint32_t function = f->p->lines[l->first_line + i].function;

		if (!f->inlined_names[function])
			r = add_name(f, function_name(f, function), function_source(f, function),
				     INLINED_MARK, &f->inlined_names[function]);
	}
	return r;
}

static int name_location(struct folded *f, uint32_t i)
{
	const struct profile_location *l = &f->p->locations[i];
	char hex[24];

	if (l->nr_lines)
		return name_inlined(f, l);
	(void)snprintf(hex, sizeof(hex), "0x%" PRIx64, l->address);
	return add_name(f, hex, "", mark_of(f->p, l->mapping), &f->location_names[i]);
}

static int name_comm(struct folded *f, uint32_t i)
{
	return add_name(f, comm_of(f->p, i), "", "", &f->comm_names[i]);
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

/* Iterates over the frames of a sample from the root to the leaf, outermost line first. */
struct walk {
	const struct folded *f;
	const uint32_t *frames;
	uint32_t nr_frames; /* frames whose lines have not begun */
	uint32_t location;
	uint32_t nr_lines; /* lines of `location` that have not been returned yet */
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
	const uint32_t *names;

	if (walk_is_over(w))
		return PROFILE_NONE;
	if (w->nr_lines == 0) {
		w->location = w->frames[--w->nr_frames];
		w->nr_lines = p->locations[w->location].nr_lines;
		if (w->nr_lines == 0)
			return w->f->location_names[w->location];
	}
	l = &p->locations[w->location];
	names = w->nr_lines == l->nr_lines ? w->f->function_names : w->f->inlined_names;
	return names[p->lines[l->first_line + --w->nr_lines].function];
}

/* Skips equal locations, which have equal names, so that most of two neighbouring stacks need not
 * be compared. */
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

/* Compares two different names, each followed by ';' or, at the end of its line, by nothing. */
static int compare_names(const struct folded *f, uint32_t a, bool a_is_last, uint32_t b,
			 bool b_is_last)
{
	const unsigned char *s = (const unsigned char *)strtab_get(&f->names, a);
	const unsigned char *t = (const unsigned char *)strtab_get(&f->names, b);
	int c, d;

	for (; *s == *t; s++, t++)
		; /* terminates, because the two differ */
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

static int compare_lines(const void *left, const void *right, void *ctx)
{
	return compare_samples(ctx, *(const uint32_t *)left, *(const uint32_t *)right);
}

static void put_line(struct folded *f, uint32_t sample, int64_t count)
{
	struct walk w = walk_of(f, sample);

	text_out_text(&f->out, strtab_get(&f->names, f->comm_names[f->p->samples[sample].labels]));
	while (!walk_is_over(&w)) {
		text_out_text(&f->out, ";");
		text_out_text(&f->out, strtab_get(&f->names, walk_next(&w)));
	}
	text_out_text(&f->out, " ");
	text_out_number(&f->out, count);
	text_out_text(&f->out, "\n");
}

/* The sum of sample *i and all following samples that give the same line; *i becomes the first one
 * after those. */
static int64_t sum_of_line(const struct folded *f, uint32_t *i)
{
	uint32_t first = f->order[*i];
	int64_t sum = 0;

	do {
		int64_t value = profile_value(f->p, f->order[*i], f->p->shown_type);

		/* A sum that does not fit saturates: no real count comes near it. */
		if (__builtin_add_overflow(sum, value, &sum))
			sum = value < 0 ? INT64_MIN : INT64_MAX;
		(*i)++;
	} while (*i < f->p->nr_samples && compare_samples(f, first, f->order[*i]) == 0);
	return sum;
}

static int put_lines(struct folded *f)
{
	for (uint32_t i = 0; i < f->p->nr_samples && f->out.result == 0;) {
		uint32_t first = f->order[i];

		put_line(f, first, sum_of_line(f, &i));
	}
	return text_out_flush(&f->out);
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
	text_out_init(&f->out, out, cancel, err);
	for (uint32_t i = 0; i < p->nr_samples; i++)
		f->order[i] = i;
	qsort_r(f->order, p->nr_samples, sizeof(*f->order), compare_lines, f);
	return put_lines(f);
}

const struct writer writer_folded = { .name = "folded",
				      .suffix = ".folded",
				      .write = folded_write };
