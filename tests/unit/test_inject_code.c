/* SPDX-License-Identifier: Apache-2.0 */
/* The code that is placed in targets: a copy of it runs here, with functions of our own in place of
 * the interpreter's. So it needs nothing that a target does not have. */
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/page.h"
#include "tap.h"

#define CODE_BYTES 4096

static struct {
	int is_active, nr_calls, nr_references;
	int nr_errors_cleared;
	bool has_no_functions, refuses;
	char last_arg[16];
	inject_pending_fn pending;
	void *pending_arg;
	int flags;
} fake;

static char map_path[32]; /* not there before and after a test */
static char active_function, activate_function, deactivate_function, answer_none, answer_bool;

static void *interpreter_main(void)
{
	return &fake;
}

static int add_pending_call(void *interp, inject_pending_fn fn, void *arg, int flags)
{
	fake.pending = fn;
	fake.pending_arg = arg;
	fake.flags = flags;
	return interp == &fake ? 0 : -1;
}

static void *get_object(const char *name)
{
	if (fake.has_no_functions)
		return NULL;
	if (!strcmp(name, "is_stack_trampoline_active"))
		return &active_function;
	if (!strcmp(name, "activate_stack_trampoline"))
		return &activate_function;
	return !strcmp(name, "deactivate_stack_trampoline") ? &deactivate_function : NULL;
}

static void *call_function(void *callable, const char *format, ...)
{
	va_list args;

	fake.nr_calls++;
	if (callable == &active_function) {
		fake.nr_references++;
		return &answer_bool;
	}
	if (callable == &activate_function) {
		va_start(args, format);
		(void)snprintf(fake.last_arg, sizeof(fake.last_arg), "%s:%s", format,
			       va_arg(args, const char *));
		va_end(args);
		fake.is_active = 1;
		if (fake.refuses)
			return NULL;
	} else {
		fake.is_active = 0;
	}
	fake.nr_references++;
	return &answer_none;
}

static int is_true(void *object)
{
	return object == &answer_bool && fake.is_active;
}

static void dec_ref(void *object)
{
	fake.nr_references--;
}

static void clear_error(void)
{
	fake.nr_errors_cleared++;
}

/* The page as the agent fills it. */
static struct inject_page new_page(const unsigned char *code, enum inject_op op)
{
	struct inject_page p = {
		.op = op,
		.pid = getpid(),
		.interpreter_main = interpreter_main,
		.add_pending_call = add_pending_call,
		.get_object = get_object,
		.call_function = call_function,
		.is_true = is_true,
		.dec_ref = dec_ref,
		.clear_error = clear_error,
		.active_name = "is_stack_trampoline_active",
		.activate_name = "activate_stack_trampoline",
		.deactivate_name = "deactivate_stack_trampoline",
		.string_arg = "s",
		.backend = "perf",
	};

	memset(&fake, 0, sizeof(fake));
	(void)snprintf(p.map_path, sizeof(p.map_path), "%s", map_path);
	p.pending = (inject_pending_fn)(uintptr_t)(code + ((uintptr_t)inject_pending -
							   (uintptr_t)inject_code_begin));
	return p;
}

static void queue(const unsigned char *code, struct inject_page *p)
{
	void (*entry)(struct inject_page *) = (void (*)(struct inject_page *))(
		uintptr_t)(code + ((uintptr_t)inject_queue - (uintptr_t)inject_code_begin));

	entry(p);
}

static void test_queue(const unsigned char *code)
{
	struct inject_page p = new_page(code, INJECT_ACTIVATE);

	queue(code, &p);
	ok(p.is_queued == 1 && p.queue_result == 0 && fake.pending == p.pending &&
		   fake.pending_arg == &p && fake.flags == 0,
	   "the call is queued in the main interpreter, for any thread");
	ok(fake.nr_calls == 0 && p.result == INJECT_PENDING, "nothing is called at that point");
}

