/* SPDX-License-Identifier: Apache-2.0 */
/* The models at the end of the pipe, one per trigger. A model can be taken out, and is then
 * replaced by a new one. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "agent/session.h"

static int new_model(struct pa_session *s, uint32_t origin, const char *program,
		     struct model **ret_model)
{
	const struct pa_options *o = &s->settings.o;
	struct model_config cfg = { .values = triggers_values(s->triggers, origin),
				    .tags = o->tags,
				    .nr_tags = o->nr_tags,
				    .program = program,
				    .kernel_stacks = o->kernel_stacks,
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
}

void session_date_model(const struct pa_session *s, uint32_t origin, uint64_t end_ns)
{
	const struct session_model *m = &s->models[origin];
	uint64_t began_ns = m->began_ns ? m->began_ns : s->start_ns;

	m->now->profile->time_ns = (int64_t)(s->start_real_ns + (began_ns - s->start_ns));
	m->now->profile->duration_ns = (int64_t)(end_ns - began_ns);
}

int session_take_model(struct pa_session *s, uint32_t origin, struct model **ret_model)
{
	struct session_model *m = &s->models[origin];
	_cleanup_(model_freep) struct model *next = NULL;
	int r = triggers_get(s->triggers, origin)->sums ? -EOPNOTSUPP
							: new_model(s, origin, NULL, &next);

	if (r < 0)
		return r; /* only one model has a stack that the kernel has sent once */
	world_lock(s->world);
	r = atomic_load(&s->phase) == PA_PHASE_SAMPLING
		    ? pipe_replace_sink(s->pipe, (uint8_t)origin, &m->now->sink, &next->sink)
		    : -EINVAL;
	if (r == 0) {
		uint64_t now_ns = s->pipe->turn_ns; /* samples up to this time were in it */

		session_date_model(s, origin, now_ns);
		session_describe_profile(s, origin);
		model_inherit_program(next, m->now);
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
