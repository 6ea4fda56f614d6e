/* SPDX-License-Identifier: Apache-2.0 */
#include "http/listen_address.h"

#include <errno.h>

#include "tap.h"

/* expected: of TCP as listen_address_text() prints it, "unix PATH", or why it is refused. */
static void check(const char *text, const char *expected, bool is_loopback, const char *what)
{
	struct listen_address a = { 0 };
	char found[LISTEN_ADDRESS_TEXT_SIZE + 8];
	const char *why = "";

	if (listen_address_parse(text, &a, &why) < 0)
		(void)snprintf(found, sizeof(found), "%s", why);
	else if (a.path)
		(void)snprintf(found, sizeof(found), "unix %s", a.path);
	else
		listen_address_text(&a.addr.any, found);
	ok(!strcmp(found, expected) && a.is_loopback == is_loopback, "address: %s: '%s' gives '%s'",
	   what, text, found);
}

static void test_accepted(void)
{
	check("9090", "127.0.0.1:9090", true, "a port alone is one of this machine");
	check(":9090", "127.0.0.1:9090", true, "a port behind a colon is one of this machine");
	check("0", "127.0.0.1:0", true, "port 0 is allowed");
	check("localhost:65535", "127.0.0.1:65535", true, "localhost is known");
	check("127.8.0.1:1", "127.8.0.1:1", true, "all of 127.0.0.0/8 is loopback");
	check("0.0.0.0:9090", "0.0.0.0:9090", false, "all addresses only if they are given");
	check("192.0.2.1:9090", "192.0.2.1:9090", false, "an address of the machine");
	check("[::1]:9090", "[::1]:9090", true, "IPv6 in brackets");
	check("[::]:9090", "[::]:9090", false, "every IPv6 address");
	check("unix:agent.sock", "unix agent.sock", false, "a relative path with its prefix");
	check("/run/agent.sock", "unix /run/agent.sock", false, "an absolute path");
	check("./9090", "unix ./9090", false, "a path with a slash");
}

static void test_refused(void)
{
	const char *port = "does not end with a port from 0 to 65535";
	const char *name = "names a host, and names are not looked up";

	check("", "is empty", false, "nothing is not an address");
	check("unix:", "has no path", false, "the prefix alone is not an address");
	check("65536", port, false, "a port is at most 65535");
	check("999999999999", port, false, "a long number does not wrap around");
	check("127.0.0.1", port, false, "a port is required");
	check("127.0.0.1:", port, false, "a port has digits");
	check("127.0.0.1:90x", port, false, "a port has digits alone");
	check("-1", port, false, "a port is not negative");
	check("::1:9090", "has an IPv6 address without brackets", false, "brackets are required");
	check("[::1", "has an IPv6 address without brackets", false,
	      "a bracket that is not closed is none");
	check("[127.0.0.1]:1", "is not an IPv6 address", false, "IPv4 needs no brackets");
	check("example.org:9090", name, false, "names are not looked up");
	check("127.0.0.256:9090", name, false, "a byte of an address is at most 255");
	check("1111111111111111111111111111111111111111111111111111111111111111111:1",
	      "is too long for an address", false, "a long host is refused");
}

int main(void)
{
	test_accepted();
	test_refused();
	return tap_done();
}
