/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wait_code.h"

#include <string.h>

#include "digest/python_use.h"
#include "model/model_waits.h"

#define NR(list) (sizeof(list) / sizeof((list)[0]))

/* By prefix of a file's name. */
static const struct {
	const char *begin;
	enum wait_code code;
} files[] = {
	{ "libc.so.", WAIT_CODE_SYSTEM },    { "libc-", WAIT_CODE_SYSTEM },
	{ "libpthread", WAIT_CODE_SYSTEM },  { "ld-linux", WAIT_CODE_SYSTEM },
	{ "ld-musl", WAIT_CODE_SYSTEM },     { "libstdc++.so", WAIT_CODE_RUNTIME },
	{ "libc++.so", WAIT_CODE_RUNTIME },  { "libuv.so", WAIT_CODE_RUNTIME },
	{ "libjvm.so", WAIT_CODE_RUNTIME },  { "libjli.so", WAIT_CODE_RUNTIME },
	{ "libjava.so", WAIT_CODE_RUNTIME }, { "libnio.so", WAIT_CODE_RUNTIME },
	{ "libnet.so", WAIT_CODE_RUNTIME },
};

/* By prefixes of a function's symbol and name; the first match counts. C++ is matched by symbol,
 * because the name of a template begins with its return type. */
static const struct {
	const char *symbol, *name;
	enum wait_code code;
} functions[] = {
	/* Go */
	{ "", "runtime.futex", WAIT_CODE_SYSTEM },
	{ "", "runtime.notesleep", WAIT_CODE_SYSTEM },
	{ "", "runtime.notetsleep", WAIT_CODE_SYSTEM },
	{ "", "runtime.mPark", WAIT_CODE_SYSTEM },
	{ "", "runtime.usleep", WAIT_CODE_SYSTEM },
	{ "", "internal/runtime/syscall", WAIT_CODE_SYSTEM },
	{ "", "runtime.", WAIT_CODE_RUNTIME },
	{ "", "runtime/", WAIT_CODE_RUNTIME },
	{ "", "internal/", WAIT_CODE_RUNTIME },
	{ "", "syscall.", WAIT_CODE_RUNTIME },
	/* Rust: either mangling */
	{ "_ZN3std3sys", "", WAIT_CODE_SYSTEM },
	{ "_R", "std::sys::", WAIT_CODE_SYSTEM },
	{ "_R", "<std::sys::", WAIT_CODE_SYSTEM },
	{ "_ZN3std", "", WAIT_CODE_RUNTIME },
	{ "_ZN4core", "", WAIT_CODE_RUNTIME },
	{ "_ZN5alloc", "", WAIT_CODE_RUNTIME },
	{ "_ZN", "<std::", WAIT_CODE_RUNTIME },
	{ "_ZN", "<core::", WAIT_CODE_RUNTIME },
	{ "_ZN", "<alloc::", WAIT_CODE_RUNTIME },
	{ "_R", "std::", WAIT_CODE_RUNTIME },
	{ "_R", "core::", WAIT_CODE_RUNTIME },
	{ "_R", "alloc::", WAIT_CODE_RUNTIME },
	{ "_R", "<std::", WAIT_CODE_RUNTIME },
	{ "_R", "<core::", WAIT_CODE_RUNTIME },
	{ "_R", "<alloc::", WAIT_CODE_RUNTIME },
	{ "_R", "<&dyn core::", WAIT_CODE_RUNTIME },
	{ "_R", "<dyn core::", WAIT_CODE_RUNTIME },
	/* C++, of either library: templates in the program */
	{ "_ZNSt", "", WAIT_CODE_RUNTIME },
	{ "_ZNKSt", "", WAIT_CODE_RUNTIME },
	{ "_ZSt", "", WAIT_CODE_RUNTIME },
	{ "", "__gthread_", WAIT_CODE_RUNTIME },
	/* libuv, linked into its user */
	{ "uv_", "", WAIT_CODE_RUNTIME },
};

/* How a Java VM waits. */
static const char *const java_waits[] = {
	"_ZN2os", "_ZN7Monitor", "_ZN14PosixSemaphore", "_ZN6Parker", "_ZN13ObjectMonitor",
};

/* Generated code: methods that wait for others, and code that has no name of its own. */
static const char *const java_methods[] = {
	"Interpreter",
	"StubRoutines",
	"java.lang.Object.wait",
	"java.lang.Thread.sleep",
	"java.util.concurrent.locks.",
	"jdk.internal.misc.Unsafe.park",
	"sun.misc.Unsafe.park",
};

static bool begins_with(const char *s, const char *begin)
{
	return strncmp(s, begin, strlen(begin)) == 0;
}

static bool begins_with_one_of(const char *s, const char *const *begins, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (begins_with(s, begins[i]))
			return true;
	return false;
}

/* For "void java.lang.Object.wait(long)": the return type is not part of the name. */
static enum wait_code code_of_method(const char *name)
{
	const char *space = strchr(name, ' '), *method = space ? space + 1 : name;

	return begins_with_one_of(name, java_methods, NR(java_methods)) ||
			       begins_with_one_of(method, java_methods, NR(java_methods))
		       ? WAIT_CODE_RUNTIME
		       : WAIT_CODE_OWN;
}

enum wait_code wait_code_of(enum profile_mapping_kind kind, const char *path, const char *symbol,
			    const char *name)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	unsigned int unused;

	if (kind == PROFILE_MAPPING_KERNEL)
		return model_is_scheduler(name) ? WAIT_CODE_SCHEDULER : WAIT_CODE_SYSTEM;
	if (kind == PROFILE_MAPPING_VDSO)
		return WAIT_CODE_SYSTEM;
	if (kind == PROFILE_MAPPING_JIT)
		return code_of_method(name);
	if (begins_with(base, "libjvm.so") &&
	    begins_with_one_of(symbol, java_waits, NR(java_waits)))
		return WAIT_CODE_SYSTEM;
	if (!strcmp(symbol, "_start"))
		return WAIT_CODE_SYSTEM;
	if (python_is_interpreter(path, &unused))
		return WAIT_CODE_INTERPRETER;
	for (size_t i = 0; i < NR(files); i++)
		if (begins_with(base, files[i].begin))
			return files[i].code;
	for (size_t i = 0; i < NR(functions); i++)
		if (begins_with(symbol, functions[i].symbol) &&
		    begins_with(name, functions[i].name))
			return functions[i].code;
	return WAIT_CODE_OWN;
}
