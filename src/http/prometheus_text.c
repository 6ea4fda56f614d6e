/* SPDX-License-Identifier: Apache-2.0 */
#include "http/prometheus_text.h"

#include <string.h>

/* Backslash and newline are escaped, in values of labels the quote, too. */
static int add_escaped(struct buf *to, const char *text, bool is_value)
{
	int r = 0;

	for (; *text && r == 0; text++) {
		if (*text == '\n')
			r = buf_append(to, "\\n", 2);
		else if (*text == '\\' || (is_value && *text == '"'))
			r = buf_printf(to, "\\%c", *text);
		else
			r = buf_append(to, text, 1);
	}
	return r;
}

static int add_heading(struct buf *to, const struct pa_metric *m)
{
	int r = buf_printf(to, "# HELP %s ", m->name);

	if (r == 0)
		r = add_escaped(to, m->help, false);
	return r < 0 ? r
		     : buf_printf(to, "\n# TYPE %s %s\n", m->name,
				  m->type == PA_METRIC_COUNTER ? "counter" : "gauge");
}

/* "perf_agent_samples_total{kind="on-cpu"} 812" */
static int add_sample(struct buf *to, const struct pa_metric *m)
{
	int r = buf_printf(to, "%s", m->name);

	for (size_t i = 0; i < m->nr_labels && r == 0; i++) {
		r = buf_printf(to, "%s%s=\"", i ? "," : "{", m->labels[i].key);
		if (r == 0)
			r = add_escaped(to, m->labels[i].value, true);
		if (r == 0)
			r = buf_printf(to, i + 1 == m->nr_labels ? "\"}" : "\"");
	}
	return r < 0 ? r : buf_printf(to, " %.17g\n", m->value);
}

int prometheus_text_item(const struct pa_metric *m, bool is_first, struct buf *to)
{
	int r = is_first ? add_heading(to, m) : 0;

	return r < 0 ? r : add_sample(to, m);
}

int prometheus_text(const struct pa_metrics *metrics, struct buf *to)
{
	const char *last = "";
	int r = 0;

	for (size_t i = 0; r == 0 && i < metrics->nr_items; i++) {
		const struct pa_metric *m = PA_ITEM(metrics, pa_metric, metrics->items, i);

		r = prometheus_text_item(m, strcmp(m->name, last) != 0, to);
		last = m->name;
	}
	return r;
}
