/* SPDX-License-Identifier: Apache-2.0 */
#include "summary_reader.h"

#include <stdlib.h>

#include "cli/summary_fields.h"
#include "item_sizes.h"

/* A field without a name is the whole value. json_integer_value() and the like accept NULL, and values of
 * other types. */
static void read_field(void *base, const struct summary_field *f, const json_t *from)
{
	const json_t *value = f->name ? json_object_get(from, f->name) : from;
	char *at = (char *)base + f->offset;

	switch (f->type) {
	case FIELD_STRING:
	case FIELD_USED_PATH:
	case FIELD_ADVICE:
		*(const char **)at = json_string_value(value);
		break;
	case FIELD_U64:
		*(uint64_t *)at = (uint64_t)json_integer_value(value);
		break;
	case FIELD_I64:
		*(int64_t *)at = json_integer_value(value);
		break;
	case FIELD_U64_OR_NULL:
		*(uint64_t *)at = json_is_integer(value) ? (uint64_t)json_integer_value(value)
							 : PA_UNKNOWN;
		break;
	case FIELD_UINT:
		*(unsigned int *)at = (unsigned int)json_integer_value(value);
		break;
	case FIELD_PID:
		*(pid_t *)at = (pid_t)json_integer_value(value);
		break;
	case FIELD_BOOL:
		*(bool *)at = json_is_true(value);
		break;
	}
}

static bool read_structure(void *base, const struct summary_structure *of, const json_t *from);

static bool read_list(void *base, const struct summary_list *list, const json_t *from)
{
	const json_t *array = json_object_get(from, list->name);
	size_t nr = json_array_size(array), size = list->item->size;
	char *items = calloc(nr + 1, size);

	if (!items)
		return false;
	*(char **)((char *)base + list->offset) = items;
	*(size_t *)((char *)base + list->count_offset) = nr;
	for (size_t i = 0; i < nr; i++)
		if (!read_structure(items + i * size, list->item, json_array_get(array, i)))
			return false;
	return true;
}

static bool read_structure(void *base, const struct summary_structure *of, const json_t *from)
{
	bool is_read = true;

	for (size_t i = 0; i < of->nr_fields; i++)
		read_field(base, &of->fields[i], from);
	for (size_t i = 0; is_read && i < of->nr_lists; i++)
		is_read = read_list(base, &of->lists[i], from);
	return is_read;
}

static void free_lists(void *base, const struct summary_structure *of)
{
	for (size_t i = 0; i < of->nr_lists; i++) {
		const struct summary_list *list = &of->lists[i];
		char *items = *(char **)((char *)base + list->offset);
		size_t nr = *(size_t *)((char *)base + list->count_offset);

		for (size_t k = 0; items && k < nr; k++)
			free_lists(items + k * list->item->size, list->item);
		free(items);
	}
}

bool summary_reader_init(struct summary_reader *r, const char *path)
{
	*r = (struct summary_reader){ .summary = { .sz = sizeof(r->summary), ITEM_SIZES } };
	r->json = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
	return json_is_object(r->json) && read_structure(&r->summary, &summary_structure, r->json);
}

void summary_reader_done(struct summary_reader *r)
{
	free_lists(&r->summary, &summary_structure);
	json_decref(r->json);
}
