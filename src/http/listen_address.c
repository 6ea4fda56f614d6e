/* SPDX-License-Identifier: Apache-2.0 */
#include "http/listen_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define UNIX_PREFIX "unix:"
#define DIGITS "0123456789"
#define MAX_PORT_DIGITS 5

static bool parse_port(const char *text, in_port_t *ret_port)
{
	size_t len = strspn(text, DIGITS);
	uint32_t port = 0;

	if (!len || len > MAX_PORT_DIGITS || text[len])
		return false;
	while (*text)
		port = port * 10 + (uint32_t)(*text++ - '0');
	*ret_port = htons((uint16_t)port);
	return port <= UINT16_MAX;
}

static bool parse_v4(const char *host, in_port_t port, struct listen_address *a)
{
	a->addr.v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port };
	a->addr_size = sizeof(a->addr.v4);
	if (inet_pton(AF_INET, host, &a->addr.v4.sin_addr) != 1)
		return false;
	a->is_loopback = ntohl(a->addr.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return true;
}

static bool parse_v6(const char *host, in_port_t port, struct listen_address *a)
{
	a->addr.v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = port };
	a->addr_size = sizeof(a->addr.v6);
	if (inet_pton(AF_INET6, host, &a->addr.v6.sin6_addr) != 1)
		return false;
	a->is_loopback = IN6_IS_ADDR_LOOPBACK(&a->addr.v6.sin6_addr);
	return true;
}

/* A host of this length, without brackets. Returns what is wrong with it; NULL: nothing. */
static const char *parse_host(const char *host, size_t len, in_port_t port,
			      struct listen_address *a)
{
	char text[LISTEN_ADDRESS_TEXT_SIZE];
	bool has_brackets = len > 1 && host[0] == '[' && host[len - 1] == ']';

	if (has_brackets) {
		host++;
		len -= 2;
	}
	if (len >= sizeof(text))
		return "is too long for an address";
	(void)snprintf(text, sizeof(text), "%.*s", (int)len, host);
	if (has_brackets)
		return parse_v6(text, port, a) ? NULL : "is not an IPv6 address";
	if (strchr(text, ':'))
		return "has an IPv6 address without brackets";
	if (!len || !strcmp(text, "localhost"))
		return parse_v4("127.0.0.1", port, a) ? NULL : "is not an address";
	return parse_v4(text, port, a) ? NULL : "names a host, and names are not looked up";
}

static const char *parse_tcp(const char *text, struct listen_address *a)
{
	const char *colon = strrchr(text, ':');
	in_port_t port;

	if (!*text)
		return "is empty";
	if (!parse_port(colon ? colon + 1 : text, &port))
		return "does not end with a port from 0 to 65535";
	return parse_host(text, colon ? (size_t)(colon - text) : 0, port, a);
}

int listen_address_parse(const char *text, struct listen_address *ret_address, const char **ret_why)
{
	struct listen_address a = { 0 };
	const char *why = NULL;

	if (!strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)))
		a.path = text + strlen(UNIX_PREFIX);
	else if (strchr(text, '/'))
		a.path = text;
	if (a.path)
		why = *a.path ? NULL : "has no path";
	else
		why = parse_tcp(text, &a);
	if (why) {
		*ret_why = why;
		return -EINVAL;
	}
	*ret_address = a;
	return 0;
}

const char *listen_address_text(const struct sockaddr *addr, char text[LISTEN_ADDRESS_TEXT_SIZE])
{
	const struct sockaddr_in *v4 = (const void *)addr;
	const struct sockaddr_in6 *v6 = (const void *)addr;
	bool is_v6 = addr->sa_family == AF_INET6;
	char host[INET6_ADDRSTRLEN] = "";

	(void)inet_ntop(addr->sa_family,
			is_v6 ? (const void *)&v6->sin6_addr : (const void *)&v4->sin_addr, host,
			sizeof(host));
	(void)snprintf(text, LISTEN_ADDRESS_TEXT_SIZE, is_v6 ? "[%s]:%u" : "%s:%u", host,
		       ntohs(is_v6 ? v6->sin6_port : v4->sin_port));
	return text;
}
