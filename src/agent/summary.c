/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/summary.h"

#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "agent/own_usage.h"
#include "agent/session.h"
#include "base/clock.h"
#include "debugfiles/debug_files.h"
#include "names/advice.h"
#include "proc/unanswered.h"
#include "write/pmu_text.h"

#define MAX_LIMITS 100
#define MAX_WAITS 100
#define NR_COMMON_LOSSES 4
#define NR_OWN_SECTIONS 1 /* sections without a trigger: context switches */

static const struct pa_count naming_failures[] = {
#define X(failure, machine, people) { .name = machine, .text = people },
	NAMING_FAILURES(X)
#undef X
};

/* Storage for what a section points to. */
struct section_lists {
	struct pa_count counts[TRIGGER_MAX_COUNTS];
	struct pa_count losses[TRIGGER_MAX_COUNTS + NR_COMMON_LOSSES];
	struct summary_quality quality;
};

struct summary {
	struct pa_summary pub;
	struct utsname machine;
	struct pa_section *sections;         /* owned */
	struct section_lists *section_lists; /* owned; one per section */
	struct pa_section first;             /* how the samples of the first section were unwound */
	struct summary_quality first_quality;
	struct pa_count naming_failures[NAMING_NR_FAILURES];
	struct summary_kernel_names kernel_names;
	struct summary_known known;
	struct summary_digest digest;
	struct pa_limit_stat limits[MAX_LIMITS];
	struct pa_wait_stat waits[MAX_WAITS];
	char wait_texts[MAX_WAITS][SUMMARY_WAIT_SIZE];
	struct pa_hint hints[SUMMARY_MAX_HINTS];
	char hint_texts[SUMMARY_MAX_HINTS][SUMMARY_HINT_SIZE];
	struct pa_count jit[SUMMARY_NR_JIT];
	struct pa_count gaps[SUMMARY_NR_GAPS];
	struct pa_count python[PYTHON_TARGETS_NR_COUNTS];
	uint64_t nr_unsummed;    /* sum over all triggers; see trigger_account */
	struct pa_pmu_stat *pmu; /* owned */
	struct pa_count pmu_gaps[SUMMARY_NR_PMU_GAPS];
	struct pa_thread_stat *threads; /* owned */
	struct pa_output_stat *outputs; /* owned */
	struct pa_program_stat programs[PROGRAM_TIMES_MAX];
	struct pa_unanswered_stat unanswered[UNANSWERED_MAX_ITEMS];
	struct unanswered_item unanswered_items[UNANSWERED_MAX_ITEMS];
	struct pa_count fetches[NR_FETCH_RESULTS];
	struct pa_fetch_failure fetch_failures[FETCH_MAX_FAILURES];
	struct {
		char server[FETCH_SERVER_SIZE], text[FETCH_REASON_SIZE];
	} failure_texts[FETCH_MAX_FAILURES];
};

struct summary *summary_free(struct summary *s)
{
	if (!s)
		return NULL;
	free(s->sections);
	free(s->section_lists);
	free(s->outputs);
	free(s->pmu);
	free(s->threads);
	summary_digest_done(&s->digest);
	free(s);
	return NULL;
}

const struct pa_summary *summary_get(const struct summary *s)
{
	return &s->pub;
}

static void lose(struct pa_section *s, struct section_lists *to, struct pa_count c)
{
	to->losses[s->nr_losses++] = c;
	s->lost += c.count;
}

static int64_t residual_of(const struct pa_section *s)
{
	uint64_t sum = s->samples + s->lost;

	for (size_t i = 0; i < s->nr_counts; i++)
		sum += s->counts[i].count;
	return (int64_t)(s->due - sum);
}

/* Fills the section of one trigger. Records can also be lost after they left the kernel, whichever
 * trigger produced them. */
static void fill_section(const struct summary_source *from, struct pa_section *s,
			 struct section_lists *to)
{
	const struct trigger_account *a = &from->account;
	const struct pipe_stats *pipe = from->pipe;
	const struct model_stats *model = &from->model;
	const struct pa_count on_the_way[NR_COMMON_LOSSES] = {
		{ "left_in_ring", "were never read from the ring",
		  !from->is_live && a->submitted > pipe->nr_records
			  ? a->submitted - pipe->nr_records
			  : 0 },
		{ "bad_record", "the record was invalid", pipe->nr_bad + model->nr_without_stack },
		{ "model_full", "the profile is at its size limit", model->nr_full },
		{ "no_memory", "the agent ran out of memory",
		  pipe->nr_no_memory + model->nr_no_memory },
	};

