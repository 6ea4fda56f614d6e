/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves every location of the model: batches are run by a crew, and applied in one order. */
#include <errno.h>

#include "names/naming_crew.h"
#include "names/naming_plan.h"
#include "names/source.h"

_Static_assert(SYMBOL_ANSWER_MAX_FRAMES <= PROFILE_MAX_LINES, "the profile has room for an answer");

static int add_function(struct profile *p, uint32_t mapping, const struct symbol_reply *reply,
			const struct symbol_reply_frame *f, uint32_t *ret_id)
{
	struct profile_function fn = { .mapping = mapping, .start_line = f->start_line };
	int r = profile_string(p, reply->strings + f->name, &fn.name);

	if (r == 0)
		r = profile_string(p, reply->strings + f->system_name, &fn.system_name);
	if (r == 0)
		r = profile_string(p, reply->strings + f->filename, &fn.filename);
	return r < 0 ? r : profile_function(p, &fn, ret_id);
}

int naming_apply_answer(struct profile *p, const struct symbol_reply *reply, uint32_t location,
			const struct symbol_answer *a)
{
	struct profile_line lines[PROFILE_MAX_LINES];
	uint32_t mapping = p->locations[location].mapping;
	int r = 0;

	for (uint32_t i = 0; i < a->nr_frames && r == 0; i++) {
		const struct symbol_reply_frame *f = &reply->frames[a->first_frame + i];

		lines[i].line = f->line;
		r = add_function(p, mapping, reply, f, &lines[i].function);
	}
	if (r < 0)
		return r;
	return profile_set_lines(p, location, lines, a->nr_frames, a->flags & SYMBOL_IS_NAMED);
}

static struct naming_outcome outcome_of(const struct naming_batch *b, const struct symbol_answer *a)
{
	return (struct naming_outcome){
		.is_named = a->flags & SYMBOL_IS_NAMED,
		.is_raw = a->flags & SYMBOL_IS_RAW,
		.failure = a->flags & SYMBOL_NO_ROOM      ? NAMING_NO_ROOM
			   : a->flags & SYMBOL_IS_OUTSIDE ? NAMING_NO_SYMBOL
			   : a->flags & SYMBOL_IS_REUSED  ? NAMING_REUSED
							  : b->unnamed,
	};
}

/* If there is no memory for an answer, in the reply or in the model, its location stays without any name,
 * and writers show its address. */
static int apply_or_leave(struct naming_env *env, const struct naming_batch *b, uint32_t location,
			  const struct symbol_answer *a)
{
	struct naming_outcome outcome = { .failure = NAMING_NO_ROOM, .is_raw = true };
	struct naming_job *job = env->job;
	int r = a && a->nr_frames ? naming_apply_answer(job->profile, &b->reply, location, a)
				  : -ENOMEM;

	if (r < 0 && !source_is_about_size(r))
		return r;
	if (r == 0)
		outcome = outcome_of(b, a);
	if (outcome.is_named)
		naming_stats_add_named(&job->stats);
	else
		naming_stats_add_unnamed(&job->stats, outcome.failure, outcome.is_raw);
	if (env->outcomes)
		env->outcomes[location] = outcome;
	return 0;
}

static void log_missing_lines(const struct naming_job *job, const struct naming_batch *b)
{
	const struct naming_part *part = &b->parts[0];

	if (b->reply.head->lines && part->has_mapping)
		log_warn(job->log, "symbolize: '%s': %s",
			 profile_str(job->profile, part->mapping.path),
			 symbol_why_text(b->reply.head->lines).why);
}

