/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/summary.h"

#include <errno.h>
#include <stdio.h>

#include "agent/cost.h"
#include "agent/cures.h"
#include "agent/debug_files.h"
#include "agent/session.h"
#include "base/clock.h"
#include "proc/unanswered.h"
#include "profile/top.h"

#define MAX_FUNCTIONS 100
#define MAX_UNNAMED 10
#define MAX_LIMITS 100
#define MAX_CUTS 10

enum loss {
	LOSS_NOT_DELIVERED,
	LOSS_RING_FULL,
	LOSS_LEFT_IN_RING,
	LOSS_BAD_RECORD,
	LOSS_MODEL_FULL,
	LOSS_NO_MEMORY,
	NR_LOSSES,
};

static const struct pa_count stop_counts[] = {
#define X(stop, value, machine, people, how) [value] = { .name = machine, .text = people },
#include "bpf/stop_reasons.def"
#undef X
};
#define NR_STOPS (sizeof(stop_counts) / sizeof(stop_counts[0]))

static const struct pa_count naming_failures[] = {
#define X(failure, machine, people) { .name = machine, .text = people },
	NAMING_FAILURES(X)
#undef X
};

struct summary {
	struct pa_summary pub;
	struct pa_count losses[NR_LOSSES];
	struct pa_count stops[NR_STOPS];
	struct pa_cut_stat cuts[MAX_CUTS];
	char cut_cures[MAX_CUTS][CURE_SIZE], unnamed_cures[MAX_UNNAMED][CURE_SIZE];
	struct pa_count naming_failures[NAMING_NR_FAILURES];
	struct pa_function_stat functions[MAX_FUNCTIONS];
	struct pa_unnamed_stat unnamed[MAX_UNNAMED];
	struct pa_limit_stat limits[MAX_LIMITS];
	struct pa_count jit[SUMMARY_NR_JIT];
	struct pa_output_stat outputs[SESSION_MAX_OUTPUTS];
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
	free(s);
	return NULL;
}

const struct pa_summary *summary_get(const struct summary *s)
{
	return &s->pub;
}

static struct pa_tick_stats sum_ticks(const struct pa_tick_stats *per_cpu, unsigned int nr)
{
	struct pa_tick_stats t = { 0 };

	for (unsigned int i = 0; i < nr; i++) {
		t.ticks += per_cpu[i].ticks;
		t.idle += per_cpu[i].idle;
		t.other += per_cpu[i].other;
		t.outside += per_cpu[i].outside;
		t.submitted += per_cpu[i].submitted;
		t.ring_full += per_cpu[i].ring_full;
	}
	return t;
}

static void add_losses(struct summary *to, uint64_t due, const struct pa_tick_stats *t,
		       const struct capture_stats *c)
{
	struct pa_count l[NR_LOSSES] = {
		[LOSS_NOT_DELIVERED] = { "not_delivered", "not delivered by the kernel",
					 due - t->ticks },
		[LOSS_RING_FULL] = { "ring_full", "the sample ring was full", t->ring_full },
		[LOSS_LEFT_IN_RING] = { "left_in_ring", "never came out of the ring",
					t->submitted - c->nr_records },
		[LOSS_BAD_RECORD] = { "bad_record", "the record could not be understood",
				      c->nr_bad },
		[LOSS_MODEL_FULL] = { "model_full", "the profile is at its size limit",
				      c->nr_model_full },
		[LOSS_NO_MEMORY] = { "no_memory", "the agent ran out of memory", c->nr_no_memory },
	};

	for (unsigned int i = 0; i < NR_LOSSES; i++) {
		to->losses[i] = l[i];
		to->pub.ticks_lost += l[i].count;
	}
	to->pub.losses = to->losses;
	to->pub.nr_losses = NR_LOSSES;
}