	memcpy(to->counts, a->counts, sizeof(to->counts));
	s->name = from->trigger->name;
	s->unit = from->trigger->unit;
	s->units = from->trigger->units;
	s->due = a->due;
	s->counts = to->counts;
	s->nr_counts = a->nr_counts;
	s->samples = model->nr_kept;
	s->losses = to->losses;
	for (uint32_t i = 0; i < a->nr_losses; i++)
		lose(s, to, a->losses[i]);
	for (uint32_t i = 0; i < NR_COMMON_LOSSES; i++)
		lose(s, to, on_the_way[i]);
	s->unexplained = residual_of(s);
}

/* Adds how samples were unwound and symbolized; that of the first section is known already, as it
 * is also in the summary. */
static int add_quality(struct summary *to, const struct summary_source *from, uint32_t i)
{
	if (from->is_live)
		summary_add_stops(&to->section_lists[i].quality, &from->model, &to->sections[i]);
	else if (!i)
		to->sections[i] = to->first;
	return i && from->profile
		       ? summary_quality_fill(&to->section_lists[i].quality, from->profile,
					      &from->model, &to->sections[i])
		       : 0;
}

int summary_add_sections(struct summary *to, const struct summary_source *sources, uint32_t nr)
{
	int r = 0;

	to->sections = calloc(nr + NR_OWN_SECTIONS, sizeof(*to->sections));
	to->section_lists = calloc(nr + NR_OWN_SECTIONS, sizeof(*to->section_lists));
	if (!to->sections || !to->section_lists)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr && r == 0; i++) {
		r = add_quality(to, &sources[i], i);
		fill_section(&sources[i], &to->sections[i], &to->section_lists[i]);
		to->nr_unsummed += sources[i].account.nr_unsummed;
		if (sources[i].account.nr_cpus > to->pub.nr_cpus)
			to->pub.nr_cpus = sources[i].account.nr_cpus;
	}
	to->pub.sections = to->sections;
	to->pub.nr_sections = nr;
	to->pub.samples = nr ? to->sections[0].samples : 0;
	return r;
}

/* Adds the section of context switches, after those of the triggers. Missing measurements are in
 * pmu_gaps. */
static void add_switches(const struct pa_sched_counts *c, struct summary *to)
{
	struct section_lists *lists = &to->section_lists[to->pub.nr_sections];
	struct pa_section *section = &to->sections[to->pub.nr_sections++];
	const struct pa_count others[] = {
		{ "idle", "idle", c->idle },
		{ "own", "own", c->own },
		{ "other", "other", c->other },
		{ "outside", "outside", c->outside },
	};

	memcpy(lists->counts, others, sizeof(others));
	*section = (struct pa_section){ .name = "sched",
					.unit = "switch",
					.units = "switches",
					.due = c->switches,
					.counts = lists->counts,
					.nr_counts = sizeof(others) / sizeof(others[0]),
					.samples = c->recorded,
					.losses = lists->losses };
	section->unexplained = residual_of(section);
}

static int add_pmu(const struct pa_session *s, struct summary *to)
{
	const struct sched_report *report = &s->sched_report;
	int r;

	if (!s->sched)
		return 0;
	r = summary_list_pmu(report, &to->pmu, &to->pub.nr_pmu);
	if (r < 0)
		return r;
	to->pub.pmu = to->pmu;
	summary_count_pmu_gaps(&report->counts, s->thread_times.nr_waiting, to->pmu_gaps);
	to->pub.pmu_gaps = to->pmu_gaps;
	to->pub.nr_pmu_gaps = SUMMARY_NR_PMU_GAPS;
	to->pub.no_hw_counters = report->no_counters;
	add_switches(&report->counts, to);
	if (!session_takes_samples(s))
		to->pub.nr_cpus = sched_collector_nr_cpus(s->sched);
	return 0;
}

