/* SPDX-License-Identifier: Apache-2.0 */
/* A socket that listens: of TCP, or a file of the user's own. A path is touched without capabilities, and by the rules
 * of outputs (base/outpath.h). */
#ifndef HTTP_LISTEN_SOCKET_H
#define HTTP_LISTEN_SOCKET_H

#include <perfagent/perfagent.h>

#include "base/outpath.h"
#include "http/listen_address.h"

#define LISTEN_SOCKET_TEXT_SIZE 512

struct listen_socket {
	int fd;               /* owned; -1: none */
	bool is_loopback;     /* of TCP: only this machine reaches it */
	struct outpath place; /* owned: of a Unix socket */
	struct stat file;     /* of a Unix socket, once it is bound */
	bool has_file;
	/* for people: "http://127.0.0.1:9797/metrics", "unix:/run/agent.sock" */
	char text[LISTEN_SOCKET_TEXT_SIZE];
};

#define LISTEN_SOCKET_NONE ((struct listen_socket){ .fd = -1, .place = OUTPATH_NONE })

/* The user who gets the file; NULL: who runs the program. */
struct listen_owner {
	uid_t uid;
	gid_t gid;
};

/* A socket file that nobody listens at is replaced if it is ours. The error has a sentence with the cause and the
 * fix. */
int listen_socket_open(const struct listen_address *a, const struct listen_owner *owner,
		       struct listen_socket *ret_socket, struct pa_error *err);

/* Removes the file, if it is still this socket's. */
void listen_socket_close(struct listen_socket *s);

#endif
