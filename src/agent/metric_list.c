/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/metric_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static struct metric_list *list_of(struct pa_metrics *pub)
{
	return (struct metric_list *)(void *)pub;
}

struct metric_list *metric_list_new(void)
{
	struct metric_list *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->pub.sz = sizeof(l->pub);
	l->pub.pa_metric_sz = sizeof(l->items[0]);
	l->pub.items = l->items;
	l->pub.time_ns = clock_ns(CLOCK_REALTIME);
	return l;
}

static void add_label(struct metric_list *l, struct pa_metric *m, struct pa_label label)
{
	char *value = l->values[l->pub.nr_items][m->nr_labels];

	if (!label.key)
		return;
	(void)snprintf(value, METRIC_VALUE_SIZE, "%s", label.value);
	m->labels[m->nr_labels++] = (struct pa_label){ label.key, value };
}

void metric_list_add(struct metric_list *l, const struct metric_kind *kind, struct pa_label first,
		     struct pa_label second, double value)
{
	struct pa_metric *m = &l->items[l->pub.nr_items];

	if (l->pub.nr_items == METRIC_LIST_MAX)
		return;
	*m = (struct pa_metric){
		.name = kind->name, .help = kind->help, .type = kind->type, .value = value
	};
	add_label(l, m, first);
	add_label(l, m, second);
	l->pub.nr_items++;
}

struct metric_list *metric_list_copy(const struct pa_metrics *from)
{
	struct metric_list *l = metric_list_new();

	for (size_t i = 0; l && from && i < from->nr_items; i++) {
		const struct pa_metric *m = &from->items[i];

		metric_list_add(l, &(struct metric_kind){ m->name, m->help, m->type }, m->labels[0],
				m->labels[1], m->value);
	}
	return l;
}

static bool is_same(const struct pa_metric *a, const struct pa_metric *b)
{
	if (strcmp(a->name, b->name) != 0 || a->nr_labels != b->nr_labels)
		return false;
	for (size_t i = 0; i < a->nr_labels; i++)
		if (strcmp(a->labels[i].value, b->labels[i].value) != 0)
			return false;
	return true;
}

void metric_list_keep_growing(struct metric_list *l, const struct pa_metrics *before)
{
	size_t k = 0;

	for (size_t i = 0; before && i < l->pub.nr_items; i++) {
		struct pa_metric *m = &l->items[i];
		size_t at = k;

		while (at < before->nr_items && !is_same(m, &before->items[at]))
			at++;
		if (at == before->nr_items)
			continue; /* a new one: the next one is looked for from the same place */
		k = at + 1;
		if (m->type == PA_METRIC_COUNTER && m->value < before->items[at].value)
			m->value = before->items[at].value;
	}
}

void pa_metrics_free(struct pa_metrics *metrics)
{
	free(metrics ? list_of(metrics) : NULL);
}
