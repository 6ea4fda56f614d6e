/* SPDX-License-Identifier: Apache-2.0 */
/* Advice by runtime and by file, and none where nothing helps. */
#include <string.h>

#include "names/advice.h"
#include "tap.h"

static bool has(const char *advice, const char *text)
{
	return advice && strstr(advice, text);
}

static void test_runtimes(void)
{
	static const struct {
		const char *path, *symbols, *stacks; /* NULL: no advice */
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
		const char *runtime = advice_runtime_of_file(cases[i].path);
		const char *stacks = advice_for_jit_stacks(runtime);

		ok(runtime && has(advice_for_symbols(runtime), cases[i].symbols) &&
			   (cases[i].stacks ? has(stacks, cases[i].stacks) : !stacks),
		   "advice: symbols and stacks of %s", cases[i].path);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ok(!advice_runtime_of_file(others[i]), "advice: none for %s", others[i]);
	ok(!advice_for_symbols(NULL) && !advice_for_jit_stacks(NULL),
	   "advice: none for an unknown runtime");
}

static void test_files(void)
{
	ok(has(advice_for_file("/home/me/app", false), "-fasynchronous-unwind-tables") &&
		   has(advice_for_file("/usr/local/bin/app", false), "-fno-omit-frame-pointer"),
	   "advice: rebuild a program of the user's own");
	ok(!advice_for_file("/usr/lib/x86_64-linux-gnu/libc.so.6", false) &&
		   !advice_for_file("/lib/libgmp.so.10", false) &&
		   !advice_for_file("/usr/bin/app", false),
	   "advice: none for a file of the distribution");
	ok(!advice_for_file("/home/me/.deno/bin/deno", false) &&
		   !advice_for_file("/opt/bun", false),
	   "advice: none for a runtime that is shipped as a binary");
	ok(!advice_for_file("/home/me/app", true),
	   "advice: none for code that switches to a stack of its own");
	ok(!advice_for_file("[vdso]", false), "advice: none for the vDSO");
}

static void test_pid(void)
{
	char text[ADVICE_SIZE];
	const char *advice = advice_for_symbols("libjvm.so");

	ok(has(advice_fill_pid(advice, 4242, text), "jcmd 4242 Compiler.perfmap"),
	   "advice: the PID is filled in");
	ok(has(text, "DumpPerfMapAtExit"), "advice: the text behind the PID is kept");
	ok(has(advice_fill_pid(advice, 0, text), "jcmd PID"),
	   "advice: an unknown PID stays \"PID\"");
	ok(!advice_fill_pid(NULL, 1, text), "advice: no advice stays none when a PID is filled in");
	ok(has(advice_fill_pid("start it", 1, text), "start it"),
	   "advice: a text without \"PID\" stays as it is");
}

int main(void)
{
	test_runtimes();
	test_files();
	test_pid();
	return tap_done();
}
