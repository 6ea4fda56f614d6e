/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/duration.h"
#include "cli/report_parts.h"
#include "cli/scope.h"
#include "cli/terminal_text.h"

#define TARGET_COLUMNS_MAX 100 /* for a command line */
#define TARGET_COLUMNS_MIN 20  /* a PID is whole, and a command is recognized */
#define FRAME_SIZE 512
#define FEW_SAMPLES 100 /* with fewer, a share can be wrong by several per cent */
#define FAST_HZ 999     /* a rate to try when samples are few */
#define MUCH_KERNEL 10  /* per cent of the samples; from there on, --kernel-stacks is suggested */
#define DURATION_BRIEF_SIZE (2 * DURATION_TEXT_SIZE)
#define END_SIZE 80
#define NAMES_SIZE 40

/* "1.9s of 30s" if the capture ended early, otherwise "for 30s" if that was requested. */
static const char *span_text(const struct pa_summary *s, char text[DURATION_BRIEF_SIZE])
{
	char took[DURATION_TEXT_SIZE], asked[DURATION_TEXT_SIZE];

	duration_format_brief(s->duration_ns, took);
	if (s->duration_asked_ns && strcmp(s->end_reason, "duration"))
		(void)snprintf(text, DURATION_BRIEF_SIZE, "%s of %s", took,
			       duration_format_brief(s->duration_asked_ns, asked));
	else
		(void)snprintf(text, DURATION_BRIEF_SIZE, "%s%s",
			       strcmp(s->end_reason, "duration") ? "" : "for ", took);
	return text;
}

/* ", until it was killed by SIGSEGV"; empty if the duration is over. */
static const char *end_text(const struct pa_summary *s, char text[END_SIZE])
{
	bool is_command = !strcmp(s->end_reason, "command_exited");
	const char *signal = s->end_signal;

	*text = '\0';
	if (!strcmp(s->end_reason, "stopped"))
		(void)snprintf(text, END_SIZE, ", until %s", signal ? signal : "stopped");
	else if (is_command || !strcmp(s->end_reason, "targets_exited"))
		(void)snprintf(text, END_SIZE, ", until %s %s%s%s", s->nr_pids > 1 ? "all" : "it",
			       signal ? "was killed by " : "exited", signal ? signal : "",
			       is_command ? " (its children run on)" : "");
	return text;
}

/* The columns that are left for the target next to text, so that all of it is one line if
 * possible. */
static uint32_t target_columns(const struct report_page *p, const char *text)
{
	uint32_t cols = p->opts->max_cols, used = text_columns(text);

	if (cols == TEXT_NO_LIMIT)
		return TARGET_COLUMNS_MAX;
	cols = cols > used + TARGET_COLUMNS_MIN ? cols - used : TARGET_COLUMNS_MIN;
	return cols < TARGET_COLUMNS_MAX ? cols : TARGET_COLUMNS_MAX;
}

/* "make -j2: 12.4s, until it exited, on build1, Linux 6.18.5" */
static void print_target(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	_cleanup_(freep) char *target = NULL;
	char span[DURATION_BRIEF_SIZE], end[END_SIZE], frame[FRAME_SIZE];
	size_t len;
	FILE *f = open_memstream(&target, &len);

	if (!f)
		return; /* the line is left out */
	(void)snprintf(frame, sizeof(frame), ": %s%s, on %s, Linux %s", span_text(s, span),
		       end_text(s, end), s->host, s->kernel_release);
	(void)text_put(f, s->target_text, target_columns(p, frame));
	if (fclose(f) == 0)
		report_sentence(p, "%s%s", target, frame);
}

static uint64_t in_percent_of(uint64_t part, uint64_t whole)
{
	return whole ? part * 100 / whole : 0;
}

/* The CPU time of the targets as the scheduler counted it, which is exact; false: unknown. */
static bool true_cpu_ns(const struct pa_summary *s, uint64_t *ret_ns)
{
	*ret_ns = s->targets_cpu_ns;
	return s->targets_cpu_ns && s->targets_cpu_ns != PA_UNKNOWN && s->duration_ns;
}

/* A difference of up to three standard deviations of the number of samples is chance. */
static bool is_chance(const struct pa_summary *s, double difference_s)
{
	double difference = difference_s * NS_PER_S / (double)s->period;

	return difference * difference <= 9.0 * (double)s->samples;
}

/* " (26.3s by the scheduler)" if the samples represent less, or more. */
static const char *scheduler_text(const struct pa_summary *s, double sampled_s, char *text,
				  size_t size)
{
	uint64_t ns;
	double true_s;

	*text = '\0';
	if (!true_cpu_ns(s, &ns))
		return text;
	true_s = (double)ns / NS_PER_S;
	if ((true_s < sampled_s * 0.98 || true_s > sampled_s * 1.02) &&
	    !is_chance(s, true_s - sampled_s))
		(void)snprintf(text, size, " (%.*fs by the scheduler)", true_s < 10 ? 2 : 1,
			       true_s);
	return text;
}

/* It is unknown whether a tick that was not delivered would have found a busy CPU or an idle one.
 */
