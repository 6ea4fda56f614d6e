/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/debuginfod_log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define WORDS_SIZE 1024 /* bytes of a line that are examined */

/*
 * libcurl's messages (curl_easy_strerror(), 7.74 to 8.11), by what they have in common across
 * versions; the first match counts.
 */
static const struct {
	const char *part;
	enum fetch_reason reason;
} causes[] = {
	{ "HTTP response code said error", FETCH_REASON_HTTP },
	{ "SSL", FETCH_REASON_TLS },
	{ "Timeout", FETCH_REASON_TIMEOUT },
	{ "timed out", FETCH_REASON_TIMEOUT },
	{ "resolve", FETCH_REASON_RESOLVE },
	{ "connect to server", FETCH_REASON_CONNECT },
	{ "file:// file", FETCH_REASON_UNKNOWN },
	{ "partial file", FETCH_REASON_BROKEN_OFF },
	{ "receiving data", FETCH_REASON_BROKEN_OFF },
	{ "returned nothing", FETCH_REASON_BROKEN_OFF },
	{ "file size", FETCH_REASON_TOO_LARGE },
};

/* A parse in progress. */
struct reader {
	struct server_replies *to;
	bool has_cause; /* the previous line reported a failure */
	enum fetch_reason cause;
};

static enum fetch_reason reason_of(const char *words)
{
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (strstr(words, causes[i].part))
			return causes[i].reason;
	return FETCH_REASON_OTHER;
}

/* The text after head, or NULL. */
static const char *behind(const char *line, const char *head)
{
	size_t n = strlen(head);

	return strncmp(line, head, n) == 0 ? line + n : NULL;
}

/* The server with the number at *at, which is advanced past it and a space; NULL if there is
 * none. */
static struct server_reply *server_at(struct server_replies *a, const char **at)
{
	char *end;
	unsigned long i = strtoul(*at, &end, 10);

	if (end == *at || i >= DEBUGINFOD_LOG_MAX_SERVERS)
		return NULL;
	*at = *end == ' ' ? end + 1 : end;
	return &a->items[i];
}

/* Host and port only: what is before them may be a password. A file:// URL has no host. */
static void name_server(const char *url, char to[FETCH_SERVER_SIZE])
{
	const char *host = strstr(url, "://"), *at;
	size_t n;

	host = host ? host + 3 : url;
	n = strcspn(host, "/?#");
	at = memrchr(host, '@', n);
	if (at) {
		n -= (size_t)(at + 1 - host);
		host = at + 1;
	}
	if (!n) {
		host = url;
		n = strlen(url);
	} else if (!host[n]) {
		host = "?"; /* the line was truncated, perhaps before the '@' */
		n = 1;
	}
	(void)snprintf(to, FETCH_SERVER_SIZE, "%.*s", (int)n, host);
}

static void see_server(struct reader *r, const char *at)
{
	struct server_reply *a = server_at(r->to, &at);

	if (!a)
		return;
	/* a second attempt keeps the first one's result until it has a result itself */
	if (!a->server[0])
		name_server(at, a->server);
	a->is_sender = false;
}

static void see_failure(struct reader *r, const char *at)
{
	static const char head[] = "The requested URL returned error: ";
	struct server_reply *a = server_at(r->to, &at);
	const char *status;

	if (!a || !a->server[0])
		return;
	status = behind(at, head);
	a->reason = r->cause;
	a->http_status = status ? (unsigned int)strtoul(status, NULL, 10) % 1000 : 0;
	if (r->cause == FETCH_REASON_HTTP && a->http_status == 404)
		a->reason = FETCH_REASON_UNKNOWN;
}

static void see_line(struct reader *r, const char *line)
{
	const char *at = behind(line, "server response ");
	struct server_reply *a;

	if (at) {
		r->has_cause = true;
		r->cause = reason_of(at);
		return;
	}
	if ((at = behind(line, "init server ")))
		see_server(r, at);
	else if (r->has_cause && (at = behind(line, "url ")))
		see_failure(r, at);
	else if ((at = behind(line, "committed to url ")) && (a = server_at(r->to, &at)))
		a->is_sender = true;
	r->has_cause = false;
}

void debuginfod_log_parse(const char *text, size_t len, struct server_replies *ret_replies)
{
	struct reader r = { .to = ret_replies };
	const char *end = text + len;

	*ret_replies = (struct server_replies){ 0 };
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t n = newline ? (size_t)(newline - text) : (size_t)(end - text);
		char line[WORDS_SIZE];

		if (n >= sizeof(line))
			(void)snprintf(line, sizeof(line), "%.*s", (int)sizeof(line) - 1, text);
		else
			(void)snprintf(line, sizeof(line), "%.*s", (int)n, text);
		see_line(&r, line);
		text += n + (newline != NULL);
	}
}

int debuginfod_log_read(int dir_fd, const char *name, struct server_replies *ret_replies)
{
	_cleanup_(closep) int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	_cleanup_(freep) char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	text = malloc(DEBUGINFOD_LOG_MAX_BYTES);
	if (!text)
		return -ENOMEM;
	n = read(fd, text, DEBUGINFOD_LOG_MAX_BYTES);
	if (n < 0)
		return -errno;
	debuginfod_log_parse(text, (size_t)n, ret_replies);
	return 0;
}

bool server_replies_are_unknown(const struct server_replies *a)
{
	bool is_asked = false;

	for (size_t i = 0; i < DEBUGINFOD_LOG_MAX_SERVERS; i++) {
		if (!a->items[i].server[0])
			continue;
		is_asked = true;
		if (a->items[i].reason != FETCH_REASON_UNKNOWN)
			return false;
	}
	return is_asked;
}
