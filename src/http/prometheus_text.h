/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics in Prometheus's text format, version 0.0.4. */
#ifndef HTTP_PROMETHEUS_TEXT_H
#define HTTP_PROMETHEUS_TEXT_H

#include <perfagent/perfagent.h>
#include <stdbool.h>

#include "base/buf.h"

#define PROMETHEUS_TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Appends all of them; those of one name follow each other. -ENOMEM, -E2BIG. */
int prometheus_text(const struct pa_metrics *metrics, struct buf *to);

/* Appends one; the first of its name has a heading. */
int prometheus_text_item(const struct pa_metric *m, bool is_first, struct buf *to);

#endif