static void busy_text(const struct pa_summary *s, const struct pa_section *ticks, char *text,
		      size_t size)
{
	uint64_t missing = report_count_of(ticks->losses, ticks->nr_losses, "not_delivered");
	uint64_t idle = report_count_of(ticks->counts, ticks->nr_counts, "idle");
	char unknown[64] = "";
	uint64_t ns;

	if (true_cpu_ns(s, &ns)) {
		(void)snprintf(text, size, ", %u CPU%s %.1f%% busy", s->nr_cpus,
			       text_plural(s->nr_cpus),
			       text_percent(ns, s->duration_ns * s->nr_cpus));
		return;
	}
	if (in_percent_of(missing, ticks->due) >= 1)
		(void)snprintf(unknown, sizeof(unknown), " (%.1f%% unknown)",
			       text_percent(missing, ticks->due));
	(void)snprintf(text, size, ", %u CPU%s %.1f%% busy%s", s->nr_cpus, text_plural(s->nr_cpus),
		       text_percent(ticks->due - missing - idle, ticks->due), unknown);
}

/* The average load. Cycles are not counted on an idle CPU, so they give none. */
static void load_text(const struct pa_summary *s, char *text, size_t size)
{
	const struct pa_section *ticks = report_ticks(s);
	double unused, cpus;
	uint64_t ns;

	*text = '\0';
	if (!ticks || !ticks->due || !report_cpu_s(s, 0, &unused))
		return;
	if (s->all) {
		busy_text(s, ticks, text, size);
		return;
	}
	cpus = true_cpu_ns(s, &ns) ? (double)ns / (double)s->duration_ns
				   : (double)ticks->samples / (double)ticks->due * s->nr_cpus;
	(void)snprintf(text, size, ", %.2f of %u CPU%s on average", cpus, s->nr_cpus,
		       text_plural(s->nr_cpus));
}

/* Without kernel stacks, time in the kernel is attributed to the function that made the system
 * call. */
static void kernel_text(const struct pa_summary *s, char *text, size_t size)
{
	bool is_hidden = !s->kernel_stacks &&
			 in_percent_of(s->samples_in_kernel, s->samples) >= MUCH_KERNEL;

	*text = '\0';
	if (s->samples_in_kernel)
		(void)snprintf(text, size, ", %.1f%% in the kernel%s",
			       text_percent(s->samples_in_kernel, s->samples),
			       is_hidden ? " (--kernel-stacks shows where)" : "");
}

/* " (190 by name)": execve() gives a process another name, and the table of commands counts it under each. */
static const char *names_text(const struct pa_summary *s, char text[NAMES_SIZE])
{
	*text = '\0';
	if (s->processes_seen > s->nr_processes)
		(void)snprintf(text, NAMES_SIZE, " (%" PRIu64 " by name)", s->processes_seen);
	return text;
}

/* "24.1s CPU in 181 processes, 1.94 of 2 CPUs on average, 11.2% in the kernel" */
static void print_cpu_time(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	char load[128], kernel[128], amount[64], scheduler[64], names[NAMES_SIZE];
	double cpu_s;

	load_text(s, load, sizeof(load));
	kernel_text(s, kernel, sizeof(kernel));
	if (report_cpu_s(s, s->samples, &cpu_s))
		(void)snprintf(amount, sizeof(amount), "%.*fs CPU%s", cpu_s < 10 ? 2 : 1, cpu_s,
			       scheduler_text(s, cpu_s, scheduler, sizeof(scheduler)));
	else
		(void)snprintf(amount, sizeof(amount), "%" PRIu64 " sample%s of %s", s->samples,
			       text_plural(s->samples), s->event);
	report_sentence(p, "%s in %" PRIu64 " process%s%s%s%s", amount, s->nr_processes,
			s->nr_processes == 1 ? "" : "es", names_text(s, names), load, kernel);
}

static void print_few_samples(const struct report_page *p)
{
	const struct pa_summary *s = p->s;

	if (s->samples >= FEW_SAMPLES)
		return;
	if (s->sample_rate_hz < FAST_HZ)
		report_sentence(p,
				"only %" PRIu64 " sample%s, so all shares are rough: sample more "
				"often (-F %u) or longer",
				s->samples, text_plural(s->samples), FAST_HZ);
	else
		report_sentence(p,
				"only %" PRIu64 " sample%s, so all shares are rough: sample longer",
				s->samples, text_plural(s->samples));
}

static void print_no_samples(const struct report_page *p)
{
	const struct pa_summary *s = p->s;
	const struct pa_section *ticks = report_ticks(s);
	char duration[DURATION_TEXT_SIZE];

	if (!ticks)
		report_sentence(p, "no samples");
	else if (!ticks->due)
		report_sentence(p,
				"no samples: at %u Hz none was due within %s; sample more often "
				"(-F %u) or longer",
				s->sample_rate_hz, duration_format(s->duration_ns, duration),
				FAST_HZ);
	else if (ticks->lost == ticks->due)
		report_sentence(p, "no samples: all of them were lost, for the reason below; "
				   "sample longer, or when the machine is less busy");
	else if (report_count_of(ticks->counts, ticks->nr_counts, "outside"))
		report_sentence(p, "no samples: only processes outside of this PID namespace ran; "
				   "run perf-agent on the host to profile those");
	else if (s->all)
		report_sentence(p, "no samples: all CPUs were idle whenever a sample was due; "
				   "sample while there is work to do");
	else
		report_sentence(
			p,
			"no samples: the target was never on a CPU when a sample was due. "
			"It may have been waiting (for input, a lock, a disk), which --offcpu "
			"shows, or have ended too soon; sample more often (-F %u) or longer",
			FAST_HZ);
}

void report_head(const struct report_page *p)
{
	print_target(p);
	if (report_is_off_cpu(p->s)) {
		report_off_cpu(p);
		return;
	}
	if (!report_has_profile(p->s))
		return;
	if (!p->s->samples) {
		print_no_samples(p);
		return;
	}
	print_cpu_time(p);
	print_few_samples(p);
}
