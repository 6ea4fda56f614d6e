/* SPDX-License-Identifier: Apache-2.0 */
/* Which program is profiled: the file that a target executes. */
#include "model/model.h"

static void set_program(struct profile *p, const char *path)
{
	uint32_t id;

	if (profile_string(p, path, &id) == 0) /* if it fails, the profile has no program */
		p->program = id;
}

void model_follow_program(void *model, const struct process_event *e)
{
	struct model *m = model;

	if (e->pid != m->program_pid)
		return;
	if (e->type == EVENT_EXEC)
		m->is_program_next = true;
	if (e->type != EVENT_MMAP || !m->is_program_next || e->path[0] != '/')
		return;
	m->is_program_next = false;
	set_program(m->profile, e->path);
}

void model_inherit_program(struct model *m, const struct model *from)
{
	set_program(m->profile, profile_str(from->profile, from->profile->program));
	m->is_program_next = from->is_program_next;
}
