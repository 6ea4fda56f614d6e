/* SPDX-License-Identifier: Apache-2.0 */
#include "write/flame_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void flame_profile_done(struct flame_profile *f)
{
	free(f->functions);
	free(f->forms);
	free(f->label_keys);
	free(f->label_values);
	free(f->comments);
	free(f->types);
	free(f->order);
	free(f->nodes);
}

static uint32_t *ids_new(size_t nr)
{
	return calloc(nr + 1, sizeof(uint32_t));
}

static int allocate_ids(struct flame_profile *f)
{
	const struct profile *p = f->p;

	f->functions = ids_new(p->nr_functions);
	f->forms = ids_new(p->nr_locations);
	f->label_keys = ids_new(p->nr_labels);
	f->label_values = ids_new(p->nr_labels);
	f->comments = ids_new(p->nr_comments);
	f->types = ids_new(2 * (size_t)p->nr_types);
	f->order = ids_new(p->nr_samples);
	f->nodes = ids_new(p->nr_samples);
	if (!f->functions || !f->forms || !f->label_keys || !f->label_values || !f->comments ||
	    !f->types || !f->order || !f->nodes)
		return -ENOMEM;
	return 0;
}

static int add_forms(struct flame_profile *f, struct flame_tables *t)
{
	int r = 0;

	for (uint32_t i = 0; i < f->p->nr_functions && r == 0; i++)
		r = flame_tables_function(t, f->p, i, &f->functions[i]);
	for (uint32_t i = 0; i < f->p->nr_locations && r == 0; i++)
		r = flame_tables_form(t, f->p, f->functions, i, &f->forms[i]);
	return r;
}

/* Adds a label; numbers become text. */
static int add_label(struct flame_profile *f, struct flame_tables *t, uint32_t i)
{
	const struct profile_label *l = &f->p->labels[i];
	char number[24];
	int r = flame_tables_string(t, profile_str(f->p, l->key), &f->label_keys[i]);

	(void)snprintf(number, sizeof(number), "%" PRId64, l->num);
	if (r == 0)
		r = flame_tables_string(t, l->str ? profile_str(f->p, l->str) : number,
					&f->label_values[i]);
	return r;
}

static int add_texts(struct flame_profile *f, struct flame_tables *t)
{
	const struct profile *p = f->p;
	int r = flame_tables_string(t, profile_str(p, p->program), &f->program);

	for (uint32_t i = 0; i < p->nr_labels && r == 0; i++)
		r = add_label(f, t, i);
	for (uint32_t i = 0; i < p->nr_comments && r == 0; i++)
		r = flame_tables_string(t, profile_str(p, p->comments[i]), &f->comments[i]);
	for (uint32_t i = 0; i < p->nr_types && r == 0; i++) {
		r = flame_tables_string(t, profile_str(p, p->types[i].type), &f->types[2 * i]);
		if (r == 0)
			r = flame_tables_string(t, profile_str(p, p->types[i].unit),
						&f->types[2 * i + 1]);
	}
	return r;
}

static int compare_values(const void *left, const void *right, void *ctx)
{
	const struct profile *p = ctx;
	int64_t a = profile_value(p, *(const uint32_t *)left, p->default_type);
	int64_t b = profile_value(p, *(const uint32_t *)right, p->default_type);

	return a < b ? 1 : a > b ? -1 : 0;
}

/* How many samples, from the beginning of order[], have at most max_frames frames in total if each
 * stack is counted once. */
static int count_fitting(const struct flame_profile *f, const struct flame_tables *t,
			 uint32_t max_frames, uint32_t *ret_nr)
{
	_cleanup_(freep) bool *seen = calloc((size_t)f->p->nr_stacks + 1, sizeof(*seen));
	uint64_t nr_frames = 0;
	uint32_t nr;

	if (!seen)
		return -ENOMEM;
	for (nr = 0; nr < f->p->nr_samples; nr++) {
		uint32_t stack = f->p->samples[f->order[nr]].stack;
		const struct profile_span *s = &f->p->stacks[stack];

		for (uint32_t i = 0; i < s->nr && !seen[stack]; i++)
			nr_frames += t->forms[f->forms[f->p->frames[s->first + i]]].nr;
		if (nr_frames > max_frames)
			break;
		seen[stack] = true;
	}
	*ret_nr = nr;
	return 0;
}

