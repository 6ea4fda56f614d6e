/* SPDX-License-Identifier: Apache-2.0 */
#include "old_reader.h"

#include "perfagent_old.h"

size_t old_size_of_count(void)
{
	return sizeof(struct pa_count);
}

size_t old_size_of_function(void)
{
	return sizeof(struct pa_function_stat);
}

const char *old_failure_name(const void *summary, size_t i)
{
	const struct pa_summary *s = summary;

	return PA_ITEM(s, pa_count, s->naming_failures, i)->name;
}

const char *old_function_name(const void *summary, size_t i)
{
	const struct pa_summary *s = summary;

	return PA_ITEM(s, pa_function_stat, s->functions, i)->name;
}
