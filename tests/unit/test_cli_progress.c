/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/progress.h"
#include "tap.h"

#define S 1000000000ull

static struct pa_progress sample(void)
{
	return (struct pa_progress){
		.sz = sizeof(struct pa_progress),
		.phase = PA_PHASE_SAMPLING,
		.elapsed_ns = 3200000000,
		.duration_ns = 10 * S,
		.nr_samples = 1234,
		.nr_stacks = 56,
		.nr_lost = 7,
		.agent_cpu_ns = 32000000,
	};
}

static const struct progress_meter one_percent = { .has_percent = true, .cpu_percent = 1 };

static void check(const struct pa_progress *p, bool is_ending, uint32_t max_cols,
		  const char *expected, const char *what)
{
	char text[PROGRESS_TEXT_SIZE];

	progress_format(p, &one_percent, is_ending, max_cols, text);
	if (!ok(!strcmp(text, expected), "%s", what))
		printf("# '%s'\n# '%s'\n", text, expected);
}

static void test_widths_never_overflow(void)
{
	struct pa_progress p = sample();
	char text[PROGRESS_TEXT_SIZE];
	bool fits = true;

	p.modes = PA_MODE_OFFCPU | PA_MODE_PROFILE;
	p.nr_intervals = p.off_cpu_ns = UINT64_MAX;
	p.nr_samples = p.nr_stacks = p.nr_lost = p.elapsed_ns = p.duration_ns = UINT64_MAX;
	for (uint32_t cols = 0; cols < 300; cols++)
		fits = fits && strlen(progress_format(&p, &one_percent, false, cols, text)) <= cols;
	ok(fits, "the largest numbers fit every width");
}

static void test_waits(void)
{
	struct pa_progress p = sample();

	p.modes = PA_MODE_OFFCPU;
	p.nr_samples = 0;
	p.nr_intervals = 4321;
	p.off_cpu_ns = 12300000000;
	check(&p, false, 80,
	      "3.2s / 10s, 4321 waits, 12.3s off CPU, 56 stacks, 7 lost, agent 1.0% CPU",
	      "off the CPU alone: waits and how long they were");
	p.modes |= PA_MODE_PROFILE;
	p.nr_samples = 1;
	p.nr_intervals = 1;
	check(&p, false, 80,
	      "3.2s / 10s, 1 sample, 1 wait, 12.3s off CPU, 56 stacks, 7 lost, agent 1.0% CPU",
	      "both profiles: samples and waits");
}

static bool shows(const struct pa_progress *p, const struct progress_meter *m, const char *part)
{
	char text[PROGRESS_TEXT_SIZE];

	return strstr(progress_format(p, m, false, 200, text), part) != NULL;
}

static void test_meter(void)
{
	struct pa_progress p = sample();
	struct progress_meter m = { 0 };

	p.elapsed_ns = 1000;
	p.agent_cpu_ns = S / 5; /* setting up */
	progress_measure(&m, &p);
	ok(!shows(&p, &m, "CPU"),
	   "the cost of setting up does not count as a share of the first moment");
	p.elapsed_ns += S / 2;
	progress_measure(&m, &p);
	ok(!shows(&p, &m, "CPU"), "no share of CPU is shown in the first second");
	p.elapsed_ns += S / 2;
	p.agent_cpu_ns += S / 50;
	progress_measure(&m, &p);
	ok(shows(&p, &m, "agent 2.0% CPU"), "after a second the share of the last second is shown");
	p.elapsed_ns += S / 2;
	p.agent_cpu_ns += S / 4;
	progress_measure(&m, &p);
	ok(shows(&p, &m, "agent 2.0% CPU"), "the share stays for a second");
	p.elapsed_ns += S / 2;
	progress_measure(&m, &p);
	ok(shows(&p, &m, "agent 25.0% CPU"),
	   "after another second the share of that second is shown");
}

static void test_plurals(void)
{
	struct pa_progress p = sample();

	p.nr_samples = p.nr_stacks = 1;
	check(&p, false, 80, "3.2s / 10s, 1 sample, 1 stack, 7 lost, agent 1.0% CPU",
	      "one sample is one");
}

int main(void)
{
	struct pa_progress p = sample();

	check(&p, false, 80, "3.2s / 10s, 1234 samples, 56 stacks, 7 lost, agent 1.0% CPU",
	      "a wide terminal shows everything");
	check(&p, false, 45, "3.2s / 10s, 1234 samples, 56 stacks, 7 lost",
	      "a narrow terminal leaves out whole numbers");
	check(&p, false, 5, "", "a line that does not fit at all is left out");
	check(&p, true, 80, "3.2s, ending, 1234 samples, 56 stacks, 7 lost, agent 1.0% CPU",
	      "an early end is shown");
	p.duration_ns = 0;
	check(&p, false, 30, "3.2s, 1234 samples, 56 stacks", "an open end shows no duration");
	check(&p, false, 80, "3.2s, 1234 samples, 56 stacks, 7 lost, agent 1.0% CPU, Ctrl-C to end",
	      "an open end shows how to end the capture");
	check(&p, true, 80, "3.2s, ending, 1234 samples, 56 stacks, 7 lost, agent 1.0% CPU",
	      "a capture that is ending does not show how to end it");
	p.phase = PA_PHASE_NAMING;
	check(&p, true, 80,
	      "resolving symbols, for a second at most, 1234 samples, 56 stacks, 7 lost",
	      "progress: symbol resolution is shown");
	p.nr_fetches_wanted = 3;
	p.nr_fetches_done = 1;
	check(&p, false, 80, "fetching debug files, 1 of 3 done, 1234 samples, 56 stacks, 7 lost",
	      "waiting for debug files is shown");
	p.nr_fetches_done = 3;
	check(&p, false, 80, "resolving symbols, 1234 samples, 56 stacks, 7 lost",
	      "after the debug files, symbolization is shown");
	p.phase = PA_PHASE_WRITING;
	check(&p, false, 80, "writing, 1234 samples, 56 stacks, 7 lost", "writing is shown");
	test_widths_never_overflow();
	test_waits();
	test_meter();
	test_plurals();
	return tap_done();
}
