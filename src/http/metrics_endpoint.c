/* SPDX-License-Identifier: Apache-2.0 */
#include "http/metrics_endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "http/http_server.h"
#include "http/prometheus_text.h"
#include "http/self_profile.h"

#define MAX_METRICS_BYTES (1u << 20)
#define DEFAULT_SECONDS 30 /* of Go's handler of that name */

struct metrics_endpoint {
	const struct pa_session *session; /* borrowed */
	struct http_server *server;       /* owned */
	struct self_profile *profile;     /* owned */
	struct http_connection *waiter;   /* borrowed: gets the profile that runs; NULL: nobody */
};

static const char *phase_name(const struct pa_session *s)
{
	static const char *const names[] = {
		[PA_PHASE_NEW] = "starting",       [PA_PHASE_SAMPLING] = "sampling",
		[PA_PHASE_NAMING] = "symbolizing", [PA_PHASE_WRITING] = "writing",
		[PA_PHASE_DONE] = "done",
	};
	struct pa_progress p = { .sz = sizeof(p) };

	(void)pa_session_progress(s, &p);
	return names[p.phase];
}

/* ---- /metrics ---- */

static int add_answers(const struct http_counts *counts, struct buf *to)
{
	int r = 0;

	for (unsigned int i = 0; i < HTTP_NR_STATUSES && r == 0; i++) {
		char code[8];
		const struct pa_metric m = {
			.name = "perf_agent_http_answers_total",
			.help = "Answers of this server, by their HTTP status.",
			.type = PA_METRIC_COUNTER,
			.value = (double)counts->answers[i],
			.labels = { { "code", code } },
			.nr_labels = 1,
		};

		(void)snprintf(code, sizeof(code), "%d", (int)http_statuses[i]);
		r = prometheus_text_item(&m, i == 0, to);
	}
	return r;
}

static int add_refusals(const struct http_counts *counts, struct buf *to)
{
	static const char *const reasons[HTTP_NR_REFUSALS] = {
		[HTTP_REFUSED_FULL] = "full",
		[HTTP_REFUSED_GAVE_WAY] = "gave_way",
		[HTTP_REFUSED_TIMEOUT] = "timeout",
	};
	int r = 0;

	for (unsigned int i = 0; i < HTTP_NR_REFUSALS && r == 0; i++) {
		const struct pa_metric m = {
			.name = "perf_agent_http_connections_closed_total",
			.help = "Connections to this server that it closed without a whole answer.",
			.type = PA_METRIC_COUNTER,
			.value = (double)counts->refusals[i],
			.labels = { { "reason", reasons[i] } },
			.nr_labels = 1,
		};

		r = prometheus_text_item(&m, i == 0, to);
	}
	return r;
}

/* The server's own counts. */
static int add_http_counts(const struct http_counts *counts, struct buf *to)
{
	const struct pa_metric connections = {
		.name = "perf_agent_http_connections",
		.help = "Connections to this server that are open.",
		.type = PA_METRIC_GAUGE,
		.value = counts->nr_connections,
	};
	int r = prometheus_text_item(&connections, true, to);

	if (r == 0)
		r = add_answers(counts, to);
	return r < 0 ? r : add_refusals(counts, to);
}

static void serve_metrics(struct metrics_endpoint *e, struct http_connection *c)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(MAX_METRICS_BYTES);
	struct pa_metrics *metrics = NULL;
	int r = pa_session_metrics(e->session, &metrics, NULL);

	if (r == 0)
		r = prometheus_text(metrics, &text);
	if (r == 0)
		r = add_http_counts(http_counts(e->server), &text);
	pa_metrics_free(metrics);
	if (r < 0)
		http_answer_text(c, HTTP_SERVER_ERROR, "no metrics: %s", strerror(-r));
	else
		http_answer(c, HTTP_OK, PROMETHEUS_TEXT_TYPE, text.data, text.len);
}

/* ---- /debug/pprof/profile ---- */

/* "seconds=3", or nothing. */
static bool parse_seconds(struct http_text query, unsigned int *ret_seconds)
{
	static const char key[] = "seconds=";
	unsigned int seconds = 0;

	if (!query.len) {
		*ret_seconds = DEFAULT_SECONDS;
		return true;
	}
	if (query.len <= strlen(key) || memcmp(query.at, key, strlen(key)) != 0)
		return false;
	for (size_t i = strlen(key); i < query.len; i++) {
		if (query.at[i] < '0' || query.at[i] > '9')
			return false;
		seconds = seconds * 10 + (unsigned int)(query.at[i] - '0');
		if (seconds > SELF_PROFILE_MAX_SECONDS)
			return false;
	}
	*ret_seconds = seconds;
	return seconds > 0;
}

