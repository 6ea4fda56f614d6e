/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/profile_copy.h"

#include <errno.h>
#include <stdlib.h>

int profile_copy_init(struct profile_copy *c, const struct profile *from, struct profile *to)
{
	*c = (struct profile_copy){
		.from = from,
		.to = to,
		.locations = calloc((size_t)from->nr_locations + 1, sizeof(*c->locations)),
	};
	return c->locations ? 0 : -ENOMEM;
}

void profile_copy_done(struct profile_copy *c)
{
	free(c->locations);
}

static int copy_string(struct profile_copy *c, uint32_t *string)
{
	return profile_string(c->to, profile_str(c->from, *string), string);
}

static int copy_mapping(struct profile_copy *c, uint32_t mapping, uint32_t *ret_id)
{
	struct profile_mapping m = c->from->mappings[mapping];
	int r = copy_string(c, &m.path);

	if (r == 0)
		r = copy_string(c, &m.build_id);
	m.has_functions = m.has_filenames = m.has_line_numbers = m.has_inline_frames = false;
	return r < 0 ? r : profile_mapping(c->to, &m, ret_id);
}

static int copy_function(struct profile_copy *c, uint32_t function, uint32_t *ret_id)
{
	struct profile_function f = c->from->functions[function];
	int r = copy_string(c, &f.name);

	if (r == 0)
		r = copy_string(c, &f.system_name);
	if (r == 0)
		r = copy_string(c, &f.filename);
	if (r == 0 && f.mapping != PROFILE_NONE)
		r = copy_mapping(c, f.mapping, &f.mapping);
	return r < 0 ? r : profile_function(c->to, &f, ret_id);
}

static int copy_lines(struct profile_copy *c, const struct profile_location *l, uint32_t to)
{
	struct profile_line lines[PROFILE_MAX_LINES];
	int r = 0;

	if (!l->nr_lines || c->to->locations[to].nr_lines)
		return 0;
	for (uint32_t i = 0; i < l->nr_lines && r == 0; i++) {
		lines[i] = c->from->lines[l->first_line + i];
		r = copy_function(c, lines[i].function, &lines[i].function);
	}
	return r < 0 ? r : profile_set_lines(c->to, to, lines, l->nr_lines, l->is_named);
}

static int copy_location(struct profile_copy *c, uint32_t location, uint32_t *ret_id)
{
	struct profile_location l = c->from->locations[location];
	int r = 0;

	if (l.mapping != PROFILE_NONE) {
		r = copy_mapping(c, l.mapping, &l.mapping);
		if (r < 0)
			return r;
		/* each profile has its own base of equal mappings */
		l.address -= c->from->mappings[c->from->locations[location].mapping].start;
		l.address += c->to->mappings[l.mapping].start;
	}
	r = profile_place(c->to, &l, ret_id);
	if (r == 0)
		r = copy_lines(c, &c->from->locations[location], *ret_id);
	if (r == 0)
		c->locations[location] = *ret_id + 1;
	return r;
}

int profile_copy_stack(struct profile_copy *c, uint32_t stack, uint32_t *ret_id)
{
	struct profile_span s = c->from->stacks[stack];
	uint32_t frames[PROFILE_MAX_FRAMES];
	int r = 0;

	for (uint32_t i = 0; i < s.nr && r == 0; i++) {
		uint32_t from = c->from->frames[s.first + i];

		if (c->locations[from])
			frames[i] = c->locations[from] - 1;
		else
			r = copy_location(c, from, &frames[i]);
	}
	return r < 0 ? r
		     : profile_stack_of(c->to, c->from->stack_users[stack], frames, s.nr, ret_id);
}

int profile_copy_labels(struct profile_copy *c, uint32_t labels, uint32_t *ret_id)
{
	struct profile_span s = c->from->label_sets[labels];
	struct profile_label all[PROFILE_MAX_LABELS];
	int r = 0;

	for (uint32_t i = 0; i < s.nr && r == 0; i++) {
		all[i] = c->from->labels[s.first + i];
		r = copy_string(c, &all[i].key);
		if (r == 0)
			r = copy_string(c, &all[i].str);
		if (r == 0)
			r = copy_string(c, &all[i].unit);
	}
	return r < 0 ? r : profile_label_set(c->to, all, s.nr, ret_id);
}
