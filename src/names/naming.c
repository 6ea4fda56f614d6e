/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves every location of the model: a crew of threads runs the batches, and the results are
 * applied in a fixed order. */
#include <errno.h>

#include "names/naming_crew.h"
#include "names/naming_known.h"
#include "names/naming_plan.h"
#include "names/source.h"

_Static_assert(SYMBOL_ANSWER_MAX_FRAMES <= PROFILE_MAX_LINES, "the profile has room for an answer");

static const char *text_of(const struct naming_answer *a, uint32_t string)
{
	return a->strings ? a->strings + string : strtab_get(a->table, string);
}

static int add_function(struct profile *p, uint32_t mapping, const struct naming_answer *a,
			const struct symbol_reply_frame *f, uint32_t *ret_id)
{
	struct profile_function fn = { .mapping = mapping, .start_line = f->start_line };
	int r = profile_string(p, text_of(a, f->name), &fn.name);

	if (r == 0)
		r = profile_string(p, text_of(a, f->system_name), &fn.system_name);
	if (r == 0)
		r = profile_string(p, text_of(a, f->filename), &fn.filename);
	return r < 0 ? r : profile_function(p, &fn, ret_id);
}

int naming_set_lines(struct profile *p, uint32_t location, const struct naming_answer *a)
{
	struct profile_line lines[PROFILE_MAX_LINES];
	uint32_t mapping = p->locations[location].mapping;
	int r = 0;

	for (uint32_t i = 0; i < a->nr_frames && r == 0; i++) {
		lines[i].line = a->frames[i].line;
		r = add_function(p, mapping, a, &a->frames[i], &lines[i].function);
	}
	if (r < 0)
		return r;
	return profile_set_lines(p, location, lines, a->nr_frames, a->flags & SYMBOL_IS_NAMED);
}

static struct naming_answer answer_of(const struct symbol_reply *reply,
				      const struct symbol_answer *a)
{
	return (struct naming_answer){ .frames = reply->frames + a->first_frame,
				       .nr_frames = a->nr_frames,
				       .flags = a->flags,
				       .strings = reply->strings };
}

int naming_apply_answer(struct profile *p, const struct symbol_reply *reply, uint32_t location,
			const struct symbol_answer *a)
{
	struct naming_answer answer = answer_of(reply, a);

	return naming_set_lines(p, location, &answer);
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

static enum naming_source source_of(const struct profile *p, uint32_t location)
{
	static const enum naming_source sources[] = {
		[PROFILE_MAPPING_FILE] = NAMING_FROM_FILE,
		[PROFILE_MAPPING_KERNEL] = NAMING_FROM_KERNEL,
		[PROFILE_MAPPING_JIT] = NAMING_FROM_GENERATED,
		[PROFILE_MAPPING_VDSO] = NAMING_FROM_VDSO,
	};
	uint32_t mapping = p->locations[location].mapping;

	return mapping < p->nr_mappings ? sources[p->mappings[mapping].kind] : NAMING_KNOWN;
}

/* Counts an answer. If there is no memory for it, in the reply or in the model, its location stays
 * without a name, and writers show its address. r: whether it was applied. */
static int count_answer(struct naming_env *env, uint32_t location, int r,
			struct naming_outcome outcome)
{
	struct naming_job *job = env->job;

	if (r < 0 && !source_is_about_size(r))
		return r;
	if (r < 0)
		outcome = (struct naming_outcome){ .failure = NAMING_NO_ROOM, .is_raw = true };
	if (outcome.is_named)
		naming_stats_add_named(&job->stats, source_of(job->profile, location));
	else
		naming_stats_add_unnamed(&job->stats, outcome.failure, outcome.is_raw);
	if (env->outcomes)
		env->outcomes[location] = outcome;
	return 0;
}

static int apply_reply(struct naming_env *env, const struct naming_batch *b, uint32_t location,
		       const struct symbol_answer *a)
{
	if (!a || !a->nr_frames)
		return count_answer(env, location, -ENOMEM, (struct naming_outcome){ 0 });
	return count_answer(env, location,
			    naming_apply_answer(env->job->profile, &b->reply, location, a),
			    outcome_of(b, a));
}

static int apply_known(struct naming_env *env, const struct naming_item *item)
{
	const struct shared_names *names = env->job->shared;
	const struct shared_name *name = shared_names_get(names, item->known - 1);
	struct naming_answer a = { .frames = shared_names_frames(names, name),
				   .nr_frames = name->nr_frames,
				   .flags = name->flags,
				   .table = shared_names_strings(names) };
	struct naming_outcome outcome = { .is_named = name->flags & SYMBOL_IS_NAMED,
					  .is_raw = name->flags & SYMBOL_IS_RAW,
					  .failure = name->failure };

	env->job->stats.nr_shared++;
	return count_answer(env, item->location,
			    naming_set_lines(env->job->profile, item->location, &a), outcome);
}

/* Those that the user did not wait for are counted instead: they may be those of every file. */
static void log_missing_lines(const struct naming_job *job, const struct naming_batch *b)
{
	const struct naming_part *part = &b->parts[0];

	if (b->reply.head->lines && !naming_batch_lacks_lines(b) && part->has_mapping)
		log_warn(job->log, "symbolize: '%s': %s",
			 profile_str(job->profile, part->mapping.path),
			 symbol_why_text(b->reply.head->lines).why);
}

static uint64_t count_without_line(const struct symbol_reply *reply)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < reply->head->nr_answers; i++) {
		const struct symbol_answer *a = &reply->answers[i];

		nr += !a->nr_frames || !reply->frames[a->first_frame].line;
	}
	return nr;
}