static void refuse_profile(struct metrics_endpoint *e, struct http_connection *c, int why)
{
	unsigned int wait_s = self_profile_pause_s(e->profile);

	if (why == -EAGAIN && wait_s) {
		http_retry_after(c, wait_s);
		http_answer_text(c, HTTP_UNAVAILABLE,
				 "the agent has just profiled itself; ask again in %u s", wait_s);
	} else {
		http_answer_text(c, HTTP_UNAVAILABLE,
				 "the agent profiles itself already; one at a time");
	}
}

static void serve_profile(struct metrics_endpoint *e, struct http_connection *c,
			  const struct http_request *r)
{
	unsigned int seconds;
	int refusal;

	if (!parse_seconds(r->query, &seconds))
		http_answer_text(c, HTTP_BAD_REQUEST,
				 "write ?seconds=N with N from 1 to %u; this is the agent's own "
				 "profile",
				 SELF_PROFILE_MAX_SECONDS);
	else if (r->is_head)
		http_answer(c, HTTP_OK, "application/octet-stream", "", 0);
	else if ((refusal = self_profile_start(e->profile, seconds)) < 0)
		refuse_profile(e, c, refusal);
	else
		http_wait(e->waiter = c);
}

static void on_profile_ready(void *endpoint)
{
	struct metrics_endpoint *e = endpoint;
	struct http_connection *c = e->waiter;
	struct pa_error err = { 0 };
	_cleanup_(buf_done) struct buf bytes = { 0 };
	int r = self_profile_take(e->profile, &bytes, &err);

	if (r == -EAGAIN || !c)
		return;
	e->waiter = NULL;
	if (r < 0)
		http_answer_text(c, HTTP_SERVER_ERROR, "no profile: %s",
				 err.text[0] ? err.text : strerror(-r));
	else
		http_answer(c, HTTP_OK, "application/octet-stream", bytes.data, bytes.len);
}

static void on_gone(void *endpoint, struct http_connection *c)
{
	struct metrics_endpoint *e = endpoint;

	e->waiter = NULL; /* only it waits */
	self_profile_cancel(e->profile);
}

static void on_stopping(void *endpoint)
{
	struct metrics_endpoint *e = endpoint;
	struct http_connection *c = e->waiter;

	e->waiter = NULL;
	self_profile_cancel(e->profile);
	if (c)
		http_answer_text(c, HTTP_UNAVAILABLE, "no profile: the capture has ended");
}

/* ---- requests ---- */

static void serve_index(struct metrics_endpoint *e, struct http_connection *c)
{
	http_answer_text(c, HTTP_OK,
			 "perf-agent %s\n/metrics\n/healthz\n/debug/pprof/profile?seconds=N",
			 pa_version());
}

static void serve_health(struct metrics_endpoint *e, struct http_connection *c)
{
	http_answer_text(c, HTTP_OK, "ok %s", phase_name(e->session));
}

static void on_request(void *endpoint, struct http_connection *c, const struct http_request *r)
{
	struct metrics_endpoint *e = endpoint;

	if (http_server_is_loopback(e->server) && !http_host_is_local(r))
		http_answer_text(c, HTTP_FORBIDDEN,
				 "the Host of a request is localhost or an IP address here");
	else if (http_text_is(r->path, "/metrics"))
		serve_metrics(e, c);
	else if (http_text_is(r->path, "/healthz"))
		serve_health(e, c);
	else if (http_text_is(r->path, "/debug/pprof/profile"))
		serve_profile(e, c, r);
	else if (http_text_is(r->path, "/"))
		serve_index(e, c);
	else
		http_answer_text(c, HTTP_NOT_FOUND, "there are %s, %s and %s", "/metrics",
				 "/healthz", "/debug/pprof/profile");
}

/* ---- life ---- */

/* In this order: the server's thread runs last. */
static int start_threads(struct metrics_endpoint *e, struct listen_socket *socket)
{
	struct http_handler handler = {
		.request = on_request,
		.gone = on_gone,
		.ready = on_profile_ready,
		.stopping = on_stopping,
		.ctx = e,
	};
	int r = self_profile_new(&e->profile);

	if (r < 0)
		return r;
	handler.fd = self_profile_fd(e->profile);
	r = http_server_new(socket, &handler, &e->server);
	return r < 0 ? r : http_server_start(e->server);
}

int metrics_endpoint_start(struct listen_socket *socket, const struct pa_session *session,
			   struct metrics_endpoint **ret_endpoint, struct pa_error *err)
{
	struct metrics_endpoint *e = calloc(1, sizeof(*e));
	int r = e ? 0 : -ENOMEM;

	if (r == 0) {
		e->session = session;
		r = start_threads(e, socket);
	}
	if (r < 0) {
		metrics_endpoint_free(e);
		return error_set(err, -r, "cannot serve metrics: %s", strerror(-r));
	}
	*ret_endpoint = e;
	return 0;
}

void metrics_endpoint_free(struct metrics_endpoint *e)
{
	if (!e)
		return;
	http_server_free(e->server);
	self_profile_free(e->profile);
	free(e);
}
