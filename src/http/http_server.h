/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HTTP server on a thread of its own, which has no capabilities: one request per connection, then the
 * connection is closed. Everything about a peer is bounded: the bytes and the time of a request, the time of an
 * answer, the number of connections. When all connections are taken, the one that has waited longest without a
 * request gives way.
 */
#ifndef HTTP_HTTP_SERVER_H
#define HTTP_HTTP_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "http/http_request.h"
#include "http/listen_socket.h"

#define HTTP_MAX_CONNECTIONS 64u
#define HTTP_HEAD_TIMEOUT_S 10
#define HTTP_ANSWER_TIMEOUT_S 30 /* for a peer to take an answer */

struct http_server;
struct http_connection;

/* What the server serves; called on its thread. */
struct http_handler {
	/* Calls http_answer(), or http_wait() and http_answer() later. */
	void (*request)(void *ctx, struct http_connection *c, const struct http_request *r);
	/* The peer of a connection that waits has gone: the connection ends with this call. */
	void (*gone)(void *ctx, struct http_connection *c);
	/* fd is readable. */
	void (*ready)(void *ctx);
	/* The server stops: connections that wait get their answer now. */
	void (*stopping)(void *ctx);
	void *ctx;
	int fd; /* borrowed */
};

/* Why a connection was closed without an answer. */
enum http_refusal {
	HTTP_REFUSED_FULL,     /* all connections had a request */
	HTTP_REFUSED_GAVE_WAY, /* it was the oldest without a request */
	HTTP_REFUSED_TIMEOUT,  /* the peer did not take its answer in time */
	HTTP_NR_REFUSALS,
};

#define HTTP_NR_STATUSES 11
extern const enum http_status http_statuses[HTTP_NR_STATUSES];

/* Read on the server's thread only. */
struct http_counts {
	uint64_t answers[HTTP_NR_STATUSES]; /* by http_statuses[] */
	uint64_t refusals[HTTP_NR_REFUSALS];
	unsigned int nr_connections;
};
const struct http_counts *http_counts(const struct http_server *s);

/* Takes the socket over, if it succeeds. -ENOMEM and the like. */
int http_server_new(struct listen_socket *socket, const struct http_handler *handler,
		    struct http_server **ret_server);

/* Starts the thread. -EPERM: it could not give up its capabilities. */
int http_server_start(struct http_server *s);

/* Accepts NULL. Lets answers that are on their way finish, for a second at most. */
void http_server_free(struct http_server *s);

/* The body is copied. */
void http_answer(struct http_connection *c, enum http_status status, const char *type,
		 const void *body, size_t n);

/* When the peer may ask again; before http_answer(). */
void http_retry_after(struct http_connection *c, unsigned int seconds);

/* One sentence as the body. */
void http_answer_text(struct http_connection *c, enum http_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The answer comes later; until then only the end of the peer is watched. */
void http_wait(struct http_connection *c);

/* Whether only this machine can connect, by TCP: a web browser might be made to. */
bool http_server_is_loopback(const struct http_server *s);

#endif
