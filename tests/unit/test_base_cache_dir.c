/* SPDX-License-Identifier: Apache-2.0 */
/* Where things are kept between runs, and what they depend on. */
#include "base/cache_dir.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "names/kernel_key.h"
#include "tap.h"

static char top[] = "/tmp/test_agent_cache_dir.XXXXXX";
static char path[256];

static const char *below(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static bool default_is(const char *want)
{
	char *got = NULL;
	int r = cache_dir_default(&got);
	bool is = r == 0 && !strcmp(got, want);

	if (!is)
		printf("# %d, %s, not %s\n", r, got ? got : "nothing", want);
	free(got);
	return is;
}

static void test_default(void)
{
	char want[300];

	must(setenv("XDG_CACHE_HOME", top, 1) == 0);
	ok(default_is(below("perf-agent")), "$XDG_CACHE_HOME comes first");
	must(setenv("HOME", top, 1) == 0 && setenv("XDG_CACHE_HOME", "relative", 1) == 0);
	snprintf(want, sizeof(want), "%s/.cache/perf-agent", top);
	ok(default_is(geteuid() ? want : "/var/cache/perf-agent"),
	   "a relative $XDG_CACHE_HOME is ignored");
	if (geteuid() != 0) {
		tap_skip("needs root to give a directory away");
		return;
	}
	must(mkdir(below("foreign"), 0755) == 0 && chown(path, 12345, 12345) == 0);
	must(setenv("XDG_CACHE_HOME", path, 1) == 0);
	ok(default_is("/var/cache/perf-agent"), "a $XDG_CACHE_HOME of another user is ignored");
}

/* Whether it is refused with a sentence that has this in it. */
static bool is_refused(const char *what)
{
	struct pa_error err = { 0 };
	int r = cache_dir_prepare(path, &err);

	printf("# %s\n", err.text);
	return r < 0 && r == -err.code && strstr(err.text, what);
}

static void test_prepare(void)
{
	struct stat st;

	ok(cache_dir_prepare(below("a/b"), NULL) == 0 && stat(path, &st) == 0 &&
		   (st.st_mode & 0777) == 0700,
	   "the directory is created with its parents, and is private");
	ok(cache_dir_prepare(path, NULL) == 0, "the directory may already exist");
	must(chmod(path, 0770) == 0);
	ok(is_refused("others may write"), "a directory that others can write to is refused");
	must(symlink("a", below("link")) == 0);
	ok(cache_dir_prepare(path, NULL) == 0, "a link of our own is followed");
	must(fclose(fopen(below("file"), "we")) == 0);
	ok(is_refused("cannot use"), "a regular file is refused");
	below("file/dir");
	ok(is_refused("cannot use"), "a path that cannot be created is refused");
	if (geteuid() != 0) {
		tap_skip("needs root to give a directory away");
		return;
	}
	below("foreign");
	ok(is_refused("belongs to user 12345"), "a directory of another user is refused");
}

static uint64_t key_of(const char *modules)
{
	return kernel_key_of_modules(modules, strlen(modules));
}

static void test_modules(void)
{
	uint64_t key = key_of("a 1 0 - Live 0x10\nb 2 1 a, Live 0x20\n");

	ok(key == key_of("a 1 7 x,y, Live 0x10\nb 2 0 - Live 0x20\n"),
	   "the use count of a module does not change the key");
	ok(key != key_of("a 1 0 - Live 0x10\n"), "a removed module changes the key");
	ok(key != key_of("a 1 0 - Live 0x10\nb 2 1 a, Live 0x30\n"),
	   "another address changes the key");
	ok(key != key_of("a 1 0 - Live 0x10\nc 2 1 a, Live 0x20\n"),
	   "another name changes the key");
	ok(key != key_of("a 1 0 - Live 0x10\nb 2 1 a, Loading 0x20\n"),
	   "a module that is being loaded changes the key");
	ok(key_of("ab 1") != key_of("a b1") && key_of("") == key_of(""),
	   "fields are not confused with each other");
}

int main(void)
{
	char command[300];

	must(mkdtemp(top));
	test_default();
	test_prepare();
	test_modules();
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	must(system(command) == 0);
	return tap_done();
}