static int add_threads(const struct pa_session *s, struct summary *to)
{
	int r = summary_list_threads(&s->thread_times, &to->threads, &to->pub.nr_threads);

	to->pub.threads = to->threads;
	to->pub.threads_seen = s->thread_times.nr_threads;
	if (to->threads && to->pub.threads_seen >= to->pub.nr_threads) {
		to->pub.threads_unlisted = &to->threads[to->pub.nr_threads];
		to->pub.nr_threads_unlisted = 1;
	}
	to->pub.thread_events_no_room = s->thread_times.nr_events_no_room;
	return r;
}

static int add_sections(const struct pa_session *s, struct summary *to, bool is_live)
{
	uint32_t nr = triggers_nr(s->triggers);
	_cleanup_(freep) struct summary_source *sources = calloc(nr + 1, sizeof(*sources));
	int r = sources ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < nr && r == 0; i++) {
		sources[i].trigger = triggers_get(s->triggers, i);
		sources[i].pipe = pipe_stats(s->pipe, (uint8_t)i);
		sources[i].model = session_model_stats(s, i);
		sources[i].profile = is_live ? NULL : s->models[i].now;
		sources[i].is_live = is_live;
		r = triggers_account(s->triggers, i, &sources[i].account);
	}
	return r < 0 ? r : summary_add_sections(to, sources, nr);
}

static void add_other_losses(const struct pa_session *s, struct summary *to)
{
	struct pa_proc_stats proc = programs_proc_stats(s->programs);

	to->pub.sideband_lost = s->world->nr_events_lost + proc.targets_lost;
	to->pub.notices_lost = proc.notices_lost;
}

int summary_add_digest(struct summary *to, const struct profile *p, uint32_t max_functions)
{
	return summary_digest_fill(&to->digest, p, max_functions, &to->pub);
}

const char *summary_mapping_path(const struct profile *p, uint32_t mapping)
{
	return mapping >= p->nr_mappings ? "[unknown]" : profile_str(p, p->mappings[mapping].path);
}

/* Nothing if no kernel address was seen. */
static void add_kernel_symbols(const struct model *model, struct summary *to)
{
	const struct kernel_outcome *kernel = &model->naming.kernel;

	if (!kernel->source[0])
		return;
	to->pub.kernel_symbols = kernel->source;
	to->kernel_names.list = kernel->list ? kernel->list : "none";
}

static void add_walks(const struct world *w, const struct model_stats *stats, struct summary *to)
{
	struct unwinder_stats u;

	if (!w->unwinder)
		return;
	u = unwinder_stats(w->unwinder);
	to->pub.walks_again = stats->nr_walked_again;
	to->pub.walks_finished = stats->nr_finished;
	to->pub.nr_tables = u.files.nr_compiled;
	to->pub.tables_peak_bytes = u.files.tables.peak_bytes;
	to->pub.tables_shared = u.files.tables.nr_shared;
	to->pub.table_rows_in_agent = u.files.dropped.nr_user;
	to->pub.cfi_unused = u.files.dropped.nr_outside;
	to->pub.tables_evicted = u.files.tables.nr_evicted;
	to->pub.tables_refused =
		u.files.tables.nr_refused + u.files.tables.nr_short + u.nr_processes_refused;
}

static void add_names(const struct model *model, const struct model_account *all,
		      struct summary *to)
{
	const struct profile *p = model->profile;

	to->pub.nr_locations = p->nr_locations;
	for (uint32_t i = 0; i < p->nr_locations; i++)
		to->pub.nr_locations_named += p->locations[i].is_named;
	summary_count_jit(model->world, all, to->jit);
	to->pub.jit = to->jit;
	to->pub.nr_jit = SUMMARY_NR_JIT;
	add_kernel_symbols(model, to);
	add_walks(model->world, &all->stats, to);
}

static void add_fetch_failures(const struct fetch_stats *s, struct summary *to)
{
	for (unsigned int i = 0; i < s->nr_failures; i++) {
		const struct fetch_failure *f = &s->failures[i];
		char *server = to->failure_texts[i].server;

		memcpy(server, f->server, sizeof(f->server));
		to->fetch_failures[i] = (struct pa_fetch_failure){
			.server = server,
			.reason = fetch_reason_name(f->reason),
			.text = fetch_reason_text(f->reason, f->http_status,
						  to->failure_texts[i].text),
			.count = f->count,
		};
	}
	to->pub.fetch_failures = to->fetch_failures;
	to->pub.nr_fetch_failures = s->nr_failures;
}

