/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/bpf_log.h"

#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#define PREFIX "libbpf: "
/* The verifier's log can have megabytes: its beginning names the program, its end has the
 * reason. */
#define HEAD_LINES 50
#define TAIL_LINES 250

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the two variables below */
static unsigned int nr_scopes;
static libbpf_print_fn_t outside; /* the print function that ours has replaced */

static _Thread_local const struct log *current;
static _Thread_local bool is_inside;

static size_t count_lines(const char *text)
{
	size_t nr = 0;

	for (const char *c = text; *c; nr++)
		c += strcspn(c, "\n") + (c[strcspn(c, "\n")] != '\0');
	return nr;
}

/* Messages of libbpf itself have a prefix, but not the verifier's lines among them. */
static const char *prefix_for(const char *text)
{
	return strncmp(text, PREFIX, sizeof(PREFIX) - 1) ? PREFIX : "";
}

static void log_lines(const struct log *log, enum pa_log_level level, const char *text)
{
	size_t nr = count_lines(text);

	for (size_t i = 0; i < nr; i++) {
		size_t len = strcspn(text, "\n");

		if (i < HEAD_LINES || i + TAIL_LINES >= nr)
			log_write(log, level, "%s%.*s", prefix_for(text), (int)len, text);
		else if (i == HEAD_LINES)
			log_write(log, level, PREFIX "(%zu lines are left out)",
				  nr - HEAD_LINES - TAIL_LINES);
		text += len + (text[len] != '\0');
	}
}

/* Passes messages of threads outside a scope to the function that ours has replaced. */
static int print_outside(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	libbpf_print_fn_t fn;

	pthread_mutex_lock(&lock);
	fn = outside;
	pthread_mutex_unlock(&lock);
	return fn ? fn(level, fmt, ap) : 0;
}

static int print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	enum pa_log_level to = level == LIBBPF_WARN ? PA_LOG_INFO : PA_LOG_DEBUG;
	_cleanup_(freep) char *text = NULL;

	if (!is_inside)
		return print_outside(level, fmt, ap);
	if (!log_wants(current, to))
		return 0;
	if (vasprintf(&text, fmt, ap) < 0) {
		text = NULL; /* vasprintf() leaves it undefined */
		return 0;
	}
	log_lines(current, to, text);
	return 0;
}

struct bpf_log_scope bpf_log_begin(const struct log *log)
{
	struct bpf_log_scope scope = { current, is_inside };

	current = log;
	is_inside = true;
	pthread_mutex_lock(&lock);
	if (nr_scopes++ == 0)
		outside = libbpf_set_print(print);
	pthread_mutex_unlock(&lock);
	return scope;
}

/* If another part of the process has replaced our print function in the meantime, theirs stays. */
static void restore_outside(void)
{
	libbpf_print_fn_t now = libbpf_set_print(outside);

	if (now != print)
		(void)libbpf_set_print(now);
}

void bpf_log_end(const struct bpf_log_scope *scope)
{
	pthread_mutex_lock(&lock);
	if (--nr_scopes == 0)
		restore_outside();
	pthread_mutex_unlock(&lock);
	current = scope->outer;
	is_inside = scope->had_outer;
}
