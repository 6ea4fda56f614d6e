/* SPDX-License-Identifier: Apache-2.0 */
/* The time that all threads spent in each state: one line. */
#include <inttypes.h>

#include "cli/report_parts.h"
#include "cli/terminal_text.h"

void report_threads(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	char elapsed[REPORT_TIME_SIZE], on_cpu[REPORT_TIME_SIZE], runnable[REPORT_TIME_SIZE];
	char blocked[REPORT_TIME_SIZE], unaccounted[REPORT_TIME_SIZE];
	const struct pa_thread_stat *all = s->threads;

	if (s->nr_threads)
		report_line(p, "threads",
			    "%" PRIu64 " thread%s: %s = %s on CPU + %s runnable + %s blocked + %s "
			    "unaccounted (%.1f%%)",
			    s->threads_seen, text_plural(s->threads_seen),
			    report_brief_time(all->elapsed_ns, elapsed),
			    report_brief_time(all->on_cpu_ns, on_cpu),
			    report_brief_time(all->runnable_ns, runnable),
			    report_brief_time(all->blocked_ns, blocked),
			    report_brief_time(all->unaccounted_ns, unaccounted),
			    text_percent(all->unaccounted_ns, all->elapsed_ns));
	if (s->thread_events_no_room)
		report_line(p, s->nr_threads ? "" : "threads",
			    "too many to follow: %" PRIu64
			    " events of other threads are not counted",
			    s->thread_events_no_room);
}
