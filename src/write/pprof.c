/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the model as profile.proto. A serialized message is the concatenation of its fields, so
 * each sample, location and so on is packed separately and streamed into the compressor: the whole
 * profile is never in memory as a tree, and the memory used does not depend on its size. Numbers of
 * the model become IDs by adding 1; numbers of strings are unchanged.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "proto/profile.pb-c.h"
#include "write/clean_text.h"
#include "write/gzip.h"
#include "write/writer.h"

/* Field numbers of Profile. */
enum { FIELD_SAMPLE = 2, FIELD_MAPPING, FIELD_LOCATION, FIELD_FUNCTION, FIELD_STRING };

#define WIRE_BYTES 2 /* a length, then that many bytes */
#define HEAD_MAX_BYTES 16

struct pprof {
	const struct profile *p; /* borrowed, like the next four, for one call of write() */
	struct outfile *out;
	const atomic_bool *cancel;
	struct pa_error *err;
	struct gzip *gzip; /* owned */
	struct buf bytes;  /* owned: one packed message, or one sanitized string */

	/* Buffers for repeated fields; reused for each message. */
	uint64_t location_ids[PROFILE_MAX_FRAMES];
	Pprof__Label labels[PROFILE_MAX_LABELS];
	Pprof__Label *label_ptrs[PROFILE_MAX_LABELS];
	Pprof__Line lines[PROFILE_MAX_LINES];
	Pprof__Line *line_ptrs[PROFILE_MAX_LINES];
	int64_t comments[PROFILE_MAX_COMMENTS];
	int64_t *values; /* owned, like the next two: one per value type */
	Pprof__ValueType *types;
	Pprof__ValueType **type_ptrs;
};

static struct pprof *pprof_free(struct pprof *w)
{
	if (!w)
		return NULL;
	gzip_free(w->gzip);
	buf_done(&w->bytes);
	free(w->values);
	free(w->types);
	free(w->type_ptrs);
	free(w);
	return NULL;
}
DEFINE_CLEANUP(struct pprof *, pprof_free)

static int out_of_memory(const struct pprof *w, int r)
{
	return error_set(w->err, -r, "out of memory while writing '%s'", outfile_path(w->out));
}

static int alloc_types(struct pprof *w)
{
	size_t nr = (size_t)w->p->nr_types + 1; /* so that an empty array is not NULL */

	w->values = calloc(nr, sizeof(*w->values));
	w->types = calloc(nr, sizeof(*w->types));
	w->type_ptrs = calloc(nr, sizeof(Pprof__ValueType *));
	return w->values && w->types && w->type_ptrs ? 0 : out_of_memory(w, -ENOMEM);
}

static int pprof_new(const struct profile *p, struct outfile *out, const atomic_bool *cancel,
		     struct pa_error *err, struct pprof **ret_pprof)
{
	_cleanup_(pprof_freep) struct pprof *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return error_set(err, ENOMEM, "out of memory while writing '%s'",
				 outfile_path(out));
	w->p = p;
	w->out = out;
	w->cancel = cancel;
	w->err = err;
	w->bytes = BUF_INIT(4 * (size_t)STRTAB_MAX_BYTES); /* U+FFFD is three bytes for one */
	for (uint32_t i = 0; i < PROFILE_MAX_LABELS; i++)
		w->label_ptrs[i] = &w->labels[i];
	for (uint32_t i = 0; i < PROFILE_MAX_LINES; i++)
		w->line_ptrs[i] = &w->lines[i];
	r = alloc_types(w);
	if (r == 0)
		r = gzip_new(out, &w->gzip, err);
	if (r < 0)
		return r;
	*ret_pprof = TAKE(w);
	return 0;
}

static size_t put_varint(uint8_t *to, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		to[n++] = (uint8_t)(v | 0x80);
	to[n++] = (uint8_t)v;
	return n;
}

/* Writes a field of Profile that is a message or a string. All output goes through this function,
 * so it also checks for cancellation. */
static int emit_bytes(struct pprof *w, uint32_t field, const void *bytes, size_t n)
{
	uint8_t head[HEAD_MAX_BYTES];
	size_t head_bytes = put_varint(head, field << 3 | WIRE_BYTES);
	int r;

	if (w->cancel && atomic_load_explicit(w->cancel, memory_order_relaxed))
		return error_set(w->err, ECANCELED, "writing '%s' was cancelled",
				 outfile_path(w->out));
	head_bytes += put_varint(head + head_bytes, n);
	r = gzip_write(w->gzip, head, head_bytes, w->err);
	if (r < 0)
		return r;
	return gzip_write(w->gzip, bytes, n, w->err);
}

