/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_doctor.h"

#include <perfagent/perfagent.h>
#include <stdio.h>
#include <string.h>

#include "cli/exit_status.h"
#include "cli/fd_limit.h"
#include "cli/flag_names.h"
#include "cli/options.h"
#include "cli/terminal_text.h"

/* Labels padded to one width, so that texts are aligned. */
static const char *const state_labels[] = {
	[PA_CHECK_OK] = "[ok]     ",
	[PA_CHECK_LIMITED] = "[limited]",
	[PA_CHECK_FAILED] = "[FAILED] ",
};

struct findings {
	FILE *out;
	char fix[FLAG_NAMES_SIZE]; /* fix of the last lines, not printed yet; "": none */
	size_t nr_limited;
};

static void print_fix(struct findings *f)
{
	if (!f->fix[0])
		return;
	(void)fprintf(f->out, "%*s ", (int)strlen(state_labels[PA_CHECK_OK]), "");
	(void)text_put(f->out, f->fix, TEXT_NO_LIMIT);
	(void)fputc('\n', f->out);
	f->fix[0] = '\0';
}

/* If consecutive lines have the same fix, it is printed once, below the last of them. */
static void print_check(void *ctx, const struct pa_check *check)
{
	char text[FLAG_NAMES_SIZE], fix[FLAG_NAMES_SIZE] = "";
	struct findings *f = ctx;
	FILE *out = f->out;

	if (check->fix)
		(void)snprintf(fix, sizeof(fix), "%s%s", check->state == PA_CHECK_OK ? "" : "fix: ",
			       flag_names(check->fix, text));
	if (strcmp(fix, f->fix) != 0)
		print_fix(f);
	memcpy(f->fix, fix, sizeof(fix));
	f->nr_limited += check->state == PA_CHECK_LIMITED;
	(void)fprintf(out, "%s ", state_labels[check->state]);
	(void)text_put(out, flag_names(check->subject, text), TEXT_NO_LIMIT);
	(void)fputs(": ", out);
	(void)text_put(out, flag_names(check->finding, text), TEXT_NO_LIMIT);
	(void)fputc('\n', out);
}

static void print_verdict(const struct findings *f, size_t nr_failed)
{
	if (nr_failed)
		(void)fprintf(f->out, "\ncannot profile: %zu problem%s\n", nr_failed,
			      text_plural(nr_failed));
	else if (f->nr_limited)
		(void)fprintf(f->out, "\nready to profile, with %zu limit%s\n", f->nr_limited,
			      text_plural(f->nr_limited));
	else
		(void)fputs("\nready to profile\n", f->out);
}

int run_doctor(int argc, char *argv[])
{
	struct findings findings = { .out = stdout };
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
	fd_limit_raise(); /* as in a capture */
	r = pa_doctor(&opts, print_check, &findings);
	print_fix(&findings);
	if (r < 0) {
		(void)fflush(stdout);
		(void)fprintf(stderr, "perf-agent: cannot examine this machine: %s\n",
			      strerror(-r));
		return EXIT_STATUS_FAILED;
	}
	print_verdict(&findings, (size_t)r);
	return exit_status_of_stdout(r > 0 ? EXIT_STATUS_FAILED : EXIT_STATUS_OK);
}
