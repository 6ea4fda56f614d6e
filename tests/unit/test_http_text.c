/* SPDX-License-Identifier: Apache-2.0 */
#include "http/prometheus_text.h"

#include "tap.h"

int main(void)
{
	static const struct pa_metric items[] = {
		{ "a_total",
		  "Back\\slash\nand \"quotes\".",
		  PA_METRIC_COUNTER,
		  3,
		  { { "kind", "on\"cpu" }, { "reason", "a\\b\nc" } },
		  2 },
		{ "a_total", "Not shown again.", PA_METRIC_COUNTER, 1e15, { { "kind", "x" } }, 1 },
		{ "b", "A gauge.", PA_METRIC_GAUGE, 0.5, { { NULL, NULL } }, 0 },
	};
	static const char expected[] = "# HELP a_total Back\\\\slash\\nand \"quotes\".\n"
				       "# TYPE a_total counter\n"
				       "a_total{kind=\"on\\\"cpu\",reason=\"a\\\\b\\nc\"} 3\n"
				       "a_total{kind=\"x\"} 1000000000000000\n"
				       "# HELP b A gauge.\n# TYPE b gauge\nb 0.5\n";
	const struct pa_metrics all = { sizeof(all), sizeof(items[0]), 0, items, 3 };
	struct buf text = BUF_INIT(4096), small = BUF_INIT(64);

	must(prometheus_text(&all, &text) == 0);
	ok(text.len == strlen(expected) && !memcmp(text.data, expected, text.len),
	   "prometheus: headings come once, and texts are escaped");
	ok(prometheus_text(&all, &small) < 0, "prometheus: a text that is too long is an error");
	buf_done(&text);
	buf_done(&small);
	return tap_done();
}
