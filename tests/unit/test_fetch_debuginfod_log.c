/* SPDX-License-Identifier: Apache-2.0 */
/* Logs as libdebuginfod 0.188 with libcurl 7.88 writes them, one for each way a server can fail. */
#include "fetch/debuginfod_log.h"

#include <string.h>

#include "fetch/failures.h"
#include "tap.h"

#define ASKED(n, host)                                                                             \
	"init server " #n " " host "/buildid\nurl " #n " " host "/buildid/0123/debuginfo\n"        \
	"query 1 urls in parallel\n"
#define SAID(n, cause, details) "server response " cause "\nurl " #n " " details "\n"

static struct server_replies parsed(const char *log)
{
	struct server_replies a;

	debuginfod_log_parse(log, strlen(log), &a);
	return a;
}

static void check(const char *log, const char *server, enum fetch_reason reason, const char *what)
{
	struct server_replies a = parsed(log);

	if (!ok(!strcmp(a.items[0].server, server) && a.items[0].reason == reason, "%s", what))
		printf("# server '%s', reason %s\n", a.items[0].server,
		       fetch_reason_name(a.items[0].reason));
}

static void check_reason(const char *cause_and_details, enum fetch_reason reason)
{
	char log[1024];

	snprintf(log, sizeof(log), ASKED(0, "https://h.example:8002") "%s", cause_and_details);
	check(log, "h.example:8002", reason, fetch_reason_name(reason));
}

static void test_reasons(void)
{
	check_reason("", FETCH_REASON_NO_ANSWER);
	check_reason(
		"header HTTP/1.0 404 Not Found\n" SAID(0, "HTTP response code said error",
						       "The requested URL returned error: 404"),
		FETCH_REASON_UNKNOWN);
	check_reason(SAID(0, "HTTP response code said error",
			  "The requested URL returned error: 500"),
		     FETCH_REASON_HTTP);
	check_reason(SAID(0, "Timeout was reached",
			  "Operation too slow. Less than 102400 bytes/sec transferred the last 2 "
			  "seconds"),
		     FETCH_REASON_TIMEOUT);
	check_reason(SAID(0, "SSL peer certificate or SSH remote key was not OK",
			  "server certificate verification failed. CAfile: none CRLfile: none"),
		     FETCH_REASON_TLS);
	check_reason(SAID(0, "SSL connect error",
			  "gnutls_handshake() failed: An unexpected TLS packet was received."),
		     FETCH_REASON_TLS);
	check_reason(SAID(0, "Couldn't connect to server",
			  "Failed to connect to h.example port 8002 after 0 ms: Couldn't connect "
			  "to server"),
		     FETCH_REASON_CONNECT);
	check_reason(SAID(0, "Couldn't resolve host name", "Could not resolve host: h.example"),
		     FETCH_REASON_RESOLVE);
	check_reason("committed to url 0\n" SAID(0, "Transferred a partial file",
						 "transfer closed with 4996 bytes remaining"),
		     FETCH_REASON_BROKEN_OFF);
	check_reason(SAID(0, "Something new", "of a later version"), FETCH_REASON_OTHER);
}

static void test_servers(void)
{
	check(ASKED(0, "http://user:secret@h"), "h", FETCH_REASON_NO_ANSWER,
	      "a password in a URL is not shown");
	check("init server 0 http://user:secret", "?", FETCH_REASON_NO_ANSWER,
	      "a password in a truncated line is not shown");
	check(ASKED(0, "file:///srv/debug"), "file:///srv/debug/buildid", FETCH_REASON_NO_ANSWER,
	      "a file:// URL has no host");
	check(ASKED(0, "http://[::1]:8002/x"), "[::1]:8002", FETCH_REASON_NO_ANSWER,
	      "an IPv6 address keeps its brackets");
}

