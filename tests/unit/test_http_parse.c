/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_request.h"

#include "tap.h"

#define HOST "Host: localhost\r\n"

static struct http_request parsed;

static enum http_status parse(const char *head)
{
	const char *why;

	return http_request_parse(head, strlen(head), &parsed, &why);
}

static void check(const char *head, enum http_status expected, const char *what)
{
	enum http_status status = parse(head);

	ok(status == expected, "http: %s (%d)", what, (int)status);
}

static void test_good(void)
{
	check("GET /metrics HTTP/1.1\r\n" HOST "\r\n", HTTP_OK, "a GET request is understood");
	ok(http_text_is(parsed.path, "/metrics") && !parsed.query.at && !parsed.is_head,
	   "http: ... with its path");
	check("HEAD /a?b=c?d HTTP/1.0\n\n", HTTP_OK, "lines may end with LF alone");
	ok(http_text_is(parsed.path, "/a") && http_text_is(parsed.query, "b=c?d") && parsed.is_head,
	   "http: the query begins at the first question mark");
	check("GET / HTTP/1.1\r\nhOsT:\t ::1 \r\nContent-Length: 0\r\n\r\n", HTTP_OK,
	      "names of fields have no case, and an empty body is none");
	ok(http_text_is(parsed.host, "::1"), "http: spaces around a value are not part of it");
}

static void test_refused(void)
{
	check("\r\n\r\n", HTTP_BAD_REQUEST, "an empty line is not a request");
	check("GET\r\n\r\n", HTTP_BAD_REQUEST, "a method alone is not a request");
	check("GET metrics HTTP/1.1\r\n\r\n", HTTP_BAD_REQUEST, "a path begins with a slash");
	check("GET http://a/ HTTP/1.1\r\n\r\n", HTTP_BAD_REQUEST, "a proxy's request is refused");
	check("GET /\x01 HTTP/1.1\r\n\r\n", HTTP_BAD_REQUEST, "a path has no control characters");
	check("GET /\xff HTTP/1.1\r\n\r\n", HTTP_BAD_REQUEST, "a path is ASCII");
	check("GET  / HTTP/1.1\r\n\r\n", HTTP_BAD_REQUEST, "a path is not empty");
	check("G(T / HTTP/1.1\r\n\r\n", HTTP_BAD_REQUEST, "a method is a word");
	check("POST / HTTP/1.1\r\n\r\n", HTTP_METHOD_NOT_ALLOWED, "nothing can be posted");
	check("get / HTTP/1.1\r\n\r\n", HTTP_METHOD_NOT_ALLOWED, "methods are upper case");
	check("GET / HTTP/2.0\r\n\r\n", HTTP_VERSION_UNKNOWN, "HTTP/2 is another protocol");
	check("GET /\r\n\r\n", HTTP_VERSION_UNKNOWN, "HTTP/0.9 is too old");
	check("GET / HTTP/1.1 \r\n\r\n", HTTP_VERSION_UNKNOWN, "nothing follows the version");
	check("GET / HTTP/1.1\r\nno field\r\n\r\n", HTTP_BAD_REQUEST, "a field has a colon");
	check("GET / HTTP/1.1\r\n: a\r\n\r\n", HTTP_BAD_REQUEST, "a field has a name");
	check("GET / HTTP/1.1\r\n a: b\r\n\r\n", HTTP_BAD_REQUEST, "a field is not continued");
	check("GET / HTTP/1.1\r\n" HOST HOST "\r\n", HTTP_BAD_REQUEST, "Host is there once");
	check("GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\n", HTTP_CONTENT_TOO_LARGE,
	      "a request has no body");
	check("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_CONTENT_TOO_LARGE,
	      "a request has no body in parts either");
}

static void test_version(void)
{
	static const char nul[] = "GET / HTTP/1.\0\r\n\r\n";
	const char *why;

	check("GET / HTTP/1.0\r\n\r\n", HTTP_OK, "HTTP/1.0 is understood");
	check("GET / HTTP/1.2\r\n\r\n", HTTP_VERSION_UNKNOWN, "HTTP/1.2 does not exist");
	check("GET / HTTP/1.x\r\n\r\n", HTTP_VERSION_UNKNOWN, "a version ends with a digit");
	ok(http_request_parse(nul, sizeof(nul) - 1, &parsed, &why) == HTTP_VERSION_UNKNOWN,
	   "http: a version does not end with a null character");
}

static void test_many_fields(void)
{
	char head[HTTP_MAX_FIELDS * 8 + 64] = "GET / HTTP/1.1\r\n";
	int len = (int)strlen(head);

	for (unsigned int i = 0; i < HTTP_MAX_FIELDS; i++)
		len += snprintf(head + len, sizeof(head) - (size_t)len, "a: b\r\n");
	ok(parse(head) == HTTP_OK, "http: as many fields as allowed");
	len += snprintf(head + len, sizeof(head) - (size_t)len, "a: b\r\n");
	ok(parse(head) == HTTP_HEAD_TOO_LARGE, "http: one field too many");
}

/* The length as it is found when bytes come in pieces of this size. */
static size_t length_in_pieces(const char *text, size_t piece)
{
	size_t n = strlen(text), resume = 0, len = 0;

	for (size_t have = piece; !len && have < n + piece; have += piece)
		len = http_head_length(text, have < n ? have : n, &resume);
	return len;
}

static void test_length(void)
{
	static const char text[] = "GET / HTTP/1.1\r\nA: b\r\n\r\nrest\n\n";
	const size_t expected = strlen("GET / HTTP/1.1\r\nA: b\r\n\r\n");
	bool is_same = true;
	size_t resume = 0;

	for (size_t piece = 1; piece < sizeof(text); piece++)
		is_same = is_same && length_in_pieces(text, piece) == expected;
	ok(is_same, "http: the head ends at the same byte, however its bytes arrive");
	ok(http_head_length("GET / HTTP/1.1\n\n", 16, &resume) == 16,
	   "http: the empty line may be LF alone");
	resume = 0;
	ok(http_head_length("GET / HTTP/1.1\r\n", 16, &resume) == 0 && resume > 0,
	   "http: a head without its empty line is not complete, and not looked at again");
}

static bool is_local(const char *host)
{
	struct http_request r = { .host = { host, host ? strlen(host) : 0 } };

	return http_host_is_local(&r);
}

static void test_host(void)
{
	ok(is_local("127.0.0.1:9090") && is_local("LOCALHOST") && is_local("[::1]:9090") &&
		   is_local("192.0.2.1") && is_local(NULL),
	   "http: addresses and localhost are local hosts");
	ok(!is_local("[::1].example.org") && !is_local("[::1]:80.example.org") &&
		   !is_local("[::1]80") && !is_local("localhost:80:example") &&
		   !is_local("127.0.0.1:a"),
	   "http: nothing but a port may follow the name or address of a host");
	ok(is_local("localhost:") && is_local("[::1]"), "http: the port of a host may be left out");
	ok(!is_local("rebound.example.org:9090") && !is_local("localhost.example.org") &&
		   !is_local("") && !is_local("[") && !is_local("127.0.0.1.example.org"),
	   "http: names that somebody can give an address to are not");
}

int main(void)
{
	test_good();
	test_refused();
	test_version();
	test_many_fields();
	test_length();
	test_host();
	return tap_done();
}
