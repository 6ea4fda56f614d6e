// SPDX-License-Identifier: Apache-2.0
// The public header in C++: it is enough that this compiles without a warning.
#include <perfagent/perfagent.h>

uint64_t SumOfSelf(const pa_summary *s);

uint64_t SumOfSelf(const pa_summary *s)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < s->nr_functions; i++)
		sum += PA_ITEM(s, pa_function_stat, s->functions, i)->nr_self;
	return sum;
}