static void test_several(void)
{
	struct server_replies a = parsed(ASKED(0, "http://a") ASKED(1, "http://b") SAID(
		1, "HTTP response code said error",
		"The requested URL returned error: 404") "committed to url 0\n");

	ok(a.items[0].is_sender && !a.items[1].is_sender,
	   "the sending server is distinguished from others");
	ok(!server_replies_are_unknown(&a), "a file is not unknown unless all servers said so");
	a = parsed(ASKED(0, "http://a") ASKED(1, "http://b") SAID(
		1, "HTTP response code said error", "The requested URL returned error: 404")
			   SAID(0, "HTTP response code said error",
				"The requested URL returned error: 404"));
	ok(server_replies_are_unknown(&a), "a file is unknown if all servers said so");
	a = parsed(ASKED(0, "http://a") SAID(0, "SSL connect error", "…"));
	ok(!server_replies_are_unknown(&a), "a failed handshake says nothing about the file");
	a = parsed("");
	ok(!server_replies_are_unknown(&a), "no reply says nothing about the file");
	a = parsed(ASKED(0, "http://a") SAID(0, "Timeout was reached", "…") ASKED(0, "http://a"));
	ok(a.items[0].reason == FETCH_REASON_TIMEOUT,
	   "a second attempt keeps the result of the first");
}

/* What a server says is behind "header ". */
static void test_hostile(void)
{
	char log[4096] = ASKED(0, "http://a") "header X: ";
	struct server_replies a;

	memset(log + strlen(log), 'x', 2000);
	(void)snprintf(log + strlen(log), 500, "\n%s",
		       "header server response HTTP response code said error\nheader url 0 The "
		       "requested URL returned error: 404\n");
	a = parsed(log);
	ok(a.items[0].reason == FETCH_REASON_NO_ANSWER, "a server cannot inject a line");
	a = parsed("init server 64 http://a/\ninit server -1 http://a/\ninit server x http://a/\n"
		   "committed to url 99999999999999999999\nurl 3 x\nserver response SSL\nurl 5 x");
	for (size_t i = 0; i < DEBUGINFOD_LOG_MAX_SERVERS; i++)
		must(!a.items[i].server[0] && a.items[i].reason == FETCH_REASON_NO_ANSWER);
	ok(true, "server numbers out of range are ignored");
}

static void test_failures(void)
{
	struct server_replies a =
		parsed(ASKED(0, "http://a") ASKED(1, "http://b") "committed to url 0\n");
	struct fetch_failure one;
	struct failures f = { 0 };
	char text[FETCH_REASON_SIZE];

	ok(failure_of(&a.items[0], FETCH_WRONG_FILE, &one) &&
		   one.reason == FETCH_REASON_WRONG_FILE && !strcmp(one.server, "a"),
	   "a wrong file is blamed on its sender");
	ok(!failure_of(&a.items[1], FETCH_WRONG_FILE, &one),
	   "a wrong file is blamed on no one else");
	ok(failure_of(&a.items[1], FETCH_TIMEOUT, &one) && one.reason == FETCH_REASON_TIMEOUT,
	   "a server without a reply at the timeout has timed out");
	ok(!failure_of(&a.items[0], FETCH_NO_SPACE, &one), "a full disk is blamed on no server");
	failures_add(&f, &one);
	failures_add(&f, &one);
	ok(f.nr == 1 && f.items[0].count == 2, "equal failures are counted together");
	for (unsigned int i = 0; i < 2 * FETCH_MAX_FAILURES; i++) {
		one.reason = FETCH_REASON_HTTP;
		one.http_status = 400 + i;
		failures_add(&f, &one);
	}
	ok(f.nr == FETCH_MAX_FAILURES, "distinct failures are limited");
	ok(!strcmp(fetch_reason_text(FETCH_REASON_HTTP, 503, text), "HTTP 503"),
	   "an HTTP error has its status");
}

int main(void)
{
	test_reasons();
	test_servers();
	test_several();
	test_hostile();
	test_failures();
	return tap_done();
}
