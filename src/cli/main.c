/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <perfagent/perfagent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "cli/exit_status.h"
#include "cli/options.h"
#include "cli/run_capture.h"
#include "cli/subcommands.h"
#include "fetch/fetch_main.h"

/* Larger blocks are mapped and returned to the kernel when they are freed: tables of a large
 * library are compiled in memory that is not needed afterwards. By default, glibc adapts its
 * threshold and keeps them. */
#define MMAP_THRESHOLD_BYTES (256 << 10)

/*
 * Prevents that a file opened later gets a standard descriptor that the caller had closed. A
 * directory takes its place, because it can be neither written nor, through /proc, opened for
 * writing: output to such a descriptor is still an error. The command does not inherit these.
 */
static bool open_standard_fds(void)
{
	int fd;

	do {
		fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* File capabilities are for captures. Subcommands that only work on files, possibly hostile ones,
 * have the capabilities of the caller: root keeps its own. */
static int run_subcommand(const struct subcommand *sub, int argc, char *argv[])
{
	if (!sub->is_privileged && geteuid() != 0 && !capabilities_give_up()) {
		(void)fprintf(stderr, "perf-agent: cannot give up capabilities: %s\n",
			      strerror(errno));
		return EXIT_STATUS_FAILED;
	}
	return sub->run(argc, argv);
}

int main(int argc, char *argv[])
{
	const struct subcommand *sub;
	struct options o;

	if (argc > 1 && !strcmp(argv[1], FETCH_COMMAND)) /* a helper process of the library */
		return fetch_main(argc, argv);
	if (!open_standard_fds()) {
		(void)fprintf(stderr, "perf-agent: cannot open '/': %s\n", strerror(errno));
		return EXIT_STATUS_FAILED;
	}
	(void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES); /* optional: saves memory */
	(void)setlocale(LC_CTYPE, ""); /* only for the width of names; the C locale suffices */
	(void)setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* whole lines */

	sub = argc > 1 ? subcommand_find(argv[1]) : NULL;
	if (sub)
		return run_subcommand(sub, argc - 1, argv + 1);
	if (argc == 1) {
		options_usage(stderr);
		(void)fputs("\nperf-agent --help lists all options.\n", stderr);
		return EXIT_STATUS_USAGE;
	}
	if (options_parse(argc, argv, &o) < 0)
		return EXIT_STATUS_USAGE;
	switch (o.action) {
	case OPTIONS_HELP:
		options_help(stdout);
		return exit_status_of_stdout(EXIT_STATUS_OK);
	case OPTIONS_VERSION:
		(void)printf("perf-agent %s\n", pa_version());
		return exit_status_of_stdout(EXIT_STATUS_OK);
	default:
		return run_capture(&o);
	}
}
