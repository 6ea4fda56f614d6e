/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor.h"

#include <perfagent/perfagent.h>
#include <stdio.h>
#include <string.h>

#include "cli/exit_status.h"
#include "cli/fd_limit.h"
#include "cli/options.h"
#include "cli/text.h"

/* The label and the text in one column, whatever the label. */
static const char *const state_labels[] = {
	[PA_CHECK_OK] = "[ok]     ",
	[PA_CHECK_LIMITED] = "[limited]",
	[PA_CHECK_FAILED] = "[FAILED] ",
};

static void print_check(void *ctx, const struct pa_check *check)
{
	FILE *out = ctx;

	(void)fprintf(out, "%s ", state_labels[check->state]);
	(void)text_put(out, check->subject, TEXT_NO_LIMIT);
	(void)fputs(": ", out);
	(void)text_put(out, check->finding, TEXT_NO_LIMIT);
	if (check->fix) {
		(void)fprintf(out, "\n%*s fix: ", (int)strlen(state_labels[PA_CHECK_OK]), "");
		(void)text_put(out, check->fix, TEXT_NO_LIMIT);
	}
	(void)fputc('\n', out);
}

int doctor_main(int argc, char *argv[])
{
	struct options o;
	struct pa_options opts = { .sz = sizeof(opts) };
	int r = options_parse_doctor(argc, argv, &o);

	if (r < 0)
		return EXIT_STATUS_USAGE;
	if (o.action == OPTIONS_HELP) {
		options_help_doctor(stdout);
		return exit_status_of_stdout(EXIT_STATUS_OK);
	}
	opts.pids = o.pids;
	opts.nr_pids = o.nr_pids;
	opts.fetch_program = "/proc/self/exe";
	fd_limit_raise(); /* as a capture does */
	r = pa_doctor(&opts, print_check, stdout);
	if (r < 0) {
		(void)fflush(stdout);
		(void)fprintf(stderr, "perf-agent: cannot examine this machine: %s\n",
			      strerror(-r));
		return EXIT_STATUS_FAILED;
	}
	return exit_status_of_stdout(r > 0 ? EXIT_STATUS_FAILED : EXIT_STATUS_OK);
}
