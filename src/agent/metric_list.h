/* SPDX-License-Identifier: Apache-2.0 */
/* A list of metrics that grows, and owns its texts. */
#ifndef AGENT_METRIC_LIST_H
#define AGENT_METRIC_LIST_H

#include <perfagent/perfagent.h>
#include <stdbool.h>

#define METRIC_VALUE_SIZE 32 /* of a label's value that is copied */
#define METRIC_LIST_MAX 512  /* more than all counters with every reason */

/* What all metrics of one name have in common; static strings. */
struct metric_kind {
	const char *name, *help;
	enum pa_metric_type type;
};

struct metric_list {
	struct pa_metrics pub; /* first, because callers have a pointer to it */
	struct pa_metric items[METRIC_LIST_MAX];
	char values[METRIC_LIST_MAX][PA_METRIC_MAX_LABELS][METRIC_VALUE_SIZE];
};

struct metric_list *metric_list_new(void);

/* The caller frees it; from may be NULL: an empty list. */
struct metric_list *metric_list_copy(const struct pa_metrics *from);

/* Adds a metric; its labels are those given that have a key. Texts of labels are copied, and truncated. A list that
 * is full ignores it. */
void metric_list_add(struct metric_list *l, const struct metric_kind *kind, struct pa_label first,
		     struct pa_label second, double value);

/* Counters do not go back, although parts of them are read at slightly different times: each is at least what it
 * was in an earlier list. */
void metric_list_keep_growing(struct metric_list *l, const struct pa_metrics *before);

#endif