void summary_add_ticks(struct summary *to, const struct pa_tick_stats *per_cpu, unsigned int nr,
		       uint64_t due, const struct capture_stats *c)
{
	struct pa_tick_stats t = sum_ticks(per_cpu, nr);

	to->pub.ticks_due = due;
	to->pub.ticks_idle = t.idle;
	to->pub.ticks_other = t.other;
	to->pub.ticks_outside = t.outside;
	to->pub.samples = c->nr_kept;
	add_losses(to, due, &t, c);
}

static int add_ticks(const struct pa_session *s, struct summary *to)
{
	_cleanup_(freep) struct pa_tick_stats *per_cpu = NULL;
	struct pa_proc_stats proc;
	unsigned int nr;
	int r = programs_tick_stats(s->programs, &per_cpu, &nr);

	if (r < 0)
		return r;
	summary_add_ticks(to, per_cpu, nr, events_ticks_due(s->events, per_cpu, nr),
			  &s->capture->stats);
	proc = programs_proc_stats(s->programs);
	to->pub.sideband_lost = s->capture->stats.sideband_lost + proc.targets_lost;
	to->pub.notices_lost = proc.notices_lost;
	return 0;
}

static void add_stops(const struct capture_stats *c, struct summary *to)
{
	for (size_t i = 0; i < NR_STOPS; i++) {
		if (!c->stops[i])
			continue;
		to->stops[to->pub.nr_stops] = stop_counts[i];
		to->stops[to->pub.nr_stops++].count = c->stops[i];
		if (PA_STOPS_WITHOUT_STACK >> i & 1)
			to->pub.no_user_stack += c->stops[i];
	}
	to->pub.stops = to->stops;
	to->pub.stacks_complete = c->stops[PA_STOP_END];
}

const char *summary_mapping_path(const struct profile *p, uint32_t mapping)
{
	return mapping >= p->nr_mappings ? "[unknown]" : profile_str(p, p->mappings[mapping].path);
}

static int add_functions(const struct profile *p, struct summary *to)
{
	_cleanup_(freep) struct top_function *top = NULL;
	uint32_t nr;
	int r = profile_top(p, &top, &nr);

	if (r < 0)
		return r;
	to->pub.functions_seen = nr;
	for (uint32_t i = 0; i < nr; i++)
		to->pub.functions_self += (uint64_t)top[i].self;
	for (uint32_t i = 0; i < nr && i < MAX_FUNCTIONS; i++) {
		const struct profile_function *f = &p->functions[top[i].function];

		to->functions[i] = (struct pa_function_stat){
			.name = profile_str(p, f->name),
			.file = summary_mapping_path(p, f->mapping),
			.nr_self = (uint64_t)top[i].self,
			.nr_total = (uint64_t)top[i].total,
		};
		to->pub.nr_functions++;
	}
	to->pub.functions = to->functions;
	return 0;
}

