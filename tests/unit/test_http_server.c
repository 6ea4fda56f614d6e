/* SPDX-License-Identifier: Apache-2.0 */
/* The server with real sockets, and a handler that answers with the path; "/wait" waits for a line in a pipe. */
#include "http/http_server.h"

#include <event2/event.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap.h"

#define ANSWER_SIZE 4096
#define PATIENCE_MS 20000
#define LARGE_SIZE (1u << 20)

static struct http_server *server;
static struct http_connection *waiter;
static struct sockaddr_in where;
static int pipe_fds[2];
static atomic_uint nr_gone, nr_waiting;
static atomic_bool had_capabilities;

/* libevent's; it has no memory for large answers. */
static void *small_realloc(void *p, size_t n)
{
	return n < LARGE_SIZE ? realloc(p, n) : NULL;
}

static void *small_malloc(size_t n)
{
	return small_realloc(NULL, n);
}

static void on_request(void *ctx, struct http_connection *c, const struct http_request *r)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { { 0 } };

	if (syscall(SYS_capget, &head, caps) != 0 || caps[0].permitted | caps[1].permitted)
		atomic_store(&had_capabilities, true);
	if (http_text_is(r->path, "/wait")) {
		http_wait(waiter = c);
		atomic_fetch_add(&nr_waiting, 1);
	} else if (http_text_is(r->path, "/large")) {
		static char large[LARGE_SIZE];

		http_answer(c, HTTP_OK, "text/plain", large, sizeof(large));
	} else {
		http_answer_text(c, HTTP_OK, "path %.*s of %u", (int)r->path.len, r->path.at,
				 http_counts(server)->nr_connections);
	}
}

static void on_gone(void *ctx, struct http_connection *c)
{
	waiter = NULL;
	atomic_fetch_add(&nr_gone, 1);
}

static void on_ready(void *ctx)
{
	char byte;

	must(read(pipe_fds[0], &byte, 1) == 1);
	if (waiter)
		http_answer_text(waiter, HTTP_OK, "it came");
	waiter = NULL;
}

static void on_stopping(void *ctx)
{
	if (waiter)
		http_answer_text(waiter, HTTP_UNAVAILABLE, "it ends");
	waiter = NULL;
}

static void start_server(void)
{
	const struct http_handler h = { on_request,  on_gone, on_ready,
					on_stopping, NULL,    pipe_fds[0] };
	struct listen_socket socket;
	struct listen_address a;
	socklen_t size = sizeof(where);
	const char *why;

	must(listen_address_parse("127.0.0.1:0", &a, &why) == 0);
	must(listen_socket_open(&a, NULL, &socket, NULL) == 0);
	must(getsockname(socket.fd, (struct sockaddr *)&where, &size) == 0);
	must(http_server_new(&socket, &h, &server) == 0 && socket.fd == -1);
	must(http_server_start(server) == 0);
}

static int connect_peer(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(fd >= 0 && connect(fd, (struct sockaddr *)&where, sizeof(where)) == 0);
	return fd;
}

static void send_text(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t done = send(fd, text, n, MSG_NOSIGNAL);

		if (done <= 0)
			return; /* the answer says why */
		text += done;
		n -= (size_t)done;
	}
}

/* Reads until the server closes. Returns the answer; "" if there is none in time. */
static const char *read_answer(int fd)
{
	static char answer[ANSWER_SIZE];
	struct pollfd p = { fd, POLLIN, 0 };
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < sizeof(answer) - 1) {
		n = poll(&p, 1, PATIENCE_MS) == 1 ? read(fd, answer + len, sizeof(answer) - 1 - len)
						  : 0;
		len += n > 0 ? (size_t)n : 0;
	}
	answer[len] = '\0';
	close(fd);
	return answer;
}

static const char *ask(const char *request)
{
	int fd = connect_peer();

	send_text(fd, request, strlen(request));
	return read_answer(fd);
}

static void wait_for(atomic_uint *counter, unsigned int value)
{
	for (int ms = 0; atomic_load(counter) < value && ms < PATIENCE_MS; ms++)
		(void)poll(NULL, 0, 1);
}

