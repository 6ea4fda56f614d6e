/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

static void beside(const char *path, const char *expected)
{
	char *got = path_beside(path, "off-cpu");

	ok(got && strcmp(got, expected) == 0, "beside '%s' is '%s'", path, got ? got : "nothing");
	free(got);
}

static void dir(const char *path, const char *expected)
{
	char *got = path_dir(path);

	ok(got && strcmp(got, expected) == 0, "'%s' is in '%s'", path, got ? got : "nothing");
	free(got);
}

static void label(const char *name, const char *expected)
{
	size_t n = path_label_bytes(name);

	ok(n == strlen(expected) && strncmp(name, expected, n) == 0,
	   "'%s' is called '%s' for short", name, expected);
}

int main(void)
{
	beside("out.pb.gz", "out-off-cpu.pb.gz");
	beside("/a.b/c.d/out.pb.gz", "/a.b/c.d/out-off-cpu.pb.gz");
	beside("d/out", "d/out-off-cpu");
	beside("d.x/out", "d.x/out-off-cpu");
	beside(".hidden", ".hidden-off-cpu");
	beside(".hidden.gz", ".hidden-off-cpu.gz");
	beside("d/", "d/-off-cpu");
	beside("", "-off-cpu");
	dir("a", ".");
	dir("/a", "/");
	dir("/b/a", "/b");
	ok(strcmp(path_name("/b/a"), "a") == 0 && strcmp(path_name("a/"), "") == 0,
	   "the base name follows the last slash");
	label("libz.so.1.2.13", "libz");
	label("libz.so", "libz");
	label("node", "node");
	label("my.sound", "my.sound");
	label("my.sound.so.1", "my.sound");
	label(".so", ".so");
	label("", "");
	return tap_done();
}
