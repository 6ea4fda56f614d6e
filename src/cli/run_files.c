/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_files.h"

#include <errno.h>
#include <string.h>

#include "cli/exit_status.h"
#include "cli/file_options.h"
#include "cli/owner.h"
#include "cli/report.h"
#include "cli/report_json.h"
#include "cli/scope.h"
#include "cli/terminal_text.h"

#define JSON_FUNCTIONS 100 /* as in a capture */

int run_files_failed(int r, const struct pa_error *err)
{
	(void)fputs("perf-agent: ", stderr);
	(void)text_put(stderr, err->text[0] ? err->text : strerror(-r), TEXT_NO_LIMIT);
	(void)fputc('\n', stderr);
	return EXIT_STATUS_FAILED;
}

struct pa_file_options run_files_owned(void)
{
	struct owner owner = owner_from_environment();

	return (struct pa_file_options){ .sz = sizeof(struct pa_file_options),
					 .set_owner = owner.is_set,
					 .owner_uid = owner.uid,
					 .owner_gid = owner.gid };
}

struct pa_profile *run_files_read(const struct file_options *o, const char *path)
{
	const struct pa_profile_options opts = {
		.sz = sizeof(opts),
		.value_type = o->value_type,
		.label = o->label,
		.max_functions = o->top > JSON_FUNCTIONS ? o->top : JSON_FUNCTIONS,
	};
	struct pa_profile *p = NULL;
	struct pa_error err = { 0 };
	int r = pa_profile_read(path, &opts, &p, &err);

	if (r < 0)
		(void)run_files_failed(r, &err);
	return r < 0 ? NULL : p;
}

int run_report(int argc, char *argv[])
{
	uint32_t columns = text_terminal_columns(STDOUT_FILENO);
	struct report_options opts = { .max_cols = columns ? columns : TEXT_NO_LIMIT };
	struct file_options o;
	struct pa_profile *p;

	if (file_options_report(argc, argv, &o) < 0)
		return EXIT_STATUS_USAGE;
	if (o.action == OPTIONS_HELP) {
		file_options_help("report", stdout);
		return exit_status_of_stdout(EXIT_STATUS_OK);
	}
	p = run_files_read(&o, o.paths[0]);
	if (!p)
		return EXIT_STATUS_FAILED;
	opts.sort = o.sort;
	opts.top = o.top;
	opts.shows_label = o.label != NULL;
	opts.is_verbose = o.verbose;
	report_print_file(pa_profile_summary(p), &opts, stdout);
	pa_profile_free(p);
	return exit_status_of_stdout(EXIT_STATUS_OK);
}

static int write_json(const struct pa_profile *p, const struct file_options *o,
		      const struct pa_file_options *opts)
{
	_cleanup_(freep) char *text = NULL;
	struct pa_error err = { 0 };
	struct pa_file *file = NULL;
	int r = report_json(pa_profile_summary(p), NULL, &text);

	if (r == -E2BIG)
		(void)snprintf(err.text, sizeof(err.text),
			       "the summary of '%s' has more than %u MiB of names; convert it to "
			       "another format",
			       o->paths[0], REPORT_JSON_MAX_BYTES >> 20); /* may be truncated */
	if (r == 0)
		r = pa_file_open(o->output, opts, &file, &err);
	if (r == 0)
		r = pa_file_save(file, text, strlen(text), &err);
	pa_file_free(file);
	return r < 0 ? run_files_failed(r, &err) : EXIT_STATUS_OK;
}

static int write_profile(const struct pa_profile *p, const struct file_options *o,
			 const struct pa_file_options *opts)
{
	const char *format = strcmp(o->format, "html") ? o->format : "flamegraph";
	const struct pa_output output = { sizeof(output), format, o->output, NULL };
	struct pa_error err = { 0 };
	int r = pa_profile_write(p, &output, opts, &err);

	return r < 0 ? run_files_failed(r, &err) : EXIT_STATUS_OK;
}

int run_convert(int argc, char *argv[])
{
	const struct pa_file_options opts = run_files_owned();
	struct file_options o;
	struct pa_profile *p;
	int status;

	if (file_options_convert(argc, argv, &o) < 0)
		return EXIT_STATUS_USAGE;
	if (o.action == OPTIONS_HELP) {
		file_options_help("convert", stdout);
		return exit_status_of_stdout(EXIT_STATUS_OK);
	}
	p = run_files_read(&o, o.paths[0]);
	if (!p)
		return EXIT_STATUS_FAILED;
	status = strcmp(o.format, "json") ? write_profile(p, &o, &opts) : write_json(p, &o, &opts);
	pa_profile_free(p);
	return status;
}
