/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "proc/mountinfo.h"
#include "tap.h"

static bool is_mount(const char *line, uint64_t id, uint32_t minor, bool is_overlay)
{
	struct mount_line m = { 0 };

	return mountinfo_parse(line, strlen(line), &m) && m.id == id && m.minor == minor &&
	       m.is_overlay == is_overlay;
}

static void test_mountinfo(void)
{
	struct mount_line m;

	ok(is_mount("36 35 0:52 / /mnt rw,noatime master:1 shared:2 - overlay overlay rw,x=y", 36,
		    52, true),
	   "mountinfo: an overlay");
	ok(is_mount("36 35 98:0 / /mnt rw - ext4 /dev/root rw", 36, 0, false), "mountinfo: a disk");
	ok(is_mount("36 35 0:5 / /a\\040-\\040overlay rw - fuse x rw", 36, 5, false),
	   "mountinfo: a path that looks like an overlay");
	ok(is_mount("36 35 0:5 / /a rw - overlayx x rw", 36, 5, false),
	   "mountinfo: a longer type name");
	ok(!mountinfo_parse("36 35 0:5 / /a rw overlay x rw", 30, &m) &&
		   !mountinfo_parse("", 0, &m) && !mountinfo_parse("36 35 0:", 8, &m) &&
		   !mountinfo_parse("99999999999 1 0:5 / / rw - overlay", 34, &m),
	   "mountinfo: malformed lines");
}

int main(void)
{
	test_mountinfo();
	return tap_done();
}
