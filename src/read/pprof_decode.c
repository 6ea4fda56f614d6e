/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of a profile may come in any order, and writers put strings last, which everything refers to. So the
 * bytes are read several times, a kind of thing each time.
 */
#include "read/pprof_decode_internal.h"

#include <stdarg.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

#define REASON_MAX_BYTES 256
#define USE_BYTES 16 /* what the use of a name costs even if it is empty */
#define SLOT_BYTES (2 * sizeof(struct idtable_slot)) /* of an index that is half full */

int pprof_invalid(const struct pprof_decoder *d, const char *fmt, ...)
{
	char reason[REASON_MAX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(reason, sizeof(reason), fmt, ap); /* may be truncated */
	va_end(ap);
	return error_set(d->err, EBADMSG, "'%s' is not a valid pprof file: %s; capture it again",
			 d->name, reason);
}

int pprof_checked(const struct pprof_decoder *d, int r)
{
	if (r == -ENOMEM)
		return error_set(d->err, ENOMEM, "out of memory while reading '%s'", d->name);
	if (r == -E2BIG)
		return error_set(d->err, E2BIG,
				 "'%s' is too large to be read; give a shorter capture", d->name);
	return r < 0 ? pprof_invalid(d, "%s",
				     r == -EOVERFLOW ? "a sum of values has more than 64 bits"
						     : "its parts contradict each other")
		     : 0;
}

int pprof_charge(struct pprof_decoder *d, size_t nr_bytes)
{
	if (nr_bytes > d->max_model_bytes - d->model_bytes)
		return pprof_checked(d, -E2BIG);
	d->model_bytes += nr_bytes;
	return 0;
}

int pprof_charge_text(struct pprof_decoder *d, uint64_t nr_bytes)
{
	if (nr_bytes > PPROF_MAX_TEXT_BYTES - d->text_bytes)
		return pprof_checked(d, -E2BIG);
	d->text_bytes += nr_bytes;
	return 0;
}

uint32_t pprof_text_bytes(const struct pprof_decoder *d, uint32_t string)
{
	return USE_BYTES + (uint32_t)strlen(profile_str(d->p, string));
}

int pprof_string(const struct pprof_decoder *d, uint64_t number, uint32_t *ret_string)
{
	if (number >= d->nr_strings)
		return pprof_invalid(d, "it refers to string %llu, and has %u",
				     (unsigned long long)number, d->nr_strings);
	*ret_string = d->strings[number];
	return 0;
}

static bool id_eq(const void *owner, uint32_t position, const void *key)
{
	return ((const struct pprof_ids *)owner)->ids[position] == *(const uint64_t *)key;
}

int pprof_add_id(struct pprof_decoder *d, struct pprof_ids *ids, uint64_t id)
{
	uint64_t h = hash_mix(d->p->hash_seed, id);
	uint32_t position;
	int r;

	if (id == 0)
		return pprof_invalid(d, "%s %u has no ID", ids->kind, ids->nr);
	if (idtable_find(&ids->index, h, id_eq, ids, &id, &position))
		return pprof_invalid(d, "it has two of %s %llu", ids->kind, (unsigned long long)id);
	r = pprof_charge(d, sizeof(*ids->ids) + SLOT_BYTES);
	if (r < 0)
		return r;
	r = ARRAY_RESERVE(ids->ids, ids->cap, ids->nr + 1, PROFILE_MAX_THINGS);
	if (r == 0)
		r = idtable_reserve(&ids->index);
	if (r < 0)
		return pprof_checked(d, r);
	idtable_insert(&ids->index, h, ids->nr);
	ids->ids[ids->nr++] = id;
	return 0;
}

int pprof_find_id(const struct pprof_decoder *d, const struct pprof_ids *ids, uint64_t id,
		  const char *user, uint32_t number, uint32_t *ret_position)
{
	uint64_t h = hash_mix(d->p->hash_seed, id);

	if (idtable_find(&ids->index, h, id_eq, ids, &id, ret_position))
		return 0;
	return pprof_invalid(d, "%s %u refers to %s %llu, which it does not have", user, number,
			     ids->kind, (unsigned long long)id);
}

int pprof_each(struct pprof_decoder *d, uint32_t number, pprof_field_fn fn)
{
	struct cursor c = cursor_of(d->bytes, d->n);
	struct proto_field f;
	int r = 0;

	while (r == 0 && proto_next(&c, &f))
		if (f.number == number)
			r = fn(d, &f);
	return r == 0 && c.bad ? pprof_invalid(d, "its last field is incomplete") : r;
}

static int read_value_type(struct pprof_decoder *d, struct proto_field *f,
			   struct profile_type *ret_type)
{
	struct profile_type t = { 0 };
	struct proto_field part;
	int r = 0;

	while (r == 0 && proto_next(&f->bytes, &part))
		if (part.number == 1)
			r = pprof_string(d, part.value, &t.type);
		else if (part.number == 2)
			r = pprof_string(d, part.value, &t.unit);
	if (r == 0 && f->bytes.bad)
		return pprof_invalid(d, "a type of values is incomplete");
	*ret_type = t;
	return r;
}

static int read_type(struct pprof_decoder *d, struct proto_field *f)
{
	struct profile_type t;
	int r = read_value_type(d, f, &t);

	if (r < 0)
		return r;
	if (d->p->nr_types == PPROF_MAX_TYPES)
		return pprof_invalid(d, "it has more than %d types of values", PPROF_MAX_TYPES);
	return pprof_checked(d, profile_add_type(d->p, profile_str(d->p, t.type),
						 profile_str(d->p, t.unit)));
}

static int read_period_type(struct pprof_decoder *d, struct proto_field *f)
{
	return read_value_type(d, f, &d->p->period_type);
}

/* Comments beyond the model's limit are left out. */
static int read_comments(struct pprof_decoder *d, struct proto_field *f)
{
	struct proto_numbers n = proto_numbers_of(f);
	uint64_t number;
	uint32_t string = 0;

	while (d->p->nr_comments < PROFILE_MAX_COMMENTS && proto_next_number(&n, &number)) {
		int r = pprof_string(d, number, &string);

		if (r == 0)
			r = pprof_checked(d, profile_add_comment(d->p, profile_str(d->p, string)));
		if (r < 0)
			return r;
	}
	return n.packed.bad ? pprof_invalid(d, "its comments are incomplete") : 0;
}

/* The default is given by name. */
static int read_default_type(struct pprof_decoder *d, struct proto_field *f)
{
	uint32_t name = 0;
	int r = pprof_string(d, f->value, &name);

	for (uint32_t i = 0; r == 0 && name && i < d->p->nr_types; i++)
		if (d->p->types[i].type == name)
			d->p->default_type = i;
	return r;
}

static int read_time(struct pprof_decoder *d, struct proto_field *f)
{
	d->p->time_ns = (int64_t)f->value;
	return 0;
}

static int read_duration(struct pprof_decoder *d, struct proto_field *f)
{
	d->p->duration_ns = (int64_t)f->value;
	return 0;
}

static int read_period(struct pprof_decoder *d, struct proto_field *f)
{
	d->p->period = (int64_t)f->value;
	return 0;
}

/* Everything but samples and what they are of. */
static int read_header(struct pprof_decoder *d)
{
	static const struct {
		uint32_t number;
		pprof_field_fn fn;
	} fields[] = {
		{ PPROF_PERIOD_TYPE, read_period_type }, { PPROF_PERIOD, read_period },
		{ PPROF_TIME_NANOS, read_time },         { PPROF_DURATION_NANOS, read_duration },
		{ PPROF_COMMENT, read_comments },        { PPROF_DEFAULT_TYPE, read_default_type },
	};
	int r = pprof_each(d, PPROF_SAMPLE_TYPE, read_type);

	if (r == 0 && d->p->nr_types == 0)
		return pprof_invalid(d, "it has no type of values");
	if (r == 0)
		d->p->default_type = d->p->nr_types - 1;
	for (size_t i = 0; r == 0 && i < sizeof(fields) / sizeof(fields[0]); i++)
		r = pprof_each(d, fields[i].number, fields[i].fn);
	d->p->count_type = d->p->shown_type = d->p->default_type;
	return r;
}

static int decode(struct pprof_decoder *d)
{
	int r = pprof_each(d, PPROF_STRING, pprof_read_string);

	if (r == 0 && (!d->nr_strings || d->strings[0] != 0))
		return pprof_invalid(d, "its first string is not empty");
	if (r == 0)
		r = read_header(d);
	if (r == 0)
		r = pprof_each(d, PPROF_MAPPING, pprof_read_mapping);
	if (r == 0)
		r = pprof_each(d, PPROF_FUNCTION, pprof_read_function);
	if (r == 0)
		r = pprof_each(d, PPROF_LOCATION, pprof_fit_mapping);
	if (r == 0)
		r = pprof_add_mappings(d);
	if (r == 0)
		r = pprof_each(d, PPROF_LOCATION, pprof_read_location);
	return r < 0 ? r : pprof_each(d, PPROF_SAMPLE, pprof_read_sample);
}

static void ids_done(struct pprof_ids *ids)
{
	free(ids->ids);
	idtable_done(&ids->index);
}

static struct pprof_decoder *decoder_free(struct pprof_decoder *d)
{
	profile_free(d->p);
	free(d->strings);
	ids_done(&d->mapping_ids);
	ids_done(&d->function_ids);
	ids_done(&d->location_ids);
	free(d->mappings);
	free(d->functions);
	free(d->frame_texts);
	free(d);
	return NULL;
}
DEFINE_CLEANUP(struct pprof_decoder *, decoder_free)

int pprof_decode(const void *bytes, size_t n, size_t max_model_bytes, const char *name,
		 struct profile **ret_profile, struct pa_error *err)
{
	_cleanup_(decoder_freep) struct pprof_decoder *d = calloc(1, sizeof(*d));
	int r;

	if (!d || profile_new(&d->p) < 0)
		return error_set(err, ENOMEM, "out of memory while reading '%s'", name);
	d->bytes = bytes;
	d->n = n;
	d->max_model_bytes = max_model_bytes;
	d->name = name;
	d->err = err;
	d->mapping_ids.kind = "mapping";
	d->function_ids.kind = "function";
	d->location_ids.kind = "location";
	r = decode(d);
	if (r < 0)
		return r;
	*ret_profile = TAKE(d->p);
	return 0;
}
