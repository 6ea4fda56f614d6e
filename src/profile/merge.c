/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two models into one: every kind of thing in the order of dependence, each remembered as "number
 * there → number here". Reads of `from` go through indexes, never through kept pointers, so that
 * both may be the same model.
 */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "profile/profile.h"

/* Owners given here have the top bit, which no session's numbers reach. */
#define OWNER_MERGED (1ull << 63)

struct merge {
	struct profile *to;
	const struct profile *from;
	/* Owned: number in `from` → number in `to`. */
	uint32_t *strings;
	uint32_t *mappings;
	uint32_t *functions;
	uint32_t *locations;
	uint32_t *stacks;
	uint32_t *label_sets;
	/*
	 * Mappings of `to` by what makes two of them one across sessions. Several may be alike (a
	 * path that was replaced, without build-ids); each is given away once, in their order.
	 */
	struct idtable alike;
	uint32_t *next_alike; /* owned: the next one that is alike, or PROFILE_NONE */
	uint32_t *free_alike; /* owned: of the one in the index: the first not given away */
};

static void merge_done(struct merge *m)
{
	free(m->strings);
	free(m->mappings);
	free(m->functions);
	free(m->locations);
	free(m->stacks);
	free(m->label_sets);
	free(m->next_alike);
	free(m->free_alike);
	idtable_done(&m->alike);
}

static uint32_t *numbers_new(uint32_t nr)
{
	return calloc((size_t)nr + 1, sizeof(uint32_t));
}

/* When it fails, merge_done() is still due. */
static int merge_init(struct merge *m, struct profile *to, const struct profile *from)
{
	*m = (struct merge){ .to = to, .from = from };
	m->strings = numbers_new(from->strings.nr_strings);
	m->mappings = numbers_new(from->nr_mappings);
	m->functions = numbers_new(from->nr_functions);
	m->locations = numbers_new(from->nr_locations);
	m->stacks = numbers_new(from->nr_stacks);
	m->label_sets = numbers_new(from->nr_label_sets);
	m->next_alike = numbers_new(to->nr_mappings);
	m->free_alike = numbers_new(to->nr_mappings);
	if (!m->strings || !m->mappings || !m->functions || !m->locations || !m->stacks ||
	    !m->label_sets || !m->next_alike || !m->free_alike)
		return -ENOMEM;
	return 0;
}

