/* SPDX-License-Identifier: Apache-2.0 */
/* One connection: reads the head of a request, answers it, and closes once the peer has the answer. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/http_server_internal.h"

#define LINGER_S 2
#define GRACE_MS 50 /* before a connection gives way */
#define SENTENCE_SIZE 512

enum connection_state {
	CONNECTION_READING,   /* the head of a request */
	CONNECTION_WAITING,   /* for the handler's answer */
	CONNECTION_ANSWERING, /* the answer is being sent */
	CONNECTION_LINGERING, /* all is sent; what the peer still sends is dropped until it closes */
};

struct http_connection {
	struct http_server *server; /* borrowed */
	struct http_connection *older, *newer;
	uint64_t start_ns;
	struct bufferevent *stream; /* owned, with the socket */
	struct event *deadline;     /* owned; a timer */
	enum connection_state state;
	size_t resume;              /* of http_head_length() */
	bool wants_body;            /* not a HEAD request */
	unsigned int retry_after_s; /* told with the answer; 0: not */
};

const enum http_status http_statuses[HTTP_NR_STATUSES] = {
	HTTP_OK,
	HTTP_BAD_REQUEST,
	HTTP_FORBIDDEN,
	HTTP_NOT_FOUND,
	HTTP_METHOD_NOT_ALLOWED,
	HTTP_REQUEST_TIMEOUT,
	HTTP_CONTENT_TOO_LARGE,
	HTTP_HEAD_TOO_LARGE,
	HTTP_SERVER_ERROR,
	HTTP_UNAVAILABLE,
	HTTP_VERSION_UNKNOWN,
};

static const char *status_phrase(enum http_status status)
{
	switch (status) {
	case HTTP_OK:
		return "OK";
	case HTTP_FORBIDDEN:
		return "Forbidden";
	case HTTP_NOT_FOUND:
		return "Not Found";
	case HTTP_METHOD_NOT_ALLOWED:
		return "Method Not Allowed";
	case HTTP_REQUEST_TIMEOUT:
		return "Request Timeout";
	case HTTP_CONTENT_TOO_LARGE:
		return "Content Too Large";
	case HTTP_HEAD_TOO_LARGE:
		return "Request Header Fields Too Large";
	case HTTP_SERVER_ERROR:
		return "Internal Server Error";
	case HTTP_UNAVAILABLE:
		return "Service Unavailable";
	case HTTP_VERSION_UNKNOWN:
		return "HTTP Version Not Supported";
	default:
		return "Bad Request";
	}
}

static void count_answer(struct http_server *s, enum http_status status)
{
	for (size_t i = 0; i < HTTP_NR_STATUSES; i++)
		s->counts.answers[i] += http_statuses[i] == status;
}

static void set_deadline(struct http_connection *c, time_t seconds)
{
	(void)evtimer_add(c->deadline, &(struct timeval){ .tv_sec = seconds });
}

/* ---- the list ---- */

static void list_append(struct http_connection *c)
{
	struct http_server *s = c->server;

	c->older = s->newest;
	*(c->older ? &c->older->newer : &s->oldest) = c;
	s->newest = c;
	s->counts.nr_connections++;
}

static void list_remove(struct http_connection *c)
{
	struct http_server *s = c->server;

	*(c->older ? &c->older->newer : &s->oldest) = c->newer;
	*(c->newer ? &c->newer->older : &s->newest) = c->older;
	s->counts.nr_connections--;
}

/* The one that gives way next; NULL: all have a request. */
static struct http_connection *list_first_silent(const struct http_server *s)
{
	struct http_connection *c = s->oldest;

	while (c && c->state != CONNECTION_READING && c->state != CONNECTION_LINGERING)
		c = c->newer;
	return c;
}

unsigned int http_connections_wait_ms(const struct http_server *s)
{
	const struct http_connection *c = list_first_silent(s);
	uint64_t age_ms;

	if (s->counts.nr_connections < HTTP_MAX_CONNECTIONS || !c ||
	    c->state == CONNECTION_LINGERING)
		return 0;
	age_ms = (clock_mono_ns() - c->start_ns) / NS_PER_MS;
	return age_ms < GRACE_MS ? GRACE_MS - (unsigned int)age_ms : 0;
}

bool http_connections_give_way(struct http_server *s)
{
	struct http_connection *c = list_first_silent(s);

	if (!c)
		return false;
	s->counts.refusals[HTTP_REFUSED_GAVE_WAY] += c->state == CONNECTION_READING;
	http_connection_free(c);
	return true;
}

void http_connections_stop(struct http_server *s)
{
	for (struct http_connection *c = s->oldest, *newer; c; c = newer) {
		newer = c->newer;
		if (c->state != CONNECTION_ANSWERING)
			http_connection_free(c);
	}
}

/* ---- answers ---- */

void http_wait(struct http_connection *c)
{
	c->state = CONNECTION_WAITING;
	(void)evtimer_del(c->deadline);
}

void http_retry_after(struct http_connection *c, unsigned int seconds)
{
	c->retry_after_s = seconds;
}

