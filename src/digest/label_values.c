/* SPDX-License-Identifier: Apache-2.0 */
#include "digest/label_values.h"

#include <errno.h>

#include "base/array.h"
#include "digest/labels.h"
#include "digest/sums.h"

static int by_value(const void *left, const void *right)
{
	const struct label_value *a = left, *b = right;

	if (a->is_missing != b->is_missing)
		return a->is_missing ? 1 : -1;
	if (a->str != b->str)
		return a->str < b->str ? -1 : 1;
	if (a->num != b->num)
		return a->num < b->num ? -1 : 1;
	return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static int by_label_count(const void *left, const void *right)
{
	const struct label_value *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return by_value(left, right);
}

static void add_label_value(void *to, const void *more)
{
	struct label_value *sum = to;

	sum->count = add_saturated(sum->count, ((const struct label_value *)more)->count);
}

static struct label_value value_of(const struct profile *p, uint32_t sample, uint32_t key)
{
	const struct profile_label *l = label_find(p, p->samples[sample].labels, key);

	return (struct label_value){
		.is_missing = !l,
		.str = l ? l->str : 0,
		.num = l && !l->str ? l->num : 0,
		.unit = l && !l->str ? l->unit : 0,
		.count = profile_count(p, sample),
	};
}

int digest_label_values(const struct profile *p, uint32_t key, struct label_value **ret_values,
			uint32_t *ret_nr)
{
	struct label_value *values = calloc((size_t)p->nr_samples + 1, sizeof(*values));
	uint32_t nr;

	if (!values)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr_samples; i++)
		values[i] = value_of(p, i, key);
	nr = array_merge(values, p->nr_samples, sizeof(*values), by_value, add_label_value);
	qsort(values, nr, sizeof(*values), by_label_count);
	*ret_values = values;
	*ret_nr = nr;
	return 0;
}
