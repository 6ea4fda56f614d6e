/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "read/pprof_decode_internal.h"

#define LOCATION_BYTES                                                                             \
	(sizeof(struct profile_location) + 2 * sizeof(struct idtable_slot) + sizeof(uint32_t))
/* A function that is used in several mappings is one in each. */
#define LINE_BYTES                                                                                 \
	(sizeof(struct profile_line) + sizeof(struct profile_function) +                           \
	 2 * sizeof(struct idtable_slot))

/* The name of a function that has none. */
#define NO_NAME "[unknown]"

struct location_fields {
	uint64_t id, mapping_id, address;
};

/* Where code is: in which mapping, and at which address. */
static int read_place(struct pprof_decoder *d, struct cursor c, struct location_fields *ret_fields,
		      uint32_t *ret_mapping)
{
	struct proto_field part;

	*ret_fields = (struct location_fields){ 0 };
	while (proto_next(&c, &part)) {
		if (part.number == 1)
			ret_fields->id = part.value;
		else if (part.number == 2)
			ret_fields->mapping_id = part.value;
		else if (part.number == 3)
			ret_fields->address = part.value;
	}
	if (c.bad)
		return pprof_invalid(d, "location %u is incomplete", d->location_ids.nr);
	if (ret_fields->address == UINT64_MAX) /* no mapping can contain it */
		ret_fields->address--;
	*ret_mapping = PROFILE_NONE;
	if (!ret_fields->mapping_id)
		return 0;
	return pprof_find_id(d, &d->mapping_ids, ret_fields->mapping_id, "location",
			     d->location_ids.nr, ret_mapping);
}

/* Writers that move addresses to where a file begins leave the mapping where it was; others give no range. */
int pprof_fit_mapping(struct pprof_decoder *d, struct proto_field *f)
{
	struct location_fields l;
	struct profile_mapping *m;
	uint32_t mapping;
	int r = read_place(d, f->bytes, &l, &mapping);

	if (r < 0 || mapping == PROFILE_NONE)
		return r;
	m = &d->mappings[mapping];
	if (m->limit <= m->start) {
		m->start = l.address;
		m->limit = l.address + 1;
	}
	if (l.address < m->start)
		m->start = l.address;
	if (l.address >= m->limit)
		m->limit = l.address + 1;
	return 0;
}

int pprof_add_mappings(struct pprof_decoder *d)
{
	int r = 0;

	for (uint32_t i = 0; i < d->mapping_ids.nr && r == 0; i++) {
		struct profile_mapping *m = &d->mappings[i];
		uint32_t id;

		if (m->limit <= m->start) { /* it has no location */
			m->start = 0;
			m->limit = 1;
		}
		r = pprof_charge_text(d, pprof_text_bytes(d, m->path));
		if (r == 0)
			r = pprof_checked(d, profile_mapping(d->p, m, &id));
	}
	return r;
}

static bool is_hex(const char *s)
{
	return strncmp(s, "0x", 2) == 0 && s[2] && !s[2 + strspn(s + 2, "0123456789abcdefABCDEF")];
}

/* True if the name of a function is not that of a symbol: an address, alone or after the file's name. */
static bool is_address_name(const struct profile *p, uint32_t name, uint32_t mapping)
{
	const char *s = profile_str(p, name), *plus = strrchr(s, '+'), *file;
	size_t n;

	if (strcmp(s, NO_NAME) == 0 || is_hex(s))
		return true;
	if (!plus || !is_hex(plus + 1) || mapping == PROFILE_NONE)
		return false;
	file = path_name(profile_str(p, p->mappings[mapping].path));
	n = (size_t)(plus - s);
	return (n == path_label_bytes(file) || n == strlen(file)) && !strncmp(file, s, n);
}

/* A function with an empty name is NO_NAME in every output. */
static int shown_name(struct pprof_decoder *d, uint32_t name, uint32_t *ret_name)
{
	*ret_name = name;
	return *profile_str(d->p, name) ? 0
					: pprof_checked(d, profile_string(d->p, NO_NAME, ret_name));
}

