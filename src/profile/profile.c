/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

/* Makes room for one more item in its array and its index, so that adding it cannot fail. */
#define ROOM_FOR_ONE(p, things, index)                                                             \
	({                                                                                         \
		int r_ = ARRAY_RESERVE((p)->things, (p)->cap_##things, (p)->nr_##things + 1,       \
				       PROFILE_MAX_THINGS);                                        \
		r_ < 0 ? r_ : idtable_reserve(&(p)->index);                                        \
	})

struct span_key {
	const void *items; /* borrowed from the caller */
	uint32_t nr;
};

int profile_new(struct profile **ret_profile)
{
	_cleanup_(profile_freep) struct profile *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	r = strtab_init(&p->strings);
	if (r < 0)
		return r;
	p->hash_seed = hash_new_seed(p);
	*ret_profile = TAKE(p);
	return 0;
}

struct profile *profile_free(struct profile *p)
{
	if (!p)
		return NULL;
	strtab_done(&p->strings);
	free(p->mappings);
	free(p->functions);
	free(p->lines);
	free(p->locations);
	free(p->frames);
	free(p->stacks);
	free(p->stack_users);
	free(p->labels);
	free(p->label_sets);
	free(p->in_kernel);
	free(p->samples);
	free(p->values);
	free(p->types);
	free(p->comments);
	idtable_done(&p->mapping_index);
	idtable_done(&p->function_index);
	idtable_done(&p->location_index);
	idtable_done(&p->stack_index);
	idtable_done(&p->label_index);
	idtable_done(&p->sample_index);
	free(p);
	return NULL;
}

int profile_string(struct profile *p, const char *s, uint32_t *ret_id)
{
	return strtab_intern(&p->strings, s, ret_id);
}

/* The part of a mapping's identity that applies only to code without a file. */
static uint64_t identity_start(const struct profile_mapping *m)
{
	return m->kind == PROFILE_MAPPING_JIT ? m->start : 0;
}

static bool mapping_eq(const void *owner, uint32_t id, const void *key)
{
	const struct profile_mapping *a = &((const struct profile *)owner)->mappings[id];
	const struct profile_mapping *b = key;

	return a->kind == b->kind && a->owner == b->owner && a->file_offset == b->file_offset &&
	       a->limit - a->start == b->limit - b->start && identity_start(a) == identity_start(b);
}

static uint64_t mapping_hash(const struct profile *p, const struct profile_mapping *m)
{
	uint64_t h = hash_mix(p->hash_seed, m->kind);

	h = hash_mix(h, m->owner);
	h = hash_mix(h, m->file_offset);
	h = hash_mix(h, m->limit - m->start);
	return hash_mix(h, identity_start(m));
}

int profile_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *ret_id)
{
	uint64_t h = mapping_hash(p, m);
	int r;

	if (idtable_find(&p->mapping_index, h, mapping_eq, p, m, ret_id))
		return 0;
	if (m->limit <= m->start || m->path >= p->strings.nr_strings ||
	    m->build_id >= p->strings.nr_strings)
		return -EINVAL;
	r = ROOM_FOR_ONE(p, mappings, mapping_index);
	if (r < 0)
		return r;
	idtable_insert(&p->mapping_index, h, p->nr_mappings);
	p->mappings[p->nr_mappings] = *m;
	*ret_id = p->nr_mappings++;
	return 0;
}

static bool is_mapping_or_none(const struct profile *p, uint32_t mapping)
{
	return mapping == PROFILE_NONE || mapping < p->nr_mappings;
}

static bool location_eq(const void *owner, uint32_t id, const void *key)
{
	const struct profile_location *a = &((const struct profile *)owner)->locations[id];
	const struct profile_location *b = key;

	return a->mapping == b->mapping && a->address == b->address && a->version == b->version &&
	       a->kind == b->kind && a->aux[0] == b->aux[0] && a->aux[1] == b->aux[1];
}

static uint64_t location_hash(const struct profile *p, const struct profile_location *l)
{
	uint64_t h = hash_mix(p->hash_seed, l->mapping);

	h = hash_mix(hash_mix(h, l->address), l->version);
	if (l->kind)
		h = hash_mix(hash_mix(hash_mix(h, l->kind), l->aux[0]), l->aux[1]);
	return h;
}