static int apply_batch(struct naming_env *env, const struct naming_batch *b)
{
	const struct symbol_answer *a = b->reply.answers;
	struct naming_job *job = env->job;
	int r = 0;

	for (uint32_t i = 0; i < b->nr_parts; i++) {
		const struct naming_part *part = &b->parts[i];

		for (uint32_t k = 0; k < part->nr_items && r == 0; k++)
			r = apply_or_leave(env, b, part->items[k].location, a ? a++ : NULL);
		job->notes[part->number] = part->note;
	}
	if (b->reply.head) {
		log_missing_lines(job, b);
		jit_counts_add(&job->jit_counts, &b->reply.head->jit_counts);
	}
	naming_stats_add_batch(&job->stats, b->took_ns, b->is_fallback);
	return r;
}

/* Locations that had their names before: of kinds that are named when a sample comes. */
static void count_named(struct naming_env *env)
{
	const struct profile *p = env->job->profile;

	for (uint32_t i = 0; i < p->nr_locations; i++) {
		if (!p->locations[i].nr_lines)
			continue;
		naming_stats_add_named(&env->job->stats);
		if (env->outcomes)
			env->outcomes[i] = (struct naming_outcome){ .is_named = true };
	}
}

/* Applied in the order of the plan, whatever the threads did: the same samples give the same profile. */
static int run_batches(struct naming_env *env, struct naming_plan *plan)
{
	_cleanup_(naming_crew_freep) struct naming_crew *crew = NULL;
	int r = naming_crew_new(env, plan->batches, plan->nr_batches, env->job->nr_workers, &crew);

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

/* Fetches the debug files of files with samples, each once, and the kernel's. */
static int fetch_debug_files(struct naming_job *job, const struct naming_plan *plan)
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
		    source_lacks_kernel_file(job, &id))
			kernel = &id;
		if (part->mapping.kind == PROFILE_MAPPING_FILE)
			files[nr++] = (uint32_t)part->mapping.owner;
	}
	return debug_files_fetch(job->debug, files, nr, kernel, job->hurry);
}

/* The files of one program are also needed for programs that were forked from it. */
static void expect_programs(struct naming_job *job, const struct naming_plan *plan)
{
	filestore_lock(job->files);
	for (uint32_t i = 0; job->is_last && i < plan->nr_batches; i++) {
		const struct naming_part *part = &plan->batches[i].parts[0];

		if (part->has_mapping && part->mapping.kind == PROFILE_MAPPING_JIT)
			jit_files_expect(job->jit, part->mapping.owner);
	}
	filestore_unlock(job->files);
}

void naming_job_init(struct naming_job *job)
{
	*job = (struct naming_job){ 0 };
	kernel_file_init(&job->kernel_file);
	kernel_ranges_init(&job->kernel_ranges);
	jit_budget_init(&job->jit_budget);
}

void naming_job_done(struct naming_job *job)
{
	free(job->notes);
	kernel_file_done(&job->kernel_file);
	kernel_ranges_done(&job->kernel_ranges);
	jit_budget_done(&job->jit_budget);
	free(job->kernel_cache_path);
}

int naming_run(struct naming_job *job)
{
	_cleanup_(naming_plan_done) struct naming_plan plan;
	_cleanup_(naming_builtins_freep) struct naming_builtins *builtins = NULL;
	struct naming_env env = { .job = job };
	int r = naming_plan_init(&plan, job);

	if (r < 0)
		return r;
	job->notes = calloc((size_t)job->profile->nr_mappings + 1, sizeof(*job->notes));
	if (!job->notes)
		return -ENOMEM;
	if (job->debug && debug_files_can_fetch(job->debug))
		r = fetch_debug_files(job, &plan);
	/* Without memory or time for fetching, the files on this machine are used. */
	if (r < 0 && r != -ENOMEM && r != -ECANCELED)
		return r;
	(void)naming_builtins_new(&env, &builtins); /* no memory: only files name their code */
	if (job->jit)
		expect_programs(job, &plan);
	naming_budget_init(&env.budget);
	naming_owners_init(&env.owners, job->is_interrupted);
	count_named(&env);
	r = run_batches(&env, &plan);
	naming_owners_done(&env.owners);
	naming_budget_done(&env.budget);
	return r < 0 ? r : naming_builtins_ask(builtins);
}
