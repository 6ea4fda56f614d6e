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

static void check(const struct pa_progress *p, bool is_ending, uint32_t max_cols,
		  const char *expected, const char *what)
{
	char text[PROGRESS_TEXT_SIZE];

	progress_format(p, is_ending, max_cols, text);
	if (!ok(!strcmp(text, expected), "%s", what))
		printf("# '%s'\n# '%s'\n", text, expected);
}

static void test_widths_never_overflow(void)
{
	struct pa_progress p = sample();
	char text[PROGRESS_TEXT_SIZE];
	bool fits = true;

	p.nr_samples = p.nr_stacks = p.nr_lost = p.elapsed_ns = p.duration_ns = UINT64_MAX;
	for (uint32_t cols = 0; cols < 300; cols++)
		fits = fits && strlen(progress_format(&p, false, cols, text)) <= cols;
	ok(fits, "the largest numbers fit every width");
}

int main(void)
{
	struct pa_progress p = sample();

	check(&p, false, 80, "3.2s / 10s, 1234 samples, 56 stacks, 7 lost, agent 1.0% CPU",
	      "a wide terminal shows everything");
	check(&p, false, 45, "3.2s / 10s, 1234 samples, 56 stacks, 7 lost",
	      "a narrow one leaves out whole numbers");
	check(&p, false, 5, "", "what does not fit at all is left out");
	check(&p, true, 80, "3.2s, ending, 1234 samples, 56 stacks, 7 lost, agent 1.0% CPU",
	      "an early end is shown");
	p.duration_ns = 0;
	check(&p, false, 30, "3.2s, 1234 samples, 56 stacks", "an open end shows no duration");
	p.phase = PA_PHASE_NAMING;
	check(&p, true, 80, "naming, 1234 samples, 56 stacks, 7 lost", "naming is shown");
	p.phase = PA_PHASE_WRITING;
	check(&p, false, 80, "writing, 1234 samples, 56 stacks, 7 lost", "writing is shown");
	test_widths_never_overflow();
	return tap_done();
}
