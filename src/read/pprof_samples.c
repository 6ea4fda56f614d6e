/* SPDX-License-Identifier: Apache-2.0 */
#include "read/pprof_decode_internal.h"

#define STACK_BYTES                                                                                \
	(sizeof(struct profile_span) + sizeof(uint32_t) + 2 * sizeof(struct idtable_slot))
#define LABEL_SET_BYTES                                                                            \
	(sizeof(struct profile_span) + sizeof(int64_t) + 2 * sizeof(struct idtable_slot))
#define SAMPLE_BYTES (sizeof(struct profile_sample) + 2 * sizeof(struct idtable_slot))

/* What has been read of a sample. */
struct sample_fields {
	uint32_t number; /* from 0 on, as far as samples are distinct; for messages */
	uint32_t nr_frames, nr_values, nr_labels;
};

static int add_frames(struct pprof_decoder *d, struct sample_fields *s, struct proto_field *f)
{
	struct proto_numbers ids = proto_numbers_of(f);
	uint64_t id;
	int r = 0;

	while (r == 0 && proto_next_number(&ids, &id)) {
		if (s->nr_frames == PROFILE_MAX_FRAMES)
			return pprof_invalid(d, "sample %u has more than %d frames", s->number,
					     PROFILE_MAX_FRAMES);
		r = pprof_find_id(d, &d->location_ids, id, "sample", s->number,
				  &d->frames[s->nr_frames++]);
	}
	return r == 0 && ids.packed.bad ? pprof_invalid(d, "sample %u is incomplete", s->number)
					: r;
}

static int wrong_values(const struct pprof_decoder *d, const struct sample_fields *s)
{
	return pprof_invalid(d, "sample %u does not have one value for each of the %u types",
			     s->number, d->p->nr_types);
}

/* Of any type: sums, shares and areas have no meaning with values below 0. */
static int is_difference(const struct pprof_decoder *d)
{
	return error_set(d->err, EINVAL,
			 "'%s' has negative values, as the difference of two profiles; "
			 "give the two profiles themselves",
			 d->name);
}

static int add_values(struct pprof_decoder *d, struct sample_fields *s, struct proto_field *f)
{
	struct proto_numbers values = proto_numbers_of(f);
	uint64_t value;

	while (proto_next_number(&values, &value)) {
		if (s->nr_values == d->p->nr_types)
			return wrong_values(d, s);
		if ((int64_t)value < 0)
			return is_difference(d);
		d->values[s->nr_values++] = (int64_t)value;
	}
	return values.packed.bad ? pprof_invalid(d, "sample %u is incomplete", s->number) : 0;
}

static int add_label(struct pprof_decoder *d, struct sample_fields *s, struct proto_field *f)
{
	struct profile_label label = { 0 };
	struct proto_field part;
	int r = 0;

	while (r == 0 && proto_next(&f->bytes, &part)) {
		if (part.number == 1)
			r = pprof_string(d, part.value, &label.key);
		else if (part.number == 2)
			r = pprof_string(d, part.value, &label.str);
		else if (part.number == 3)
			label.num = (int64_t)part.value;
		else if (part.number == 4)
			r = pprof_string(d, part.value, &label.unit);
	}
	if (r < 0)
		return r;
	if (f->bytes.bad)
		return pprof_invalid(d, "a label of sample %u is incomplete", s->number);
	if (s->nr_labels == PROFILE_MAX_LABELS)
		return pprof_invalid(d, "sample %u has more than %d labels", s->number,
				     PROFILE_MAX_LABELS);
	d->labels[s->nr_labels++] = label;
	return pprof_charge_text(d, (uint64_t)pprof_text_bytes(d, label.key) +
					    pprof_text_bytes(d, label.str) +
					    pprof_text_bytes(d, label.unit));
}

/* A stack of a few thousand bytes can refer to gigabytes of inlined functions and their names. */
static int charge_stack(struct pprof_decoder *d, const struct sample_fields *s)
{
	uint64_t nr_bytes = 0;

	for (uint32_t i = 0; i < s->nr_frames; i++)
		nr_bytes += d->frame_texts[d->frames[i]];
	return pprof_charge_text(d, nr_bytes);
}

static int read_fields(struct pprof_decoder *d, struct sample_fields *s, struct cursor c)
{
	struct proto_field part;
	int r = 0;

	while (r == 0 && proto_next(&c, &part)) {
		if (part.number == 1)
			r = add_frames(d, s, &part);
		else if (part.number == 2)
			r = add_values(d, s, &part);
		else if (part.number == 3)
			r = add_label(d, s, &part);
	}
	return r == 0 && c.bad ? pprof_invalid(d, "sample %u is incomplete", s->number) : r;
}

/* Sums of all samples fit, so that no sum of some of them can overflow. */
static int add_to_sums(struct pprof_decoder *d)
{
	for (uint32_t i = 0; i < d->p->nr_types; i++)
		if (__builtin_add_overflow(d->sums[i], d->values[i], &d->sums[i]))
			return pprof_checked(d, -EOVERFLOW);
	return 0;
}

/* Samples with the same stack and labels are one in the model. */
int pprof_read_sample(struct pprof_decoder *d, struct proto_field *f)
{
	struct sample_fields s = { .number = d->p->nr_samples };
	uint32_t stack, labels;
	int r = read_fields(d, &s, f->bytes);

	if (r < 0)
		return r;
	if (s.nr_values != d->p->nr_types)
		return wrong_values(d, &s);
	r = pprof_charge(
		d, SAMPLE_BYTES + STACK_BYTES + LABEL_SET_BYTES + s.nr_frames * sizeof(*d->frames) +
			   s.nr_values * sizeof(*d->values) + s.nr_labels * sizeof(*d->labels));
	if (r == 0)
		r = charge_stack(d, &s);
	if (r == 0)
		r = add_to_sums(d);
	if (r < 0)
		return r;
	r = profile_stack(d->p, d->frames, s.nr_frames, &stack);
	if (r == 0)
		r = profile_label_set(d->p, d->labels, s.nr_labels, &labels);
	if (r == 0)
		r = profile_add(d->p, stack, labels, d->values);
	return pprof_checked(d, r);
}