static int pack(struct pprof *w, const ProtobufCMessage *m)
{
	size_t n = protobuf_c_message_get_packed_size(m);
	int r;

	buf_clear(&w->bytes);
	r = buf_reserve(&w->bytes, n);
	if (r < 0)
		return out_of_memory(w, r);
	w->bytes.len = protobuf_c_message_pack(m, (uint8_t *)w->bytes.data);
	return 0;
}

static int emit_message(struct pprof *w, uint32_t field, const ProtobufCMessage *m)
{
	int r = pack(w, m);

	if (r < 0)
		return r;
	return emit_bytes(w, field, w->bytes.data, w->bytes.len);
}

static Pprof__ValueType value_type(const struct profile_type *t)
{
	Pprof__ValueType v = PPROF__VALUE_TYPE__INIT;

	v.type = t->type;
	v.unit = t->unit;
	return v;
}

/* Writes the beginning of the file: the singular fields, and the few types and comments. */
static int write_header(struct pprof *w)
{
	const struct profile *p = w->p;
	Pprof__ValueType period_type = value_type(&p->period_type);
	Pprof__Profile m = PPROF__PROFILE__INIT;
	int r;

	for (uint32_t i = 0; i < p->nr_types; i++) {
		w->types[i] = value_type(&p->types[i]);
		w->type_ptrs[i] = &w->types[i];
	}
	for (uint32_t i = 0; i < p->nr_comments; i++)
		w->comments[i] = p->comments[i];
	m.n_sample_type = p->nr_types;
	m.sample_type = w->type_ptrs;
	m.n_comment = p->nr_comments;
	m.comment = w->comments;
	m.period_type = p->period_type.type ? &period_type : NULL;
	m.period = p->period;
	m.time_nanos = p->time_ns;
	m.duration_nanos = p->duration_ns;
	if (p->default_type < p->nr_types)
		m.default_sample_type = p->types[p->default_type].type;
	r = pack(w, &m.base);
	if (r < 0)
		return r;
	return gzip_write(w->gzip, w->bytes.data, w->bytes.len, w->err);
}

static void fill_labels(struct pprof *w, const struct profile_span *set)
{
	for (uint32_t i = 0; i < set->nr; i++) {
		const struct profile_label *l = &w->p->labels[set->first + i];

		pprof__label__init(&w->labels[i]);
		w->labels[i].key = l->key;
		w->labels[i].str = l->str;
		if (l->str)
			continue;
		w->labels[i].num = l->num;
		w->labels[i].num_unit = l->unit;
	}
}

static int write_sample(struct pprof *w, uint32_t i)
{
	const struct profile *p = w->p;
	const struct profile_sample *s = &p->samples[i];
	const struct profile_span *stack = &p->stacks[s->stack];
	const struct profile_span *set = &p->label_sets[s->labels];
	Pprof__Sample m = PPROF__SAMPLE__INIT;

	for (uint32_t k = 0; k < stack->nr; k++)
		w->location_ids[k] = (uint64_t)p->frames[stack->first + k] + 1;
	for (uint32_t k = 0; k < p->nr_types; k++)
		w->values[k] = profile_value(p, i, k);
	fill_labels(w, set);
	m.n_location_id = stack->nr;
	m.location_id = w->location_ids;
	m.n_value = p->nr_types;
	m.value = w->values;
	m.n_label = set->nr;
	m.label = w->label_ptrs;
	return emit_message(w, FIELD_SAMPLE, &m.base);
}

/* A mapping of the program's file; PROFILE_NONE if the file has no samples. */
static uint32_t mapping_of_program(const struct profile *p)
{
	for (uint32_t i = 0; i < p->nr_mappings; i++)
		if (p->mappings[i].kind == PROFILE_MAPPING_FILE &&
		    p->mappings[i].path == p->program)
			return i;
	return PROFILE_NONE;
}

/* Used if the program is unknown: the kernel maps a program below its libraries. */
static uint32_t lowest_mapping(const struct profile *p)
{
	uint32_t lowest = 0;

	for (uint32_t i = 1; i < p->nr_mappings; i++)
		if (p->mappings[i].kind == PROFILE_MAPPING_FILE &&
		    (p->mappings[lowest].kind != PROFILE_MAPPING_FILE ||
		     p->mappings[i].start < p->mappings[lowest].start))
			lowest = i;
	return lowest;
}

