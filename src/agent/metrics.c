/* SPDX-License-Identifier: Apache-2.0 */
/* The session's counts as metrics: taken from a summary, while the session samples as after its end. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/metric_list.h"
#include "agent/own_usage.h"
#include "agent/session.h"
#include "agent/summary.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/quiet_write.h"

#define NONE ((struct pa_label){ 0 })
#define LABEL(key, value) ((struct pa_label){ key, value })
#define LINE_SIZE 512

/* One member of a summary that is a metric by itself. */
struct plain_metric {
	struct metric_kind kind;
	size_t offset; /* of a uint64_t in struct pa_summary */
};

#define COUNTER(name, member, help)                                                                \
	{                                                                                          \
		{ "perf_agent_" name, help, PA_METRIC_COUNTER },                                   \
			offsetof(struct pa_summary, member)                                        \
	}
#define GAUGE(name, member, help)                                                                  \
	{                                                                                          \
		{ "perf_agent_" name, help, PA_METRIC_GAUGE }, offsetof(struct pa_summary, member) \
	}

static const struct plain_metric plain[] = {
	COUNTER("sideband_lost_total", sideband_lost,
		"Records about processes and mappings that were lost."),
	COUNTER("notices_lost_total", notices_lost,
		"Missed wake-ups because the ring was full; they cost only time."),
	GAUGE("stacks", nr_stacks, "Different stacks."),
	GAUGE("processes", nr_processes, "Processes that have samples."),
	COUNTER("stacks_rewalked_total", walks_again, "Stacks that the agent unwound again."),
	COUNTER("stacks_finished_total", walks_finished,
		"Of those, stacks unwound to their outermost frame."),
	COUNTER("unwind_tables_compiled_total", nr_tables, "Unwind tables compiled."),
	COUNTER("unwind_tables_evicted_total", tables_evicted,
		"Unwind tables evicted to make room."),
	COUNTER("unwind_tables_refused_total", tables_refused,
		"Unwind tables, or mappings of a process, that found no room."),
	GAUGE("unwind_tables_peak_bytes", tables_peak_bytes, "Memory of unwind tables at most."),
	COUNTER("symbolize_batches_total", naming_batches, "Batches of addresses symbolized."),
	COUNTER("symbolize_input_ips_total", naming_addresses, "Addresses symbolized."),
	COUNTER("symbolize_raw_addr_frames_total", naming_raw, "Addresses shown as numbers."),
	COUNTER("symbolize_fallbacks_total", naming_fallbacks,
		"Batches whose best source of symbols could not be used."),
	COUNTER("debuginfod_fetched_bytes_total", fetched_bytes, "Bytes received from servers."),
	COUNTER("debug_files_total", nr_debug_files, "Binaries with a separate debug file."),
	COUNTER("debug_file_mismatches_total", nr_debug_mismatches,
		"Debug files of another build."),
	COUNTER("cache_evicted_total", nr_cache_evicted, "Files removed from the cache."),
	COUNTER("files_truncated_total", limits_seen, "Files that were not read to the end."),
	COUNTER("unanswered_total", unanswered_seen, "Files and processes that did not answer."),
};

static void add_plain(struct metric_list *l, const struct pa_summary *s)
{
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		const char *at = (const char *)s + plain[i].offset;

		metric_list_add(l, &plain[i].kind, NONE, NONE,
				(double)*(const uint64_t *)(const void *)at);
	}
}

static void add_counts(struct metric_list *l, const struct metric_kind *kind, const char *section,
		       const struct pa_count *counts, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		metric_list_add(l, kind, LABEL("reason", counts[i].name),
				section ? LABEL("kind", section) : NONE, (double)counts[i].count);
}

static void add_section_numbers(struct metric_list *l, const struct pa_summary *s)
{
	static const struct metric_kind due = { "perf_agent_events_due_total",
						"Events by the kernel's own count.",
						PA_METRIC_COUNTER };
	static const struct metric_kind samples = { "perf_agent_samples_total",
						    "Events that are in the profile.",
						    PA_METRIC_COUNTER };

	for (size_t i = 0; i < s->nr_sections; i++)
		metric_list_add(l, &due, LABEL("kind", s->sections[i].name), NONE,
				(double)s->sections[i].due);
	for (size_t i = 0; i < s->nr_sections; i++)
		metric_list_add(l, &samples, LABEL("kind", s->sections[i].name), NONE,
				(double)s->sections[i].samples);
}

