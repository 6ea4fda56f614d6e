/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/hotspot.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "proc/procfs.h"

#define LIBRARY "libjvm.so"
#define OPTION_ON "-XX:+PreserveFramePointer"
#define OPTION_OFF "-XX:-PreserveFramePointer"
#define TEXT_MAX_BYTES (256u << 10)

bool hotspot_is_library(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && strcmp(slash + 1, LIBRARY) == 0;
}

/* prefix of VM options in javac, jshell and others */
#define PREFIX_OF_TOOLS "-J"

static bool is_option(const char *word, size_t n, const char *option)
{
	if (n > 2 && strncmp(word, PREFIX_OF_TOOLS, 2) == 0) {
		word += 2;
		n -= 2;
	}
	return n == strlen(option) && strncmp(word, option, n) == 0;
}

/* Words end at white space. */
static void scan_words(const char *text, size_t len, bool *keeps)
{
	for (size_t at = 0; at < len;) {
		size_t n = strcspn(text + at, " \t\n");

		if (is_option(text + at, n, OPTION_ON))
			*keeps = true;
		else if (is_option(text + at, n, OPTION_OFF))
			*keeps = false;
		at += n + 1;
	}
}

/* Scans the variable `name` of the environment ("NAME="). */
static void scan_variable(const char *environ, size_t len, const char *name, bool *keeps)
{
	for (size_t at = 0; at < len; at += strnlen(environ + at, len - at) + 1)
		if (strncmp(environ + at, name, strlen(name)) == 0)
			scan_words(environ + at + strlen(name), strlen(environ + at) - strlen(name),
				   keeps);
}

bool hotspot_options_keep_records(const char *cmdline, size_t cmdline_len, const char *environ,
				  size_t environ_len)
{
	bool keeps = false;

	scan_variable(environ, environ_len, "JDK_JAVA_OPTIONS=", &keeps);
	scan_variable(environ, environ_len, "JAVA_TOOL_OPTIONS=", &keeps);
	for (size_t at = 0; at < cmdline_len; at += strnlen(cmdline + at, cmdline_len - at) + 1)
		scan_words(cmdline + at, strlen(cmdline + at), &keeps);
	scan_variable(environ, environ_len, "_JAVA_OPTIONS=", &keeps);
	return keeps;
}

/* Reads strings, truncated at the last complete one. */
static void read_strings(const struct procfs *p, pid_t pid, const char *name, struct buf *to)
{
	if (procfs_read(p, pid, name, TEXT_MAX_BYTES, to) < 0)
		to->len = 0;
	while (to->len && to->data[to->len - 1])
		to->len--;
}

bool hotspot_keeps_records(const struct procfs *p, pid_t pid)
{
	_cleanup_(buf_done) struct buf cmdline = BUF_INIT(TEXT_MAX_BYTES + 1);
	_cleanup_(buf_done) struct buf environ = BUF_INIT(TEXT_MAX_BYTES + 1);

	read_strings(p, pid, "cmdline", &cmdline);
	read_strings(p, pid, "environ", &environ);
	return hotspot_options_keep_records(cmdline.data, cmdline.len, environ.data, environ.len);
}
