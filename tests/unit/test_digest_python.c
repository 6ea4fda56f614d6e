/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes ran CPython, and whether functions of their scripts are shown. */
#include "digest/python_use.h"
#include "model.h"

static void test_files(void)
{
	static const struct {
		const char *path;
		unsigned int minor;
	} interpreters[] = {
		{ "/usr/bin/python3.11", 11 },
		{ "/opt/python/bin/python3.12d", 12 },
		{ "/usr/bin/python3.13t", 13 },
		{ "/usr/lib/x86_64-linux-gnu/libpython3.9.so.1.0", 9 },
		{ "libpython3.12d.so.1.0", 12 },
		{ "/venv/bin/python3", 0 },
		{ "/venv/bin/python", 0 },
	};
	static const char *const others[] = { "/usr/bin/python3-config",  "/usr/bin/pythonize",
					      "/usr/lib/libpython3.11.a", "/usr/bin/python3.11-app",
					      "/usr/bin/mypython3.11",    "/usr/lib/libc.so.6",
					      "/usr/bin/python3.11/x",    "" };
	unsigned int minor;

	for (size_t i = 0; i < sizeof(interpreters) / sizeof(interpreters[0]); i++)
		ok(python_is_interpreter(interpreters[i].path, &minor) &&
			   minor == interpreters[i].minor,
		   "python: %s is version 3.%u", interpreters[i].path, interpreters[i].minor);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ok(!python_is_interpreter(others[i], &minor), "python: '%s' is not one", others[i]);
}

static const struct python_process *of_pid(const struct python_process *all, uint32_t nr, pid_t pid)
{
	for (uint32_t i = 0; i < nr; i++)
		if (all[i].pid == pid)
			return &all[i];
	return NULL;
}

static bool is(const struct python_process *p, unsigned int minor, bool shows_script,
	       uint64_t nr_samples)
{
	return p && p->minor == minor && p->shows_script == shows_script &&
	       p->nr_samples == nr_samples;
}

static void test_processes(void)
{
	struct profile *p = model_empty();
	uint32_t old = model_mapping(p, "/usr/bin/python3.11", 1, 0x1000, 0x1000);
	uint32_t new = model_mapping(p, "/usr/lib/libpython3.12.so.1.0", 2, 0x3000, 0x1000);
	uint32_t libc = model_mapping(p, "/usr/lib/libc.so.6", 3, 0x5000, 0x1000);
	uint32_t eval11 = model_location(p, old, 0x1001, "_PyEval_EvalFrameDefault");
	uint32_t eval12 = model_location(p, new, 0x3001, "_PyEval_EvalFrameDefault");
	uint32_t script = model_location(p, libc, 0x5001, "py::handle:/srv/app.py");
	uint32_t write = model_location(p, libc, 0x5002, "write");
	struct python_process *found = NULL;
	uint32_t nr = 0;

	model_add(p, (uint32_t[]){ write, eval11 }, 2, model_labels(p, "gunicorn", 11), 3);
	model_add(p, &eval11, 1, model_labels(p, "gunicorn", 11), 4);
	model_add(p, &eval11, 1, model_labels(p, "gunicorn", 12), 1);
	model_add(p, (uint32_t[]){ eval12, script, eval12 }, 3, model_labels(p, "py", 21), 5);
	model_add(p, &eval12, 1, model_labels(p, "py", 21), 5);
	model_add(p, &eval12, 1, model_labels(p, "py", 22), 6);
	model_add(p, &write, 1, model_labels(p, "sh", 31), 9);
	must(python_processes(p, &found, &nr) == 0);
	ok(nr == 4 && !of_pid(found, nr, 31),
	   "python: processes without an interpreter are not listed");
	ok(is(of_pid(found, nr, 11), 11, false, 7),
	   "python: samples with the interpreter anywhere on the stack");
	ok(is(of_pid(found, nr, 12), 11, false, 1), "python: each process by itself");
	ok(is(of_pid(found, nr, 21), 12, true, 10),
	   "python: one function of a script shows that -X perf is on");
	ok(is(of_pid(found, nr, 22), 12, false, 6),
	   "python: another process of that version may lack it");
	free(found);
	profile_free(p);
}

int main(void)
{
	test_files();
	test_processes();
	return tap_done();
}
