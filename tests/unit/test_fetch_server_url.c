/* SPDX-License-Identifier: Apache-2.0 */
/* URLs of debuginfod servers, right and wrong ones. */
#include <errno.h>
#include <perfagent/perfagent.h>
#include <string.h>
#include <unistd.h>

#include "agent/settings.h"
#include "fetch/server_url.h"
#include "tap.h"

static const char *const good[] = {
	"https://debuginfod.elfutils.org",
	"http://a",
	"http://a/",
	"http://a/path?query#part",
	"http://a?query",
	"http://127.0.0.1:8002",
	"http://localhost:1",
	"http://localhost:65535/x",
	"http://localhost:00080",
	"http://localhost:", /* RFC 3986: as if there were no colon */
	"http://[::1]",
	"http://[::1]:8002/x",
	"http://[2001:db8::7]/x",
	"http://[::ffff:192.0.2.1]:80",
	"http://[fe80::1%25eth0]:8002",
	"http://user@host",
	"http://user:word@host:8002/x",
	"http://user:@host",
	"http://user:word@[::1]:8002/x",
	"http://a/x@y:99999", /* of the path */
	"http://a?x@:0",
	"http://xn--bcher-kva.example/b\xc3\xbc",
	"file:///srv/debug",
	"file:///a:99999",
};

/* And what is said of them. */
static const struct {
	const char *url, *mistake;
} bad[] = {
	{ NULL, "begin" },
	{ "", "begin" },
	{ "example.org", "begin" },
	{ "ftp://a", "begin" },
	{ "HTTP//a", "begin" },
	{ "http:/a", "begin" },
	{ " http://a", "begin" },
	{ "xhttp://a", "begin" },
	{ "a://http://a", "begin" },
	{ "http://a http://b", "space" },
	{ "http://a/ ", "space" },
	{ "http://a\thttp://b", "control" },
	{ "http://a\n", "control" },
	{ "http://a\r", "control" },
	{ "http://a/\x01", "control" },
	{ "http://a/\x1b[31m", "control" },
	{ "http://a/\x7f", "control" },
	{ "file:///a b", "space" },
	{ "http://", "host" },
	{ "https:///x", "host" },
	{ "http://?x", "host" },
	{ "http://#x", "host" },
	{ "http://:8002", "host" },
	{ "http://user@", "host" },
	{ "http://user@/x", "host" },
	{ "http://user:word@:8002", "host" },
	{ "http://::1", "host" },
	{ "http://::1:8002", "host" },
	{ "http://<host>", "host" },
	{ "http://a\\b", "host" },
	{ "http://a]", "host" },
	{ "http://b\xc3\xbc", "host" },
	{ "http://user:w@rd@host", "host" }, /* %40 it is in a word */
	{ "http://a[::1]", "host" },
	{ "http://[::1", "IPv6" },
	{ "http://[::1/x]", "IPv6" },
	{ "http://[]", "IPv6" },
	{ "http://[]:80", "IPv6" },
	{ "http://[", "IPv6" },
	{ "http://[:::1]", "IPv6" },
	{ "http://[1.2.3.4]", "IPv6" },
	{ "http://[host]", "IPv6" },
	{ "http://[::1%]", "IPv6" },
	{ "http://[%eth0]", "IPv6" },
	{ "http://[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]", "IPv6" },
	{ "http://[::1]8002", "port" },
	{ "http://[::1]]", "port" },
	{ "http://[::1]:x", "port" },
	{ "http://[::1]:65536", "port" },
	{ "http://a:0", "port" },
	{ "http://a:000", "port" },
	{ "http://a:65536", "port" },
	{ "http://a:4295032832", "port" }, /* 0 in 16 and 32 bits */
	{ "http://a:18446744073709551696", "port" },
	{ "http://a:abc", "port" },
	{ "http://a:80x", "port" },
	{ "http://a:-1", "port" },
	{ "http://a:+80", "port" },
	{ "http://a:80:80", "port" },
	{ "http://a:b:80", "port" },
	{ "http://user@a:65536/x", "port" },
	{ "file://", "path" },
	{ "file:///", "path" },
	{ "file://host/x", "path" },
	{ "file://x", "path" },
};

static void test_good(void)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const char *mistake = server_url_mistake(good[i]);

		ok(!mistake, "'%s' is a URL%s%s", good[i], mistake ? ": " : "",
		   mistake ? mistake : "");
	}
}

static void test_bad(void)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *mistake = server_url_mistake(bad[i].url);

		ok(mistake && strstr(mistake, bad[i].mistake), "URL number %zu is refused: %s", i,
		   mistake ? mistake : "a refused URL has a reason");
	}
}

/* The library's own check is this one, and what it tells its callers as well. */
static void test_library(void)
{
	const char *urls[] = { "http://a", "http://a:65536" };
	pid_t self = getpid();
	struct pa_options opts = {
		.sz = sizeof(opts), .pids = &self, .nr_pids = 1, .debuginfod_urls = urls
	};
	struct pa_error err = { 0 };
	struct settings s;

	opts.nr_debuginfod_urls = 1;
	ok(settings_init(&s, &opts, &err) == 0, "a valid server is accepted");
	settings_done(&s);
	opts.nr_debuginfod_urls = 2;
	ok(settings_init(&s, &opts, &err) == -EINVAL &&
		   strstr(err.text, "pa_options.debuginfod_urls 'http://a:65536': its port"),
	   "an invalid server is refused with the option's name: %s", err.text);
	ok(!pa_url_mistake(urls[0]) && pa_url_mistake(urls[1]) == server_url_mistake(urls[1]),
	   "callers can check a URL in advance");
}

int main(void)
{
	test_good();
	test_bad();
	test_library();
	return tap_done();
}
