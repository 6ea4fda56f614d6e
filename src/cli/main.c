/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <perfagent/perfagent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/capture.h"
#include "cli/doctor.h"
#include "cli/exit_status.h"
#include "cli/options.h"

/* What is bigger comes from the kernel and goes back as soon as it is free: tables of a big library are
 * compiled in memory that nobody needs afterwards. By itself the C library learns to keep them. */
#define MMAP_THRESHOLD_BYTES (256 << 10)

/*
 * A file opened later must not land on a standard descriptor that the caller had closed. What stands
 * there instead is a directory, which can be neither written nor, through /proc, opened for writing:
 * output that was asked for there is still an error. The command does not inherit these.
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

int main(int argc, char *argv[])
{
	struct options o;

	if (pa_is_fetch(argc, argv)) /* a process of the library's own */
		return pa_fetch_main(argc, argv);
	if (!open_standard_fds()) {
		(void)fprintf(stderr, "perf-agent: cannot open '/': %s\n", strerror(errno));
		return EXIT_STATUS_FAILED;
	}
	(void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES); /* without it, it works as well */
	(void)setlocale(LC_CTYPE, ""); /* for the width of names only; the C locale will do */
	(void)setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* lines that do not mix with the command's */

	if (argc > 1 && !strcmp(argv[1], "doctor"))
		return doctor_main(argc - 1, argv + 1);
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
		return capture_main(&o);
	}
}
