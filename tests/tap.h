/* SPDX-License-Identifier: Apache-2.0 */
/* Test Anything Protocol: a test is a program that prints "ok" or "not ok" for each check. */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_nr, tap_failed;

/* A name is read alone in a log, so it begins with its topic: its own ("walk: …"), or that of its file. */
__attribute__((unused)) static void tap_topic(const char *file, const char *fmt)
{
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
	size_t word = strcspn(fmt, " :");

	if (fmt[word] == ':')
		return;
	if (strncmp(base, "test_", 5) == 0)
		base += 5;
	printf("%.*s: ", (int)strcspn(base, "."), base);
}

__attribute__((format(printf, 4, 5), unused)) static bool tap_ok(bool pass, const char *file,
								 int line, const char *fmt, ...)
{
	va_list ap;

	printf("%s %d - ", pass ? "ok" : "not ok", ++tap_nr);
	tap_topic(file, fmt);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	if (!pass) {
		tap_failed++;
		printf("# failed at %s:%d\n", file, line);
	}
	fflush(stdout);
	return pass;
}

/* ok(condition, "what holds, as a sentence that is understood alone", …) */
#define ok(cond, ...) tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)

/* For what the rest of a test cannot do without: set-up, not behaviour. */
#define must(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			printf("Bail out! %s:%d: %s\n", __FILE__, __LINE__, #cond);                \
			exit(99);                                                                  \
		}                                                                                  \
	} while (0)

__attribute__((unused)) static void tap_skip(const char *why)
{
	printf("ok %d # SKIP %s\n", ++tap_nr, why);
}

/* Last line of main(). */
__attribute__((unused)) static int tap_done(void)
{
	printf("1..%d\n", tap_nr);
	return tap_failed ? 1 : 0;
}

#endif