int profile_place(struct profile *p, const struct profile_location *place, uint32_t *ret_id)
{
	struct profile_location l = *place;
	uint64_t h = location_hash(p, &l);
	const struct profile_mapping *m;
	int r;

	if (idtable_find(&p->location_index, h, location_eq, p, &l, ret_id))
		return 0;
	if (!is_mapping_or_none(p, l.mapping))
		return -EINVAL;
	m = l.mapping == PROFILE_NONE ? NULL : &p->mappings[l.mapping];
	if (m && (l.address < m->start || l.address >= m->limit))
		return -EINVAL;
	r = ROOM_FOR_ONE(p, locations, location_index);
	if (r < 0)
		return r;
	idtable_insert(&p->location_index, h, p->nr_locations);
	l.first_line = l.nr_lines = 0;
	l.is_named = false;
	p->locations[p->nr_locations] = l;
	*ret_id = p->nr_locations++;
	return 0;
}

int profile_location_version(struct profile *p, uint32_t mapping, uint64_t address,
			     uint64_t version, uint32_t *ret_id)
{
	return profile_place(p,
			     &(struct profile_location){
				     .mapping = mapping, .address = address, .version = version },
			     ret_id);
}

int profile_location(struct profile *p, uint32_t mapping, uint64_t address, uint32_t *ret_id)
{
	return profile_location_version(p, mapping, address, 0, ret_id);
}

static bool function_eq(const void *owner, uint32_t id, const void *key)
{
	const struct profile_function *a = &((const struct profile *)owner)->functions[id];
	const struct profile_function *b = key;

	return a->name == b->name && a->system_name == b->system_name &&
	       a->filename == b->filename && a->start_line == b->start_line &&
	       a->mapping == b->mapping;
}

static uint64_t function_hash(const struct profile *p, const struct profile_function *f)
{
	uint64_t h = hash_mix(p->hash_seed, ((uint64_t)f->name << 32) | f->system_name);

	h = hash_mix(h, ((uint64_t)f->filename << 32) | f->start_line);
	return hash_mix(h, f->mapping);
}

int profile_function(struct profile *p, const struct profile_function *f, uint32_t *ret_id)
{
	uint64_t h = function_hash(p, f);
	int r;

	if (idtable_find(&p->function_index, h, function_eq, p, f, ret_id))
		return 0;
	if (f->name >= p->strings.nr_strings || f->system_name >= p->strings.nr_strings ||
	    f->filename >= p->strings.nr_strings || !is_mapping_or_none(p, f->mapping))
		return -EINVAL;
	r = ROOM_FOR_ONE(p, functions, function_index);
	if (r < 0)
		return r;
	idtable_insert(&p->function_index, h, p->nr_functions);
	p->functions[p->nr_functions] = *f;
	*ret_id = p->nr_functions++;
	return 0;
}

struct stack_key {
	struct span_key frames;
	uint32_t user;
};

static bool stack_eq(const void *owner, uint32_t id, const void *key)
{
	const struct profile *p = owner;
	const struct stack_key *k = key;
	const struct profile_span *s = &p->stacks[id];
	uint32_t nr = k->frames.nr;

	return s->nr == nr && p->stack_users[id] == k->user &&
	       (!nr || memcmp(p->frames + s->first, k->frames.items, nr * sizeof(*p->frames)) == 0);
}

static bool are_below(const uint32_t *ids, uint32_t nr, uint32_t limit)
{
	for (uint32_t i = 0; i < nr; i++)
		if (ids[i] >= limit)
			return false;
	return true;
}

static int room_for_stack(struct profile *p, uint32_t nr)
{
	int r = ARRAY_RESERVE(p->frames, p->cap_frames, (size_t)p->nr_frames + nr,
			      PROFILE_MAX_FRAMES_TOTAL);

	if (r == 0)
		r = ARRAY_RESERVE(p->stack_users, p->cap_stack_users, p->nr_stacks + 1,
				  PROFILE_MAX_THINGS);
	return r < 0 ? r : ROOM_FOR_ONE(p, stacks, stack_index);
}