static void add_sections(struct metric_list *l, const struct pa_summary *s)
{
	static const struct metric_kind outside = { "perf_agent_events_other_total",
						    "Events that are not of targets.",
						    PA_METRIC_COUNTER };
	static const struct metric_kind lost = { "perf_agent_lost_total", "Events that were lost.",
						 PA_METRIC_COUNTER };
	static const struct metric_kind stops = { "perf_agent_unwind_stops_total",
						  "How unwinding stacks of samples ended.",
						  PA_METRIC_COUNTER };

	add_section_numbers(l, s);
	for (size_t i = 0; i < s->nr_sections; i++)
		add_counts(l, &outside, s->sections[i].name, s->sections[i].counts,
			   s->sections[i].nr_counts);
	for (size_t i = 0; i < s->nr_sections; i++)
		add_counts(l, &lost, s->sections[i].name, s->sections[i].losses,
			   s->sections[i].nr_losses);
	for (size_t i = 0; i < s->nr_sections; i++)
		add_counts(l, &stops, s->sections[i].name, s->sections[i].stops,
			   s->sections[i].nr_stops);
}

static void add_reasons(struct metric_list *l, const struct pa_summary *s)
{
	static const struct metric_kind gaps = { "perf_agent_dropped_total",
						 "What was dropped about processes and files.",
						 PA_METRIC_COUNTER };
	static const struct metric_kind failures = { "perf_agent_symbolize_failures_total",
						     "Addresses without a symbol.",
						     PA_METRIC_COUNTER };
	static const struct metric_kind python = {
		"perf_agent_python_processes",
		"Processes whose Python was to be switched on or off, by outcome.", PA_METRIC_GAUGE
	};
	static const struct metric_kind fetches = { "perf_agent_debuginfod_requests_total",
						    "Requests for debug files, by result.",
						    PA_METRIC_COUNTER };

	add_counts(l, &gaps, NULL, s->gaps, s->nr_gaps);
	add_counts(l, &failures, NULL, s->naming_failures, s->nr_naming_failures);
	add_counts(l, &python, NULL, s->python, s->nr_python);
	add_counts(l, &fetches, NULL, s->fetches, s->nr_fetches);
}

static double seconds_of(uint64_t ns)
{
	return (double)ns / NS_PER_S;
}

static void add_symbolize_times(struct metric_list *l, const struct pa_summary *s)
{
	static const struct metric_kind batch = { "perf_agent_symbolize_batch_seconds",
						  "Time per batch of addresses, of the last 1,024.",
						  PA_METRIC_GAUGE };

	metric_list_add(l, &batch, LABEL("kind", "p50"), NONE, seconds_of(s->naming_p50_ns));
	metric_list_add(l, &batch, LABEL("kind", "p99"), NONE, seconds_of(s->naming_p99_ns));
	metric_list_add(l, &batch, LABEL("kind", "max"), NONE, seconds_of(s->naming_max_ns));
}

