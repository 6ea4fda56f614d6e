/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_json.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hidden_char.h"
#include "base/utf8.h"
#include "cli/flag_names.h"
#include "cli/scope.h"
#include "cli/summary_fields.h"

#define KEY_SIZE 64

/* The object that is being composed. */
struct json_summary {
	const struct pa_summary *summary; /* borrowed */
	size_t nr_bytes;                  /* size of its texts so far */
	bool is_too_large;
};

/* The bytes of the character at s, of n bytes, in the output: names are the same as in a profile. A
 * path that was used is written unchanged, as far as it is text. */
static const char *shown_char(const char *s, size_t *n, bool is_verbatim)
{
	if (*n && (is_verbatim || is_clean_char(utf8_code_point(s, *n))))
		return s;
	s = *n ? "?" : UTF8_REPLACEMENT;
	*n = strlen(s);
	return s;
}

/* Counts n bytes before they are copied: names of a profile may be long, and are copied for each use. */
static bool has_room(struct json_summary *j, size_t n)
{
	j->is_too_large |= n > REPORT_JSON_MAX_BYTES - j->nr_bytes;
	if (j->is_too_large)
		return false;
	j->nr_bytes += n;
	return true;
}

/* A JSON string of any bytes; null for NULL. */
static json_t *string_of(struct json_summary *j, const char *s, bool is_verbatim)
{
	_cleanup_(freep) char *clean = NULL;
	size_t len = 0;

	if (!s)
		return json_null();
	if (!has_room(j, strlen(s)))
		return NULL;
	clean = malloc(strlen(s) * strlen(UTF8_REPLACEMENT) + 1);
	if (!clean)
		return NULL;
	while (*s) {
		size_t nr_bytes = utf8_char_bytes(s), nr_shown = nr_bytes;
		const char *shown = shown_char(s, &nr_shown, is_verbatim);

		memcpy(clean + len, shown, nr_shown);
		len += nr_shown;
		s += nr_bytes ? nr_bytes : 1;
	}
	return json_stringn_nocheck(clean, len);
}

/* A message of the library, which may name options. */
static json_t *advice_of(struct json_summary *j, const char *s)
{
	char text[FLAG_NAMES_SIZE];

	return string_of(j, s ? flag_names(s, text) : NULL, false);
}

/* Jansson's integers are signed; a larger count becomes a real number. */
static json_t *number_of(uint64_t v)
{
	return v <= INT64_MAX ? json_integer((json_int_t)v) : json_real((double)v);
}

static json_t *value_of(struct json_summary *j, const void *base, const struct summary_field *f)
{
	const char *at = (const char *)base + f->offset;

	switch (f->type) {
	case FIELD_STRING:
		return string_of(j, *(const char *const *)at, false);
	case FIELD_USED_PATH:
		return string_of(j, *(const char *const *)at, true);
	case FIELD_ADVICE:
		return advice_of(j, *(const char *const *)at);
	case FIELD_U64:
		return number_of(*(const uint64_t *)at);
	case FIELD_I64:
		return json_integer((json_int_t) * (const int64_t *)at);
	case FIELD_U64_OR_NULL:
		return *(const uint64_t *)at == PA_UNKNOWN ? json_null()
							   : number_of(*(const uint64_t *)at);
	case FIELD_UINT:
		return number_of(*(const unsigned int *)at);
	case FIELD_PID:
		return json_integer(*(const pid_t *)at);
	case FIELD_BOOL:
		return json_boolean(*(const bool *)at);
	}
	return NULL;
}

static int set_structure(struct json_summary *j, json_t *object, const void *base,
			 const struct summary_structure *of);

/* An object, or the value if the structure is a single one. */
static int append_item(struct json_summary *j, json_t *array, const void *base,
		       const struct summary_structure *of)
{
	json_t *item = of->fields[0].name ? json_object() : value_of(j, base, &of->fields[0]);

	if (json_array_append_new(array, item) < 0)
		return -ENOMEM;
	return of->fields[0].name ? set_structure(j, item, base, of) : 0;
}

