/* SPDX-License-Identifier: Apache-2.0 */
/* The models at the end of the pipe, one per trigger. A model can be taken out, and is then
 * replaced by a new one. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "agent/session.h"
#include "base/clock.h"

static int new_model(struct pa_session *s, uint32_t origin, const char *program,
		     struct model **ret_model)
{
	const struct pa_options *o = &s->settings.o;
	struct model_config cfg = { .values = triggers_values(s->triggers, origin),
				    .tags = o->tags,
				    .nr_tags = o->nr_tags,
				    .program = program,
				    .kernel_stacks = o->kernel_stacks,
				    .process_labels = s->process_labels,
				    .program_pid = settings_first_target(o) };

	return model_new(&cfg, s->world, ret_model);
}

/* What is profiled, as far as known before the capture: the path of a target's program, or the
 * machine's name. NULL if unknown, or if the program is not executed yet. Returns text. */
static const char *find_program(const struct pa_session *s, char *text, size_t size)
{
	const struct pa_options *o = &s->settings.o;
	struct utsname u;

	if (o->start_on_exec)
		return NULL;
	if (settings_first_target(o))
		return procfs_program(&s->world->procfs, settings_first_target(o), text, size) < 0
			       ? NULL
			       : text;
	if (uname(&u) < 0)
		return NULL;
	(void)snprintf(text, size, "[%s]", u.nodename);
	return text;
}

int session_new_models(struct pa_session *s)
{
	uint32_t nr = triggers_nr(s->triggers);
	char text[PATH_MAX];
	const char *program = find_program(s, text, sizeof(text));
	int r = 0;

	s->models = calloc(nr + 1, sizeof(*s->models));
	if (!s->models)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr && r == 0; i++) {
		r = new_model(s, i, program, &s->models[i].now);
		if (r == 0)
			r = pipe_add_sink(s->pipe, (uint8_t)i, &s->models[i].now->sink);
	}
	return r;
}

void session_free_models(struct pa_session *s)
{
	for (uint32_t i = 0; s->models && i < triggers_nr(s->triggers); i++)
		model_free(s->models[i].now);
	free(s->models);
	s->models = NULL;
}

void session_date_model(const struct pa_session *s, uint32_t origin, uint64_t end_ns)
{
	const struct session_model *m = &s->models[origin];
	uint64_t began_ns = m->began_ns ? m->began_ns : s->start_ns;

	m->now->profile->time_ns = (int64_t)(s->start_real_ns + (began_ns - s->start_ns));
	m->now->profile->duration_ns = (int64_t)(end_ns - began_ns);
}

static void use_wait(void *ctx, uint32_t origin, uint64_t wait)
{
	model_use_wait(((struct pa_session *)ctx)->models[origin].now, wait);
}

static void add_sum(void *ctx, uint32_t origin, const struct wait_sum *sum)
{
	pipe_sum(((struct pa_session *)ctx)->pipe, origin, sum);
}

/* Gives the model what the kernel has summed up, and the values that are in the ring. */
static int complete_model(struct pa_session *s, uint32_t origin)
{
	int r;

	if (!triggers_get(s->triggers, origin)->sums)
		return 0;
	r = triggers_part(s->triggers, origin, add_sum, use_wait, s);
	return r < 0 ? r : programs_drain(s->programs, pipe_record, s->pipe);
}

/* Under world_lock(). */
static int replace_model(struct pa_session *s, uint32_t origin, struct model *next)
{
	struct session_model *m = &s->models[origin];
	int r = atomic_load(&s->phase) == PA_PHASE_SAMPLING ? complete_model(s, origin) : -EINVAL;

	if (r == 0)
		r = pipe_replace_sink(s->pipe, (uint8_t)origin, &m->now->sink, &next->sink);
	if (r < 0)
		return r;
	model_inherit_program(next, m->now);
	model_inherit_waits(next, m->now, clock_mono_ns());
	model_place_waits(m->now);
	return 0;
}

int session_take_model(struct pa_session *s, uint32_t origin, struct model **ret_model)
{
	struct session_model *m = &s->models[origin];
	_cleanup_(model_freep) struct model *next = NULL;
	int r = new_model(s, origin, NULL, &next);

	if (r < 0)
		return r;
	world_lock(s->world);
	r = replace_model(s, origin, next);
	if (r == 0) {
		uint64_t now_ns = s->pipe->turn_ns; /* samples up to this time were in it */

		session_date_model(s, origin, now_ns);
		session_describe_profile(s, origin);
		model_leave(m->now, &m->taken);
		m->began_ns = now_ns;
		*ret_model = m->now;
		m->now = TAKE(next);
	}
	world_unlock(s->world);
	return r;
}

struct model_stats session_model_stats(const struct pa_session *s, uint32_t origin)
{
	struct model_stats sum = s->models[origin].taken.stats;

	model_stats_add(&sum, &s->models[origin].now->stats);
	return sum;
}
