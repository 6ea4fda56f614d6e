/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an HTTP/1 request, from an untrusted peer. Requests are GET or HEAD and have no body. */
#ifndef HTTP_HTTP_REQUEST_H
#define HTTP_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_HEAD_MAX_BYTES (16u << 10)
#define HTTP_MAX_FIELDS 100 /* lines of a head */

enum http_status {
	HTTP_OK = 200,
	HTTP_BAD_REQUEST = 400,
	HTTP_FORBIDDEN = 403,
	HTTP_NOT_FOUND = 404,
	HTTP_METHOD_NOT_ALLOWED = 405,
	HTTP_REQUEST_TIMEOUT = 408,
	HTTP_CONTENT_TOO_LARGE = 413,
	HTTP_HEAD_TOO_LARGE = 431,
	HTTP_SERVER_ERROR = 500,
	HTTP_UNAVAILABLE = 503,
	HTTP_VERSION_UNKNOWN = 505,
};

struct http_text {
	const char *at; /* borrowed from the head, not terminated; NULL: absent */
	size_t len;
};

struct http_request {
	bool is_head;           /* the answer has no body */
	struct http_text path;  /* "/metrics", as it was sent */
	struct http_text query; /* what follows '?' */
	struct http_text host;  /* the field Host */
};

/* The length of the head with the empty line that ends it; 0: that has not come yet. *resume, 0 at first, is where the
 * next call for the same request begins to look, so that bytes that trickle in are looked at once. */
size_t http_head_length(const char *bytes, size_t n, size_t *resume);

/* Parses a whole head. HTTP_OK, or the status to answer with, and *ret_why is a sentence for the peer. */
enum http_status http_request_parse(const char *head, size_t n, struct http_request *ret_request,
				    const char **ret_why);

/* True if the field Host is an IP address or localhost: a web page from elsewhere, whose name its owner has made to be
 * an address of this machine, is none of these. */
bool http_host_is_local(const struct http_request *r);

bool http_text_is(struct http_text t, const char *word);

#endif
