/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a profile, one by one, with the strings of their frames. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/pa_profile.h"
#include "base/cleanup.h"

#define NUMBER_SIZE 24

/* One sample as the caller sees it. */
struct view {
	const struct profile *profile; /* borrowed */
	struct pa_frame *frames;       /* owned; room for any stack with all inlined calls */
	size_t cap_frames;
	struct pa_label labels[PROFILE_MAX_LABELS];
	char numbers[PROFILE_MAX_LABELS][NUMBER_SIZE];
	struct pa_stack stack;
};

static const char *text_of(const struct profile *p, uint32_t string)
{
	return string ? profile_str(p, string) : NULL;
}

/* The frame of an address without lines. */
static struct pa_frame bare_frame(const struct profile *p, const struct profile_location *l)
{
	struct pa_frame f = { .address = l->address };

	if (l->mapping != PROFILE_NONE)
		f.file = text_of(p, p->mappings[l->mapping].path);
	return f;
}

static void set_line(const struct profile *p, const struct profile_line *line, struct pa_frame *f)
{
	const struct profile_function *function = &p->functions[line->function];

	f->function = text_of(p, function->name);
	f->system_name = text_of(p, function->system_name);
	f->source_file = text_of(p, function->filename);
	f->line = line->line;
}

static int reserve(struct view *v, size_t nr)
{
	struct pa_frame *frames;

	if (nr <= v->cap_frames)
		return 0;
	frames = realloc(v->frames, 2 * nr * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	v->frames = frames;
	v->cap_frames = 2 * nr;
	return 0;
}

static int add_location(struct view *v, const struct profile_location *l)
{
	const struct profile *p = v->profile;
	size_t *nr = &v->stack.nr_frames;

	if (reserve(v, *nr + l->nr_lines + 1) < 0)
		return -ENOMEM;
	v->frames[*nr] = bare_frame(p, l);
	for (uint32_t i = 0; i < l->nr_lines; i++) {
		v->frames[*nr + i] = bare_frame(p, l);
		v->frames[*nr + i].is_inlined = i + 1 < l->nr_lines;
		set_line(p, &p->lines[l->first_line + i], &v->frames[*nr + i]);
	}
	*nr += l->nr_lines ? l->nr_lines : 1;
	return 0;
}

static int add_frames(struct view *v, const struct profile_span *stack)
{
	const struct profile *p = v->profile;
	int r = 0;

	v->stack.nr_frames = 0;
	for (uint32_t i = 0; i < stack->nr && r == 0; i++)
		r = add_location(v, &p->locations[p->frames[stack->first + i]]);
	v->stack.frames = v->frames;
	return r;
}

static void add_labels(struct view *v, const struct profile_span *labels)
{
	const struct profile *p = v->profile;

	v->stack.nr_labels = 0;
	for (uint32_t i = 0; i < labels->nr && i < PROFILE_MAX_LABELS; i++) {
		const struct profile_label *l = &p->labels[labels->first + i];
		char *number = v->numbers[i];

		(void)snprintf(number, NUMBER_SIZE, "%" PRId64, l->num);
		v->labels[v->stack.nr_labels++] =
			(struct pa_label){ profile_str(p, l->key),
					   l->str ? profile_str(p, l->str) : number };
	}
	v->stack.labels = v->labels;
}

int pa_profile_stacks(const struct pa_profile *p,
		      int (*fn)(void *ctx, const struct pa_stack *stack), void *ctx)
{
	const struct profile *model = p ? p->profile : NULL;
	struct view *v = NULL;
	int r = 0;

	if (!p || !fn)
		return -EINVAL;
	v = calloc(1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	v->profile = model;
	v->stack.pa_frame_sz = sizeof(struct pa_frame);
	v->stack.nr_values = model->nr_types;
	for (uint32_t i = 0; i < model->nr_samples && r == 0; i++) {
		v->stack.values = model->values + (size_t)i * model->nr_types;
		add_labels(v, &model->label_sets[model->samples[i].labels]);
		r = add_frames(v, &model->stacks[model->samples[i].stack]);
		if (r == 0)
			r = fn(ctx, &v->stack);
	}
	free(v->frames);
	free(v);
	return r;
}
