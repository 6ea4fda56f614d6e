/* SPDX-License-Identifier: Apache-2.0 */
#include "names/advice.h"

#include <stdio.h>
#include <string.h>

enum problem {
	NO_SYMBOLS,
	TRUNCATED,
};

/*
 * A runtime is recognised by a file that only it maps: its library or its program. Each piece of advice
 * was tried. Runtimes that are missing here have no switch that helps: LuaJIT, Ruby, Mono, Racket,
 * Guile, qemu, and numba or wasmtime inside CPython, which itself generates code only with -X perf.
 */
static const struct {
	const char *file, *title;
	enum problem problem;
	const char *text;
} advice[] = {
	{ "libjvm.so", "java", NO_SYMBOLS,
	  "run jcmd PID Compiler.perfmap (JDK 17 or later) and profile again, or start java with "
	  "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit" },
	{ "libjvm.so", "java", TRUNCATED, "start java with -XX:+PreserveFramePointer" },
	{ "node", "node", NO_SYMBOLS, "start node with --perf-basic-prof" },
	{ "libnode.so", "node", NO_SYMBOLS, "start node with --perf-basic-prof" },
	{ "deno", "deno", NO_SYMBOLS, "start deno with --v8-flags=--perf-basic-prof" },
	{ "libcoreclr.so", ".NET", NO_SYMBOLS, "set DOTNET_PerfMapEnabled=1" },
	{ "beam.smp", "erlang", NO_SYMBOLS, "start erl with +JPperf true" },
	{ "opcache.so", "php", NO_SYMBOLS, "start php with -d opcache.jit_debug=0x10" },
};

#define NR_ADVICE (sizeof(advice) / sizeof(advice[0]))

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "libnode.so" also matches "libnode.so.108". */
static bool is_file(const char *path, const char *name)
{
	const char *base = base_name(path);
	size_t n = strlen(name);

	return strncmp(base, name, n) == 0 && (base[n] == '\0' || base[n] == '.');
}

const char *advice_runtime_of_file(const char *path)
{
	for (size_t i = 0; i < NR_ADVICE; i++)
		if (is_file(path, advice[i].file))
			return advice[i].file;
	return NULL;
}

const char *advice_runtime_title(const char *runtime)
{
	for (size_t i = 0; i < NR_ADVICE; i++)
		if (strcmp(advice[i].file, runtime) == 0)
			return advice[i].title;
	return runtime;
}

static const char *find_advice(const char *runtime, enum problem problem)
{
	for (size_t i = 0; runtime && i < NR_ADVICE; i++)
		if (advice[i].problem == problem && strcmp(advice[i].file, runtime) == 0)
			return advice[i].text;
	return NULL;
}

const char *advice_for_symbols(const char *runtime)
{
	return find_advice(runtime, NO_SYMBOLS);
}

const char *advice_for_jit_stacks(const char *runtime)
{
	return find_advice(runtime, TRUNCATED);
}

/* True for files that the user does not build: those of a distribution, and runtimes that are
 * shipped as binaries. */
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

const char *advice_for_file(const char *path, bool has_own_stack)
{
	if (path[0] != '/' || has_own_stack || is_shipped(path))
		return NULL;
	return "build that code with -fasynchronous-unwind-tables or -fno-omit-frame-pointer";
}

const char *advice_fill_pid(const char *text, pid_t pid, char *to)
{
	const char *at = text ? strstr(text, "PID") : NULL;

	if (!at || pid <= 0)
		return text;
	(void)snprintf(to, ADVICE_SIZE, "%.*s%d%s", (int)(at - text), text, (int)pid, at + 3);
	return to;
}
