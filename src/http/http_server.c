/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "http/http_server_internal.h"

/* Fewer than connections, so that one whose request has come is read before it gives way to those behind it. */
#define MAX_ACCEPTED_AT_ONCE 16
#define NO_ROOM_MS 100 /* after there were no descriptors or no memory */
#define LAST_MOMENT_MS 1000

enum thread_start {
	THREAD_RUNS = 1,
	THREAD_HAS_CAPABILITIES = 2,
};

static struct timeval time_of_ms(unsigned int ms)
{
	return (struct timeval){ .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
}

static void take_connection(struct http_server *s, int fd)
{
	if (s->counts.nr_connections >= HTTP_MAX_CONNECTIONS && !http_connections_give_way(s)) {
		s->counts.refusals[HTTP_REFUSED_FULL]++;
		close(fd);
	} else {
		http_connection_new(s, fd);
	}
}

/* Otherwise the loop would turn without end. */
static void stop_accepting(struct http_server *s, unsigned int ms)
{
	struct timeval again = time_of_ms(ms);

	(void)event_del(s->accept_event);
	(void)evtimer_add(s->accept_again, &again);
}

static bool is_lack_of_room(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

static void on_accept(int fd, short what, void *server)
{
	struct http_server *s = server;

	for (unsigned int i = 0; i < MAX_ACCEPTED_AT_ONCE; i++) {
		unsigned int wait_ms = http_connections_wait_ms(s);
		int accepted = wait_ms ? -1 : accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (accepted >= 0) {
			take_connection(s, accepted);
		} else if (wait_ms || is_lack_of_room(errno)) {
			stop_accepting(s, wait_ms ? wait_ms : NO_ROOM_MS);
			return;
		} else if (errno != ECONNABORTED && errno != EINTR) {
			return;
		}
	}
}

static void on_accept_again(int fd, short what, void *server)
{
	struct http_server *s = server;

	if (!s->is_stopping)
		(void)event_add(s->accept_event, NULL);
}

static void on_ready(int fd, short what, void *server)
{
	struct http_server *s = server;

	s->handler.ready(s->handler.ctx);
}

static void on_last_moment(int fd, short what, void *server)
{
	struct http_server *s = server;

	(void)event_base_loopbreak(s->base);
}

static void on_stop(int fd, short what, void *server)
{
	struct http_server *s = server;
	struct timeval last = time_of_ms(LAST_MOMENT_MS);

	(void)event_del(s->stop_event);
	(void)event_del(s->accept_event);
	s->handler.stopping(s->handler.ctx);
	s->is_stopping = true;
	http_connections_stop(s);
	if (!s->oldest)
		(void)event_base_loopbreak(s->base);
	else
		(void)evtimer_add(s->last_moment, &last);
}

static void *server_thread(void *arg)
{
	struct http_server *s = arg;
	uint64_t start = capabilities_give_up() ? THREAD_RUNS : THREAD_HAS_CAPABILITIES;

	(void)!write(s->started_fd, &start, sizeof(start)); /* cannot block: once */
	if (start == THREAD_RUNS)
		(void)event_base_dispatch(s->base);
	return NULL;
}

/* The program has one standard error, which libevent would write to. */
static void drop_message(int severity, const char *text)
{
}

static struct event_base *new_base(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (config && event_config_set_flag(config, EVENT_BASE_FLAG_IGNORE_ENV) == 0 &&
	    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK) == 0)
		base = event_base_new_with_config(config);
	if (config)
		event_config_free(config);
	return base;
}

static bool make_events(struct http_server *s)
{
	s->accept_event = event_new(s->base, s->socket.fd, EV_READ | EV_PERSIST, on_accept, s);
	s->accept_again = evtimer_new(s->base, on_accept_again, s);
	s->ready_event = event_new(s->base, s->handler.fd, EV_READ | EV_PERSIST, on_ready, s);
	s->stop_event = event_new(s->base, s->stop_fd, EV_READ | EV_PERSIST, on_stop, s);
	s->last_moment = evtimer_new(s->base, on_last_moment, s);
	return s->accept_event && s->accept_again && s->ready_event && s->stop_event &&
	       s->last_moment && event_add(s->accept_event, NULL) == 0 &&
	       event_add(s->ready_event, NULL) == 0 && event_add(s->stop_event, NULL) == 0;
}

int http_server_new(struct listen_socket *socket, const struct http_handler *handler,
		    struct http_server **ret_server)
{
	struct http_server *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	event_set_log_callback(drop_message);
	s->socket = *socket;
	s->handler = *handler;
	s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->started_fd = eventfd(0, EFD_CLOEXEC);
	s->base = s->stop_fd < 0 || s->started_fd < 0 ? NULL : new_base();
	if (!s->base || !make_events(s)) {
		s->socket = LISTEN_SOCKET_NONE; /* the caller's */
		http_server_free(s);
		return -ENOMEM;
	}
	*socket = LISTEN_SOCKET_NONE;
	*ret_server = s;
	return 0;
}

int http_server_start(struct http_server *s)
{
	int r = pthread_create(&s->thread, NULL, server_thread, s);
	uint64_t start = 0;

	if (r != 0)
		return -r;
	s->has_thread = true;
	while (read(s->started_fd, &start, sizeof(start)) < 0 && errno == EINTR)
		;
	return start == THREAD_RUNS ? 0 : -EPERM;
}

static void free_events(struct http_server *s)
{
	struct event *const events[] = { s->accept_event, s->accept_again, s->ready_event,
					 s->stop_event, s->last_moment };

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (events[i])
			event_free(events[i]);
	if (s->base)
		event_base_free(s->base);
}

void http_server_free(struct http_server *s)
{
	uint64_t one = 1;

	if (!s)
		return;
	if (s->has_thread) {
		(void)!write(s->stop_fd, &one, sizeof(one)); /* cannot block: once */
		pthread_join(s->thread, NULL);
	}
	while (s->oldest)
		http_connection_free(s->oldest);
	free_events(s);
	listen_socket_close(&s->socket);
	if (s->stop_fd >= 0)
		close(s->stop_fd);
	if (s->started_fd >= 0)
		close(s->started_fd);
	free(s);
}

const struct http_counts *http_counts(const struct http_server *s)
{
	return &s->counts;
}

bool http_server_is_loopback(const struct http_server *s)
{
	return s->socket.is_loopback;
}
