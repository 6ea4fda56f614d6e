/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the library do again and again: a short capture of a child, bytes in memory. */
#ifndef LIB_SESSION_H
#define LIB_SESSION_H

#include <perfagent/perfagent.h>
#include <stdint.h>

#include "lib_target.h"

#define MS 1000000ull

static pid_t target;

/* What a write callback got, and what it is to do. */
struct sink {
	char *bytes;
	size_t nr;
	size_t most;     /* takes so many bytes at a time; 0: any number */
	ssize_t instead; /* when `after` bytes have come, returns this; 0: never */
	size_t after;
	unsigned int nr_calls;
	bool returns_zero;
};

__attribute__((unused)) static ssize_t sink_write(void *ctx, const void *bytes, size_t n)
{
	struct sink *s = ctx;

	s->nr_calls++;
	if ((s->instead || s->returns_zero) && s->nr >= s->after)
		return s->instead;
	if (s->most && n > s->most)
		n = s->most;
	s->bytes = realloc(s->bytes, s->nr + n);
	must(s->bytes);
	memcpy(s->bytes + s->nr, bytes, n);
	s->nr += n;
	return (ssize_t)n;
}

__attribute__((unused)) static struct pa_options options(const struct pa_output *outputs, size_t nr)
{
	return (struct pa_options){
		.sz = sizeof(struct pa_options),
		.pids = &target,
		.nr_pids = 1,
		.sample_rate_hz = 499,
		.duration_ns = 500 * MS,
		.outputs = outputs,
		.nr_outputs = nr,
	};
}

__attribute__((unused)) static struct pa_session *started(const struct pa_options *o)
{
	struct pa_session *s = NULL;
	struct pa_error err = { 0 };

	if (pa_session_new(o, &s, &err) < 0 || pa_session_start(s, &err) < 0)
		printf("# %s\n", err.text);
	must(s && err.code == 0);
	return s;
}

/* The result of a capture with these options, and its message. */
__attribute__((unused)) static int capture(const struct pa_options *o, struct pa_error *err)
{
	struct pa_session *s = started(o);
	int r = pa_session_wait(s, -1, err);

	ok(pa_session_stop(s, NULL) == r, "stop after the end has the same result");
	pa_session_free(s);
	return r;
}

#endif