/* A function of the file as one of the model, which belongs to a mapping. */
static int find_function(struct pprof_decoder *d, uint64_t id, uint32_t mapping,
			 uint32_t *ret_function)
{
	const struct pprof_function *f;
	struct profile_function function;
	uint32_t position, name;
	int r = pprof_find_id(d, &d->function_ids, id, "location", d->location_ids.nr - 1,
			      &position);

	if (r == 0)
		r = pprof_charge(d, LINE_BYTES);
	if (r < 0)
		return r;
	f = &d->functions[position];
	r = shown_name(d, f->name, &name);
	if (r < 0)
		return r;
	function = (struct profile_function){ name, f->system_name, f->filename, f->start_line,
					      mapping };
	return pprof_checked(d, profile_function(d->p, &function, ret_function));
}

/* Adds the line to d->lines[*nr], unless it has no function. */
static int add_line(struct pprof_decoder *d, struct cursor c, uint32_t mapping, uint32_t *nr)
{
	uint32_t location = d->location_ids.nr - 1;
	uint64_t id = 0, line = 0;
	struct proto_field part;
	int r;

	while (proto_next(&c, &part)) {
		if (part.number == 1)
			id = part.value;
		else if (part.number == 2)
			line = part.value;
	}
	if (c.bad)
		return pprof_invalid(d, "a line of location %u is incomplete", location);
	if (!id)
		return 0;
	if (*nr == PROFILE_MAX_LINES)
		return pprof_invalid(d, "location %u has more than %d lines", location,
				     PROFILE_MAX_LINES);
	r = find_function(d, id, mapping, &d->lines[*nr].function);
	if (r < 0)
		return r;
	d->lines[(*nr)++].line = line < UINT32_MAX ? (uint32_t)line : 0;
	return 0;
}

static int read_lines(struct pprof_decoder *d, struct cursor c, uint32_t mapping, uint32_t *ret_nr)
{
	struct proto_field part;
	int r = 0;

	*ret_nr = 0;
	while (r == 0 && proto_next(&c, &part))
		if (part.number == 4)
			r = add_line(d, part.bytes, mapping, ret_nr);
	return r;
}

/* Charges the names that the first nr of d->lines refer to, and sets what a frame there costs. */
static int charge_lines(struct pprof_decoder *d, uint32_t location, uint32_t mapping, uint32_t nr)
{
	uint32_t path = mapping == PROFILE_NONE ? 0 : d->p->mappings[mapping].path;
	uint32_t in_stack = nr ? 0 : pprof_text_bytes(d, 0);
	int r = pprof_checked(d, ARRAY_RESERVE(d->frame_texts, d->cap_frame_texts, location + 1,
					       PROFILE_MAX_THINGS));

	if (r == 0)
		r = pprof_charge_text(d, pprof_text_bytes(d, path));
	for (uint32_t i = 0; i < nr && r == 0; i++) {
		const struct profile_function *f = &d->p->functions[d->lines[i].function];
		uint32_t name = pprof_text_bytes(d, f->name);

		in_stack += name;
		r = pprof_charge_text(d, (uint64_t)name + pprof_text_bytes(d, f->filename) +
						 pprof_text_bytes(d, path));
	}
	if (r == 0)
		d->frame_texts[location] = in_stack;
	return r;
}

/* Locations are numbered as in the file: the version keeps those with the same address separate. */
int pprof_read_location(struct pprof_decoder *d, struct proto_field *f)
{
	uint32_t mapping, location = 0, nr = 0;
	struct location_fields l;
	bool is_named;
	int r = read_place(d, f->bytes, &l, &mapping);

	if (r == 0)
		r = pprof_charge(d, LOCATION_BYTES);
	if (r == 0)
		r = pprof_add_id(d, &d->location_ids, l.id);
	if (r == 0)
		r = pprof_checked(d, profile_location_version(d->p, mapping, l.address,
							      d->location_ids.nr, &location));
	if (r == 0)
		r = read_lines(d, f->bytes, mapping, &nr);
	if (r == 0)
		r = charge_lines(d, location, mapping, nr);
	if (r < 0 || nr == 0)
		return r;
	is_named = !is_address_name(d->p, d->p->functions[d->lines[0].function].name, mapping);
	return pprof_checked(d, profile_set_lines(d->p, location, d->lines, nr, is_named));
}