/* Kernel addresses have metrics of their own: whether they get names depends on privileges. */
static void add_kernel_names(struct metric_list *l, const struct summary_kernel_names *k)
{
	static const struct metric_kind batch = {
		"perf_agent_symbolize_kernel_batch_seconds",
		"Time per batch of kernel addresses, of the last 1,024.", PA_METRIC_GAUGE
	};
	const struct naming_kernel_counts *n = &k->counts;
	const struct {
		struct metric_kind kind;
		uint64_t value;
	} items[] = {
		{ { "perf_agent_symbolize_kernel_batches_total",
		    "Batches of kernel addresses symbolized.", PA_METRIC_COUNTER },
		  n->nr_batches },
		{ { "perf_agent_symbolize_kernel_input_ips_total", "Kernel addresses symbolized.",
		    PA_METRIC_COUNTER },
		  n->nr_addresses },
		{ { "perf_agent_symbolize_kernel_batch_failures_total",
		    "Batches of kernel addresses for which no list of symbols could be used.",
		    PA_METRIC_COUNTER },
		  n->nr_unlisted },
		{ { "perf_agent_symbolize_kernel_raw_addr_frames_total",
		    "Kernel addresses shown as numbers.", PA_METRIC_COUNTER },
		  n->nr_raw },
		{ { "perf_agent_symbolize_kernel_lockdown_eperm_total",
		    "Batches for which /proc/kallsyms shows no addresses to the agent.",
		    PA_METRIC_COUNTER },
		  n->nr_denied },
		{ { "perf_agent_symbolize_kernel_other_err_total",
		    "Batches for which /proc/kallsyms could not be used for another reason.",
		    PA_METRIC_COUNTER },
		  n->nr_failed },
		{ { "perf_agent_symbolize_kernel_fallback_engaged",
		    "1 if another source than /proc/kallsyms was used for kernel symbols, or none.",
		    PA_METRIC_GAUGE },
		  n->nr_fallbacks > 0 },
	};

	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++)
		metric_list_add(l, &items[i].kind, NONE, NONE, (double)items[i].value);
	metric_list_add(l, &batch, LABEL("kind", "p50"), NONE, seconds_of(k->latency.p50_ns));
	metric_list_add(l, &batch, LABEL("kind", "p99"), NONE, seconds_of(k->latency.p99_ns));
	metric_list_add(l, &batch, LABEL("kind", "max"), NONE, seconds_of(k->latency.max_ns));
}

static void add_kernel_source(struct metric_list *l, const struct summary_kernel_names *k)
{
	static const struct metric_kind info = {
		"perf_agent_symbolize_kernel_info",
		"Where kernel symbols came from; 1. Known after the capture.", PA_METRIC_GAUGE
	};

	if (k->list)
		metric_list_add(l, &info, LABEL("source", k->list), NONE, 1);
}

static void add_known(struct metric_list *l, const struct summary_known *k)
{
	static const char *const sources[NAMING_NR_SOURCES] = {
		[NAMING_FROM_FILE] = "file",
		[NAMING_FROM_KERNEL] = "kernel",
		[NAMING_FROM_GENERATED] = "generated",
		[NAMING_FROM_VDSO] = "vdso",
		[NAMING_KNOWN] = "known",
	};
	static const struct metric_kind processes = {
		"perf_agent_known_processes",
		"Processes whose mappings are known, with or without samples.", PA_METRIC_GAUGE
	};
	static const struct metric_kind mappings = { "perf_agent_known_mappings",
						     "Executable mappings that are known.",
						     PA_METRIC_GAUGE };
	static const struct metric_kind named = { "perf_agent_symbolize_named_total",
						  "Addresses that have a symbol, by its source.",
						  PA_METRIC_COUNTER };

	metric_list_add(l, &processes, NONE, NONE, (double)k->nr_processes);
	metric_list_add(l, &mappings, NONE, NONE, (double)k->nr_mappings);
	for (unsigned int i = 0; i < NAMING_NR_SOURCES; i++)
		metric_list_add(l, &named, LABEL("source", sources[i]), NONE, (double)k->named[i]);
}

/* A distribution's percentiles, and its sum and count. */
static void add_distribution(struct metric_list *l, const struct metric_kind *percentile,
			     const struct metric_kind *sum, const struct pa_distribution *d)
{
	metric_list_add(l, percentile, LABEL("kind", "p50"), NONE, seconds_of(d->p50_ns));
	metric_list_add(l, percentile, LABEL("kind", "p95"), NONE, seconds_of(d->p95_ns));
	metric_list_add(l, percentile, LABEL("kind", "p99"), NONE, seconds_of(d->p99_ns));
	metric_list_add(l, percentile, LABEL("kind", "max"), NONE, seconds_of(d->max_ns));
	metric_list_add(l, sum, NONE, NONE, seconds_of(d->sum_ns));
}

