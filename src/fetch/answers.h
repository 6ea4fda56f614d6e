/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each server said to one request, out of libdebuginfod's log: its result is one number for all
 * of them, and calls a failed TLS handshake "no such file". The log holds words of servers, so it is
 * not to be trusted; a server can lie about nobody but itself.
 */
#ifndef FETCH_ANSWERS_H
#define FETCH_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>

#include "fetch/fetcher.h"

#define ANSWERS_MAX_SERVERS 64
#define ANSWERS_MAX_BYTES (1u << 20) /* of a log; what is past them is not read */

struct answer {
	char server[FETCH_SERVER_SIZE]; /* "": not asked */
	enum fetch_reason reason;
	unsigned int http_status; /* of FETCH_REASON_HTTP */
	bool is_sender;           /* the file, or what there is of it, came from here */
};

struct answers {
	struct answer items[ANSWERS_MAX_SERVERS]; /* by libdebuginfod's own numbers */
};

void answers_parse(const char *text, size_t len, struct answers *ret_answers);

/* From the file `name` in a folder. -ENOENT; -ENOMEM; -EINVAL: that is no file. */
int answers_read(int dir_fd, const char *name, struct answers *ret_answers);

/* Whether each server that was asked said that it has no such file, and one was asked. */
bool answers_are_unknown(const struct answers *a);

#endif