/* Selects the samples that are written: all, or those with the largest values. */
static int select_samples(struct flame_profile *f, const struct flame_tables *t,
			  uint32_t max_frames)
{
	const struct profile *p = f->p;
	int r;

	for (uint32_t i = 0; i < p->nr_samples; i++)
		f->order[i] = i;
	r = count_fitting(f, t, max_frames, &f->nr_order);
	if (r < 0 || f->nr_order == p->nr_samples)
		return r;
	qsort_r(f->order, p->nr_samples, sizeof(*f->order), compare_values, (void *)(uintptr_t)p);
	r = count_fitting(f, t, max_frames, &f->nr_order);
	f->nr_left_out = p->nr_samples - f->nr_order;
	return r;
}

/* A stack, from the root to the leaf. */
struct flame_stack {
	const uint32_t *frames; /* locations, leaf first */
	uint32_t nr;
};

static struct flame_stack stack_of(const struct flame_profile *f, uint32_t sample)
{
	const struct profile_span *s = &f->p->stacks[f->p->samples[sample].stack];

	return (struct flame_stack){ s->nr ? f->p->frames + s->first : NULL, s->nr };
}

static uint32_t form_at(const struct flame_profile *f, const struct flame_stack *s, uint32_t depth)
{
	return f->forms[s->frames[s->nr - 1 - depth]];
}

/* How many forms two stacks have in common, from the root. */
static uint32_t common_depth(const struct flame_profile *f, const struct flame_stack *a,
			     const struct flame_stack *b)
{
	uint32_t depth = 0;

	while (depth < a->nr && depth < b->nr && form_at(f, a, depth) == form_at(f, b, depth))
		depth++;
	return depth;
}

/* A stack sorts before those that continue from its leaf. */
static int compare_stacks(const void *left, const void *right, void *ctx)
{
	const struct flame_profile *f = ctx;
	uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right, depth;
	const struct flame_stack a = stack_of(f, i), b = stack_of(f, k);

	if (f->p->samples[i].stack == f->p->samples[k].stack)
		return i < k ? -1 : 1;
	depth = common_depth(f, &a, &b);
	if (depth < a.nr && depth < b.nr)
		return form_at(f, &a, depth) < form_at(f, &b, depth) ? -1 : 1;
	if (a.nr != b.nr)
		return a.nr < b.nr ? -1 : 1;
	return i < k ? -1 : 1;
}

int flame_profile_init(struct flame_profile *f, const struct profile *p, struct flame_tables *t,
		       uint32_t max_frames)
{
	int r;

	*f = (struct flame_profile){ .p = p };
	r = allocate_ids(f);
	if (r == 0)
		r = add_texts(f, t);
	if (r == 0)
		r = add_forms(f, t);
	if (r == 0)
		r = select_samples(f, t, max_frames);
	if (r == 0)
		qsort_r(f->order, f->nr_order, sizeof(*f->order), compare_stacks, f);
	return r;
}

/* Writes a list item, after a separator unless it is the first. */
static void put_item(struct text_out *out, bool *is_first, int64_t n)
{
	if (!*is_first)
		text_out_bytes(out, ",", 1);
	*is_first = false;
	text_out_number(out, n);
}

static void put_ids(struct text_out *out, const uint32_t *ids, size_t nr)
{
	bool is_first = true;

	text_out_text(out, "[");
	for (size_t i = 0; i < nr; i++)
		put_item(out, &is_first, ids[i]);
	text_out_text(out, "]");
}

/* Writes the steps from the leaf of one stack to that of the next: -n goes up by n nodes; any other
 * number is a frame, and adds a node. */
static uint32_t put_steps(const struct flame_profile *f, const struct flame_tables *t,
			  const struct flame_stack *from, const struct flame_stack *to,
			  struct text_out *out, bool *is_first)
{
	uint32_t depth = common_depth(f, from, to), nr_up = 0, nr_new = 0;

	for (uint32_t i = depth; i < from->nr; i++)
		nr_up += t->forms[form_at(f, from, i)].nr;
	if (nr_up)
		put_item(out, is_first, -(int64_t)nr_up);
	for (uint32_t i = depth; i < to->nr; i++) {
		const struct profile_span *form = &t->forms[form_at(f, to, i)];

		for (uint32_t k = 0; k < form->nr; k++)
			put_item(out, is_first, t->form_frames[form->first + k]);
		nr_new += form->nr;
	}
	return nr_new;
}

/* Writes the tree. Nodes are numbered in the order of the steps; 0 is the root. In the order of the
 * stacks, each stack ends at the node that was added last. */