static void add_hw_counters(struct metric_list *l, const struct pa_pmu_stat *all)
{
	static const struct metric_kind hw = {
		"perf_agent_hardware_events_total",
		"Hardware counters while targets ran; known after the capture.", PA_METRIC_COUNTER
	};

	if (all->cycles != PA_UNKNOWN)
		metric_list_add(l, &hw, LABEL("kind", "cycles"), NONE, (double)all->cycles);
	if (all->instructions != PA_UNKNOWN)
		metric_list_add(l, &hw, LABEL("kind", "instructions"), NONE,
				(double)all->instructions);
	if (all->cache_misses != PA_UNKNOWN)
		metric_list_add(l, &hw, LABEL("kind", "cache_misses"), NONE,
				(double)all->cache_misses);
}

/* Of all targets together. */
static void add_scheduler(struct metric_list *l, const struct pa_summary *s)
{
	static const struct metric_kind on_cpu = { "perf_agent_on_cpu_slice_seconds",
						   "Time slices; known after the capture.",
						   PA_METRIC_GAUGE };
	static const struct metric_kind on_cpu_sum = { "perf_agent_on_cpu_seconds_total",
						       "The sum of all time slices.",
						       PA_METRIC_COUNTER };
	static const struct metric_kind wait = { "perf_agent_run_queue_wait_seconds",
						 "Waits for a CPU; known after the capture.",
						 PA_METRIC_GAUGE };
	static const struct metric_kind wait_sum = { "perf_agent_run_queue_seconds_total",
						     "The sum of all waits for a CPU.",
						     PA_METRIC_COUNTER };

	if (!s->nr_pmu)
		return;
	add_distribution(l, &on_cpu, &on_cpu_sum, &s->pmu[0].on_cpu);
	add_distribution(l, &wait, &wait_sum, &s->pmu[0].run_queue);
	add_hw_counters(l, &s->pmu[0]);
}

/* Run times are read once a second while they are measured. */
static void add_programs(struct metric_list *l, const struct program_times *t)
{
	static const struct metric_kind runs = { "perf_agent_bpf_runs_total",
						 "Runs of the agent's BPF programs.",
						 PA_METRIC_COUNTER };
	static const struct metric_kind times = { "perf_agent_bpf_run_seconds_total",
						  "Run time of the agent's BPF programs.",
						  PA_METRIC_COUNTER };

	for (uint32_t i = 0; i < t->nr; i++)
		metric_list_add(l, &runs, LABEL("program", t->items[i].name), NONE,
				(double)t->items[i].nr_runs);
	for (uint32_t i = 0; i < t->nr; i++)
		metric_list_add(l, &times, LABEL("program", t->items[i].name), NONE,
				seconds_of(t->items[i].run_ns));
}

/* What this process uses, now. */
static void add_own_usage(struct metric_list *l)
{
	static const struct metric_kind cpu = { "perf_agent_cpu_seconds_total",
						"CPU time of the agent, user and system.",
						PA_METRIC_COUNTER };
	static const struct metric_kind memory = { "perf_agent_resident_memory_bytes",
						   "Memory of the agent.", PA_METRIC_GAUGE };
	static const struct metric_kind peak = { "perf_agent_resident_memory_peak_bytes",
						 "Memory of the agent at most.", PA_METRIC_GAUGE };
	static const struct metric_kind wakeups = {
		"perf_agent_wakeups_total", "Times that a thread of the agent was woken up.",
		PA_METRIC_COUNTER
	};

	metric_list_add(l, &cpu, NONE, NONE, seconds_of(own_cpu_ns()));
	metric_list_add(l, &memory, NONE, NONE, (double)own_rss_bytes());
	metric_list_add(l, &peak, NONE, NONE, (double)own_peak_rss_bytes());
	metric_list_add(l, &wakeups, NONE, NONE, (double)own_wakeups());
}

static void add_state(struct metric_list *l, const struct pa_session *s)
{
	static const struct metric_kind info = { "perf_agent_info", "The agent; always 1.",
						 PA_METRIC_GAUGE };
	static const struct metric_kind sampling = { "perf_agent_sampling",
						     "1 while samples are taken.",
						     PA_METRIC_GAUGE };

	metric_list_add(l, &info, LABEL("version", PERFAGENT_VERSION), NONE, 1);
	metric_list_add(l, &sampling, NONE, NONE,
			atomic_load(&((struct pa_session *)(uintptr_t)s)->phase) ==
				PA_PHASE_SAMPLING);
}