static int merge_strings(struct merge *m)
{
	uint32_t nr = m->from->strings.nr_strings;

	for (uint32_t i = 0; i < nr; i++) {
		int r = profile_string(m->to, profile_str(m->from, i), &m->strings[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static bool same_type(const struct merge *m, const struct profile_type *to,
		      const struct profile_type *from)
{
	return to->type == m->strings[from->type] && to->unit == m->strings[from->unit];
}

static int check_types(const struct merge *m)
{
	if (m->to->nr_types != m->from->nr_types)
		return -EINVAL;
	for (uint32_t i = 0; i < m->to->nr_types; i++)
		if (!same_type(m, &m->to->types[i], &m->from->types[i]))
			return -EINVAL;
	return same_type(m, &m->to->period_type, &m->from->period_type) ? 0 : -EINVAL;
}

static bool alike_eq(const void *owner, uint32_t id, const void *key)
{
	const struct profile_mapping *a = &((const struct merge *)owner)->to->mappings[id];
	const struct profile_mapping *b = key;

	return a->kind == b->kind && a->path == b->path && a->build_id == b->build_id &&
	       a->file_offset == b->file_offset && a->limit - a->start == b->limit - b->start &&
	       (a->kind != PROFILE_MAPPING_JIT || (a->owner == b->owner && a->start == b->start));
}

static uint64_t alike_hash(const struct merge *m, const struct profile_mapping *mapping)
{
	uint64_t h = hash_mix(m->to->hash_seed, mapping->kind);

	h = hash_mix(h, ((uint64_t)mapping->path << 32) | mapping->build_id);
	h = hash_mix(h, mapping->file_offset);
	h = hash_mix(h, mapping->limit - mapping->start);
	if (mapping->kind != PROFILE_MAPPING_JIT)
		return h;
	return hash_mix(hash_mix(h, mapping->owner), mapping->start);
}

/* From the last to the first, so that the first of those alike is given away first. */
static int index_alike(struct merge *m)
{
	for (uint32_t i = m->to->nr_mappings; i-- > 0;) {
		const struct profile_mapping *mapping = &m->to->mappings[i];
		uint64_t h = alike_hash(m, mapping);
		uint32_t head;
		int r;

		m->next_alike[i] = PROFILE_NONE;
		if (idtable_find(&m->alike, h, alike_eq, m, mapping, &head)) {
			m->next_alike[i] = m->free_alike[head];
			m->free_alike[head] = i;
			continue;
		}
		r = idtable_reserve(&m->alike);
		if (r < 0)
			return r;
		idtable_insert(&m->alike, h, i);
		m->free_alike[i] = i;
	}
	return 0;
}

static bool take_alike(struct merge *m, const struct profile_mapping *mapping, uint32_t *ret_id)
{
	uint32_t head;

	if (!idtable_find(&m->alike, alike_hash(m, mapping), alike_eq, m, mapping, &head) ||
	    m->free_alike[head] == PROFILE_NONE)
		return false;
	*ret_id = m->free_alike[head];
	m->free_alike[head] = m->next_alike[*ret_id];
	return true;
}

static int add_mapping(struct merge *m, struct profile_mapping *mapping, uint32_t *ret_id)
{
	uint32_t nr = m->to->nr_mappings, id;
	int r;

	/* The same owner number may mean another file here. JIT code is known by owner and start,
	 * and must be found again by the next merge: it keeps its number where that is free. */
	if (mapping->kind != PROFILE_MAPPING_JIT)
		mapping->owner = OWNER_MERGED | nr;
	r = profile_mapping(m->to, mapping, &id);
	if (r == 0 && id != nr) {
		mapping->owner = OWNER_MERGED | nr;
		r = profile_mapping(m->to, mapping, &id);
	}
	if (r < 0)
		return r;
	*ret_id = id;
	return 0;
}

static int merge_mapping(struct merge *m, uint32_t i)
{
	struct profile_mapping mapping = m->from->mappings[i], *to;
	int r;

	mapping.path = m->strings[mapping.path];
	mapping.build_id = m->strings[mapping.build_id];
	if (!take_alike(m, &mapping, &m->mappings[i])) {
		r = add_mapping(m, &mapping, &m->mappings[i]);
		if (r < 0)
			return r;
	}
	to = &m->to->mappings[m->mappings[i]];
	to->has_functions |= mapping.has_functions;
	to->has_filenames |= mapping.has_filenames;
	to->has_line_numbers |= mapping.has_line_numbers;
	to->has_inline_frames |= mapping.has_inline_frames;
	return 0;
}

static uint32_t mapping_in_to(const struct merge *m, uint32_t mapping)
{
	return mapping == PROFILE_NONE ? PROFILE_NONE : m->mappings[mapping];
}

static int merge_function(struct merge *m, uint32_t i)
{
	struct profile_function f = m->from->functions[i];

	f.name = m->strings[f.name];
	f.system_name = m->strings[f.system_name];
	f.filename = m->strings[f.filename];
	f.mapping = mapping_in_to(m, f.mapping);
	return profile_function(m->to, &f, &m->functions[i]);
}

static int merge_lines(struct merge *m, const struct profile_location *l, uint32_t id)
{
	struct profile_line lines[PROFILE_MAX_LINES];
	struct profile_location *to = &m->to->locations[id];

	if (l->nr_lines == 0 || (to->nr_lines && (to->is_named || !l->is_named)))
		return 0;
	for (uint32_t i = 0; i < l->nr_lines; i++) {
		lines[i] = m->from->lines[l->first_line + i];
		lines[i].function = m->functions[lines[i].function];
	}
	profile_unname(m->to, id); /* what was only an address gives way */
	return profile_set_lines(m->to, id, lines, l->nr_lines, l->is_named);
}

static int merge_location(struct merge *m, uint32_t i)
{
	struct profile_location l = m->from->locations[i];
	uint32_t mapping = mapping_in_to(m, l.mapping);
	uint64_t address = l.address;
	int r;

	if (mapping != PROFILE_NONE)
		address += m->to->mappings[mapping].start - m->from->mappings[l.mapping].start;
	r = profile_location_version(m->to, mapping, address, l.version, &m->locations[i]);
	if (r < 0)
		return r;
	return merge_lines(m, &l, m->locations[i]);
}

static int merge_stack(struct merge *m, uint32_t i)
{
	struct profile_span s = m->from->stacks[i];
	uint32_t frames[PROFILE_MAX_FRAMES];

	for (uint32_t k = 0; k < s.nr; k++)
		frames[k] = m->locations[m->from->frames[s.first + k]];
	return profile_stack_of(m->to, m->from->stack_users[i], frames, s.nr, &m->stacks[i]);
}

static int merge_label_set(struct merge *m, uint32_t i)
{
	struct profile_span s = m->from->label_sets[i];
	struct profile_label labels[PROFILE_MAX_LABELS];

	for (uint32_t k = 0; k < s.nr; k++) {
		labels[k] = m->from->labels[s.first + k];
		labels[k].key = m->strings[labels[k].key];
		labels[k].str = m->strings[labels[k].str];
		labels[k].unit = m->strings[labels[k].unit];
	}
	return profile_label_set(m->to, labels, s.nr, &m->label_sets[i]);
}

static int merge_sample(struct merge *m, uint32_t i)
{
	struct profile_sample s = m->from->samples[i];

	return profile_add(m->to, m->stacks[s.stack], m->label_sets[s.labels], s.values);
}

static int merge_comment(struct merge *m, uint32_t i)
{
	uint32_t text = m->strings[m->from->comments[i]];

	for (uint32_t k = 0; k < m->to->nr_comments; k++)
		if (m->to->comments[k] == text)
			return 0;
	return profile_add_comment(m->to, profile_str(m->to, text));
}

static int merge_each(struct merge *m, uint32_t nr, int (*merge_one)(struct merge *, uint32_t))
{
	int r = 0;

	for (uint32_t i = 0; i < nr && r >= 0; i++)
		r = merge_one(m, i);
	return r;
}

static int merge_things(struct merge *m)
{
	const struct profile *from = m->from;
	const struct {
		uint32_t nr;
		int (*one)(struct merge *m, uint32_t i);
	} steps[] = {
		{ from->nr_mappings, merge_mapping },     { from->nr_functions, merge_function },
		{ from->nr_locations, merge_location },   { from->nr_stacks, merge_stack },
		{ from->nr_label_sets, merge_label_set }, { from->nr_samples, merge_sample },
		{ from->nr_comments, merge_comment },
	};
	int r = index_alike(m);

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && r >= 0; i++)
		r = merge_each(m, steps[i].nr, steps[i].one);
	return r;
}

/* Unsigned, for a start near the end of time plus a duration must not overflow. */
static void merge_spans(struct profile *to, const struct profile *from)
{
	uint64_t to_start = (uint64_t)to->time_ns, from_start = (uint64_t)from->time_ns;
	uint64_t to_end = to_start + (uint64_t)to->duration_ns;
	uint64_t from_end = from_start + (uint64_t)from->duration_ns;
	uint64_t start = to_start < from_start ? to_start : from_start;
	uint64_t end = to_end > from_end ? to_end : from_end;

	if (from->time_ns == 0 && from->duration_ns == 0)
		return;
	if (to->time_ns == 0 && to->duration_ns == 0) {
		start = from_start;
		end = from_end;
	}
	to->time_ns = (int64_t)start;
	to->duration_ns = (int64_t)(end - start);
}

int profile_merge(struct profile *to, const struct profile *from)
{
	_cleanup_(merge_done) struct merge m = { 0 };
	int r = merge_init(&m, to, from);

	if (r < 0)
		return r;
	r = merge_strings(&m);
	if (r < 0)
		return r;
	r = check_types(&m);
	if (r < 0)
		return r;
	r = merge_things(&m);
	if (r < 0)
		return r;
	merge_spans(to, from);
	if (to->period != from->period)
		to->period = 0;
	return 0;
}
