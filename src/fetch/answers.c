/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/answers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define WORDS_SIZE 1024 /* of a line, as far as it matters */

/*
 * libcurl's texts (curl_easy_strerror(), 7.74 to 8.11), by what they have in common over versions;
 * the first that fits.
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
	struct answers *to;
	bool has_cause; /* the line before this one told of a failure */
	enum fetch_reason cause;
};

static enum fetch_reason reason_of(const char *words)
{
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (strstr(words, causes[i].part))
			return causes[i].reason;
	return FETCH_REASON_OTHER;
}

/* What follows head, or NULL. */
static const char *behind(const char *line, const char *head)
{
	size_t n = strlen(head);

	return strncmp(line, head, n) == 0 ? line + n : NULL;
}

/* The server with the number at *at, which then is behind it and a space; NULL: none. */
static struct answer *server_at(struct answers *a, const char **at)
{
	char *end;
	unsigned long i = strtoul(*at, &end, 10);

	if (end == *at || i >= ANSWERS_MAX_SERVERS)
		return NULL;
	*at = *end == ' ' ? end + 1 : end;
	return &a->items[i];
}

/* Host and port alone: what is before them may be a password. A file has no host. */
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
		host = "?"; /* the line was cut, perhaps before the '@' */
		n = 1;
	}
	(void)snprintf(to, FETCH_SERVER_SIZE, "%.*s", (int)n, host);
}

static void see_server(struct reader *r, const char *at)
{
	struct answer *a = server_at(r->to, &at);

	if (!a)
		return;
	if (!a->server[0]) /* a second try keeps what the first one said until it says more */
		name_server(at, a->server);
	a->is_sender = false;
}

static void see_failure(struct reader *r, const char *at)
{
	static const char head[] = "The requested URL returned error: ";
	struct answer *a = server_at(r->to, &at);
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
	struct answer *a;

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

void answers_parse(const char *text, size_t len, struct answers *ret_answers)
{
	struct reader r = { .to = ret_answers };
	const char *end = text + len;

	*ret_answers = (struct answers){ 0 };
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

int answers_read(int dir_fd, const char *name, struct answers *ret_answers)
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
	text = malloc(ANSWERS_MAX_BYTES);
	if (!text)
		return -ENOMEM;
	n = read(fd, text, ANSWERS_MAX_BYTES);
	if (n < 0)
		return -errno;
	answers_parse(text, (size_t)n, ret_answers);
	return 0;
}

bool answers_are_unknown(const struct answers *a)
{
	bool is_asked = false;

	for (size_t i = 0; i < ANSWERS_MAX_SERVERS; i++) {
		if (!a->items[i].server[0])
			continue;
		is_asked = true;
		if (a->items[i].reason != FETCH_REASON_UNKNOWN)
			return false;
	}
	return is_asked;
}
