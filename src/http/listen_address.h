/* SPDX-License-Identifier: Apache-2.0 */
/* Where a server listens, as users write it: "9797", ":9797", "127.0.0.1:9797", "[::1]:9797", "unix:PATH", or a path
 * with a slash. Names of hosts are not looked up, except localhost. */
#ifndef HTTP_LISTEN_ADDRESS_H
#define HTTP_LISTEN_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

struct listen_address {
	const char
		*path; /* borrowed from the text: a Unix socket; NULL: TCP, and the rest counts */
	bool is_loopback;
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} addr;
	socklen_t addr_size;
};

/* Without a host it is 127.0.0.1. -EINVAL: *ret_why is what is wrong, static. */
int listen_address_parse(const char *text, struct listen_address *ret_address,
			 const char **ret_why);

/* "127.0.0.1:9797", "[::1]:9797". Returns text. */
#define LISTEN_ADDRESS_TEXT_SIZE 64
const char *listen_address_text(const struct sockaddr *addr, char text[LISTEN_ADDRESS_TEXT_SIZE]);

#endif