static void read_programs(const struct pa_session *s, struct program_times *to)
{
	*to = s->program_times; /* after the end */
	if (s->program_times_fd < 0)
		return;
	programs_add_times(s->programs, to);
	if (s->sched)
		sched_collector_add_times(s->sched, to);
}

static struct metric_list *list_summary(const struct pa_session *s, const struct summary *summary)
{
	const struct pa_summary *sum = summary_get(summary);
	struct metric_list *l = metric_list_new();
	struct program_times times;

	if (!l)
		return NULL;
	read_programs(s, &times);
	add_sections(l, sum);
	add_plain(l, sum);
	add_reasons(l, sum);
	add_symbolize_times(l, sum);
	add_kernel_names(l, summary_kernel_names(summary));
	add_kernel_source(l, summary_kernel_names(summary));
	add_known(l, summary_known(summary));
	add_scheduler(l, sum);
	add_programs(l, &times);
	return l;
}

void session_publish_metrics(struct pa_session *s)
{
	struct summary *live = NULL;
	struct metric_list *l;

	if (!s->summary && summary_live(s, &live) < 0)
		return; /* the last ones stay */
	l = list_summary(s, s->summary ? s->summary : live);
	summary_free(live);
	if (!l)
		return;
	if (!s->summary)
		metric_list_keep_growing(l, s->metrics);
	pthread_mutex_lock(&s->lock);
	pa_metrics_free(s->metrics);
	s->metrics = &l->pub;
	pthread_mutex_unlock(&s->lock);
}

int pa_session_metrics(const struct pa_session *s, struct pa_metrics **ret_metrics,
		       struct pa_error *err)
{
	struct pa_session *unlocked = (struct pa_session *)(uintptr_t)s;
	struct metric_list *l;

	error_clear(err);
	if (!s || !ret_metrics)
		return error_set(err, EINVAL,
				 "pa_session_metrics(): a session and ret_metrics are required");
	pthread_mutex_lock(&unlocked->lock);
	l = metric_list_copy(s->metrics);
	pthread_mutex_unlock(&unlocked->lock);
	if (!l)
		return error_set(err, ENOMEM, "out of memory");
	add_state(l, s);
	add_own_usage(l);
	*ret_metrics = &l->pub;
	return 0;
}

void session_export_metrics(struct pa_session *s, bool is_last)
{
	const struct pa_options *o = &s->settings.o;
	uint64_t now_ns = clock_mono_ns();

	for (size_t i = 0; i < o->nr_exporters; i++) {
		const struct pa_exporter *e = &o->exporters[i];
		bool is_due = e->interval_ns && now_ns - s->exported_ns[i] >= e->interval_ns;
		struct pa_metrics *metrics;
		int r;

		if ((!is_due && !is_last) || pa_session_metrics(s, &metrics, NULL) < 0)
			continue;
		s->exported_ns[i] = now_ns;
		r = e->send(e->ctx, metrics);
		if (r < 0)
			log_warn(&s->log, "metrics: an exporter failed: %s",
				 error_text_of_caller(r));
		pa_metrics_free(metrics);
	}
}

static int write_text(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t done = write_quietly(fd, text, n);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done < 0)
			continue;
		text += done;
		n -= (size_t)done;
	}
	return 0;
}

/* "perf_agent_samples_total{kind="on-cpu"} 812" */
int pa_export_text(void *ctx, const struct pa_metrics *metrics)
{
	int r = metrics ? 0 : -EINVAL;

	for (size_t i = 0; r == 0 && i < metrics->nr_items; i++) {
		const struct pa_metric *m = PA_ITEM(metrics, pa_metric, metrics->items, i);
		char line[LINE_SIZE];
		int n = snprintf(line, sizeof(line), "%s", m->name);

		for (size_t k = 0; k < m->nr_labels; k++)
			n += snprintf(line + n, sizeof(line) - (size_t)n, "%s%s=\"%s\"%s",
				      k ? "," : "{", m->labels[k].key, m->labels[k].value,
				      k + 1 == m->nr_labels ? "}" : "");
		n += snprintf(line + n, sizeof(line) - (size_t)n, " %.17g\n", m->value);
		r = write_text((int)(intptr_t)ctx, line, (size_t)n);
	}
	return r;
}
