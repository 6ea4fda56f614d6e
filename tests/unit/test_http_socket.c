/* SPDX-License-Identifier: Apache-2.0 */
#include "http/listen_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/un.h>
#include <unistd.h>

#include "tap.h"

static char dir[] = "/tmp/perf-agent-socket.XXXXXX";
static struct pa_error error;

/* The result of listening at an address; the socket stays open in *to. */
static int open_at(const char *text, struct listen_socket *to)
{
	struct listen_address a;
	const char *why;

	error = (struct pa_error){ 0 };
	*to = LISTEN_SOCKET_NONE;
	must(listen_address_parse(text, &a, &why) == 0);
	return listen_socket_open(&a, NULL, to, &error);
}

static bool error_says(const char *text)
{
	bool is_said = strstr(error.text, text) != NULL;

	if (!is_said)
		printf("# the error is: %s\n", error.text);
	return is_said;
}

static bool connects(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), r;

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	r = connect(fd, (const struct sockaddr *)&addr, sizeof(addr));
	close(fd);
	return r == 0;
}

static void test_tcp(void)
{
	struct listen_socket first, second;
	char text[LISTEN_SOCKET_TEXT_SIZE];

	must(open_at("127.0.0.1:0", &first) == 0);
	ok(!strncmp(first.text, "http://127.0.0.1:", 17) && strcmp(first.text + 17, "0/metrics"),
	   "socket: port 0 becomes a free port, which is named: %s", first.text);
	(void)snprintf(text, sizeof(text), "%s", first.text + strlen("http://"));
	text[strcspn(text, "/")] = '\0';
	ok(open_at(text, &second) == -EADDRINUSE && error_says("another program listens there"),
	   "socket: a port that is taken is an error");
	listen_socket_close(&first);
	ok(open_at(text, &second) == 0, "socket: a port is free once its socket is closed");
	listen_socket_close(&second);
	ok(open_at("203.0.113.7:0", &second) == -EADDRNOTAVAIL && error_says("does not have"),
	   "socket: an address of another machine is an error");
}

static void make_stale(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	must(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0);
	close(fd);
}

static void test_unix(const char *path)
{
	struct listen_socket first, second;
	struct stat st;

	make_stale(path);
	ok(open_at(path, &first) == 0 && connects(path),
	   "socket: a file that nobody listens at any more is replaced");
	must(stat(path, &st) == 0);
	ok((st.st_mode & 07777) == 0600, "socket: the file is private (%o)", st.st_mode & 07777);
	ok(open_at(path, &second) == -EADDRINUSE && error_says("another program listens there") &&
		   connects(path),
	   "socket: a file that somebody listens at is kept");
	listen_socket_close(&first);
	ok(access(path, F_OK) < 0, "socket: the file is removed in the end");
}

static void test_others(const char *path)
{
	struct listen_socket s;
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	close(fd);
	ok(open_at(path, &s) == -EEXIST && error_says("is not a socket") && access(path, F_OK) == 0,
	   "socket: a file that is not a socket is kept");
	unlink(path);
	must(symlink("elsewhere", path) == 0);
	ok(open_at(path, &s) == -EEXIST, "socket: a link is not followed");
	unlink(path);
	must(open_at(path, &s) == 0);
	unlink(path);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	listen_socket_close(&s);
	ok(access(path, F_OK) == 0, "socket: what took its place is not removed");
	unlink(path);
	ok(open_at("unix:/nonexistent/agent.sock", &s) == -ENOENT &&
		   error_says("its directory does not exist"),
	   "socket: a directory that does not exist is an error");
}

/* Root meets the socket of another user. */
static void test_strange(const char *path)
{
	struct listen_socket s;

	if (geteuid() != 0) {
		tap_skip("needs root to give a socket to another user");
		return;
	}
	make_stale(path);
	must(chown(path, 64999, 64999) == 0);
	ok(open_at(path, &s) == -EPERM && error_says("another user's") && access(path, F_OK) == 0,
	   "socket: a stale file of another user is kept");
	unlink(path);
}

int main(void)
{
	char path[sizeof(dir) + 160];

	must(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/agent.sock", dir);
	test_tcp();
	test_unix(path);
	test_others(path);
	test_strange(path);
	rmdir(dir);
	return tap_done();
}