/* The distance from one item to the next: the items of the library may be larger. */
static size_t stride_of(const struct json_summary *j, const struct summary_structure *of)
{
	return of->size_offset
		       ? *(const size_t *)(const void *)((const char *)j->summary + of->size_offset)
		       : of->size;
}

/* Sets object[list] to an array of the structures that base has there. */
static int set_list(struct json_summary *j, json_t *object, const void *base,
		    const struct summary_list *list)
{
	const char *items = *(const char *const *)((const char *)base + list->offset);
	size_t nr = *(const size_t *)((const char *)base + list->count_offset);
	json_t *array = json_array(); /* owned by object from the next line on */
	size_t stride = stride_of(j, list->item);

	if (json_object_set_new(object, list->name, array) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		if (append_item(j, array, items + i * stride, list->item) < 0)
			return -ENOMEM;
	return 0;
}

/* Sets all members of the structure at base in object. */
static int set_structure(struct json_summary *j, json_t *object, const void *base,
			 const struct summary_structure *of)
{
	int r = 0;

	for (size_t i = 0; i < of->nr_fields; i++)
		if (json_object_set_new(object, of->fields[i].name,
					value_of(j, base, &of->fields[i])) < 0)
			return -ENOMEM;
	for (size_t i = 0; r == 0 && i < of->nr_lists; i++)
		r = set_list(j, object, base, &of->lists[i]);
	return r;
}

/* Sets members from before there were sections: the counts of on-CPU under their old names. */
static int set_ticks(json_t *object, const struct pa_summary *s, size_t i)
{
	const struct pa_section *c = PA_ITEM(s, pa_section, s->sections, i);
	json_t *section = json_array_get(json_object_get(object, "sections"), i);

	if (json_object_set_new(object, "ticks_due", number_of(c->due)) < 0 ||
	    json_object_set_new(object, "ticks_lost", number_of(c->lost)) < 0)
		return -ENOMEM;
	for (size_t n = 0; n < c->nr_counts; n++) {
		const struct pa_count *count = PA_ITEM(s, pa_count, c->counts, n);
		char key[KEY_SIZE];

		(void)snprintf(key, sizeof(key), "ticks_%s", count->name);
		if (json_object_set_new(object, key, number_of(count->count)) < 0)
			return -ENOMEM;
	}
	return json_object_set(object, "losses", json_object_get(section, "losses")) < 0 ? -ENOMEM
											 : 0;
}

static int fill_object(struct json_summary *j, json_t *object, const struct pa_summary *s,
		       const char *error)
{
	int r;

	if (json_object_set_new(object, "schema", json_string("perf-agent-summary")) < 0 ||
	    json_object_set_new(object, "schema_version",
				json_integer(REPORT_JSON_SCHEMA_VERSION)) < 0 ||
	    json_object_set_new(object, "error", advice_of(j, error)) < 0)
		return -ENOMEM;
	r = set_structure(j, object, s, &summary_structure);
	for (size_t i = 0; r == 0 && i < s->nr_sections; i++)
		if (!strcmp(PA_ITEM(s, pa_section, s->sections, i)->name, "on-cpu"))
			r = set_ticks(object, s, i);
	return r;
}

int report_json(const struct pa_summary *s, const char *error, char **ret_text)
{
	json_auto_t *object = json_object();
	struct json_summary j = { .summary = s };
	char *text, *line;
	size_t n;

	if (!object || fill_object(&j, object, s, error) < 0)
		return j.is_too_large ? -E2BIG : -ENOMEM;
	/* escapes everything beyond ASCII, because it may go to a terminal */
	text = json_dumps(object, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	if (!text)
		return -ENOMEM;
	n = strlen(text);
	line = realloc(text, n + sizeof("\n"));
	if (!line) {
		free(text);
		return -ENOMEM;
	}
	memcpy(line + n, "\n", sizeof("\n"));
	*ret_text = line;
	return 0;
}
