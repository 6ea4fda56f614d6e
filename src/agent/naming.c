/* SPDX-License-Identifier: Apache-2.0 */
/* Gives every location of the model its name: batches are run by a crew, and applied in one order. */
#include <errno.h>

#include "agent/naming_crew.h"
#include "agent/naming_plan.h"
#include "agent/source.h"

static int add_function(struct profile *p, uint32_t mapping, const struct naming_batch *b,
			const struct naming_frame *f, uint32_t *ret_id)
{
	struct profile_function fn = { .mapping = mapping, .start_line = f->start_line };
	int r = profile_string(p, strtab_get(&b->strings, f->name), &fn.name);

	if (r == 0)
		r = profile_string(p, strtab_get(&b->strings, f->system_name), &fn.system_name);
	if (r == 0)
		r = profile_string(p, strtab_get(&b->strings, f->filename), &fn.filename);
	return r < 0 ? r : profile_function(p, &fn, ret_id);
}

int naming_apply_answer(struct profile *p, const struct naming_batch *b, uint32_t location,
			const struct naming_answer *a)
{
	struct profile_line lines[PROFILE_MAX_LINES];
	uint32_t mapping = p->locations[location].mapping;
	int r = 0;

	for (uint32_t i = 0; i < a->nr_frames && r == 0; i++) {
		const struct naming_frame *f = &b->frames[a->first_frame + i];

		lines[i].line = f->line;
		r = add_function(p, mapping, b, f, &lines[i].function);
	}
	return r < 0 ? r : profile_set_lines(p, location, lines, a->nr_frames, a->is_named);
}

/* What has no room, in a batch or in the model, stays without any name, which writers show as its
 * address. */
static int apply_or_leave(struct naming_env *env, const struct naming_batch *b, uint32_t location,
			  const struct naming_answer *a)
{
	static const struct naming_answer no_room = { .failure = NAMING_NO_ROOM, .is_raw = true };
	struct capture *c = env->c;
	int r = a && a->nr_frames ? naming_apply_answer(c->profile, b, location, a) : -ENOMEM;

	if (source_is_about_size(r))
		a = &no_room;
	else if (r < 0)
		return r;
	if (a->is_named)
		naming_stats_add_named(&c->naming);
	else
		naming_stats_add_unnamed(&c->naming, a->failure, a->is_raw);
	if (env->outcomes)
		env->outcomes[location] =
			(struct naming_outcome){ a->is_named, a->is_raw, a->failure };
	return 0;
}

static void tell_lines(const struct capture *c, const struct naming_batch *b)
{
	const struct naming_part *part = &b->parts[0];

	if (b->lines_why && part->has_mapping)
		log_warn(c->log, "symbolize: '%s': %s", profile_str(c->profile, part->mapping.path),
			 b->lines_why);
}

static int apply_batch(struct naming_env *env, const struct naming_batch *b)
{
	const struct naming_answer *a = b->answers;
	struct capture *c = env->c;
	int r = 0;

	for (uint32_t i = 0; i < b->nr_parts; i++) {
		const struct naming_part *part = &b->parts[i];

		for (uint32_t k = 0; k < part->nr_items && r == 0; k++)
			r = apply_or_leave(env, b, part->items[k].location, a ? a++ : NULL);
		c->notes[part->number] = part->note;
		c->notes[part->number].limit = b->limit_why;
	}
	tell_lines(c, b);
	jit_counts_add(&c->jit_counts, &b->jit_counts);
	naming_stats_add_batch(&c->naming, b->took_ns, b->is_fallback);
	return r;
}

/* The order is the plan's, whatever the threads did: the same samples give the same profile. */
static int run_batches(struct naming_env *env, struct naming_plan *plan)
{
	_cleanup_(naming_crew_freep) struct naming_crew *crew = NULL;
	int r = naming_crew_new(env, plan->batches, plan->nr_batches, env->c->cfg.naming_workers,
				&crew);

	for (uint32_t i = 0; i < plan->nr_batches && r == 0; i++) {
		struct naming_batch *b = &plan->batches[i];

		naming_crew_wait(crew, i);
		r = b->result;
		if (r == 0)
			r = apply_batch(env, b);
		naming_batch_clear(b);
	}
	return r;
}

/* Debug files of what has samples, each once, and the kernel's own. */
static int fetch_debug_files(struct capture *c, const struct naming_plan *plan)
{
	_cleanup_(freep) uint32_t *files = calloc((size_t)plan->nr_batches + 1, sizeof(*files));
	const struct build_id *kernel = NULL;
	struct build_id id;
	uint32_t nr = 0;

	if (!files)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->nr_batches; i++) {
		const struct naming_part *part = &plan->batches[i].parts[0];

		if (!part->has_mapping)
			continue;
		if (part->mapping.kind == PROFILE_MAPPING_KERNEL &&
		    source_lacks_kernel_file(c, &id))
			kernel = &id;
		if (part->mapping.kind == PROFILE_MAPPING_FILE)
			files[nr++] = (uint32_t)part->mapping.owner;
	}
	return debug_files_fetch(c->debug, files, nr, kernel, c->cfg.hurry);
}

int capture_name(struct capture *c, const atomic_bool *cancel)
{
	_cleanup_(naming_plan_done) struct naming_plan plan;
	_cleanup_(naming_told_freep) struct naming_told *told = NULL;
	struct naming_env env = { .c = c, .cancel = cancel };
	int r;

	naming_place_moments(&env);
	r = naming_plan_init(&plan, c);
	if (r < 0)
		return r;
	c->notes = calloc((size_t)c->profile->nr_mappings + 1, sizeof(*c->notes));
	if (!c->notes)
		return -ENOMEM;
	if (c->debug && debug_files_can_fetch(c->debug))
		r = fetch_debug_files(c, &plan);
	/* Without memory or time for that, names are made of what is here. */
	if (r < 0 && r != -ENOMEM && r != -ECANCELED)
		return r;
	(void)naming_told_new(&env, &told); /* no memory: the files' own names must do */
	naming_budget_init(&env.budget);
	naming_owners_init(&env.owners);
	r = run_batches(&env, &plan);
	naming_owners_done(&env.owners);
	naming_budget_done(&env.budget);
	capture_log_unanswered(c);
	return r < 0 ? r : naming_told_ask(told);
}
