/* SPDX-License-Identifier: Apache-2.0 */
/* Off-CPU time of a model that replaces another one: the kernel does not send again what the other
 * one knows. */
#include <errno.h>
#include <string.h>

#include "model/model.h"
#include "profile/profile_copy.h"

struct inheriting {
	struct model *m;
	const struct model *from;
	struct profile_copy own,
		inherited; /* of the profile, and of what it had inherited itself */
};

static void inheriting_done(struct inheriting *in)
{
	profile_copy_done(&in->own);
	profile_copy_done(&in->inherited);
}

static int inheriting_init(struct inheriting *in)
{
	struct model_waits *to = &in->m->waits;
	const struct model_waits *from = &in->from->waits;
	int r = profile_new(&to->inherited);

	if (r == 0)
		r = profile_copy_init(&in->own, in->from->profile, to->inherited);
	if (r == 0 && from->inherited)
		r = profile_copy_init(&in->inherited, from->inherited, to->inherited);
	return r;
}

/* Keeps open what the locations from `first` on are symbolized with. */
static void hold_locations(struct model *m, uint32_t first, const struct model_wait *w)
{
	const struct profile *p = m->waits.inherited;

	for (uint32_t i = first; i < p->nr_locations; i++) {
		const struct profile_location *l = &p->locations[i];
		const struct profile_mapping *map =
			l->mapping == PROFILE_NONE ? NULL : &p->mappings[l->mapping];

		if (map && map->kind == PROFILE_MAPPING_FILE)
			(void)model_hold_file(m, (uint32_t)map->owner);
		if (map && map->kind == PROFILE_MAPPING_JIT)
			model_add_jit_address(m, w->program, l->address, w->time_ns);
	}
}

static int copy_stack(struct inheriting *in, const struct model_wait *from, struct model_wait *to)
{
	struct profile_copy *copy = from->is_inherited ? &in->inherited : &in->own;
	uint32_t first = in->m->waits.inherited->nr_locations;
	int r = profile_copy_stack(copy, from->stack, &to->stack);

	hold_locations(in->m, first, from);
	return r < 0 ? r : profile_copy_labels(copy, from->labels, &to->labels);
}

/* What the kernel sums up has its ID until the end; others as long as a thread refers to them. */
static bool gets_more(const struct model_wait *w)
{
	return w->is_known && (w->is_used || !(w->id & (PA_WAIT_SINGLE | PA_WAIT_UNSUMMED)));
}

/* The stack is neither here nor lost. */
static bool is_awaited(const struct model_waits *w, const struct model_wait *one)
{
	return !one->is_known && !(one->is_moved && w->settled_ns > w->began_ns);
}

/* The values that came before stay where they are. */
static int inherit_stack(struct inheriting *in, const struct model_wait *from)
{
	struct model_wait one = *from, *to;
	int r = copy_stack(in, from, &one);

	if (r == 0)
		r = model_waits_get(&in->m->waits, from->id, &to);
	if (r < 0)
		return r;
	one.is_inherited = true;
	one.is_used = false;
	memset(one.sums, 0, sizeof(one.sums));
	*to = one;
	return 0;
}

static int move_values(struct inheriting *in, struct model_wait *from)
{
	struct model_wait *to;
	int r = model_waits_get(&in->m->waits, from->id, &to);

	if (r < 0)
		return r;
	*to = *from;
	to->is_moved = true;
	memset(from->sums, 0, sizeof(from->sums));
	return 0;
}

void model_inherit_waits(struct model *m, struct model *from, uint64_t now_ns)
{
	_cleanup_(inheriting_done) struct inheriting in = { .m = m, .from = from };
	int r = from->waits.nr ? inheriting_init(&in) : 0;

	m->waits.began_ns = now_ns;
	for (uint32_t i = 0; i < from->waits.nr && r != -ENOMEM; i++) {
		struct model_wait *w = &from->waits.all[i];

		if (is_awaited(&from->waits, w))
			r = move_values(&in, w);
		else if (gets_more(w))
			r = inherit_stack(&in, w);
	}
}

/* Copies the stacks that have values from what was inherited to the profile. */
static int bring_in(struct model *m, struct profile_copy *copy, struct model_wait *w)
{
	uint32_t stack, labels;
	int r = profile_copy_stack(copy, w->stack, &stack);

	if (r == 0)
		r = profile_copy_labels(copy, w->labels, &labels);
	if (r == 0)
		r = model_count_process(m, w->process);
	if (r < 0)
		return r;
	w->stack = stack;
	w->labels = labels;
	w->is_inherited = false;
	return 0;
}

static bool has_values(const struct model_wait *w)
{
	uint64_t nr = 0;

	for (unsigned int i = 0; i < PA_NR_WAIT_STATES; i++)
		nr += w->sums[i].nr;
	return nr > 0;
}

/* One that finds no room in the profile does not keep the others out. */
void model_bring_in_waits(struct model *m)
{
	_cleanup_(profile_copy_done) struct profile_copy copy = { 0 };
	int r = 0;

	if (m->waits.inherited)
		r = profile_copy_init(&copy, m->waits.inherited, m->profile);
	for (uint32_t i = 0; i < m->waits.nr && r != -ENOMEM; i++)
		if (m->waits.all[i].is_inherited && has_values(&m->waits.all[i]))
			r = bring_in(m, &copy, &m->waits.all[i]);
}