int profile_stack_of(struct profile *p, uint32_t user, const uint32_t *locations, uint32_t nr,
		     uint32_t *ret_id)
{
	struct stack_key k = { { locations, nr }, user };
	uint64_t h;
	int r;

	if (nr > PROFILE_MAX_FRAMES)
		return -E2BIG;
	h = hash_bytes_seeded(p->hash_seed, locations, nr * sizeof(*locations));
	h = hash_mix(h, user);
	if (idtable_find(&p->stack_index, h, stack_eq, p, &k, ret_id))
		return 0;
	if (!are_below(locations, nr, p->nr_locations))
		return -EINVAL;
	r = room_for_stack(p, nr);
	if (r < 0)
		return r;
	idtable_insert(&p->stack_index, h, p->nr_stacks);
	if (nr)
		memcpy(p->frames + p->nr_frames, locations, nr * sizeof(*locations));
	p->stacks[p->nr_stacks] = (struct profile_span){ .first = p->nr_frames, .nr = nr };
	p->stack_users[p->nr_stacks] = user;
	p->nr_frames += nr;
	*ret_id = p->nr_stacks++;
	return 0;
}

int profile_stack(struct profile *p, const uint32_t *locations, uint32_t nr, uint32_t *ret_id)
{
	return profile_stack_of(p, PROFILE_NO_USER, locations, nr, ret_id);
}

void profile_replace_frames(struct profile *p, profile_frame_fn fn, void *ctx)
{
	for (uint32_t i = 0; i < p->nr_stacks; i++)
		for (uint32_t k = 0; k < p->stacks[i].nr; k++) {
			uint32_t *frame = &p->frames[p->stacks[i].first + k];

			*frame = fn(ctx, p->stack_users[i], *frame);
		}
}

static bool label_is(const struct profile_label *a, const struct profile_label *b)
{
	return a->key == b->key && a->str == b->str && a->num == b->num && a->unit == b->unit;
}

static bool label_set_eq(const void *owner, uint32_t id, const void *key)
{
	const struct profile *p = owner;
	const struct span_key *k = key;
	const struct profile_label *labels = k->items;
	const struct profile_span *s = &p->label_sets[id];

	if (s->nr != k->nr)
		return false;
	for (uint32_t i = 0; i < k->nr; i++)
		if (!label_is(&p->labels[s->first + i], &labels[i]))
			return false;
	return true;
}

/* Compared field by field, because the structure has padding. */
static uint64_t label_set_hash(const struct profile *p, const struct profile_label *labels,
			       uint32_t nr)
{
	uint64_t h = hash_mix(p->hash_seed, nr);

	for (uint32_t i = 0; i < nr; i++) {
		h = hash_mix(h, ((uint64_t)labels[i].key << 32) | labels[i].str);
		h = hash_mix(h, (uint64_t)labels[i].num);
		h = hash_mix(h, labels[i].unit);
	}
	return h;
}

static bool labels_are_valid(const struct profile *p, const struct profile_label *l, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (l[i].key >= p->strings.nr_strings || l[i].str >= p->strings.nr_strings ||
		    l[i].unit >= p->strings.nr_strings)
			return false;
	return true;
}

int profile_label_set(struct profile *p, const struct profile_label *labels, uint32_t nr,
		      uint32_t *ret_id)
{
	struct span_key k = { labels, nr };
	uint64_t h;
	int r;

	if (nr > PROFILE_MAX_LABELS)
		return -E2BIG;
	h = label_set_hash(p, labels, nr);
	if (idtable_find(&p->label_index, h, label_set_eq, p, &k, ret_id))
		return 0;
	if (!labels_are_valid(p, labels, nr))
		return -EINVAL;
	r = ARRAY_RESERVE(p->labels, p->cap_labels, (size_t)p->nr_labels + nr, PROFILE_MAX_THINGS);
	if (r == 0)
		r = ARRAY_RESERVE(p->in_kernel, p->cap_in_kernel, p->nr_label_sets + 1,
				  PROFILE_MAX_THINGS);
	if (r < 0)
		return r;
	r = ROOM_FOR_ONE(p, label_sets, label_index);
	if (r < 0)
		return r;
	idtable_insert(&p->label_index, h, p->nr_label_sets);
	if (nr)
		memcpy(p->labels + p->nr_labels, labels, nr * sizeof(*labels));
	p->label_sets[p->nr_label_sets] = (struct profile_span){ .first = p->nr_labels, .nr = nr };
	p->nr_labels += nr;
	p->in_kernel[p->nr_label_sets] = 0;
	*ret_id = p->nr_label_sets++;
	return 0;
}

static bool sample_eq(const void *owner, uint32_t id, const void *key)
{
	const struct profile_sample *a = &((const struct profile *)owner)->samples[id];
	const struct profile_sample *b = key;

	return a->stack == b->stack && a->labels == b->labels;
}

