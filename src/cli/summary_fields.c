/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/summary_fields.h"

#define F(type, owner, field)                                                                      \
	{                                                                                          \
#field, type, offsetof(struct owner, field)                                        \
	}
#define NR(table) (sizeof(table) / sizeof((table)[0]))

/* A structure whose members are all values. */
#define STRUCTURE(of)                                                                              \
	static const struct summary_structure of##_structure = {                                   \
		.size = sizeof(struct pa_##of),                                                    \
		.size_offset = offsetof(struct pa_summary, pa_##of##_sz),                          \
		.fields = of##_fields,                                                             \
		.nr_fields = NR(of##_fields)                                                       \
	}

/* A list that is a member of owner, and the member with its length. */
#define L(owner, member, of)                                                                       \
	{                                                                                          \
#member, offsetof(struct owner, member), offsetof(struct owner, nr_##member),      \
			&of##_structure                                                            \
	}

static const struct summary_field count_fields[] = {
	F(FIELD_STRING, pa_count, name),
	F(FIELD_STRING, pa_count, text),
	F(FIELD_U64, pa_count, count),
};

STRUCTURE(count);

static const struct summary_field truncation_stat_fields[] = {
	F(FIELD_STRING, pa_truncation_stat, reason), F(FIELD_STRING, pa_truncation_stat, text),
	F(FIELD_STRING, pa_truncation_stat, file),   F(FIELD_U64, pa_truncation_stat, nr_samples),
	F(FIELD_ADVICE, pa_truncation_stat, fix),
};

STRUCTURE(truncation_stat);

static const struct summary_field function_stat_fields[] = {
	F(FIELD_STRING, pa_function_stat, name),     F(FIELD_STRING, pa_function_stat, file),
	F(FIELD_U64, pa_function_stat, nr_self),     F(FIELD_U64, pa_function_stat, nr_total),
	F(FIELD_BOOL, pa_function_stat, is_unnamed), F(FIELD_BOOL, pa_function_stat, is_start),
	F(FIELD_STRING, pa_function_stat, source),
};

STRUCTURE(function_stat);

static const struct summary_field command_stat_fields[] = {
	F(FIELD_STRING, pa_command_stat, comm),
	F(FIELD_U64, pa_command_stat, nr_samples),
	F(FIELD_U64, pa_command_stat, nr_in_kernel),
	F(FIELD_U64, pa_command_stat, nr_processes),
};

STRUCTURE(command_stat);

static const struct summary_field process_stat_fields[] = {
	F(FIELD_PID, pa_process_stat, pid),
	F(FIELD_STRING, pa_process_stat, comm),
	F(FIELD_U64, pa_process_stat, nr_samples),
	F(FIELD_U64, pa_process_stat, nr_in_kernel),
};

STRUCTURE(process_stat);

static const struct summary_field path_stat_fields[] = {
	F(FIELD_UINT, pa_path_stat, depth),      F(FIELD_BOOL, pa_path_stat, continues),
	F(FIELD_STRING, pa_path_stat, name),     F(FIELD_STRING, pa_path_stat, file),
	F(FIELD_U64, pa_path_stat, nr_samples),  F(FIELD_U64, pa_path_stat, nr_self),
	F(FIELD_U64, pa_path_stat, nr_rest),     F(FIELD_UINT, pa_path_stat, nr_skipped),
	F(FIELD_BOOL, pa_path_stat, is_unnamed), F(FIELD_BOOL, pa_path_stat, is_start),
	F(FIELD_STRING, pa_path_stat, source),
};

STRUCTURE(path_stat);

/* Lists of plain values. */
static const struct summary_field pid_value = { NULL, FIELD_PID, 0 };
static const struct summary_structure pid_structure = { sizeof(pid_t), 0, &pid_value, 1, NULL, 0 };
static const struct summary_field string_value = { NULL, FIELD_STRING, 0 };
static const struct summary_structure string_structure = { sizeof(char *), 0, &string_value, 1,
							   NULL,           0 };

static const struct summary_field unnamed_stat_fields[] = {
	F(FIELD_STRING, pa_unnamed_stat, file),
	F(FIELD_U64, pa_unnamed_stat, nr_samples),
	F(FIELD_STRING, pa_unnamed_stat, why),
	F(FIELD_ADVICE, pa_unnamed_stat, fix),
};

STRUCTURE(unnamed_stat);

static const struct summary_field limit_stat_fields[] = {
	F(FIELD_STRING, pa_limit_stat, file),
	F(FIELD_STRING, pa_limit_stat, what),
	F(FIELD_STRING, pa_limit_stat, text),
};

STRUCTURE(limit_stat);

static const struct summary_field fetch_failure_fields[] = {
	F(FIELD_STRING, pa_fetch_failure, server),
	F(FIELD_STRING, pa_fetch_failure, reason),
	F(FIELD_STRING, pa_fetch_failure, text),
	F(FIELD_U64, pa_fetch_failure, count),
};

STRUCTURE(fetch_failure);

static const struct summary_field unanswered_stat_fields[] = {
	F(FIELD_UINT, pa_unanswered_stat, pid),
	F(FIELD_STRING, pa_unanswered_stat, what),
};

STRUCTURE(unanswered_stat);

static const struct summary_field output_stat_fields[] = {
	{ "kind", FIELD_STRING, offsetof(struct pa_output_stat, format) },
	F(FIELD_USED_PATH, pa_output_stat, path),
	F(FIELD_U64, pa_output_stat, size_bytes),
};

STRUCTURE(output_stat);

static const struct summary_field hint_fields[] = {
	F(FIELD_STRING, pa_hint, runtime),   F(FIELD_STRING, pa_hint, problem),
	F(FIELD_ADVICE, pa_hint, text),      F(FIELD_U64, pa_hint, nr_samples),
	F(FIELD_U64, pa_hint, nr_processes),
};

STRUCTURE(hint);

#define DISTRIBUTION(of)                                                                           \
	{ #of "_count", FIELD_U64, offsetof(struct pa_pmu_stat, of.count) },                       \
		{ #of "_sum_ns", FIELD_U64, offsetof(struct pa_pmu_stat, of.sum_ns) },             \
		{ #of "_mean_ns", FIELD_U64, offsetof(struct pa_pmu_stat, of.mean_ns) },           \
		{ #of "_min_ns", FIELD_U64, offsetof(struct pa_pmu_stat, of.min_ns) },             \
		{ #of "_max_ns", FIELD_U64, offsetof(struct pa_pmu_stat, of.max_ns) },             \
		{ #of "_p50_ns", FIELD_U64, offsetof(struct pa_pmu_stat, of.p50_ns) },             \
		{ #of "_p95_ns", FIELD_U64, offsetof(struct pa_pmu_stat, of.p95_ns) },             \
		{ #of "_p99_ns", FIELD_U64, offsetof(struct pa_pmu_stat, of.p99_ns) },             \
	{                                                                                          \
#of "_p999_ns", FIELD_U64, offsetof(struct pa_pmu_stat, of.p999_ns)                \
	}

static const struct summary_field pmu_stat_fields[] = {
	F(FIELD_PID, pa_pmu_stat, pid),
	F(FIELD_STRING, pa_pmu_stat, comm),
	F(FIELD_U64, pa_pmu_stat, nr_switches),
	F(FIELD_U64, pa_pmu_stat, nr_preempted),
	F(FIELD_U64, pa_pmu_stat, nr_voluntary),
	F(FIELD_U64_OR_NULL, pa_pmu_stat, nr_io_wait),
	F(FIELD_U64, pa_pmu_stat, nr_stopped),
	F(FIELD_U64, pa_pmu_stat, nr_exited),
	DISTRIBUTION(on_cpu),
	DISTRIBUTION(run_queue),
	F(FIELD_U64, pa_pmu_stat, on_cpu_total_ns),
	F(FIELD_U64_OR_NULL, pa_pmu_stat, cycles),
	F(FIELD_U64_OR_NULL, pa_pmu_stat, instructions),
	F(FIELD_U64_OR_NULL, pa_pmu_stat, cache_misses),
};

STRUCTURE(pmu_stat);
static const struct summary_field wait_stat_fields[] = {
	F(FIELD_STRING, pa_wait_stat, functions), F(FIELD_STRING, pa_wait_stat, state),
	F(FIELD_STRING, pa_wait_stat, syscall),   F(FIELD_U64, pa_wait_stat, nr_intervals),
	F(FIELD_U64, pa_wait_stat, total_ns),     F(FIELD_U64, pa_wait_stat, longest_ns),
};

STRUCTURE(wait_stat);

static const struct summary_field thread_stat_fields[] = {
	F(FIELD_PID, pa_thread_stat, pid),
	F(FIELD_PID, pa_thread_stat, tid),
	F(FIELD_U64, pa_thread_stat, elapsed_ns),
	F(FIELD_U64, pa_thread_stat, on_cpu_ns),
	F(FIELD_U64, pa_thread_stat, runnable_ns),
	F(FIELD_U64, pa_thread_stat, blocked_ns),
	F(FIELD_U64, pa_thread_stat, unaccounted_ns),
	F(FIELD_U64, pa_thread_stat, nr_missed),
};

STRUCTURE(thread_stat);

static const struct summary_field label_stat_fields[] = {
	F(FIELD_STRING, pa_label_stat, value),
	F(FIELD_U64, pa_label_stat, nr_samples),
};

STRUCTURE(label_stat);

static const struct summary_field program_stat_fields[] = {
	F(FIELD_STRING, pa_program_stat, name),
	F(FIELD_U64, pa_program_stat, nr_runs),
	F(FIELD_U64, pa_program_stat, run_ns),
};

STRUCTURE(program_stat);

static const struct summary_field section_fields[] = {
	F(FIELD_STRING, pa_section, name),
	F(FIELD_STRING, pa_section, unit),
	F(FIELD_STRING, pa_section, units),
	F(FIELD_U64, pa_section, due),
	F(FIELD_U64, pa_section, samples),
	F(FIELD_U64, pa_section, lost),
	F(FIELD_I64, pa_section, unexplained),
	F(FIELD_U64, pa_section, stacks_complete),
	F(FIELD_U64, pa_section, no_user_stack),
	F(FIELD_U64, pa_section, truncations_seen),
	F(FIELD_U64, pa_section, truncations_samples),
	F(FIELD_U64, pa_section, unnamed_seen),
	F(FIELD_U64, pa_section, unnamed_samples),
};

static const struct summary_list section_lists[] = {
	L(pa_section, counts, count),         L(pa_section, losses, count),
	L(pa_section, stops, count),          L(pa_section, truncations, truncation_stat),
	L(pa_section, unnamed, unnamed_stat),
};

static const struct summary_structure section_structure = {
	.size = sizeof(struct pa_section),
	.size_offset = offsetof(struct pa_summary, pa_section_sz),
	.fields = section_fields,
	.nr_fields = NR(section_fields),
	.lists = section_lists,
	.nr_lists = NR(section_lists),
};

static const struct summary_field summary_fields[] = {
	F(FIELD_STRING, pa_summary, version),
	F(FIELD_STRING, pa_summary, source_file),
	F(FIELD_STRING, pa_summary, value_type),
	F(FIELD_STRING, pa_summary, value_unit),
	F(FIELD_STRING, pa_summary, count_type),
	F(FIELD_STRING, pa_summary, count_unit),
	F(FIELD_STRING, pa_summary, event),
	{ "period_ns", FIELD_U64, offsetof(struct pa_summary, period) },
	F(FIELD_UINT, pa_summary, sample_rate_hz),
	F(FIELD_U64, pa_summary, start_time_ns),
	F(FIELD_U64, pa_summary, duration_ns),
	F(FIELD_U64, pa_summary, sampling_least_ns),
	F(FIELD_U64, pa_summary, sampling_most_ns),
	F(FIELD_U64, pa_summary, first_sample_ns),
	F(FIELD_BOOL, pa_summary, targets_exited),
	F(FIELD_STRING, pa_summary, end_reason),
	F(FIELD_STRING, pa_summary, end_signal),
	F(FIELD_U64, pa_summary, duration_asked_ns),
	{ "target", FIELD_STRING, offsetof(struct pa_summary, target_text) },
	F(FIELD_BOOL, pa_summary, all),
	F(FIELD_BOOL, pa_summary, follow_children),
	F(FIELD_STRING, pa_summary, host),
	F(FIELD_STRING, pa_summary, kernel_release),
	F(FIELD_STRING, pa_summary, machine),
	F(FIELD_STRING, pa_summary, unwind),
	F(FIELD_BOOL, pa_summary, kernel_stacks),
	F(FIELD_UINT, pa_summary, nr_cpus),
	F(FIELD_U64_OR_NULL, pa_summary, steal_ns),
	F(FIELD_U64_OR_NULL, pa_summary, targets_cpu_ns),
	F(FIELD_U64, pa_summary, samples),
	F(FIELD_U64, pa_summary, sideband_lost),
	F(FIELD_U64, pa_summary, nr_stacks),
	F(FIELD_U64, pa_summary, nr_processes),
	F(FIELD_U64, pa_summary, stacks_complete),
	F(FIELD_U64, pa_summary, no_user_stack),
	F(FIELD_U64, pa_summary, walks_finished),
	F(FIELD_U64, pa_summary, walks_again),
	F(FIELD_U64, pa_summary, samples_in_kernel),
	F(FIELD_U64, pa_summary, nr_tables),
	F(FIELD_U64, pa_summary, tables_peak_bytes),
	F(FIELD_U64, pa_summary, tables_evicted),
	F(FIELD_U64, pa_summary, tables_shared),
	F(FIELD_U64, pa_summary, table_rows_in_agent),
	F(FIELD_U64, pa_summary, cfi_unused),
	F(FIELD_U64, pa_summary, tables_refused),
	F(FIELD_U64, pa_summary, notices_lost),
	F(FIELD_U64, pa_summary, nr_locations),
	F(FIELD_U64, pa_summary, nr_locations_named),
	F(FIELD_STRING, pa_summary, kernel_symbols),
	F(FIELD_U64, pa_summary, fetched_bytes),
	F(FIELD_U64, pa_summary, nr_cache_evicted),
	F(FIELD_U64, pa_summary, nr_debug_files),
	F(FIELD_U64, pa_summary, nr_debug_mismatches),
	F(FIELD_U64, pa_summary, nr_unnamed_by_rule),
	F(FIELD_ADVICE, pa_summary, fetch_problem),
	F(FIELD_U64, pa_summary, naming_batches),
	F(FIELD_U64, pa_summary, naming_addresses),
	F(FIELD_U64, pa_summary, naming_shared),
	F(FIELD_U64, pa_summary, naming_raw),
	F(FIELD_U64, pa_summary, naming_fallbacks),
	F(FIELD_U64, pa_summary, naming_lines_interrupted),
	F(FIELD_U64, pa_summary, naming_p50_ns),
	F(FIELD_U64, pa_summary, naming_p99_ns),
	F(FIELD_U64, pa_summary, naming_max_ns),
	F(FIELD_U64, pa_summary, functions_seen),
	F(FIELD_U64, pa_summary, functions_self),
	F(FIELD_U64, pa_summary, commands_seen),
	F(FIELD_U64, pa_summary, processes_seen),
	F(FIELD_U64, pa_summary, processes_samples),
	F(FIELD_U64, pa_summary, truncations_seen),
	F(FIELD_U64, pa_summary, truncations_samples),
	F(FIELD_U64, pa_summary, unnamed_seen),
	F(FIELD_U64, pa_summary, unnamed_samples),
	F(FIELD_U64, pa_summary, waits_seen),
	F(FIELD_U64, pa_summary, off_cpu_ns),
	F(FIELD_U64, pa_summary, off_cpu_intervals),
	F(FIELD_U64, pa_summary, threads_seen),
	F(FIELD_U64, pa_summary, thread_events_no_room),
	F(FIELD_U64, pa_summary, limits_seen),
	F(FIELD_U64, pa_summary, unanswered_seen),
	F(FIELD_STRING, pa_summary, label),
	F(FIELD_U64, pa_summary, label_values_seen),
	F(FIELD_STRING, pa_summary, no_hw_counters),
	F(FIELD_U64, pa_summary, agent_cpu_ns),
	F(FIELD_U64, pa_summary, agent_peak_rss_bytes),
	F(FIELD_U64, pa_summary, agent_sampling_cpu_ns),
	F(FIELD_U64, pa_summary, agent_sampling_rss_bytes),
	F(FIELD_U64, pa_summary, agent_wakeups),
	F(FIELD_U64, pa_summary, agent_sampling_wakeups),
	F(FIELD_U64, pa_summary, programs_ns),
	F(FIELD_STRING, pa_summary, no_program_times),
};

static const struct summary_list summary_lists[] = {
	L(pa_summary, sections, section),
	L(pa_summary, gaps, count),
	L(pa_summary, stops, count),
	L(pa_summary, fetches, count),
	L(pa_summary, fetch_failures, fetch_failure),
	L(pa_summary, truncations, truncation_stat),
	L(pa_summary, naming_failures, count),
	L(pa_summary, pids, pid),
	L(pa_summary, tags, string),
	L(pa_summary, commands, command_stat),
	{ "processes", offsetof(struct pa_summary, processes),
	  offsetof(struct pa_summary, nr_processes_listed), &process_stat_structure },
	L(pa_summary, processes_unlisted, process_stat),
	L(pa_summary, value_types, string),
	L(pa_summary, label_keys, string),
	L(pa_summary, label_values, label_stat),
	L(pa_summary, functions, function_stat),
	L(pa_summary, functions_by_total, function_stat),
	L(pa_summary, paths, path_stat),
	L(pa_summary, waits, wait_stat),
	L(pa_summary, unnamed, unnamed_stat),
	L(pa_summary, hints, hint),
	L(pa_summary, limits, limit_stat),
	L(pa_summary, jit, count),
	L(pa_summary, python, count),
	L(pa_summary, unanswered, unanswered_stat),
	L(pa_summary, threads, thread_stat),
	L(pa_summary, threads_unlisted, thread_stat),
	L(pa_summary, pmu, pmu_stat),
	L(pa_summary, pmu_gaps, count),
	L(pa_summary, outputs, output_stat),
	L(pa_summary, programs, program_stat),
};

const struct summary_structure summary_structure = {
	.size = sizeof(struct pa_summary),
	.fields = summary_fields,
	.nr_fields = NR(summary_fields),
	.lists = summary_lists,
	.nr_lists = NR(summary_lists),
};