static struct naming_note note_of(const struct naming_job *job, const struct naming_batch *b,
				  const struct naming_part *part)
{
	return b->nr_asked ? part->note : shared_names_source(job->shared, b->source)->note;
}

/* In addition to what every batch is counted in. */
static void count_kernel_batch(struct naming_job *job, const struct naming_batch *b)
{
	bool is_fallback = b->is_fallback, is_denied = job->kernel.is_denied;
	struct naming_kernel_counts counts = {
		.nr_batches = 1,
		.nr_addresses = b->nr_asked,
		.nr_unlisted = b->unnamed == NAMING_NO_KERNEL_LIST,
		.nr_denied = is_denied,
		.nr_failed = is_fallback && !is_denied,
		.nr_fallbacks = is_fallback,
	};

	for (uint32_t i = 0; b->reply.head && i < b->reply.head->nr_answers; i++)
		counts.nr_raw += (b->reply.answers[i].flags & SYMBOL_IS_RAW) != 0;
	naming_stats_add_kernel(&job->stats, &counts, b->took_ns);
}

static int apply_batch(struct naming_env *env, struct naming_batch *b)
{
	const struct symbol_answer *a = b->reply.answers;
	struct naming_job *job = env->job;
	int r = 0;

	for (uint32_t i = 0; i < b->nr_parts; i++) {
		const struct naming_part *part = &b->parts[i];

		for (uint32_t k = 0; k < part->nr_items && r == 0; k++)
			r = part->items[k].known
				    ? apply_known(env, &part->items[k])
				    : apply_reply(env, b, part->items[k].location, a ? a++ : NULL);
		job->notes[part->number] = note_of(job, b, part);
	}
	if (!b->nr_asked)
		return r;
	if (b->reply.head) {
		log_missing_lines(job, b);
		jit_counts_add(&job->jit_counts, &b->reply.head->jit_counts);
		if (naming_batch_lacks_lines(b))
			job->stats.nr_lines_interrupted += count_without_line(&b->reply);
	}
	naming_stats_add_batch(&job->stats, b->took_ns, b->is_fallback);
	if (b->parts[0].has_mapping && b->parts[0].mapping.kind == PROFILE_MAPPING_KERNEL)
		count_kernel_batch(job, b);
	return r;
}

/* Counts locations of kinds that are named when a sample arrives. */
static void count_named(struct naming_env *env)
{
	const struct profile *p = env->job->profile;

	for (uint32_t i = 0; i < p->nr_locations; i++) {
		if (!p->locations[i].nr_lines)
			continue;
		naming_stats_add_named(&env->job->stats, NAMING_KNOWN);
		if (env->outcomes)
			env->outcomes[i] = (struct naming_outcome){ .is_named = true };
	}
}

static int take_batch(struct naming_env *env, struct naming_batch *b)
{
	int r = b->result;

	if (r == 0)
		r = apply_batch(env, b);
	if (r == 0)
		naming_known_keep(env, b);
	naming_batch_clear(b);
	return r;
}

/* Results are applied in the order of the plan, whatever the threads do: the same samples give the
 * same profile. */
