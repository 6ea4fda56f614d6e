/* SPDX-License-Identifier: Apache-2.0 */
/* For http_server.c and http_connection.c only. */
#ifndef HTTP_HTTP_SERVER_INTERNAL_H
#define HTTP_HTTP_SERVER_INTERNAL_H

#include <event2/event.h>
#include <pthread.h>

#include "http/http_server.h"

/* Owned by its thread, once that runs. */
struct http_server {
	struct listen_socket socket; /* owned */
	struct http_handler handler;
	struct event_base *base;    /* owned, as are the events */
	struct event *accept_event; /* the socket */
	struct event *accept_again; /* a timer, after accepting has failed */
	struct event *ready_event;  /* the handler's descriptor */
	struct event *stop_event;   /* stop_fd */
	struct event *last_moment;  /* a timer, when the server stops */
	int stop_fd;                /* owned; an eventfd */
	int started_fd;             /* owned; an eventfd: how the thread has started */
	pthread_t thread;
	bool has_thread;
	bool is_stopping;
	struct http_connection *oldest, *newest; /* a list, owned */
	struct http_counts counts;
};

/* Takes over a descriptor that was accepted. */
void http_connection_new(struct http_server *s, int fd);
void http_connection_free(struct http_connection *c);

/* How long no room can be made for one more, because all are taken and those without a request have just come: a
 * client needs a moment between connecting and asking. */
unsigned int http_connections_wait_ms(const struct http_server *s);

/* Makes room for one more: closes the oldest one without a request. False: all have one. */
bool http_connections_give_way(struct http_server *s);

/* Closes those without a request or with their whole answer; the rest may finish. */
void http_connections_stop(struct http_server *s);

#endif