static int write_mapping(struct pprof *w, uint32_t i)
{
	const struct profile_mapping *from = &w->p->mappings[i];
	Pprof__Mapping m = PPROF__MAPPING__INIT;

	m.id = (uint64_t)i + 1;
	m.memory_start = from->start;
	m.memory_limit = from->limit;
	m.file_offset = from->file_offset;
	m.filename = from->path;
	m.build_id = from->build_id;
	m.has_functions = from->has_functions;
	m.has_filenames = from->has_filenames;
	m.has_line_numbers = from->has_line_numbers;
	m.has_inline_frames = from->has_inline_frames;
	return emit_message(w, FIELD_MAPPING, &m.base);
}

/* Writes a mapping without locations for a program that has no mapping. */
static int write_program(struct pprof *w)
{
	Pprof__Mapping m = PPROF__MAPPING__INIT;

	m.id = (uint64_t)w->p->nr_mappings + 1;
	m.filename = w->p->program;
	m.has_functions = true; /* so that readers do not look for symbols */
	return emit_message(w, FIELD_MAPPING, &m.base);
}

/* Readers take the first mapping for the program, and name the profile after it. */
static int write_mappings(struct pprof *w)
{
	const struct profile *p = w->p;
	uint32_t first = p->program ? mapping_of_program(p) : lowest_mapping(p);
	int r = 0;

	if (first < p->nr_mappings)
		r = write_mapping(w, first);
	else if (p->program)
		r = write_program(w);
	for (uint32_t i = 0; i < p->nr_mappings && r >= 0; i++)
		if (i != first)
			r = write_mapping(w, i);
	return r;
}

static int write_location(struct pprof *w, uint32_t i)
{
	const struct profile_location *l = &w->p->locations[i];
	Pprof__Location m = PPROF__LOCATION__INIT;

	for (uint32_t k = 0; k < l->nr_lines; k++) {
		const struct profile_line *line = &w->p->lines[l->first_line + k];

		pprof__line__init(&w->lines[k]);
		w->lines[k].function_id = (uint64_t)line->function + 1;
		w->lines[k].line = line->line;
	}
	m.id = (uint64_t)i + 1;
	m.mapping_id = l->mapping == PROFILE_NONE ? 0 : (uint64_t)l->mapping + 1;
	m.address = l->address;
	m.n_line = l->nr_lines;
	m.line = w->line_ptrs;
	return emit_message(w, FIELD_LOCATION, &m.base);
}

static int write_function(struct pprof *w, uint32_t i)
{
	const struct profile_function *f = &w->p->functions[i];
	Pprof__Function m = PPROF__FUNCTION__INIT;

	m.id = (uint64_t)i + 1;
	m.name = f->name;
	m.system_name = f->system_name;
	m.filename = f->filename;
	m.start_line = f->start_line;
	return emit_message(w, FIELD_FUNCTION, &m.base);
}

static int write_string(struct pprof *w, uint32_t i)
{
	const char *s = profile_str(w->p, i);
	int r;

	if (text_is_clean(s))
		return emit_bytes(w, FIELD_STRING, s, strlen(s));
	buf_clear(&w->bytes);
	r = text_append_clean(&w->bytes, s);
	if (r < 0)
		return out_of_memory(w, r);
	return emit_bytes(w, FIELD_STRING, w->bytes.data, w->bytes.len);
}

static int write_each(struct pprof *w, uint32_t nr, int (*write_one)(struct pprof *, uint32_t))
{
	int r = 0;

	for (uint32_t i = 0; i < nr && r >= 0; i++)
		r = write_one(w, i);
	return r;
}

static int pprof_write(const struct profile *p, struct outfile *out, const atomic_bool *cancel,
		       struct pa_error *err)
{
	const struct {
		uint32_t nr;
		int (*one)(struct pprof *w, uint32_t i);
	} tables[] = {
		{ p->nr_locations, write_location },
		{ p->nr_functions, write_function },
		{ p->strings.nr_strings, write_string },
	};
	_cleanup_(pprof_freep) struct pprof *w = NULL;
	int r = pprof_new(p, out, cancel, err, &w);

	if (r < 0)
		return r;
	r = write_header(w);
	if (r >= 0)
		r = write_each(w, p->nr_samples, write_sample);
	if (r >= 0)
		r = write_mappings(w);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && r >= 0; i++)
		r = write_each(w, tables[i].nr, tables[i].one);
	if (r < 0)
		return r;
	return gzip_finish(w->gzip, err);
}

const struct writer writer_pprof = {
	.name = "pprof", .suffix = ".pb.gz", .has_labels = true, .write = pprof_write
};