static void add_debug_files(const struct model *model, struct summary *to)
{
	struct debug_stats s = { 0 };

	if (model->world->debug)
		s = debug_files_stats(model->world->debug);
	for (unsigned int i = 0; i < NR_FETCH_RESULTS; i++)
		if (s.fetch.results[i])
			to->fetches[to->pub.nr_fetches++] = (struct pa_count){
				.name = fetch_result_name(i),
				.text = fetch_result_text(i),
				.count = s.fetch.results[i],
			};
	to->pub.fetches = to->fetches;
	add_fetch_failures(&s.fetch, to);
	to->pub.fetched_bytes = s.fetch.bytes;
	to->pub.nr_cache_evicted = s.fetch.nr_evicted;
	to->pub.nr_debug_files = s.nr_separate;
	to->pub.nr_debug_mismatches = s.search.nr_other_build_id + s.search.nr_bad_crc;
	to->pub.nr_unnamed_by_rule = s.nr_refused;
	to->pub.fetch_problem = s.problem;
}

static void add_naming(const struct naming_stats *n, struct summary *to)
{
	struct naming_latency latency = naming_stats_latency(n);

	to->kernel_names.counts = n->kernel;
	to->kernel_names.latency = naming_stats_kernel_latency(n);
	memcpy(to->known.named, n->named, sizeof(to->known.named));
	to->pub.naming_batches = n->nr_batches;
	to->pub.naming_addresses = n->nr_addresses;
	to->pub.naming_shared = n->nr_shared;
	to->pub.naming_raw = n->nr_raw;
	to->pub.naming_fallbacks = n->nr_fallbacks;
	to->pub.naming_lines_interrupted = n->nr_lines_interrupted;
	to->pub.naming_p50_ns = latency.p50_ns;
	to->pub.naming_p99_ns = latency.p99_ns;
	to->pub.naming_max_ns = latency.max_ns;
	for (unsigned int i = 0; i < NAMING_NR_FAILURES; i++) {
		to->naming_failures[i] = naming_failures[i];
		to->naming_failures[i].count = n->failures[i];
	}
	to->pub.naming_failures = to->naming_failures;
	to->pub.nr_naming_failures = NAMING_NR_FAILURES;
}

static void add_unanswered(const struct procfs *procfs, struct summary *to)
{
	size_t *nr = &to->pub.nr_unanswered;

	to->pub.unanswered_seen = procfs_nr_unanswered(procfs);
	while (*nr < UNANSWERED_MAX_ITEMS &&
	       procfs_unanswered(procfs, (uint32_t)*nr, &to->unanswered_items[*nr])) {
		to->unanswered[*nr] = (struct pa_unanswered_stat){
			.pid = (unsigned int)to->unanswered_items[*nr].pid,
			.what = to->unanswered_items[*nr].what,
		};
		++*nr;
	}
	to->pub.unanswered = to->unanswered;
}

/* Lists only files that exist: a failed output is reported by its error. */
static int add_outputs(const struct pa_session *s, struct summary *to)
{
	to->outputs = calloc(s->nr_outputs + 1, sizeof(*to->outputs));
	if (!to->outputs)
		return -ENOMEM;
	for (unsigned int i = 0; i < s->nr_outputs; i++)
		if (outfile_is_committed(s->outputs[i].file))
			to->outputs[to->pub.nr_outputs++] = (struct pa_output_stat){
				.format = s->outputs[i].format,
				.path = outfile_path(s->outputs[i].file),
				.size_bytes = outfile_size(s->outputs[i].file),
			};
	to->pub.outputs = to->outputs;
	return 0;
}

static uint64_t first_sample_ns(const struct pa_session *s)
{
	uint64_t at = session_takes_samples(s) ? session_model_stats(s, 0).first_ns : 0;

	return at > s->start_ns ? at - s->start_ns : 0;
}

/* The longest first. */
static int compare_programs(const void *a, const void *b)
{
	const struct pa_program_stat *x = a, *y = b;

	return (x->run_ns < y->run_ns) - (x->run_ns > y->run_ns);
}