/* Adds all values or none. */
static int add_values(struct profile *p, uint32_t sample, const int64_t *values)
{
	int64_t *sums = p->values + (size_t)sample * p->nr_types, sum;

	for (uint32_t i = 0; i < p->nr_types; i++)
		if (__builtin_add_overflow(sums[i], values[i], &sum))
			return -EOVERFLOW;
	for (uint32_t i = 0; i < p->nr_types; i++)
		sums[i] += values[i];
	return 0;
}

static int room_for_sample(struct profile *p)
{
	int r = ARRAY_RESERVE(p->values, p->cap_values, ((size_t)p->nr_samples + 1) * p->nr_types,
			      PROFILE_MAX_VALUES_TOTAL);

	return r < 0 ? r : ROOM_FOR_ONE(p, samples, sample_index);
}

int profile_add(struct profile *p, uint32_t stack, uint32_t labels, const int64_t *values)
{
	struct profile_sample s = { .stack = stack, .labels = labels };
	uint64_t h = hash_mix(p->hash_seed, ((uint64_t)stack << 32) | labels);
	uint32_t id;
	int r;

	if (idtable_find(&p->sample_index, h, sample_eq, p, &s, &id))
		return add_values(p, id, values);
	if (stack >= p->nr_stacks || labels >= p->nr_label_sets)
		return -EINVAL;
	r = room_for_sample(p);
	if (r < 0)
		return r;
	if (p->nr_types)
		memcpy(p->values + (size_t)p->nr_samples * p->nr_types, values,
		       p->nr_types * sizeof(*values));
	idtable_insert(&p->sample_index, h, p->nr_samples);
	p->samples[p->nr_samples++] = s;
	return 0;
}

void profile_count_in_kernel(struct profile *p, uint32_t labels, int64_t nr)
{
	p->in_kernel[labels] += nr;
}

int profile_add_type(struct profile *p, const char *type, const char *unit)
{
	struct profile_type t;
	int r;

	if (p->nr_samples)
		return -EBUSY;
	r = ARRAY_RESERVE(p->types, p->cap_types, p->nr_types + 1, PROFILE_MAX_THINGS);
	if (r < 0)
		return r;
	r = profile_string(p, type, &t.type);
	if (r < 0)
		return r;
	r = profile_string(p, unit, &t.unit);
	if (r < 0)
		return r;
	p->types[p->nr_types++] = t;
	return 0;
}

int profile_add_comment(struct profile *p, const char *text)
{
	uint32_t id;
	int r;

	r = ARRAY_RESERVE(p->comments, p->cap_comments, p->nr_comments + 1, PROFILE_MAX_COMMENTS);
	if (r < 0)
		return r;
	r = profile_string(p, text, &id);
	if (r < 0)
		return r;
	p->comments[p->nr_comments++] = id;
	return 0;
}

/* Updates the mapping with what symbolizing one of its locations revealed. */
static void note_in_mapping(struct profile *p, const struct profile_location *l)
{
	struct profile_mapping *m;

	if (l->mapping == PROFILE_NONE)
		return;
	m = &p->mappings[l->mapping];
	m->has_functions |= l->is_named;
	m->has_inline_frames |= l->nr_lines > 1;
	for (uint32_t i = 0; i < l->nr_lines; i++) {
		const struct profile_line *line = &p->lines[l->first_line + i];

		m->has_filenames |= p->functions[line->function].filename != 0;
		m->has_line_numbers |= line->line != 0;
	}
}

void profile_unname(struct profile *p, uint32_t location)
{
	p->locations[location].nr_lines = 0;
}

int profile_set_lines(struct profile *p, uint32_t location, const struct profile_line *lines,
		      uint32_t nr, bool is_named)
{
	struct profile_location *l;
	int r;

	if (location >= p->nr_locations || nr == 0)
		return -EINVAL;
	l = &p->locations[location];
	if (l->nr_lines)
		return -EALREADY;
	if (nr > PROFILE_MAX_LINES)
		return -E2BIG;
	for (uint32_t i = 0; i < nr; i++)
		if (lines[i].function >= p->nr_functions)
			return -EINVAL;
	r = ARRAY_RESERVE(p->lines, p->cap_lines, p->nr_lines + nr, PROFILE_MAX_THINGS);
	if (r < 0)
		return r;
	memcpy(p->lines + p->nr_lines, lines, nr * sizeof(*lines));
	l->first_line = p->nr_lines;
	l->nr_lines = nr;
	l->is_named = is_named;
	p->nr_lines += nr;
	note_in_mapping(p, l);
	return 0;
}
