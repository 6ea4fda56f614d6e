/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/hotspot.h"
#include "tap.h"

#define ON "-XX:+PreserveFramePointer"
#define OFF "-XX:-PreserveFramePointer"
#define KEEPS(cmdline, environ)                                                                    \
	hotspot_options_keep_records(cmdline, sizeof(cmdline), environ, sizeof(environ))

int main(void)
{
	ok(hotspot_is_library("/usr/lib/jvm/lib/server/libjvm.so"),
	   "the JVM's library is recognized");
	ok(!hotspot_is_library("/tmp/notlibjvm.so") && !hotspot_is_library("libjvm"),
	   "other libraries are not recognized");
	ok(KEEPS("java\0" ON "\0Main", "HOME=/"), "the option among the arguments counts");
	ok(KEEPS("javac\0-J" ON "\0Main.java", "HOME=/") &&
		   !KEEPS("javac\0-J" ON "\0-J" OFF "\0Main.java", "HOME=/"),
	   "the option as passed on by Java tools counts");
	ok(!KEEPS("java\0Main", "HOME=/") && !KEEPS("java\0" ON "x\0Main", "HOME=/"),
	   "without the option, or with a longer name, it does not count");
	ok(!KEEPS("java\0" ON "\0" OFF "\0Main", "HOME=/"), "the last of two counts");
	ok(KEEPS("java\0Main", "JAVA_TOOL_OPTIONS=-Xmx1g " ON),
	   "the option in the environment counts");
	ok(!KEEPS("java\0" OFF "\0Main", "JDK_JAVA_OPTIONS=" ON),
	   "arguments override the environment");
	ok(KEEPS("java\0" OFF "\0Main", "A=b\0_JAVA_OPTIONS=" ON),
	   "_JAVA_OPTIONS overrides the arguments");
	ok(!KEEPS("java\0Main", "MY_JAVA_TOOL_OPTIONS=" ON), "other variables do not count");
	ok(!hotspot_options_keep_records(NULL, 0, NULL, 0), "unreadable data does not count");
	return tap_done();
}
