/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cures.h"

#include <stdio.h>
#include <string.h>

enum problem {
	NO_NAMES,
	TRUNCATED,
};

/*
 * By a file that only this runtime maps: its own library, or its program. Each is one that was seen to
 * help. Runtimes that are not here have no switch that does: LuaJIT, Ruby, Mono, Racket, Guile, qemu,
 * and numba or wasmtime inside of CPython, which itself generates code with -X perf alone.
 */
static const struct {
	const char *file;
	enum problem problem;
	const char *text;
} cures[] = {
	{ "libjvm.so", NO_NAMES,
	  "jcmd PID Compiler.perfmap while it is profiled, or start java with "
	  "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit (JDK 17 or later)" },
	{ "libjvm.so", TRUNCATED, "start java with -XX:+PreserveFramePointer" },
	{ "node", NO_NAMES, "start node with --perf-basic-prof" },
	{ "libnode.so", NO_NAMES, "start node with --perf-basic-prof" },
	{ "deno", NO_NAMES, "start deno with --v8-flags=--perf-basic-prof" },
	{ "libcoreclr.so", NO_NAMES, "set DOTNET_PerfMapEnabled=1" },
	{ "beam.smp", NO_NAMES, "start erl with +JPperf true" },
	{ "opcache.so", NO_NAMES, "start php with -d opcache.jit_debug=0x10" },
};

#define NR_CURES (sizeof(cures) / sizeof(cures[0]))

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "libnode.so" is "libnode.so.108" as well. */
static bool is_file(const char *path, const char *name)
{
	const char *base = base_name(path);
	size_t n = strlen(name);

	return strncmp(base, name, n) == 0 && (base[n] == '\0' || base[n] == '.');
}

const char *cure_runtime_of_file(const char *path)
{
	for (size_t i = 0; i < NR_CURES; i++)
		if (is_file(path, cures[i].file))
			return cures[i].file;
	return NULL;
}

static const char *find_cure(const char *runtime, enum problem problem)
{
	for (size_t i = 0; runtime && i < NR_CURES; i++)
		if (cures[i].problem == problem && strcmp(cures[i].file, runtime) == 0)
			return cures[i].text;
	return NULL;
}

const char *cure_for_names(const char *runtime)
{
	return find_cure(runtime, NO_NAMES);
}

const char *cure_for_generated_code(const char *runtime)
{
	return find_cure(runtime, TRUNCATED);
}

/* Whoever profiles did not build it: a distribution's files, and runtimes that come as binaries. */
static bool is_shipped(const char *path)
{
	static const char *const directories[] = { "/usr/lib", "/usr/bin/", "/usr/sbin/", "/lib",
						   "/bin/",    "/sbin/",    "/snap/",     "/nix/" };
	static const char *const programs[] = { "deno", "bun", "node" };

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		if (strncmp(path, directories[i], strlen(directories[i])) == 0)
			return true;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (is_file(path, programs[i]))
			return true;
	return false;
}

const char *cure_for_file(const char *path, bool has_own_stack)
{
	if (path[0] != '/' || has_own_stack || is_shipped(path))
		return NULL;
	return "build that code with -fasynchronous-unwind-tables or -fno-omit-frame-pointer";
}

const char *cure_fill_pid(const char *text, pid_t pid, char *to)
{
	const char *at = text ? strstr(text, "PID") : NULL;

	if (!at || pid <= 0)
		return text;
	(void)snprintf(to, CURE_SIZE, "%.*s%d%s", (int)(at - text), text, (int)pid, at + 3);
	return to;
}