static void put_tree(struct flame_profile *f, const struct flame_tables *t, struct text_out *out)
{
	struct flame_stack last = { 0 };
	uint32_t node = 0;
	bool is_first = true;

	text_out_text(out, ",\n\"tree\":[");
	for (uint32_t i = 0; i < f->nr_order && out->result == 0; i++) {
		struct flame_stack next = stack_of(f, f->order[i]);

		node += put_steps(f, t, &last, &next, out, &is_first);
		f->nodes[i] = node;
		last = next;
	}
	text_out_text(out, "]");
}

static void put_samples(const struct flame_profile *f, struct text_out *out)
{
	bool is_first = true;
	uint32_t last = 0;

	text_out_text(out, ",\n\"nodes\":[");
	for (uint32_t i = 0; i < f->nr_order; i++) {
		put_item(out, &is_first, f->nodes[i] - last);
		last = f->nodes[i];
	}
	text_out_text(out, "],\n\"sets\":[");
	is_first = true;
	for (uint32_t i = 0; i < f->nr_order; i++)
		put_item(out, &is_first, f->p->samples[f->order[i]].labels);
	text_out_text(out, "]");
}

/* The factor between all values of a type and those of the first type; 0 if there is none. */
static int64_t factor_of(const struct profile *p, uint32_t type)
{
	int64_t factor = 0;

	for (uint32_t i = 0; i < p->nr_samples; i++) {
		int64_t first = profile_value(p, i, 0), value = profile_value(p, i, type), product;

		if (!factor && first)
			factor = value / first;
		if (__builtin_mul_overflow(first, factor, &product) || product != value)
			return 0;
	}
	return type ? factor : 0;
}

static void put_values(const struct flame_profile *f, struct text_out *out)
{
	text_out_text(out, ",\n\"values\":[");
	for (uint32_t type = 0; type < f->p->nr_types; type++) {
		int64_t factor = factor_of(f->p, type);
		bool is_first = true;

		text_out_text(out, type ? "," : "");
		if (factor) {
			text_out_number(out, factor);
			continue;
		}
		text_out_text(out, "[");
		for (uint32_t i = 0; i < f->nr_order; i++)
			put_item(out, &is_first, profile_value(f->p, f->order[i], type));
		text_out_text(out, "]");
	}
	text_out_text(out, "]");
}

static void put_left_out(const struct flame_profile *f, struct text_out *out)
{
	bool is_first = true;

	text_out_text(out, ",\n\"left_out\":{\"samples\":");
	text_out_number(out, (int64_t)f->nr_left_out);
	text_out_text(out, ",\"values\":[");
	for (uint32_t type = 0; type < f->p->nr_types; type++) {
		int64_t sum = 0;

		for (uint64_t i = 0; i < f->nr_left_out; i++)
			if (__builtin_add_overflow(
				    sum, profile_value(f->p, f->order[f->nr_order + i], type),
				    &sum))
				sum = INT64_MAX; /* saturates: no real sum comes near it */
		put_item(out, &is_first, sum);
	}
	text_out_text(out, "]}");
}

static void put_labels(const struct flame_profile *f, struct text_out *out)
{
	text_out_text(out, ",\n\"labels\":[");
	for (uint32_t i = 0; i < f->p->nr_label_sets; i++) {
		const struct profile_span *set = &f->p->label_sets[i];
		bool is_first = true;

		text_out_text(out, i ? ",[" : "[");
		for (uint32_t k = set->first; k < set->first + set->nr; k++) {
			put_item(out, &is_first, f->label_keys[k]);
			put_item(out, &is_first, f->label_values[k]);
		}
		text_out_text(out, "]");
	}
	text_out_text(out, "]");
}

static void put_field(struct text_out *out, const char *name, int64_t n)
{
	text_out_text(out, name);
	text_out_number(out, n);
}

void flame_profile_write(struct flame_profile *f, const struct flame_tables *t,
			 struct text_out *out)
{
	const struct profile *p = f->p;

	put_field(out, "{\"program\":", f->program);
	put_field(out, ",\"time_ms\":", p->time_ns / 1000000);
	put_field(out, ",\"duration_ns\":", p->duration_ns);
	put_field(out, ",\"shown\":", p->default_type);
	text_out_text(out, ",\"types\":");
	put_ids(out, f->types, 2 * (size_t)p->nr_types);
	text_out_text(out, ",\"comments\":");
	put_ids(out, f->comments, p->nr_comments);
	put_labels(f, out);
	put_tree(f, t, out);
	put_samples(f, out);
	put_values(f, out);
	put_left_out(f, out);
	text_out_text(out, "}");
}
