/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "cli/report_json.h"
#include "tap.h"

static const struct pa_function_stat functions[] = {
	{ "main", "/usr/bin/app", 1, 2 },
	/* latin-1, overlong, surrogate, past the end of Unicode, cut off */
	{ "gr\xf6\xdf"
	  "e",
	  "\xc0\xaf", 3, 4 },
	{ "\xed\xa0\x80", "\xf4\x90\x80\x80", 5, 6 },
	{ "a\xe2\x82", "\x1b[31m\"\\\n", 7, 8 },
	{ "\xe6\xbc\xa2 \xf0\x9f\x98\x80", "", 9, 10 },
};

static const struct pa_fetch_failure fetch_failures[] = {
	{ "debug.example", "http", "HTTP 500", 2 },
};

static const struct pa_unanswered_stat unanswered[] = { { 7, "maps" } };

static const struct pa_count losses[] = { { "ring_full", "the ring was full", 0 } };

static struct pa_summary sample(void)
{
	return (struct pa_summary){
		.sz = sizeof(struct pa_summary),
		.version = "1.2.3",
		.event = "cpu-clock",
		.period = 10101010,
		.ticks_due = UINT64_MAX,
		.samples = INT64_MAX,
		.losses = losses,
		.nr_losses = 1,
		.functions = functions,
		.nr_functions = 5,
		.targets_exited = true,
		.naming_batches = 1,
		.naming_addresses = 2,
		.naming_raw = 3,
		.naming_fallbacks = 4,
		.naming_p50_ns = 5,
		.naming_p99_ns = 6,
		.naming_max_ns = 7,
		.fetch_failures = fetch_failures,
		.nr_fetch_failures = 1,
		.naming_failures = losses,
		.nr_naming_failures = 1,
		.unanswered_seen = 20,
		.unanswered = unanswered,
		.nr_unanswered = 1,
	};
}

static json_t *parse(const struct pa_summary *s, const char *error)
{
	char *text = NULL;
	json_t *j;

	must(report_json(s, error, &text) == 0);
	ok(text[strlen(text) - 1] == '\n', "the text ends with a newline");
	j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	ok(j != NULL, "the text is one JSON object");
	free(text);
	return j;
}

static const char *function_string(json_t *j, size_t i, const char *key)
{
	json_t *f = json_array_get(json_object_get(j, "functions"), i);

	return json_string_value(json_object_get(f, key));
}

static void check_string(json_t *j, size_t i, const char *key, const char *expected,
			 const char *what)
{
	const char *s = function_string(j, i, key);

	ok(s && !strcmp(s, expected), "%s", what);
}

#define FFFD "\xef\xbf\xbd"

static void test_strings(json_t *j)
{
	check_string(j, 0, "name", "main", "ASCII is kept");
	check_string(j, 1, "name", "gr" FFFD FFFD "e", "Latin-1 is replaced");
	check_string(j, 1, "file", FFFD FFFD, "an overlong form is replaced");
	check_string(j, 2, "name", FFFD FFFD FFFD, "a surrogate is replaced");
	check_string(j, 2, "file", FFFD FFFD FFFD FFFD, "what is past Unicode is replaced");
	check_string(j, 3, "name", "a" FFFD FFFD, "what is cut off is replaced");
	check_string(j, 3, "file", "\x1b[31m\"\\\n", "control characters survive, escaped");
	check_string(j, 4, "name", "\xe6\xbc\xa2 \xf0\x9f\x98\x80", "good UTF-8 is kept");
}

static void test_values(json_t *j)
{
	ok(json_integer_value(json_object_get(j, "schema_version")) == 1,
	   "the schema has a version");
	ok(json_is_null(json_object_get(j, "error")), "no error is null");
	ok(json_integer_value(json_object_get(j, "period_ns")) == 10101010,
	   "the period has a unit");
	ok(json_integer_value(json_object_get(j, "samples")) == INT64_MAX,
	   "large counts are exact");
	ok(json_real_value(json_object_get(j, "ticks_due")) == (double)UINT64_MAX,
	   "a count past signed integers does not turn negative");
	ok(json_is_true(json_object_get(j, "targets_exited")), "booleans are booleans");
	ok(json_is_null(json_object_get(j, "kernel_symbols")), "a missing string is null");
	ok(json_array_size(json_object_get(j, "losses")) == 1, "losses of 0 are listed too");
	ok(json_is_array(json_object_get(j, "stops")), "an empty list is a list");
}

static void test_fetch_failures(json_t *j)
{
	json_t *f = json_array_get(json_object_get(j, "fetch_failures"), 0);
	const char *server = json_string_value(json_object_get(f, "server"));
	const char *reason = json_string_value(json_object_get(f, "reason"));
	const char *text = json_string_value(json_object_get(f, "text"));

	ok(server && reason && text && !strcmp(server, "debug.example") &&
		   !strcmp(reason, "http") && !strcmp(text, "HTTP 500") &&
		   json_integer_value(json_object_get(f, "count")) == 2,
	   "servers that failed are told, with the reason");
}

static void test_unanswered(json_t *j)
{
	json_t *u = json_array_get(json_object_get(j, "unanswered"), 0);
	const char *what = json_string_value(json_object_get(u, "what"));

	ok(json_integer_value(json_object_get(j, "unanswered_seen")) == 20 && what &&
		   !strcmp(what, "maps") && json_integer_value(json_object_get(u, "pid")) == 7,
	   "who did not answer is told");
}

static void test_naming(json_t *j)
{
	static const char *const names[] = { "batches", "addresses", "raw",   "fallbacks",
					     "p50_ns",  "p99_ns",    "max_ns" };

	for (int i = 0; i < 7; i++) {
		char key[32];

		snprintf(key, sizeof(key), "naming_%s", names[i]);
		ok(json_integer_value(json_object_get(j, key)) == i + 1, "%s is told", key);
	}
	ok(json_array_size(json_object_get(j, "naming_failures")) == 1, "and reasons for failures");
}

static long nr_allocs_left; /* before one fails; below 0: none does */

static void *failing_malloc(size_t n)
{
	if (nr_allocs_left == 0)
		return NULL;
	nr_allocs_left--;
	return malloc(n);
}

static void test_memory(const struct pa_summary *s)
{
	char *text = NULL;
	int r = -ENOMEM;
	long n;

	json_set_alloc_funcs(failing_malloc, free);
	for (n = 0; r == -ENOMEM && n < 100000; n++) {
		nr_allocs_left = n;
		r = report_json(s, "an error", &text);
	}
	nr_allocs_left = -1;
	ok(r == 0 && text, "each of %ld allocations may fail, then it works", n);
	free(text);
}

int main(void)
{
	struct pa_summary s = sample();
	json_t *j = parse(&s, NULL);

	must(j);
	test_strings(j);
	test_values(j);
	test_fetch_failures(j);
	test_unanswered(j);
	test_naming(j);
	json_decref(j);
	j = parse(&s, "the disk is full");
	must(j);
	ok(!strcmp(json_string_value(json_object_get(j, "error")), "the disk is full"),
	   "an error is told");
	json_decref(j);
	test_memory(&s);
	return tap_done();
}
