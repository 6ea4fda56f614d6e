/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/failures.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define X(reason, machine, people) machine,
#include "fetch/fetch_reasons.def"
#undef X
};

static const char *const texts[] = {
#define X(reason, machine, people) people,
#include "fetch/fetch_reasons.def"
#undef X
};

const char *fetch_reason_name(enum fetch_reason r)
{
	return names[r];
}

const char *fetch_reason_text(enum fetch_reason r, unsigned int http_status,
			      char text[FETCH_REASON_SIZE])
{
	if (r == FETCH_REASON_HTTP)
		(void)snprintf(text, FETCH_REASON_SIZE, "%s %u", texts[r], http_status);
	else
		(void)snprintf(text, FETCH_REASON_SIZE, "%s", texts[r]);
	return text;
}

/* A wrong file is detected here and not by the client; a process killed by the timeout did not
 * report which server it was waiting for. */
static enum fetch_reason reason_of(const struct server_reply *a, enum fetch_result result)
{
	if (a->is_sender && result == FETCH_WRONG_FILE)
		return FETCH_REASON_WRONG_FILE;
	if (a->is_sender && result == FETCH_TOO_LARGE)
		return FETCH_REASON_TOO_LARGE;
	if (a->reason == FETCH_REASON_NO_ANSWER && result == FETCH_TIMEOUT)
		return FETCH_REASON_TIMEOUT;
	return a->reason;
}

static bool is_about_servers(enum fetch_result result)
{
	return result == FETCH_NOT_FOUND || result == FETCH_TIMEOUT || result == FETCH_TOO_LARGE ||
	       result == FETCH_WRONG_FILE || result == FETCH_SERVER_FAILED;
}

bool failure_of(const struct server_reply *a, enum fetch_result result,
		struct fetch_failure *ret_failure)
{
	enum fetch_reason reason = reason_of(a, result);

	if (!a->server[0] || !is_about_servers(result))
		return false;
	/* It was abandoned because another server had a result. */
	if (reason == FETCH_REASON_NO_ANSWER && !a->is_sender && result != FETCH_SERVER_FAILED)
		return false;
	*ret_failure = (struct fetch_failure){ .reason = reason,
					       .http_status = a->http_status,
					       .count = 1 };
	memcpy(ret_failure->server, a->server, sizeof(a->server));
	return true;
}

void failures_add(struct failures *f, const struct fetch_failure *one)
{
	for (unsigned int i = 0; i < f->nr; i++) {
		struct fetch_failure *known = &f->items[i];

		if (known->reason == one->reason && known->http_status == one->http_status &&
		    strcmp(known->server, one->server) == 0) {
			known->count += one->count;
			return;
		}
	}
	if (f->nr < FETCH_MAX_FAILURES)
		f->items[f->nr++] = *one;
}