static void add_programs(const struct pa_session *s, struct summary *to)
{
	const struct program_times *times = &s->program_times;

	for (uint32_t i = 0; i < times->nr; i++)
		to->programs[i] = (struct pa_program_stat){
			.name = times->items[i].name,
			.nr_runs = times->items[i].nr_runs,
			.run_ns = times->items[i].run_ns,
		};
	qsort(to->programs, times->nr, sizeof(to->programs[0]), compare_programs);
	to->pub.programs = to->programs;
	to->pub.nr_programs = times->nr;
	to->pub.programs_ns = program_times_sum_ns(times);
	to->pub.no_program_times = s->no_program_times;
}

/* Strings and lists are borrowed from the session. */
static void add_description(const struct pa_session *s, struct summary *to)
{
	const struct pa_options *o = &s->settings.o;

	(void)uname(&to->machine);
	to->pub.host = to->machine.nodename;
	to->pub.kernel_release = to->machine.release;
	to->pub.machine = to->machine.machine;
	to->pub.target_text = s->target_text;
	to->pub.end_reason = s->end_reason;
	to->pub.end_signal = session_end_signal(s);
	to->pub.unwind = session_unwind_name(s);
	to->pub.kernel_stacks = o->kernel_stacks;
	to->pub.all = o->all;
	to->pub.follow_children = o->nr_pids && !o->no_follow_children;
	to->pub.pids = o->pids;
	to->pub.nr_pids = o->nr_pids;
	to->pub.tags = o->tags;
	to->pub.nr_tags = o->nr_tags;
	to->pub.duration_asked_ns = o->duration_ns;
}

/* What the samples of the first profile are. */
static void add_values(const struct value_types *values, struct pa_summary *to)
{
	to->period = values->period;
	to->count_type = values->types[values->count_type].type;
	to->count_unit = values->types[values->count_type].unit;
}

static void add_frame(const struct pa_session *s, struct summary *to)
{
	const struct pa_options *o = &s->settings.o;
	to->pub.sz = sizeof(to->pub);
	to->pub.version = PERFAGENT_VERSION;
	to->pub.event = session_event_name(s);
	if (session_takes_samples(s))
		add_values(triggers_values(s->triggers, 0), &to->pub);
	to->pub.sample_rate_hz = o->sample_rate_hz;
	to->pub.start_time_ns = s->start_real_ns;
	to->pub.duration_ns = s->end_ns - s->start_ns;
	to->pub.sampling_least_ns = s->end_ns > s->enabled_ns ? s->end_ns - s->enabled_ns : 0;
	to->pub.sampling_most_ns = s->disabled_ns - s->start_ns;
	to->pub.first_sample_ns = first_sample_ns(s);
	to->pub.targets_exited = s->targets_exited;
	to->pub.steal_ns = cpu_account_steal_ns(&s->cpu);
	to->pub.targets_cpu_ns = cpu_account_targets_ns(&s->cpu, s->programs);
	to->pub.agent_cpu_ns = own_cpu_ns();
	to->pub.agent_peak_rss_bytes = own_peak_rss_bytes();
	to->pub.agent_sampling_cpu_ns = s->end_cpu_ns ? s->end_cpu_ns - s->start_cpu_ns : 0;
	to->pub.agent_sampling_rss_bytes = s->end_rss_bytes;
	to->pub.agent_wakeups = own_wakeups();
	to->pub.agent_sampling_wakeups = s->end_cpu_ns ? s->end_wakeups - s->start_wakeups : 0;
}

/* Counts the stacks that still have samples: splitting JIT stacks by code version orphans some. */
static uint64_t count_stacks(const struct profile *p)
{
	_cleanup_(freep) bool *is_used = calloc((size_t)p->nr_stacks + 1, sizeof(*is_used));
	uint64_t nr = 0;

	if (!is_used)
		return p->nr_stacks;
	for (uint32_t i = 0; i < p->nr_samples; i++) {
		nr += !is_used[p->samples[i].stack];
		is_used[p->samples[i].stack] = true;
	}
	return nr;
}

