/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RFC 3986, as far as typing errors show: libcurl checks the rest, but reports it only after the
 * capture. Servers are passed on as one line separated by spaces, so a URL must not contain any.
 */
#include "fetch/server_url.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MAX_PORT 65535u
#define NOT_IN_HOSTS "@[]<>\"{}|\\^`"

/* Part of a URL. */
struct part {
	const char *at;
	size_t n;
};

static struct part part_after(struct part p, size_t n)
{
	return (struct part){ p.at + n, p.n - n };
}

static bool has_foreign_bytes(const char *url)
{
	for (const uint8_t *at = (const uint8_t *)url; *at; at++)
		if (*at <= ' ' || *at == 0x7f)
			return true;
	return false;
}

/* The text after the colon; empty means the default port. */
static bool is_port(struct part p)
{
	uint32_t port = 0;

	for (size_t i = 0; i < p.n; i++) {
		if (p.at[i] < '0' || p.at[i] > '9')
			return false;
		port = port * 10 + (uint32_t)(p.at[i] - '0');
		if (port > MAX_PORT)
			return false;
	}
	return port || !p.n;
}

/* Between the brackets; a zone ("%25eth0") may follow the address. */
static bool is_ipv6(struct part p)
{
	const char *zone = memchr(p.at, '%', p.n);
	size_t n = zone ? (size_t)(zone - p.at) : p.n;
	char text[INET6_ADDRSTRLEN];
	struct in6_addr to;

	if (n >= sizeof(text))
		return false;
	memcpy(text, p.at, n);
	text[n] = '\0';
	return inet_pton(AF_INET6, text, &to) == 1 && (!zone || n + 1 < p.n);
}

/* Non-ASCII letters are written as xn--…: libcurl could convert them by the locale, but has none.
 * */
static bool is_host_name(struct part p)
{
	for (size_t i = 0; i < p.n; i++)
		if ((uint8_t)p.at[i] >= 0x80 || strchr(NOT_IN_HOSTS, p.at[i]))
			return false;
	return true;
}

/* host, host:port, [address]:port; credentials have been removed. */
static const char *place_mistake(struct part p)
{
	bool has_brackets = p.n && p.at[0] == '[';
	const char *end = p.n ? memchr(p.at, has_brackets ? ']' : ':', p.n) : NULL;
	struct part host = { p.at, end ? (size_t)(end - p.at) : p.n };
	struct part rest = part_after(p, host.n + (has_brackets && end));

	if (!host.n)
		return "it has no host";
	if (has_brackets && (!end || !is_ipv6(part_after(host, 1))))
		return "the address in brackets is not an IPv6 address";
	if (!has_brackets && !is_host_name(host))
		return "its host has an invalid character";
	if (rest.n && (rest.at[0] != ':' || !is_port(part_after(rest, 1))))
		return "its port is not a number from 1 to 65535";
	return NULL;
}

const char *server_url_mistake(const char *url)
{
	const char *place = url ? strstr(url, "://") : NULL, *at;
	struct part p;

	if (!place || (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0 &&
		       strncmp(url, "file://", 7) != 0))
		return "it does not begin with https://, http:// or file://";
	if (has_foreign_bytes(url))
		return "it has a space or a control character";
	place += strlen("://");
	if (url[0] == 'f')
		return place[0] == '/' && place[1] ? NULL : "it has no absolute path";
	p = (struct part){ place, strcspn(place, "/?#") };
	at = p.n ? memchr(p.at, '@', p.n) : NULL;
	return place_mistake(at ? part_after(p, (size_t)(at + 1 - p.at)) : p);
}
