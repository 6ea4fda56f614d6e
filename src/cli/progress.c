/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/duration.h"
#include "cli/terminal_text.h"

#define PART_SIZE 96
#define NR_PARTS 8
#define METER_NS NS_PER_S /* over shorter times the number would fluctuate */

static void time_part(const struct pa_progress *p, bool is_ending, char part[PART_SIZE])
{
	char duration[DURATION_TEXT_SIZE];
	double elapsed_s = (double)p->elapsed_ns / NS_PER_S;

	if (is_ending)
		(void)snprintf(part, PART_SIZE, "%.1fs, ending", elapsed_s);
	else if (p->duration_ns)
		(void)snprintf(part, PART_SIZE, "%.1fs / %s", elapsed_s,
			       duration_format(p->duration_ns, duration));
	else
		(void)snprintf(part, PART_SIZE, "%.1fs", elapsed_s);
}

static void phase_part(const struct pa_progress *p, bool is_ending, char part[PART_SIZE])
{
	switch (p->phase) {
	case PA_PHASE_NAMING:
		if (p->nr_fetches_done < p->nr_fetches_wanted)
			(void)snprintf(part, PART_SIZE,
				       "fetching debug files, %" PRIu64 " of %" PRIu64 " done",
				       p->nr_fetches_done, p->nr_fetches_wanted);
		else
			(void)snprintf(part, PART_SIZE, "resolving symbols%s",
				       is_ending ? ", for a second at most" : "");
		break;
	case PA_PHASE_WRITING:
	case PA_PHASE_DONE:
		(void)snprintf(part, PART_SIZE, "writing");
		break;
	default:
		time_part(p, is_ending, part);
		break;
	}
}

void progress_measure(struct progress_meter *m, const struct pa_progress *p)
{
	uint64_t elapsed_ns = p->elapsed_ns - m->mark_elapsed_ns;

	if (m->has_mark && elapsed_ns < METER_NS)
		return;
	if (m->has_mark) {
		m->cpu_percent =
			100.0 * (double)(p->agent_cpu_ns - m->mark_cpu_ns) / (double)elapsed_ns;
		m->has_percent = true;
	}
	m->has_mark = true;
	m->mark_elapsed_ns = p->elapsed_ns;
	m->mark_cpu_ns = p->agent_cpu_ns;
}

/* Appends ", part" if that fits; all parts are ASCII, so a byte is a column. */
static bool append_part(char text[PROGRESS_TEXT_SIZE], const char *part, uint32_t max_cols)
{
	size_t len = strlen(text);
	int n = snprintf(text + len, PROGRESS_TEXT_SIZE - len, "%s%s", len ? ", " : "", part);

	if (n < 0 || len + (size_t)n > max_cols || len + (size_t)n >= PROGRESS_TEXT_SIZE) {
		text[len] = '\0';
		return false;
	}
	return true;
}

/* Formats samples, waits, or both. Returns the number of parts. */
static size_t taken_parts(const struct pa_progress *p, char (*parts)[PART_SIZE])
{
	bool has_waits = p->modes & PA_MODE_OFFCPU;
	size_t nr = 0;

	if (!has_waits || (p->modes & PA_MODE_PROFILE))
		(void)snprintf(parts[nr++], PART_SIZE, "%" PRIu64 " sample%s", p->nr_samples,
			       text_plural(p->nr_samples));
	if (has_waits) {
		(void)snprintf(parts[nr++], PART_SIZE, "%" PRIu64 " wait%s", p->nr_intervals,
			       text_plural(p->nr_intervals));
		(void)snprintf(parts[nr++], PART_SIZE, "%.1fs off CPU",
			       (double)p->off_cpu_ns / NS_PER_S);
	}
	return nr;
}

const char *progress_format(const struct pa_progress *p, const struct progress_meter *m,
			    bool is_ending, uint32_t max_cols, char text[PROGRESS_TEXT_SIZE])
{
	char parts[NR_PARTS][PART_SIZE];
	size_t nr_parts = 1;

	phase_part(p, is_ending, parts[0]);
	nr_parts += taken_parts(p, parts + nr_parts);
	(void)snprintf(parts[nr_parts++], PART_SIZE, "%" PRIu64 " stack%s", p->nr_stacks,
		       text_plural(p->nr_stacks));
	(void)snprintf(parts[nr_parts++], PART_SIZE, "%" PRIu64 " lost", p->nr_lost);
	/* after sampling, elapsed_ns does not change, and a share of it would be meaningless */
	if (p->phase == PA_PHASE_SAMPLING && m->has_percent)
		(void)snprintf(parts[nr_parts++], PART_SIZE, "agent %.1f%% CPU", m->cpu_percent);
	if (p->phase == PA_PHASE_SAMPLING && !p->duration_ns && !is_ending)
		(void)snprintf(parts[nr_parts++], PART_SIZE, "Ctrl-C to end");

	text[0] = '\0';
	for (size_t i = 0; i < nr_parts; i++)
		if (!append_part(text, parts[i], max_cols))
			break;
	return text;
}