static void add_names(const struct capture *c, struct summary *to)
{
	const struct profile *p = c->profile;

	to->pub.nr_locations = p->nr_locations;
	for (uint32_t i = 0; i < p->nr_locations; i++)
		to->pub.nr_locations_named += p->locations[i].is_named;
	summary_count_jit(c, to->jit);
	to->pub.jit = to->jit;
	to->pub.nr_jit = SUMMARY_NR_JIT;
	to->pub.kernel_symbols = c->kernel.source[0] ? c->kernel.source : NULL;
	if (c->unwinder) {
		struct unwinder_stats u = unwinder_stats(c->unwinder);

		to->pub.walks_again = c->stats.nr_walked_again;
		to->pub.walks_finished = c->stats.nr_finished;
		to->pub.nr_tables = u.files.nr_compiled;
		to->pub.tables_peak_bytes = u.files.tables.peak_bytes;
		to->pub.tables_evicted = u.files.tables.nr_evicted;
		to->pub.tables_refused = u.files.tables.nr_refused + u.files.tables.nr_short +
					 u.nr_processes_refused;
	}
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

static void add_debug_files(const struct capture *c, struct summary *to)
{
	struct debug_stats s = { 0 };

	if (c->debug)
		s = debug_files_stats(c->debug);
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

	to->pub.naming_batches = n->nr_batches;
	to->pub.naming_addresses = n->nr_addresses;
	to->pub.naming_raw = n->nr_raw;
	to->pub.naming_fallbacks = n->nr_fallbacks;
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

/* Only what is there: a failed output is told by the error. */
static void add_outputs(const struct pa_session *s, struct summary *to)
{
	for (unsigned int i = 0; i < s->nr_outputs; i++)
		if (outfile_is_committed(s->outputs[i].file))
			to->outputs[to->pub.nr_outputs++] = (struct pa_output_stat){
				.kind = s->outputs[i].writer->name,
				.path = outfile_path(s->outputs[i].file),
				.size_bytes = outfile_size(s->outputs[i].file),
			};
	to->pub.outputs = to->outputs;
}

static uint64_t first_sample_ns(const struct pa_session *s)
{
	uint64_t at = s->capture->stats.first_ns;

	return at > s->start_ns ? at - s->start_ns : 0;
}

static void add_frame(const struct pa_session *s, struct summary *to)
{
	const struct pa_options *o = &s->settings.o;
	to->pub.sz = sizeof(to->pub);
	to->pub.version = PERFAGENT_VERSION;
	to->pub.event = o->event == PA_EVENT_CYCLES ? "cycles" : "cpu-clock";
	to->pub.period = events_period(s->events);
	to->pub.sample_rate_hz = o->sample_rate_hz;
	to->pub.start_time_ns = s->start_real_ns;
	to->pub.duration_ns = s->end_ns - s->start_ns;
	to->pub.first_sample_ns = first_sample_ns(s);
	to->pub.nr_cpus = events_nr_cpus(s->events);
	to->pub.targets_exited = s->targets_exited;
	to->pub.agent_cpu_ns = cost_cpu_ns();
	to->pub.agent_peak_rss_bytes = cost_peak_rss_bytes();
	to->pub.agent_sampling_cpu_ns = s->end_cpu_ns ? s->end_cpu_ns - s->start_cpu_ns : 0;
	to->pub.agent_sampling_rss_bytes = s->end_rss_bytes;
}

/* Those that samples have: some were taken apart in the end, by what was where when they were sampled. */
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

int summary_of_capture(const struct capture *c, struct summary **ret_summary)
{
	_cleanup_(summary_freep) struct summary *to = calloc(1, sizeof(*to));
	int r;

	if (!to)
		return -ENOMEM;
	to->pub.nr_stacks = count_stacks(c->profile);
	to->pub.nr_processes = c->stats.nr_processes;
	to->pub.samples_in_kernel = c->stats.nr_in_kernel;
	add_stops(&c->stats, to);
	add_names(c, to);
	add_debug_files(c, to);
	add_unanswered(&c->procfs, to);
	add_naming(&c->naming, to);
	r = add_functions(c->profile, to);
	if (r == 0)
		r = summary_list_cuts(c, to->cuts, to->cut_cures, MAX_CUTS, &to->pub);
	if (r == 0)
		r = summary_list_unnamed(c, to->unnamed, to->unnamed_cures, MAX_UNNAMED, &to->pub);
	summary_list_limits(c, to->limits, MAX_LIMITS, &to->pub);
	to->pub.cuts = to->cuts;
	to->pub.unnamed = to->unnamed;
	to->pub.limits = to->limits;
	if (r < 0)
		return r;
	*ret_summary = TAKE(to);
	return 0;
}

int summary_new(const struct pa_session *s, struct summary **ret_summary)
{
	_cleanup_(summary_freep) struct summary *to = NULL;
	int r = summary_of_capture(s->capture, &to);

	if (r == 0)
		r = add_ticks(s, to);
	if (r < 0)
		return r;
	add_frame(s, to);
	add_outputs(s, to);
	*ret_summary = TAKE(to);
	return 0;
}
