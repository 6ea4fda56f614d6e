/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture tells by HTTP while it runs: /metrics, /healthz, /debug/pprof/profile. */
#ifndef HTTP_METRICS_ENDPOINT_H
#define HTTP_METRICS_ENDPOINT_H

#include <perfagent/perfagent.h>

#include "http/listen_address.h"
#include "http/listen_socket.h"

struct metrics_endpoint;

/* Takes the socket over, if it succeeds, and serves until metrics_endpoint_free(). The session is borrowed until then.
 * Requests are handled on a thread without capabilities; a second thread keeps those of the caller, for profiles of
 * the process by itself. Both threads have the caller's signal mask. */
int metrics_endpoint_start(struct listen_socket *socket, const struct pa_session *session,
			   struct metrics_endpoint **ret_endpoint, struct pa_error *err);

/* Accepts NULL. Ends within two seconds. */
void metrics_endpoint_free(struct metrics_endpoint *e);

#endif
