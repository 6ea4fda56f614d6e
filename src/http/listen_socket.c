/* SPDX-License-Identifier: Apache-2.0 */
#include "http/listen_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/cleanup.h"
#include "base/error.h"

#define BACKLOG 1024 /* connections that the kernel keeps until they are accepted */

static int open_stream(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

/* ---- TCP ---- */

static int bind_tcp(int fd, const struct listen_address *a)
{
	int on = 1;

	/* connections of an earlier run that the kernel still remembers do not hold the port */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a->addr.any.sa_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return -errno;
	if (bind(fd, &a->addr.any, a->addr_size) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return 0;
}

static const char *tcp_advice(int error)
{
	switch (error) {
	case EADDRINUSE:
		return "another program listens there; give another port, or 0 for a free one";
	case EACCES:
		return "a port below 1024 needs root; give a higher one";
	case EADDRNOTAVAIL:
		return "this machine does not have that address; give 127.0.0.1 or one of `ip "
		       "address`";
	case EAFNOSUPPORT:
		return "this kernel has no IPv6; give an IPv4 address";
	default:
		return "give another address";
	}
}

static int open_tcp(const struct listen_address *a, struct listen_socket *s, struct pa_error *err)
{
	char text[LISTEN_ADDRESS_TEXT_SIZE];
	struct listen_address bound = *a;
	int r;

	s->fd = open_stream(a->addr.any.sa_family);
	r = s->fd < 0 ? s->fd : bind_tcp(s->fd, a);
	if (r < 0)
		return error_set(err, -r, "cannot listen at %s: %s; %s",
				 listen_address_text(&a->addr.any, text), strerror(-r),
				 tcp_advice(-r));
	bound.addr_size = sizeof(bound.addr);
	(void)getsockname(s->fd, &bound.addr.any, &bound.addr_size); /* the port, if 0 was given */
	(void)snprintf(s->text, sizeof(s->text), "http://%s/metrics",
		       listen_address_text(&bound.addr.any, text));
	s->is_loopback = a->is_loopback;
	return 0;
}

/* ---- Unix sockets ---- */

/* Its name below the open directory, so that nobody can exchange the directory, and so that its path may be long. */
static int unix_name(const struct outpath *p, struct sockaddr_un *ret_addr)
{
	int n;

	*ret_addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(ret_addr->sun_path, sizeof(ret_addr->sun_path), "/proc/self/fd/%d/%s",
		     p->dir_fd, p->name);
	return n < (int)sizeof(ret_addr->sun_path) ? 0 : -ENAMETOOLONG;
}

/* Removes a socket of ours that nobody listens at. */
static int remove_stale(const struct outpath *p, const struct sockaddr_un *addr)
{
	_cleanup_(closep) int probe = open_stream(AF_UNIX);
	struct stat st;

	if (probe < 0)
		return probe;
	if (fstatat(p->dir_fd, p->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	if (st.st_uid != geteuid() && !(p->has_friend && st.st_uid == p->friend))
		return -EPERM;
	if (connect(probe, (const struct sockaddr *)addr, sizeof(*addr)) == 0 ||
	    errno != ECONNREFUSED)
		return -EADDRINUSE;
	return unlinkat(p->dir_fd, p->name, 0) < 0 ? -errno : 0;
}

static int bind_unix(struct listen_socket *s, const struct sockaddr_un *addr)
{
	int r;

	/* the file gets this mode, less the umask, from its first moment on */
	if (fchmod(s->fd, S_IRUSR | S_IWUSR) < 0)
		return -errno;
	if (bind(s->fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0)
		return 0;
	if (errno != EADDRINUSE)
		return -errno;
	r = remove_stale(&s->place, addr);
	if (r < 0)
		return r;
	return bind(s->fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0 ? -errno : 0;
}

/* Gives the file to the user who called sudo: the file that was bound, which has one name. */
static int give_file(const struct listen_socket *s, const struct listen_owner *owner)
{
	_cleanup_(closep) int fd =
		openat(s->place.dir_fd, s->place.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_ino != s->file.st_ino || st.st_dev != s->file.st_dev || st.st_nlink != 1)
		return -ESTALE;
	return fchownat(fd, "", owner->uid, owner->gid, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

static int make_unix(struct listen_socket *s, const struct listen_owner *owner)
{
	struct sockaddr_un addr;
	int r = unix_name(&s->place, &addr);

	if (r == 0)
		r = bind_unix(s, &addr);
	if (r < 0)
		return r;
	if (fstatat(s->place.dir_fd, s->place.name, &s->file, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	s->has_file = S_ISSOCK(s->file.st_mode) && s->file.st_uid == geteuid();
	if (!s->has_file)
		return -ESTALE;
	r = owner ? give_file(s, owner) : 0;
	if (r < 0)
		return r;
	return listen(s->fd, BACKLOG) < 0 ? -errno : 0;
}

static const char *unix_advice(int error)
{
	switch (error) {
	case EEXIST:
		return "it exists and is not a socket; give another path";
	case EPERM:
		return "it is another user's socket; give another path";
	case EADDRINUSE:
		return "another program listens there; give another path";
	case ENAMETOOLONG:
		return "its name is too long for a socket; give a shorter one";
	case ENOENT:
		return "its directory does not exist; make it, or give another path";
	default:
		return "give another path";
	}
}

static int open_unix(const struct listen_address *a, const struct listen_owner *owner,
		     struct listen_socket *s, struct pa_error *err)
{
	struct outpath_options opts = { .is_new = true, .has_friend = owner != NULL };
	_cleanup_(capabilities_raise) struct capabilities held = CAPABILITIES_HELD;
	int r = capabilities_lower(&held);

	if (owner)
		opts.friend = owner->uid;
	if (r == 0)
		r = outpath_resolve(a->path, &opts, &s->place);
	if (r == 0)
		r = s->fd = open_stream(AF_UNIX);
	if (r >= 0)
		r = make_unix(s, owner);
	if (r < 0)
		return error_set(err, -r, "cannot listen at '%s': %s; %s", a->path, strerror(-r),
				 unix_advice(-r));
	(void)snprintf(s->text, sizeof(s->text), "unix:%s", a->path);
	return 0;
}

int listen_socket_open(const struct listen_address *a, const struct listen_owner *owner,
		       struct listen_socket *ret_socket, struct pa_error *err)
{
	struct listen_socket s = LISTEN_SOCKET_NONE;
	int r = a->path ? open_unix(a, owner, &s, err) : open_tcp(a, &s, err);

	if (r < 0)
		listen_socket_close(&s);
	else
		*ret_socket = s;
	return r;
}

static void remove_file(const struct listen_socket *s)
{
	_cleanup_(capabilities_raise) struct capabilities held = CAPABILITIES_HELD;
	struct stat st;

	if (capabilities_lower(&held) == 0 &&
	    fstatat(s->place.dir_fd, s->place.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_ino == s->file.st_ino && st.st_dev == s->file.st_dev)
		(void)unlinkat(s->place.dir_fd, s->place.name, 0); /* what is left is only stale */
}

void listen_socket_close(struct listen_socket *s)
{
	if (s->has_file)
		remove_file(s);
	if (s->fd >= 0)
		close(s->fd);
	outpath_done(&s->place);
	*s = LISTEN_SOCKET_NONE;
}
