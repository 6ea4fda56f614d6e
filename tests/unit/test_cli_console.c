/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/console.h"
#include "tap.h"

#define NR_WARNINGS 100

/* How many lines standard error gets for so many warnings. */
static int lines_of_warnings(unsigned int verbosity, bool quiet)
{
	int saved = dup(STDERR_FILENO), nr = 0;
	FILE *f = tmpfile();
	struct console c;

	must(f && saved >= 0 && dup2(fileno(f), STDERR_FILENO) >= 0);
	console_init(&c, quiet, verbosity, false);
	for (int i = 0; i < NR_WARNINGS; i++)
		console_log(&c, PA_LOG_WARN, "unwind: '/tmp/x': too large");
	must(dup2(saved, STDERR_FILENO) >= 0);
	(void)close(saved);
	rewind(f);
	for (int ch = getc(f); ch != EOF; ch = getc(f))
		nr += ch == '\n';
	(void)fclose(f);
	return nr;
}

/* Reads what a terminal shows until it has the text, or for a second. */
static bool shows(int terminal, const char *expected, char *text, size_t size)
{
	struct pollfd fd = { .fd = terminal, .events = POLLIN };
	size_t len = 0;

	text[0] = '\0';
	while (!strstr(text, expected) && len < size - 1 && poll(&fd, 1, 1000) > 0) {
		ssize_t n = read(terminal, text + len, size - 1 - len);

		if (n <= 0)
			break;
		len += (size_t)n;
		text[len] = '\0';
	}
	return strstr(text, expected) != NULL;
}

static void test_held_messages(void)
{
	static const char first[] = "perf-agent: warning: the first\r\n";
	int saved = dup(STDERR_FILENO), ours = posix_openpt(O_RDWR | O_NOCTTY), theirs;
	static char text[65536];
	struct console c;

	must(saved >= 0 && ours >= 0 && grantpt(ours) == 0 && unlockpt(ours) == 0);
	theirs = open(ptsname(ours), O_RDWR | O_NOCTTY);
	must(theirs >= 0 && dup2(theirs, STDERR_FILENO) >= 0);
	console_init(&c, false, 1, true);
	for (int i = 0; i < CONSOLE_MAX_HELD + 3; i++)
		console_log(&c, PA_LOG_WARN, i ? "x" : "the first");
	(void)fputs("command\n", stderr);
	ok(shows(ours, "command\r\n", text, sizeof(text)) && !strncmp(text, "command", 7),
	   "a command's terminal: no message while it has it");
	console_release(&c);
	ok(shows(ours, "perf-agent: 3 more messages\r\n", text, sizeof(text)),
	   "a command's terminal: messages that found no room are counted");
	ok(!strncmp(text, first, strlen(first)),
	   "a command's terminal: messages are shown when it is released");
	console_log(&c, PA_LOG_WARN, "late");
	ok(shows(ours, "late\r\n", text, sizeof(text)),
	   "a command's terminal: once released, messages are shown at once");
	must(dup2(saved, STDERR_FILENO) >= 0);
	(void)close(saved);
	(void)close(theirs);
	(void)close(ours);
}

int main(void)
{
	ok(lines_of_warnings(0, false) == 11, "ten warnings, and a line that there are more");
	ok(lines_of_warnings(1, false) == NR_WARNINGS, "--verbose: all warnings");
	ok(lines_of_warnings(0, true) == 0, "--quiet: no warning");
	test_held_messages();
	return tap_done();
}
