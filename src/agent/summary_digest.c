/* SPDX-License-Identifier: Apache-2.0 */
/* The digest of the profile as lists of the summary: commands, processes, functions and hot paths.
 */
#include <errno.h>

#include "agent/summary.h"
#include "digest/commands.h"
#include "digest/functions.h"
#include "digest/hot_paths.h"
#include "digest/top.h"
#include "profile/profile.h"

#define MAX_COMMANDS 100
#define MAX_PROCESSES 1000

void summary_digest_done(struct summary_digest *d)
{
	free(d->commands);
	free(d->processes);
	free(d->functions);
	free(d->functions_by_total);
	free(d->paths);
}

static const char *comm_text(const struct profile *p, uint32_t comm)
{
	return comm ? profile_str(p, comm) : "[unknown]";
}

static int list_commands(struct summary_digest *d, const struct profile *p,
			 const struct process_share *processes, uint32_t nr_processes,
			 struct pa_summary *to)
{
	_cleanup_(freep) struct command_share *found = NULL;
	uint32_t nr;
	int r = digest_commands(p, processes, nr_processes, &found, &nr);

	if (r < 0)
		return r;
	to->commands_seen = nr;
	to->nr_commands = nr < MAX_COMMANDS ? nr : MAX_COMMANDS;
	to->commands = d->commands = calloc(to->nr_commands + 1, sizeof(*d->commands));
	if (!d->commands)
		return -ENOMEM;
	for (size_t i = 0; i < to->nr_commands; i++)
		d->commands[i] = (struct pa_command_stat){
			.comm = comm_text(p, found[i].comm),
			.nr_samples = (uint64_t)found[i].count,
			.nr_in_kernel = (uint64_t)found[i].in_kernel,
			.nr_processes = found[i].nr_processes,
		};
	return 0;
}

static void add_process(struct pa_process_stat *to, const struct process_share *more)
{
	to->nr_samples += (uint64_t)more->count;
	to->nr_in_kernel += (uint64_t)more->in_kernel;
}

static int list_processes(struct summary_digest *d, const struct profile *p, struct pa_summary *to)
{
	_cleanup_(freep) struct process_share *found = NULL;
	uint32_t nr;
	int r = digest_processes(p, &found, &nr);

	if (r < 0)
		return r;
	to->processes_seen = nr;
	for (uint32_t i = 0; i < nr; i++)
		to->processes_samples += (uint64_t)found[i].count;
	to->nr_processes_listed = nr < MAX_PROCESSES ? nr : MAX_PROCESSES;
	to->processes = d->processes = calloc(to->nr_processes_listed + 1, sizeof(*d->processes));
	if (!d->processes)
		return -ENOMEM;
	to->processes_unlisted = &d->processes[to->nr_processes_listed];
	to->nr_processes_unlisted = nr > to->nr_processes_listed;
	for (size_t i = to->nr_processes_listed; i < nr; i++)
		add_process(&d->processes[to->nr_processes_listed], &found[i]);
	for (size_t i = 0; i < to->nr_processes_listed; i++)
		d->processes[i] = (struct pa_process_stat){
			.pid = (pid_t)found[i].pid,
			.comm = comm_text(p, found[i].comm),
			.nr_samples = (uint64_t)found[i].count,
			.nr_in_kernel = (uint64_t)found[i].in_kernel,
		};
	return list_commands(d, p, found, nr, to);
}

/* NULL if out of memory. */
static struct pa_function_stat *copy_functions(const struct functions *f,
					       const struct top_function *top, size_t nr)
{
	struct pa_function_stat *list = calloc(nr + 1, sizeof(*list));

	for (size_t i = 0; list && i < nr; i++)
		list[i] = (struct pa_function_stat){
			.name = functions_name(f, top[i].function),
			.file = functions_file(f, top[i].function),
			.nr_self = (uint64_t)top[i].self,
			.nr_total = (uint64_t)top[i].total,
			.is_unnamed = functions_is_unnamed(f, top[i].function),
			.is_start = top[i].is_everywhere,
			.source = functions_source(f, top[i].function),
		};
	return list;
}

/* Lists the functions; sorts `top`. */
static int list_functions(struct summary_digest *d, const struct functions *f,
			  struct top_function *top, uint32_t nr, uint32_t max_functions,
			  struct pa_summary *to)
{
	to->functions_seen = nr;
	for (uint32_t i = 0; i < nr; i++)
		to->functions_self += (uint64_t)top[i].self;
	to->nr_functions = nr < max_functions ? nr : max_functions;
	to->functions = d->functions = copy_functions(f, top, to->nr_functions);
	to->nr_functions_by_total = digest_top_by_total(f, top, nr, max_functions);
	to->functions_by_total = d->functions_by_total =
		copy_functions(f, top, to->nr_functions_by_total);
	return d->functions && d->functions_by_total ? 0 : -ENOMEM;
}

static int list_paths(struct summary_digest *d, const struct functions *f, const bool *is_start,
		      struct pa_summary *to)
{
	_cleanup_(freep) struct hot_path *found = NULL;
	uint32_t nr;
	int r = digest_hot_paths(f, &found, &nr);

	if (r < 0)
		return r;
	to->paths = d->paths = calloc((size_t)nr + 1, sizeof(*d->paths));
	if (!d->paths)
		return -ENOMEM;
	to->nr_paths = nr;
	for (uint32_t i = 0; i < nr; i++)
		d->paths[i] = (struct pa_path_stat){
			.depth = found[i].depth,
			.continues = found[i].continues,
			.name = functions_name(f, found[i].function),
			.file = functions_file(f, found[i].function),
			.nr_samples = (uint64_t)found[i].value,
			.nr_self = (uint64_t)found[i].self,
			.nr_rest = (uint64_t)found[i].rest,
			.nr_skipped = found[i].nr_skipped,
			.is_unnamed = functions_is_unnamed(f, found[i].function),
			.is_start = is_start[found[i].function],
			.source = functions_source(f, found[i].function),
		};
	return 0;
}

/* Lists what the samples show about functions: which ran, which called, and by which paths. */
static int fill_functions(struct summary_digest *d, const struct functions *f,
			  uint32_t max_functions, struct pa_summary *to)
{
	_cleanup_(freep) struct top_function *top = NULL;
	_cleanup_(freep) bool *is_start = calloc(f->nr, sizeof(*is_start));
	uint32_t nr;
	int r = is_start ? digest_top(f, &top, &nr) : -ENOMEM;

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < nr; i++)
		is_start[top[i].function] = top[i].is_everywhere;
	r = list_functions(d, f, top, nr, max_functions, to);
	return r < 0 ? r : list_paths(d, f, is_start, to);
}

int summary_digest_fill(struct summary_digest *d, const struct profile *p, uint32_t max_functions,
			struct pa_summary *to)
{
	_cleanup_(functions_done) struct functions f = { 0 };
	int r = functions_init(&f, p, p->count_type);

	if (r == 0)
		r = list_processes(d, p, to);
	return r < 0 ? r : fill_functions(d, &f, max_functions, to);
}
