/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes that a summary of this library contains, among its initializers. */
#ifndef ITEM_SIZES_H
#define ITEM_SIZES_H

#include <perfagent/perfagent.h>

/* clang-format off */
#define ITEM_SIZES                                                                                 \
	.pa_count_sz = sizeof(struct pa_count),                                                    \
	.pa_section_sz = sizeof(struct pa_section),                                                \
	.pa_truncation_stat_sz = sizeof(struct pa_truncation_stat),                                              \
	.pa_function_stat_sz = sizeof(struct pa_function_stat),                                    \
	.pa_unnamed_stat_sz = sizeof(struct pa_unnamed_stat),                                      \
	.pa_limit_stat_sz = sizeof(struct pa_limit_stat),                                          \
	.pa_fetch_failure_sz = sizeof(struct pa_fetch_failure),                                    \
	.pa_unanswered_stat_sz = sizeof(struct pa_unanswered_stat),                                \
	.pa_output_stat_sz = sizeof(struct pa_output_stat),                                        \
	.pa_hint_sz = sizeof(struct pa_hint),                                                      \
	.pa_label_stat_sz = sizeof(struct pa_label_stat),                                          \
	.pa_command_stat_sz = sizeof(struct pa_command_stat),                                      \
	.pa_process_stat_sz = sizeof(struct pa_process_stat),                                      \
	.pa_path_stat_sz = sizeof(struct pa_path_stat),                                            \
	.pa_pmu_stat_sz = sizeof(struct pa_pmu_stat),                                              \
	.pa_wait_stat_sz = sizeof(struct pa_wait_stat),                                            \
	.pa_thread_stat_sz = sizeof(struct pa_thread_stat),                                        \
	.pa_program_stat_sz = sizeof(struct pa_program_stat)
/* clang-format on */

#endif
