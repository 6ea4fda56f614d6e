/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_request.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define VERSION "HTTP/1."
#define TOKEN "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

struct parse {
	const char *at, *end;
	struct http_request request;
	bool has_host;
	const char *why;
};

bool http_text_is(struct http_text t, const char *word)
{
	return t.at && t.len == strlen(word) && !memcmp(t.at, word, t.len);
}

static bool is_field(struct http_text name, const char *word)
{
	return name.len == strlen(word) && !strncasecmp(name.at, word, name.len);
}

/* Lines end with LF; a CR before it is optional. */
size_t http_head_length(const char *bytes, size_t n, size_t *resume)
{
	const char *lf;

	while ((lf = memchr(bytes + *resume, '\n', n - *resume))) {
		size_t after = (size_t)(lf - bytes) + 1, rest = n - after;

		if (rest >= 1 && bytes[after] == '\n')
			return after + 1;
		if (rest >= 2 && bytes[after] == '\r' && bytes[after + 1] == '\n')
			return after + 2;
		if (rest == 0 || (rest == 1 && bytes[after] == '\r')) {
			*resume = after - 1; /* cannot be told yet */
			return 0;
		}
		*resume = after;
	}
	*resume = n;
	return 0;
}

static enum http_status refuse(struct parse *p, enum http_status status, const char *why)
{
	p->why = why;
	return status;
}

/* The next line without its end; false: there is none, or the head is over. */
static bool next_line(struct parse *p, struct http_text *ret_line)
{
	const char *lf = memchr(p->at, '\n', (size_t)(p->end - p->at));
	struct http_text line = { p->at, lf ? (size_t)(lf - p->at) : 0 };

	if (!lf)
		return false;
	p->at = lf + 1;
	if (line.len && line.at[line.len - 1] == '\r')
		line.len--;
	*ret_line = line;
	return line.len > 0;
}

/* The part of the line before the next space, which is taken off. */
static struct http_text take_word(struct http_text *line)
{
	const char *space = memchr(line->at, ' ', line->len);
	struct http_text word = { line->at, space ? (size_t)(space - line->at) : line->len };
	size_t used = word.len + (space != NULL);

	line->at += used;
	line->len -= used;
	return word;
}

static bool is_token(struct http_text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!t.at[i] || !strchr(TOKEN, t.at[i]))
			return false;
	return t.len > 0;
}

/* A path that begins with a slash, of printable ASCII. */
static bool is_target(struct http_text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (t.at[i] <= ' ' || t.at[i] > '~')
			return false;
	return t.len > 0 && *t.at == '/';
}

static void split_target(struct parse *p, struct http_text target)
{
	const char *mark = memchr(target.at, '?', target.len);
	size_t len = mark ? (size_t)(mark - target.at) : target.len;

	p->request.path = (struct http_text){ target.at, len };
	if (mark)
		p->request.query = (struct http_text){ mark + 1, target.len - len - 1 };
}

/* "GET /metrics HTTP/1.1" */
static enum http_status parse_first_line(struct parse *p, struct http_text line)
{
	struct http_text method = take_word(&line), target = take_word(&line);

	if (!is_token(method) || !is_target(target))
		return refuse(p, HTTP_BAD_REQUEST, "this is not an HTTP request");
	if (!http_text_is(line, VERSION "0") && !http_text_is(line, VERSION "1"))
		return refuse(p, HTTP_VERSION_UNKNOWN, "HTTP/1.0 and HTTP/1.1 are understood");
	p->request.is_head = http_text_is(method, "HEAD");
	if (!p->request.is_head && !http_text_is(method, "GET"))
		return refuse(p, HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are allowed");
	split_target(p, target);
	return HTTP_OK;
}

static struct http_text without_spaces(struct http_text t)
{
	while (t.len && (*t.at == ' ' || *t.at == '\t')) {
		t.at++;
		t.len--;
	}
	while (t.len && (t.at[t.len - 1] == ' ' || t.at[t.len - 1] == '\t'))
		t.len--;
	return t;
}

/* "Host: 127.0.0.1:9797" */
static enum http_status parse_field(struct parse *p, struct http_text line)
{
	const char *colon = memchr(line.at, ':', line.len);
	struct http_text name = { line.at, colon ? (size_t)(colon - line.at) : 0 }, value;

	if (!colon || !is_token(name))
		return refuse(p, HTTP_BAD_REQUEST, "a line of the head is not a field");
	value = without_spaces((struct http_text){ colon + 1, line.len - name.len - 1 });
	if (is_field(name, "Transfer-Encoding") ||
	    (is_field(name, "Content-Length") && !http_text_is(value, "0")))
		return refuse(p, HTTP_CONTENT_TOO_LARGE, "a request has no body here");
	if (is_field(name, "Host") && p->has_host)
		return refuse(p, HTTP_BAD_REQUEST, "the field Host is there twice");
	if (is_field(name, "Host")) {
		p->request.host = value;
		p->has_host = true;
	}
	return HTTP_OK;
}

static enum http_status parse_fields(struct parse *p)
{
	struct http_text line;
	unsigned int nr = 0;

	while (next_line(p, &line)) {
		enum http_status status =
			++nr > HTTP_MAX_FIELDS
				? refuse(p, HTTP_HEAD_TOO_LARGE, "the request has too many fields")
				: parse_field(p, line);

		if (status != HTTP_OK)
			return status;
	}
	return HTTP_OK;
}

enum http_status http_request_parse(const char *head, size_t n, struct http_request *ret_request,
				    const char **ret_why)
{
	struct parse p = { .at = head, .end = head + n };
	enum http_status status;
	struct http_text line;

	if (!next_line(&p, &line))
		status = refuse(&p, HTTP_BAD_REQUEST, "this is not an HTTP request");
	else
		status = parse_first_line(&p, line);
	if (status == HTTP_OK)
		status = parse_fields(&p);
	*ret_request = p.request;
	*ret_why = p.why;
	return status;
}

/* Nothing, or a colon and digits. */
static bool is_port(struct http_text t)
{
	for (size_t i = 1; i < t.len; i++)
		if (t.at[i] < '0' || t.at[i] > '9')
			return false;
	return !t.len || *t.at == ':';
}

/* "127.0.0.1:9797" without the port, "[::1]:9797" without that and the brackets; empty if anything else follows. */
static struct http_text host_name(struct http_text host)
{
	const bool has_brackets = host.len && *host.at == '[';
	const char *end = memchr(host.at, has_brackets ? ']' : ':', host.len);
	struct http_text name = host, rest = { NULL, 0 };

	if (end) {
		name = (struct http_text){ host.at + has_brackets,
					   (size_t)(end - host.at) - has_brackets };
		rest = (struct http_text){ end + has_brackets,
					   host.len - (size_t)(end - host.at) - has_brackets };
	}
	return is_port(rest) ? name : (struct http_text){ host.at, 0 };
}

bool http_host_is_local(const struct http_request *r)
{
	char text[INET6_ADDRSTRLEN], binary[sizeof(struct in6_addr)];
	struct http_text name;

	if (!r->host.at)
		return true; /* HTTP/1.0; no browser */
	name = host_name(r->host);
	if (name.len >= sizeof(text) || memchr(name.at, '\0', name.len))
		return false;
	(void)snprintf(text, sizeof(text), "%.*s", (int)name.len, name.at);
	return !strcasecmp(text, "localhost") || inet_pton(AF_INET, text, binary) == 1 ||
	       inet_pton(AF_INET6, text, binary) == 1;
}