/* Lets callers that were compiled with smaller structures step through the lists. */
void summary_add_item_sizes(struct pa_summary *to)
{
	to->pa_count_sz = sizeof(struct pa_count);
	to->pa_section_sz = sizeof(struct pa_section);
	to->pa_truncation_stat_sz = sizeof(struct pa_truncation_stat);
	to->pa_function_stat_sz = sizeof(struct pa_function_stat);
	to->pa_unnamed_stat_sz = sizeof(struct pa_unnamed_stat);
	to->pa_limit_stat_sz = sizeof(struct pa_limit_stat);
	to->pa_fetch_failure_sz = sizeof(struct pa_fetch_failure);
	to->pa_unanswered_stat_sz = sizeof(struct pa_unanswered_stat);
	to->pa_output_stat_sz = sizeof(struct pa_output_stat);
	to->pa_hint_sz = sizeof(struct pa_hint);
	to->pa_label_stat_sz = sizeof(struct pa_label_stat);
	to->pa_command_stat_sz = sizeof(struct pa_command_stat);
	to->pa_process_stat_sz = sizeof(struct pa_process_stat);
	to->pa_path_stat_sz = sizeof(struct pa_path_stat);
	to->pa_pmu_stat_sz = sizeof(struct pa_pmu_stat);
	to->pa_wait_stat_sz = sizeof(struct pa_wait_stat);
	to->pa_thread_stat_sz = sizeof(struct pa_thread_stat);
	to->pa_program_stat_sz = sizeof(struct pa_program_stat);
}

void summary_add_gaps(struct summary *to, const struct world *w, const struct pipe *p,
		      const struct process_labels *labels)
{
	struct process_labels_stats asked = process_labels_stats(labels);

	summary_count_gaps(w, p, &asked, to->nr_unsummed, to->gaps);
	to->pub.gaps = to->gaps;
	to->pub.nr_gaps = SUMMARY_NR_GAPS;
}

int summary_of_model(const struct model *model, const struct model_account *taken,
		     struct summary **ret_summary)
{
	struct model_account all = taken ? *taken : (struct model_account){ 0 };
	_cleanup_(summary_freep) struct summary *to = calloc(1, sizeof(*to));
	int r;

	if (!to)
		return -ENOMEM;
	model_account_add(&all, model);
	summary_add_item_sizes(&to->pub);
	to->pub.nr_stacks = count_stacks(model->profile);
	to->pub.nr_processes = all.stats.nr_processes;
	to->pub.samples_in_kernel = all.stats.nr_in_kernel;
	add_names(model, &all, to);
	add_debug_files(model, to);
	add_unanswered(&model->world->procfs, to);
	add_naming(&all.naming, to);
	r = summary_quality_fill(&to->first_quality, model, &all.stats, &to->first);
	summary_quality_of_first(&to->pub, &to->first);
	if (r == 0)
		r = summary_list_hints(model, all.switches_python, to->hints, to->hint_texts,
				       &to->pub.nr_hints);
	to->pub.hints = to->hints;
	summary_list_limits(model, to->limits, MAX_LIMITS, &to->pub);
	to->pub.limits = to->limits;
	if (r < 0)
		return r;
	*ret_summary = TAKE(to);
	return 0;
}

int summary_add_waits(struct summary *to, const struct model *model)
{
	to->pub.waits = to->waits;
	return summary_list_waits(model, to->waits, to->wait_texts, MAX_WAITS, &to->pub);
}

const struct summary_kernel_names *summary_kernel_names(const struct summary *s)
{
	return &s->kernel_names;
}

const struct summary_known *summary_known(const struct summary *s)
{
	return &s->known;
}

/* The summary of a capture without samples. */
static int empty_summary(struct summary **ret_summary)
{
	struct summary *to = calloc(1, sizeof(*to));

	if (!to)
		return -ENOMEM;
	summary_add_item_sizes(&to->pub);
	*ret_summary = to;
	return 0;
}

/* Adds the symbols of all profiles; the rest of an account is that of the first profile. */
static void add_symbols_of(const struct session_model *m, struct model_account *to)
{
	struct model_account one = m->taken;

	model_account_add(&one, m->now);
	naming_stats_add(&to->naming, &one.naming);
	jit_counts_add(&to->jit, &one.jit);
	to->stats.nr_untimed += one.stats.nr_untimed;
}