static void test_switching(const unsigned char *code)
{
	struct inject_page p = new_page(code, INJECT_ACTIVATE);
	int r = p.pending(&p);

	ok(r == 0 && p.result == INJECT_SWITCHED && fake.is_active, "it is switched on");
	ok(!strcmp(fake.last_arg, "s:perf"), "the backend is perf");
	ok(p.was_switched_by_us == 1, "the page says that the call switched it on");
	ok(fake.nr_references == 0, "no reference is leaked");
	p = new_page(code, INJECT_ACTIVATE);
	fake.is_active = 1;
	(void)p.pending(&p);
	ok(p.result == INJECT_UNCHANGED && fake.nr_calls == 1 && !p.was_switched_by_us,
	   "what is on already is not touched");
	p = new_page(code, INJECT_DEACTIVATE);
	fake.is_active = 1;
	p.was_switched_by_us = 1;
	(void)p.pending(&p);
	ok(p.result == INJECT_SWITCHED && !fake.is_active && fake.nr_references == 0 &&
		   !p.was_switched_by_us,
	   "it is switched off");
}

static void test_refusals(const unsigned char *code)
{
	struct inject_page p = new_page(code, INJECT_ACTIVATE);

	fake.refuses = true;
	ok(p.pending(&p) == 0 && p.result == INJECT_REFUSED && !fake.is_active &&
		   fake.nr_errors_cleared > 0,
	   "after an exception it is off, and no exception is left");
	p = new_page(code, INJECT_ACTIVATE);
	fake.has_no_functions = true;
	ok(p.pending(&p) == 0 && p.result == INJECT_MISSING,
	   "an interpreter without the functions");
	p = new_page(code, INJECT_ACTIVATE);
	p.is_cancelled = 1;
	ok(p.pending(&p) == 0 && p.result == INJECT_CANCELLED && fake.nr_calls == 0 &&
		   p.nr_done == 1,
	   "a cancelled call does nothing");
	p = new_page(code, INJECT_ACTIVATE);
	p.pid++;
	ok(p.pending(&p) == 0 && p.result == INJECT_FORKED && fake.nr_calls == 0,
	   "a call that a forked child inherited does nothing");
	p = new_page(code, INJECT_ACTIVATE);
	(void)p.pending(&p);
	(void)p.pending(&p);
	ok(p.result == INJECT_SWITCHED && p.nr_done == 2, "the first of two calls counts");
}

static bool is_refused(const unsigned char *code)
{
	struct inject_page p = new_page(code, INJECT_ACTIVATE);

	(void)p.pending(&p);
	return p.result == INJECT_FOREIGN_MAP && fake.nr_calls == 1 && !fake.is_active;
}

/* What may lie where the interpreter writes to, which it opens itself afterwards. */
static void test_maps(const unsigned char *code)
{
	struct inject_page p = new_page(code, INJECT_ACTIVATE);
	char other[sizeof(map_path) + 2];
	struct stat st;

	(void)unlink(map_path);
	(void)p.pending(&p);
	ok(p.result == INJECT_SWITCHED && stat(map_path, &st) == 0 && S_ISREG(st.st_mode) &&
		   (st.st_mode & 07777) == 0600,
	   "a perf map that is not there is made before, for the user alone");
	p = new_page(code, INJECT_ACTIVATE);
	(void)p.pending(&p);
	ok(p.result == INJECT_SWITCHED, "a perf map of its own does not matter");
	(void)snprintf(other, sizeof(other), "%s.2", map_path);
	ok(link(map_path, other) == 0 && is_refused(code), "a perf map with two names is refused");
	ok(unlink(map_path) == 0 && symlink(other, map_path) == 0 && is_refused(code),
	   "a perf map that is a link is refused");
	ok(unlink(other) == 0 && unlink(map_path) == 0 && mkfifo(map_path, 0666) == 0 &&
		   is_refused(code),
	   "a perf map that is a FIFO is refused, and nothing waits for its reader");
	ok(unlink(map_path) == 0 && mkdir(map_path, 0700) == 0 && is_refused(code) &&
		   rmdir(map_path) == 0,
	   "a perf map that is a directory is refused");
}

int main(void)
{
	size_t n = (size_t)(inject_code_end - inject_code_begin);
	unsigned char *code =
		mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ok(n > 0 && n <= CODE_BYTES, "the code fits into a page");
	memcpy(code, inject_code_begin, n);
	(void)mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC);
	__builtin___clear_cache((char *)code, (char *)code + n);
	(void)snprintf(map_path, sizeof(map_path), "/tmp/inject-%d.map", (int)getpid());
	test_queue(code);
	test_switching(code);
	test_refusals(code);
	test_maps(code);
	return tap_done();
}
