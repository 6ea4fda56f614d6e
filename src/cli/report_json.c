/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_json.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/scope.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define REPLACEMENT_LEN 3

enum field_type { FIELD_STRING, FIELD_U64, FIELD_UINT, FIELD_BOOL };

struct field {
	const char *name;
	enum field_type type;
	size_t offset;
};

/* Bytes of the UTF-8 sequence at s (RFC 3629: shortest form, no surrogates), or 0. */
static size_t utf8_len(const unsigned char *s)
{
	unsigned char lo = 0x80, hi = 0xbf;
	size_t len;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		lo = 0xa0;
	else if (s[0] == 0xed)
		hi = 0x9f;
	else if (s[0] == 0xf0)
		lo = 0x90;
	else if (s[0] == 0xf4)
		hi = 0x8f;
	for (size_t i = 1; i < len; i++, lo = 0x80, hi = 0xbf)
		if (s[i] < lo || s[i] > hi) /* a NUL too, so this stays inside the string */
			return 0;
	return len;
}

/* A JSON string of any bytes; null for NULL. */
static json_t *string_of(const char *s)
{
	_cleanup_(freep) char *clean = NULL;
	size_t len = 0;

	if (!s)
		return json_null();
	clean = malloc(strlen(s) * REPLACEMENT_LEN + 1);
	if (!clean)
		return NULL;
	while (*s) {
		size_t n = utf8_len((const unsigned char *)s);

		memcpy(clean + len, n ? s : REPLACEMENT, n ? n : REPLACEMENT_LEN);
		len += n ? n : REPLACEMENT_LEN;
		s += n ? n : 1;
	}
	return json_stringn_nocheck(clean, len);
}

/* Jansson's integers are signed; a count past them is said as nearly as JSON can. */
static json_t *number_of(uint64_t v)
{
	return v <= INT64_MAX ? json_integer((json_int_t)v) : json_real((double)v);
}

static json_t *value_of(const void *base, const struct field *f)
{
	const char *at = (const char *)base + f->offset;

	switch (f->type) {
	case FIELD_STRING:
		return string_of(*(const char *const *)at);
	case FIELD_U64:
		return number_of(*(const uint64_t *)at);
	case FIELD_UINT:
		return number_of(*(const unsigned int *)at);
	case FIELD_BOOL:
		return json_boolean(*(const bool *)at);
	}
	return NULL;
}

/* Sets nr fields of the structure at base in object. */
static int set_fields(json_t *object, const void *base, const struct field *fields, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (json_object_set_new(object, fields[i].name, value_of(base, &fields[i])) < 0)
			return -ENOMEM;
	return 0;
}

/* Sets object[name] to an array of nr_items structures. */
static int set_array(json_t *object, const char *name, const void *items, size_t nr_items,
		     size_t item_size, const struct field *fields, size_t nr_fields)
{
	json_t *array = json_array(); /* from the next line on it is object's */

	if (json_object_set_new(object, name, array) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < nr_items; i++) {
		json_t *item = json_object();

		if (json_array_append_new(array, item) < 0)
			return -ENOMEM;
		if (set_fields(item, (const char *)items + i * item_size, fields, nr_fields) < 0)
			return -ENOMEM;
	}
	return 0;
}

#define F(type, owner, field)                                                                      \
	{                                                                                          \
#field, type, offsetof(struct owner, field)                                        \
	}
#define NR(fields) (sizeof(fields) / sizeof((fields)[0]))

static const struct field count_fields[] = {
	F(FIELD_STRING, pa_count, name),
	F(FIELD_STRING, pa_count, text),
	F(FIELD_U64, pa_count, count),
};

static const struct field cut_fields[] = {
	F(FIELD_STRING, pa_cut_stat, reason), F(FIELD_STRING, pa_cut_stat, text),
	F(FIELD_STRING, pa_cut_stat, file),   F(FIELD_U64, pa_cut_stat, nr_samples),
	F(FIELD_STRING, pa_cut_stat, cure),
};

static const struct field function_fields[] = {
	F(FIELD_STRING, pa_function_stat, name),
	F(FIELD_STRING, pa_function_stat, file),
	F(FIELD_U64, pa_function_stat, nr_self),
	F(FIELD_U64, pa_function_stat, nr_total),
};

static const struct field unnamed_fields[] = {
	F(FIELD_STRING, pa_unnamed_stat, file),
	F(FIELD_U64, pa_unnamed_stat, nr_samples),
	F(FIELD_STRING, pa_unnamed_stat, why),
	F(FIELD_STRING, pa_unnamed_stat, cure),
};

static const struct field limit_fields[] = {
	F(FIELD_STRING, pa_limit_stat, file),
	F(FIELD_STRING, pa_limit_stat, what),
	F(FIELD_STRING, pa_limit_stat, text),
};

static const struct field fetch_failure_fields[] = {
	F(FIELD_STRING, pa_fetch_failure, server),
	F(FIELD_STRING, pa_fetch_failure, reason),
	F(FIELD_STRING, pa_fetch_failure, text),
	F(FIELD_U64, pa_fetch_failure, count),
};

static const struct field unanswered_fields[] = {
	F(FIELD_UINT, pa_unanswered_stat, pid),
	F(FIELD_STRING, pa_unanswered_stat, what),
};

static const struct field output_fields[] = {
	F(FIELD_STRING, pa_output_stat, kind),
	F(FIELD_STRING, pa_output_stat, path),
	F(FIELD_U64, pa_output_stat, size_bytes),
};