static void add_other_profile(const struct model *model, struct summary *to)
{
	if (!to->pub.kernel_symbols)
		add_kernel_symbols(model, to);
	summary_list_limits(model, to->limits, MAX_LIMITS, &to->pub);
}

static int summary_of_profiles(const struct pa_session *s, struct summary **ret_summary)
{
	const struct session_model *first = &s->models[0];
	struct model_account taken = first->taken;
	int r;

	for (uint32_t i = 1; i < triggers_nr(s->triggers); i++)
		add_symbols_of(&s->models[i], &taken);
	taken.switches_python = s->settings.o.inject_python;
	r = summary_of_model(first->now, &taken, ret_summary);
	for (uint32_t i = 1; i < triggers_nr(s->triggers) && r == 0; i++)
		add_other_profile(s->models[i].now, *ret_summary);
	return r < 0 ? r
		     : summary_add_digest(*ret_summary, first->now->profile,
					  s->settings.o.max_functions);
}

static void add_switched_python(const struct pa_session *s, struct summary *to)
{
	to->pub.python = to->python;
	to->pub.nr_python = python_targets_counts(s->python, to->python);
}

static void add_known(const struct world *w, struct summary *to)
{
	to->known.nr_processes = tracker_nr_processes(w->tracker);
	to->known.nr_mappings = tracker_nr_mappings(w->tracker);
}

static int fill_summary(const struct pa_session *s, struct summary **ret_summary)
{
	int r = session_takes_samples(s) ? summary_of_profiles(s, ret_summary)
					 : empty_summary(ret_summary);

	for (uint32_t i = 0; i < triggers_nr(s->triggers) && r == 0; i++)
		if (s->models[i].now->waits.nr)
			r = summary_add_waits(*ret_summary, s->models[i].now);
	if (r == 0)
		r = add_sections(s, *ret_summary, false);
	if (r == 0)
		r = add_pmu(s, *ret_summary);
	if (r == 0)
		r = add_threads(s, *ret_summary);
	if (r == 0)
		r = add_outputs(s, *ret_summary);
	if (r < 0)
		return r;
	add_other_losses(s, *ret_summary);
	summary_add_gaps(*ret_summary, s->world, s->pipe, s->process_labels);
	add_known(s->world, *ret_summary);
	add_frame(s, *ret_summary);
	add_programs(s, *ret_summary);
	add_switched_python(s, *ret_summary);
	add_description(s, *ret_summary);
	return 0;
}

static void add_live_switches(const struct pa_session *s, struct summary *to)
{
	struct pa_sched_counts c;

	if (s->sched && sched_collector_counts(s->sched, &c) == 0)
		add_switches(&c, to);
}

static int fill_live(const struct pa_session *s, struct summary *to)
{
	int r = add_sections(s, to, true);

	if (r < 0)
		return r;
	add_live_switches(s, to);
	for (uint32_t i = 0; i < triggers_nr(s->triggers); i++) {
		struct model_stats stats = session_model_stats(s, i);

		to->pub.nr_stacks += s->models[i].now->profile->nr_stacks;
		if (i == 0)
			to->pub.nr_processes = stats.nr_processes;
		if (i == 0)
			add_walks(s->world, &stats, to);
	}
	if (session_takes_samples(s))
		add_debug_files(s->models[0].now, to);
	add_other_losses(s, to);
	summary_add_gaps(to, s->world, s->pipe, s->process_labels);
	add_known(s->world, to);
	add_switched_python(s, to);
	return 0;
}

int summary_live(const struct pa_session *s, struct summary **ret_summary)
{
	_cleanup_(summary_freep) struct summary *to = NULL;
	int r = empty_summary(&to);

	if (r < 0)
		return r;
	world_lock(s->world);
	r = fill_live(s, to);
	world_unlock(s->world);
	if (r == 0)
		*ret_summary = TAKE(to);
	return r;
}

int summary_new(const struct pa_session *s, struct summary **ret_summary)
{
	_cleanup_(summary_freep) struct summary *to = NULL;
	int r;

	world_lock(s->world); /* a model that was taken out may be being named concurrently */
	r = fill_summary(s, &to);
	world_unlock(s->world);
	if (r < 0)
		return r;
	*ret_summary = TAKE(to);
	return 0;
}
