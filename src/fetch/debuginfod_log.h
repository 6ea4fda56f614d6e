/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each server replied to one request, from libdebuginfod's log: its return value is one number
 * for all of them, and reports a failed TLS handshake as "no such file". The log contains text from
 * servers, so it is untrusted; a server can misrepresent only itself.
 */
#ifndef FETCH_DEBUGINFOD_LOG_H
#define FETCH_DEBUGINFOD_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "fetch/fetcher.h"

#define DEBUGINFOD_LOG_MAX_SERVERS 64
#define DEBUGINFOD_LOG_MAX_BYTES (1u << 20) /* limit for a log; the rest is not read */

struct server_reply {
	char server[FETCH_SERVER_SIZE]; /* "": not asked */
	enum fetch_reason reason;
	unsigned int http_status; /* of FETCH_REASON_HTTP */
	bool is_sender;           /* the file, or part of it, came from here */
};

struct server_replies {
	struct server_reply items[DEBUGINFOD_LOG_MAX_SERVERS]; /* by libdebuginfod's own numbers */
};

void debuginfod_log_parse(const char *text, size_t len, struct server_replies *ret_replies);

/* From the file `name` in a directory. -ENOENT; -ENOMEM; -EINVAL: not a regular file. */
int debuginfod_log_read(int dir_fd, const char *name, struct server_replies *ret_replies);

/* True if at least one server was asked, and each replied that it has no such file. */
bool server_replies_are_unknown(const struct server_replies *a);

#endif