static int run_batches(struct naming_env *env, struct naming_plan *plan, const uint32_t *order)
{
	_cleanup_(naming_crew_freep) struct naming_crew *crew = NULL;
	int r = naming_crew_new(env, plan, order, plan->nr_batches, &crew);

	for (uint32_t i = 0; i < plan->nr_batches && r == 0; i++) {
		naming_crew_wait(crew, i);
		r = take_batch(env, &plan->batches[i]);
	}
	return r;
}

static int run_listed(struct naming_env *env, const struct naming_plan *plan, const uint32_t *order,
		      uint32_t nr)
{
	_cleanup_(naming_crew_freep) struct naming_crew *crew = NULL;
	int r = naming_crew_new(env, plan, order, nr, &crew);

	for (uint32_t i = 0; i < nr && r == 0; i++) {
		naming_crew_wait(crew, order[i]);
		r = plan->batches[order[i]].result;
	}
	return r;
}

/* For a user who waits: first the names of all files, which cost little, then lines, until the time is
 * over. The files with most samples come first. */
static int run_hastily(struct naming_env *env, struct naming_plan *plan, uint32_t *order)
{
	uint32_t nr = 0;
	int r;

	env->puts_off_lines = true;
	r = run_listed(env, plan, order, plan->nr_batches);
	env->puts_off_lines = false;
	for (uint32_t i = 0; i < plan->nr_batches && r == 0; i++)
		if (naming_batch_lacks_lines(&plan->batches[order[i]]))
			order[nr++] = order[i];
	if (r == 0)
		r = run_listed(env, plan, order, nr);
	for (uint32_t i = 0; i < plan->nr_batches && r == 0; i++)
		r = take_batch(env, &plan->batches[i]);
	return r;
}

static int run_plan(struct naming_env *env, struct naming_plan *plan)
{
	_cleanup_(freep)
		uint32_t *order = naming_plan_order(plan, env->job->profile, env->is_hasty);

	if (!order)
		return -ENOMEM;
	return env->is_hasty ? run_hastily(env, plan, order) : run_batches(env, plan, order);
}

static bool ends_fetching(const void *deadline)
{
	return naming_deadline_ends_fetching((struct naming_deadline *)(uintptr_t)deadline);
}

/* Fetches the debug files of files with samples, each once, and the kernel's. */
static int fetch_debug_files(struct naming_job *job, const struct naming_plan *plan)
{
	_cleanup_(freep) uint32_t *files = calloc((size_t)plan->nr_batches + 1, sizeof(*files));
	struct cancel cancel = { ends_fetching, job->deadline };
	const struct build_id *kernel = NULL;
	struct build_id id;
	uint32_t nr = 0;

	if (!files)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->nr_batches; i++) {
		const struct naming_part *part = &plan->batches[i].parts[0];

		if (!part->has_mapping || !plan->batches[i].nr_asked)
			continue;
		if (part->mapping.kind == PROFILE_MAPPING_KERNEL &&
		    source_lacks_kernel_file(job, &id))
			kernel = &id;
		if (part->mapping.kind == PROFILE_MAPPING_FILE)
			files[nr++] = (uint32_t)part->mapping.owner;
	}
	return debug_files_fetch(job->debug, files, nr, kernel, &cancel);
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
	struct naming_env env = { .job = job, .is_hasty = naming_deadline_is_set(job->deadline) };
	int r = naming_plan_init(&plan, job);

	if (r < 0)
		return r;
	job->notes = calloc((size_t)job->profile->nr_mappings + 1, sizeof(*job->notes));
	if (!job->notes)
		return -ENOMEM;
	naming_known_find(&env, &plan);
	if (job->debug && debug_files_can_fetch(job->debug))
		r = fetch_debug_files(job, &plan);
	/* Without memory or time for fetching, the files on this machine are used. */
	if (r < 0 && r != -ENOMEM && r != -ECANCELED)
		return r;
	/* without memory for them, names come from files only */
	(void)naming_builtins_new(&env, &builtins);
	if (job->jit)
		expect_programs(job, &plan);
	naming_budget_init(&env.budget);
	naming_owners_init(&env.owners, env.is_hasty);
	count_named(&env);
	r = run_plan(&env, &plan);
	naming_known_end(&env);
	naming_owners_done(&env.owners);
	naming_budget_done(&env.budget);
	return r < 0 ? r : naming_builtins_ask(builtins);
}