static const struct field head_fields[] = {
	F(FIELD_STRING, pa_summary, version),
	F(FIELD_STRING, pa_summary, event),
	{ "period_ns", FIELD_U64, offsetof(struct pa_summary, period) },
	F(FIELD_UINT, pa_summary, sample_rate_hz),
	F(FIELD_U64, pa_summary, start_time_ns),
	F(FIELD_U64, pa_summary, duration_ns),
	F(FIELD_U64, pa_summary, first_sample_ns),
	F(FIELD_BOOL, pa_summary, targets_exited),
	F(FIELD_UINT, pa_summary, nr_cpus),
	F(FIELD_U64, pa_summary, ticks_due),
	F(FIELD_U64, pa_summary, ticks_idle),
	F(FIELD_U64, pa_summary, ticks_other),
	F(FIELD_U64, pa_summary, ticks_outside),
	F(FIELD_U64, pa_summary, samples),
	F(FIELD_U64, pa_summary, ticks_lost),
	F(FIELD_U64, pa_summary, sideband_lost),
	F(FIELD_U64, pa_summary, nr_stacks),
	F(FIELD_U64, pa_summary, nr_processes),
	F(FIELD_U64, pa_summary, stacks_complete),
	F(FIELD_U64, pa_summary, no_user_stack),
	F(FIELD_U64, pa_summary, walks_finished),
	F(FIELD_U64, pa_summary, walks_again),
	F(FIELD_U64, pa_summary, samples_in_kernel),
	F(FIELD_U64, pa_summary, nr_tables),
	F(FIELD_U64, pa_summary, tables_peak_bytes),
	F(FIELD_U64, pa_summary, tables_evicted),
	F(FIELD_U64, pa_summary, tables_refused),
	F(FIELD_U64, pa_summary, notices_lost),
	F(FIELD_U64, pa_summary, nr_locations),
	F(FIELD_U64, pa_summary, nr_locations_named),
	F(FIELD_STRING, pa_summary, kernel_symbols),
	F(FIELD_U64, pa_summary, fetched_bytes),
	F(FIELD_U64, pa_summary, nr_cache_evicted),
	F(FIELD_U64, pa_summary, nr_debug_files),
	F(FIELD_U64, pa_summary, nr_debug_mismatches),
	F(FIELD_U64, pa_summary, nr_unnamed_by_rule),
	F(FIELD_STRING, pa_summary, fetch_problem),
	F(FIELD_U64, pa_summary, naming_batches),
	F(FIELD_U64, pa_summary, naming_addresses),
	F(FIELD_U64, pa_summary, naming_raw),
	F(FIELD_U64, pa_summary, naming_fallbacks),
	F(FIELD_U64, pa_summary, naming_p50_ns),
	F(FIELD_U64, pa_summary, naming_p99_ns),
	F(FIELD_U64, pa_summary, naming_max_ns),
	F(FIELD_U64, pa_summary, functions_seen),
	F(FIELD_U64, pa_summary, functions_self),
	F(FIELD_U64, pa_summary, cuts_seen),
	F(FIELD_U64, pa_summary, cuts_samples),
	F(FIELD_U64, pa_summary, unnamed_seen),
	F(FIELD_U64, pa_summary, unnamed_samples),
	F(FIELD_U64, pa_summary, limits_seen),
	F(FIELD_U64, pa_summary, unanswered_seen),
	F(FIELD_U64, pa_summary, agent_cpu_ns),
	F(FIELD_U64, pa_summary, agent_peak_rss_bytes),
	F(FIELD_U64, pa_summary, agent_sampling_cpu_ns),
	F(FIELD_U64, pa_summary, agent_sampling_rss_bytes),
};

#define SET_ARRAY(object, s, member, fields)                                                       \
	set_array(object, #member, (s)->member, (s)->nr_##member, sizeof(*(s)->member), fields,    \
		  NR(fields))

static int set_names(json_t *object, const struct pa_summary *s)
{
	if (SET_ARRAY(object, s, naming_failures, count_fields) < 0 ||
	    SET_ARRAY(object, s, functions, function_fields) < 0 ||
	    SET_ARRAY(object, s, unnamed, unnamed_fields) < 0 ||
	    SET_ARRAY(object, s, limits, limit_fields) < 0 ||
	    SET_ARRAY(object, s, jit, count_fields) < 0)
		return -ENOMEM;
	return 0;
}

static int fill_object(json_t *object, const struct pa_summary *s, const char *error)
{
	if (json_object_set_new(object, "schema", json_string("perf-agent-summary")) < 0 ||
	    json_object_set_new(object, "schema_version",
				json_integer(REPORT_JSON_SCHEMA_VERSION)) < 0 ||
	    json_object_set_new(object, "error", string_of(error)) < 0)
		return -ENOMEM;
	if (set_fields(object, s, head_fields, NR(head_fields)) < 0 ||
	    SET_ARRAY(object, s, losses, count_fields) < 0 ||
	    SET_ARRAY(object, s, stops, count_fields) < 0 ||
	    SET_ARRAY(object, s, fetches, count_fields) < 0 ||
	    SET_ARRAY(object, s, fetch_failures, fetch_failure_fields) < 0 ||
	    SET_ARRAY(object, s, cuts, cut_fields) < 0 || set_names(object, s) < 0 ||
	    SET_ARRAY(object, s, unanswered, unanswered_fields) < 0 ||
	    SET_ARRAY(object, s, outputs, output_fields) < 0)
		return -ENOMEM;
	return 0;
}

int report_json(const struct pa_summary *s, const char *error, char **ret_text)
{
	json_auto_t *object = json_object();
	_cleanup_(freep) char *text = NULL;
	char *line;

	if (!object || fill_object(object, s, error) < 0)
		return -ENOMEM;
	/* what is beyond ASCII is escaped: it may be meant for a terminal */
	text = json_dumps(object, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	if (!text || asprintf(&line, "%s\n", text) < 0)
		return -ENOMEM;
	*ret_text = line;
	return 0;
}
