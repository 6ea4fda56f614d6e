/* SPDX-License-Identifier: Apache-2.0 */
/* What is said to help does: by the runtime, and nothing where nothing helps. */
#include <string.h>

#include "agent/cures.h"
#include "tap.h"

static bool has(const char *cure, const char *text)
{
	return cure && strstr(cure, text);
}

static void test_runtimes(void)
{
	static const struct {
		const char *path, *names, *stacks; /* NULL: there is none */
	} cases[] = {
		{ "/usr/lib/jvm/java-17/lib/server/libjvm.so", "jcmd PID Compiler.perfmap",
		  "-XX:+PreserveFramePointer" },
		{ "/usr/bin/node", "--perf-basic-prof", NULL },
		{ "/usr/lib/x86_64-linux-gnu/libnode.so.108", "--perf-basic-prof", NULL },
		{ "/home/me/.deno/bin/deno", "--v8-flags=--perf-basic-prof", NULL },
		{ "/usr/share/dotnet/shared/libcoreclr.so", "DOTNET_PerfMapEnabled=1", NULL },
		{ "/usr/lib/erlang/erts-13/bin/beam.smp", "+JPperf true", NULL },
		{ "/usr/lib/php/20220829/opcache.so", "opcache.jit_debug", NULL },
	};
	static const char *const others[] = {
		"/usr/bin/luajit",
		"/usr/lib/libruby-3.1.so.3.1",
		"/usr/bin/mono-sgen",
		"/usr/bin/racket",
		"/usr/lib/libguile-3.0.so.1",
		"/usr/bin/qemu-x86_64",
		"/usr/bin/python3.12",
		"/usr/lib/libpython3.12.so.1.0",
		"/usr/bin/nodejs-not",
		"/opt/node/x",
		"",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *runtime = cure_runtime_of_file(cases[i].path);
		const char *stacks = cure_for_generated_code(runtime);

		ok(runtime && has(cure_for_names(runtime), cases[i].names) &&
			   (cases[i].stacks ? has(stacks, cases[i].stacks) : !stacks),
		   "%s", cases[i].path);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ok(!cure_runtime_of_file(others[i]), "no cure is known by %s", others[i]);
	ok(!cure_for_names(NULL) && !cure_for_generated_code(NULL), "nor for an unknown runtime");
}

static void test_files(void)
{
	ok(has(cure_for_file("/home/me/app", false), "-fasynchronous-unwind-tables") &&
		   has(cure_for_file("/usr/local/bin/app", false), "-fno-omit-frame-pointer"),
	   "a program that somebody built can be built otherwise");
	ok(!cure_for_file("/usr/lib/x86_64-linux-gnu/libc.so.6", false) &&
		   !cure_for_file("/lib/libgmp.so.10", false) &&
		   !cure_for_file("/usr/bin/app", false),
	   "one of the distribution cannot");
	ok(!cure_for_file("/home/me/.deno/bin/deno", false) && !cure_for_file("/opt/bun", false),
	   "nor can a runtime that comes as a binary");
	ok(!cure_for_file("/home/me/app", true), "code with a stack of its own has no cure");
	ok(!cure_for_file("[vdso]", false), "nor has what is no file");
}

static void test_pid(void)
{
	char text[CURE_SIZE];
	const char *cure = cure_for_names("libjvm.so");

	ok(has(cure_fill_pid(cure, 4242, text), "jcmd 4242 Compiler.perfmap"),
	   "the PID is filled in");
	ok(has(text, "JDK 17 or later)"), "and nothing is cut off");
	ok(has(cure_fill_pid(cure, 0, text), "jcmd PID"), "unless it is not known");
	ok(!cure_fill_pid(NULL, 1, text), "no cure stays none");
	ok(has(cure_fill_pid("start it", 1, text), "start it"), "one without a PID stays as it is");
}

int main(void)
{
	test_runtimes();
	test_files();
	test_pid();
	return tap_done();
}