void http_answer(struct http_connection *c, enum http_status status, const char *type,
		 const void *body, size_t n)
{
	struct evbuffer *out = bufferevent_get_output(c->stream);
	int r;

	count_answer(c->server, status);
	c->state = CONNECTION_ANSWERING;
	set_deadline(c, HTTP_ANSWER_TIMEOUT_S);
	r = evbuffer_add_printf(out,
				"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
				"X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
				"Connection: close\r\n",
				(int)status, status_phrase(status), type, n,
				status == HTTP_METHOD_NOT_ALLOWED ? "Allow: GET, HEAD\r\n" : "");
	if (r >= 0 && c->retry_after_s)
		r = evbuffer_add_printf(out, "Retry-After: %u\r\n", c->retry_after_s);
	if (r >= 0)
		r = evbuffer_add(out, "\r\n", 2);
	if (r >= 0 && c->wants_body)
		r = evbuffer_add(out, body, n);
	if (r < 0) /* out of memory: writing stays off, so that nothing of it is sent */
		set_deadline(c, 0);
	else
		(void)bufferevent_enable(c->stream, EV_WRITE);
}

void http_answer_text(struct http_connection *c, enum http_status status, const char *fmt, ...)
{
	char text[SENTENCE_SIZE];
	size_t n;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text) - 1, fmt, args);
	va_end(args);
	n = strlen(text);
	text[n++] = '\n';
	http_answer(c, status, "text/plain; charset=utf-8", text, n);
}

/* ---- requests ---- */

static void handle_head(struct http_connection *c, const char *head, size_t n)
{
	const struct http_handler *h = &c->server->handler;
	const char *why = NULL;
	struct http_request request;
	enum http_status status = http_request_parse(head, n, &request, &why);

	c->wants_body = !request.is_head;
	if (status != HTTP_OK)
		http_answer_text(c, status, "%s", why);
	else
		h->request(h->ctx, c, &request);
}

static void read_head(struct http_connection *c, struct evbuffer *in)
{
	size_t n = evbuffer_get_length(in), len;
	const char *bytes = (const char *)evbuffer_pullup(in, -1);

	if (!bytes)
		return;
	len = http_head_length(bytes, n, &c->resume);
	if (len && len <= HTTP_HEAD_MAX_BYTES)
		handle_head(c, bytes, len);
	else if (len || n >= HTTP_HEAD_MAX_BYTES)
		http_answer_text(c, HTTP_HEAD_TOO_LARGE, "a request is at most %u bytes here",
				 HTTP_HEAD_MAX_BYTES);
}

static void on_bytes(struct bufferevent *stream, void *connection)
{
	struct http_connection *c = connection;
	struct evbuffer *in = bufferevent_get_input(stream);

	if (c->state == CONNECTION_READING)
		read_head(c, in);
	if (c->state != CONNECTION_READING) /* requests have no body, and no second one follows */
		(void)evbuffer_drain(in, evbuffer_get_length(in));
}

/* Closing while bytes of the peer are unread would reset the connection, and the answer might be lost. */
static void on_sent(struct bufferevent *stream, void *connection)
{
	struct http_connection *c = connection;

	if (c->state != CONNECTION_ANSWERING)
		return;
	c->state = CONNECTION_LINGERING;
	set_deadline(c, LINGER_S);
	/* on_end() has switched reading off if the peer has nothing more to send */
	if (shutdown(bufferevent_getfd(stream), SHUT_WR) < 0 || c->server->is_stopping ||
	    !(bufferevent_get_enabled(stream) & EV_READ))
		http_connection_free(c);
}

static void on_end(struct bufferevent *stream, short what, void *connection)
{
	struct http_connection *c = connection;
	const struct http_handler *h = &c->server->handler;

	if (what & BEV_EVENT_EOF && c->state == CONNECTION_ANSWERING) {
		(void)bufferevent_disable(stream, EV_READ); /* it may still read */
		return;
	}
	if (c->state == CONNECTION_WAITING)
		h->gone(h->ctx, c);
	http_connection_free(c);
}

static void on_deadline(int fd, short what, void *connection)
{
	struct http_connection *c = connection;

	if (c->state == CONNECTION_READING) {
		http_answer_text(c, HTTP_REQUEST_TIMEOUT, "no request came within %d seconds",
				 HTTP_HEAD_TIMEOUT_S);
		return;
	}
	c->server->counts.refusals[HTTP_REFUSED_TIMEOUT] += c->state == CONNECTION_ANSWERING;
	http_connection_free(c);
}

/* ---- life ---- */

void http_connection_free(struct http_connection *c)
{
	struct http_server *s = c->server;

	list_remove(c);
	bufferevent_free(c->stream);
	event_free(c->deadline);
	free(c);
	if (s->is_stopping && !s->oldest)
		(void)event_base_loopbreak(s->base);
}

void http_connection_new(struct http_server *s, int fd)
{
	struct http_connection *c = calloc(1, sizeof(*c));
	struct bufferevent *stream = c ? bufferevent_socket_new(s->base, fd, BEV_OPT_CLOSE_ON_FREE)
				       : NULL;
	struct event *deadline = stream ? evtimer_new(s->base, on_deadline, c) : NULL;

	if (!deadline) {
		if (stream)
			bufferevent_free(stream);
		else
			close(fd);
		free(c);
		return;
	}
	*c = (struct http_connection){ .server = s,
				       .stream = stream,
				       .deadline = deadline,
				       .start_ns = clock_mono_ns(),
				       .wants_body = true };
	list_append(c);
	bufferevent_setcb(stream, on_bytes, on_sent, on_end, c);
	bufferevent_setwatermark(stream, EV_READ, 0, HTTP_HEAD_MAX_BYTES);
	set_deadline(c, HTTP_HEAD_TIMEOUT_S);
	(void)bufferevent_disable(stream, EV_WRITE); /* until there is a whole answer */
	(void)bufferevent_enable(stream, EV_READ);
}