static void test_answers(void)
{
	const char *answer = ask("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n");

	ok(!strncmp(answer, "HTTP/1.1 200 OK\r\n", 17) && strstr(answer, "\r\n\r\npath /a of "),
	   "server: a request gets an answer, and the end of the connection");
	answer = ask("HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
	ok(strstr(answer, "Content-Length: ") && !strstr(answer, "path"),
	   "server: HEAD gets the head alone");
	ok(!strncmp(ask("PUT /a HTTP/1.1\r\n\r\n"), "HTTP/1.1 405 ", 13),
	   "server: another method is refused");
	ok(!atomic_load(&had_capabilities), "server: its thread has no capabilities");
}

static void test_no_memory(void)
{
	ok(!*ask("GET /large HTTP/1.1\r\n\r\n"),
	   "server: an answer for which there is no memory is not sent in part");
	ok(!strncmp(ask("GET /a HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 OK\r\n", 17),
	   "server: ... and the next one is sent");
}

static void test_long_head(void)
{
	enum { SIZE = 1 << 20 };
	char *text = malloc(SIZE);
	int fd = connect_peer();

	must(text);
	memset(text, 'a', SIZE);
	memcpy(text, "GET /", 5);
	send_text(fd, text, SIZE);
	ok(!strncmp(read_answer(fd), "HTTP/1.1 431 ", 13),
	   "server: a head of a megabyte is refused, and the peer gets that answer");
	free(text);
}

/* As many connections as there may be send half a request; whoever comes then gets an answer. */
static void test_many(void)
{
	int fds[HTTP_MAX_CONNECTIONS + 1];
	unsigned int nr_closed = 0, nr_old = 0;
	const char *answer;

	for (size_t i = 0; i <= HTTP_MAX_CONNECTIONS; i++) {
		fds[i] = connect_peer();
		send_text(fds[i], "GET /", 5);
	}
	answer = ask("GET /late HTTP/1.1\r\n\r\n");
	ok(strstr(answer, "path /late of 64") != NULL,
	   "server: half requests give way to a whole one, and connections are 64 at most");
	for (size_t i = 0; i <= HTTP_MAX_CONNECTIONS; i++) {
		struct pollfd p = { fds[i], POLLIN, 0 };

		nr_closed += poll(&p, 1, 0) == 1;
		nr_old += i == 1 ? nr_closed : 0;
		close(fds[i]);
	}
	ok(nr_old == 2 && nr_closed == 2,
	   "server: the oldest gave way, and no more than had to (%u, %u)", nr_old, nr_closed);
}

static void test_waiting(void)
{
	int fd = connect_peer();

	send_text(fd, "GET /wait HTTP/1.1\r\n\r\n", 22);
	wait_for(&nr_waiting, 1);
	must(write(pipe_fds[1], "x", 1) == 1);
	ok(strstr(read_answer(fd), "it came") != NULL, "server: an answer may come later");
	fd = connect_peer();
	send_text(fd, "GET /wait HTTP/1.1\r\n\r\n", 22);
	wait_for(&nr_waiting, 2);
	close(fd);
	wait_for(&nr_gone, 1);
	ok(atomic_load(&nr_gone) == 1, "server: a peer that leaves while it waits is noticed");
}

static void test_stop(void)
{
	int half = connect_peer(), fd = connect_peer();

	send_text(half, "GET", 3);
	send_text(fd, "GET /wait HTTP/1.1\r\n\r\n", 22);
	wait_for(&nr_waiting, 3);
	http_server_free(server);
	ok(strstr(read_answer(fd), "503 ") != NULL, "server: who waits is answered when it stops");
	ok(!*read_answer(half), "server: who has not asked is not");
	fd = socket(AF_INET, SOCK_STREAM, 0);
	ok(connect(fd, (struct sockaddr *)&where, sizeof(where)) < 0,
	   "server: nobody listens after it");
	close(fd);
}

int main(void)
{
	event_set_mem_functions(small_malloc, small_realloc, free);
	must(pipe2(pipe_fds, O_CLOEXEC) == 0);
	start_server();
	test_answers();
	test_no_memory();
	test_long_head();
	test_many();
	test_waiting();
	test_stop();
	return tap_done();
}
