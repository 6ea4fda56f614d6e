/* SPDX-License-Identifier: Apache-2.0 */
#include "write/flame_tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "write/clean_text.h"

#define NO_NAME "[unknown]"
#define PYTHON_PREFIX "py::" /* prefix of functions in CPython's perf map */
#define PYTHON_SUFFIX ".py"

int flame_tables_init(struct flame_tables *t)
{
	*t = (struct flame_tables){ .text = BUF_INIT(4 * (size_t)STRTAB_MAX_BYTES) };
	return strtab_init(&t->strings);
}

void flame_tables_done(struct flame_tables *t)
{
	strtab_done(&t->strings);
	free(t->functions);
	free(t->frames);
	free(t->forms);
	free(t->form_frames);
	idtable_done(&t->function_index);
	idtable_done(&t->frame_index);
	idtable_done(&t->form_index);
	buf_done(&t->text);
}

int flame_tables_string(struct flame_tables *t, const char *s, uint32_t *ret_id)
{
	int r;

	if (t->cancel && atomic_load_explicit(t->cancel, memory_order_relaxed))
		return -ECANCELED;
	buf_clear(&t->text);
	r = text_append_clean(&t->text, s);
	if (r < 0)
		return r;
	return strtab_intern_n(&t->strings, t->text.data ? t->text.data : "", t->text.len, ret_id);
}

static bool function_equals(const void *owner, uint32_t id, const void *key)
{
	const struct flame_tables *t = owner;

	return memcmp(&t->functions[id], key, sizeof(*t->functions)) == 0;
}

static int add_function(struct flame_tables *t, const struct flame_function *f, uint32_t *ret_id)
{
	uint64_t hash = hash_bytes_seeded(t->strings.seed, f, sizeof(*f));
	int r;

	if (idtable_find(&t->function_index, hash, function_equals, t, f, ret_id))
		return 0;
	r = ARRAY_RESERVE(t->functions, t->cap_functions, t->nr_functions + 1, PROFILE_MAX_THINGS);
	if (r == 0)
		r = idtable_reserve(&t->function_index);
	if (r < 0)
		return r;
	*ret_id = t->nr_functions++;
	t->functions[*ret_id] = *f;
	idtable_insert(&t->function_index, hash, *ret_id);
	return 0;
}

static bool frame_equals(const void *owner, uint32_t id, const void *key)
{
	const struct flame_tables *t = owner;

	return memcmp(&t->frames[id], key, sizeof(*t->frames)) == 0;
}

static int add_frame(struct flame_tables *t, const struct flame_frame *f, uint32_t *ret_id)
{
	uint64_t hash = hash_bytes_seeded(t->strings.seed, f, sizeof(*f));
	int r;

	if (idtable_find(&t->frame_index, hash, frame_equals, t, f, ret_id))
		return 0;
	r = ARRAY_RESERVE(t->frames, t->cap_frames, t->nr_frames + 1, PROFILE_MAX_THINGS);
	if (r == 0)
		r = idtable_reserve(&t->frame_index);
	if (r < 0)
		return r;
	*ret_id = t->nr_frames++;
	t->frames[*ret_id] = *f;
	idtable_insert(&t->frame_index, hash, *ret_id);
	return 0;
}

static bool is_python(const char *name, const char *file)
{
	size_t len = strlen(file), suffix = strlen(PYTHON_SUFFIX);

	return strncmp(name, PYTHON_PREFIX, strlen(PYTHON_PREFIX)) == 0 ||
	       (len > suffix && strcmp(file + len - suffix, PYTHON_SUFFIX) == 0);
}

/* The kind of code in a mapping, or outside of all mappings. */
static uint32_t kind_of(const struct profile *p, uint32_t mapping, const char *name,
			const char *file)
{
	enum profile_mapping_kind kind = mapping == PROFILE_NONE ? PROFILE_MAPPING_FILE
								 : p->mappings[mapping].kind;

	if (kind == PROFILE_MAPPING_KERNEL)
		return FLAME_KERNEL;
	if (is_python(name, file))
		return FLAME_PYTHON;
	return kind == PROFILE_MAPPING_JIT ? FLAME_JIT : FLAME_USER;
}

static int add_named(struct flame_tables *t, const struct profile *p, uint32_t mapping,
		     const char *name, const char *file, uint32_t start_line, uint32_t *ret_id)
{
	struct flame_function f = { .start_line = start_line,
				    .kind = kind_of(p, mapping, name, file) };
	int r = flame_tables_string(t, name, &f.name);

	if (r == 0)
		r = flame_tables_string(t, file, &f.file);
	if (r == 0 && mapping != PROFILE_NONE)
		r = flame_tables_string(t, profile_str(p, p->mappings[mapping].path), &f.module);
	return r < 0 ? r : add_function(t, &f, ret_id);
}

int flame_tables_function(struct flame_tables *t, const struct profile *p, uint32_t function,
			  uint32_t *ret_id)
{
	const struct profile_function *f = &p->functions[function];
	const char *name = profile_str(p, f->name);

	return add_named(t, p, f->mapping, *name ? name : NO_NAME, profile_str(p, f->filename),
			 f->start_line, ret_id);
}

static int add_address(struct flame_tables *t, const struct profile *p,
		       const struct profile_location *l, uint32_t *ret_frame)
{
	struct flame_frame frame = { 0 };
	char hex[24];
	int r;

	(void)snprintf(hex, sizeof(hex), "0x%" PRIx64, l->address);
	r = add_named(t, p, l->mapping, hex, "", 0, &frame.function);
	return r < 0 ? r : add_frame(t, &frame, ret_frame);
}

struct form_key {
	const uint32_t *frames;
	uint32_t nr;
};

static bool form_equals(const void *owner, uint32_t id, const void *key)
{
	const struct flame_tables *t = owner;
	const struct form_key *k = key;

	return t->forms[id].nr == k->nr && memcmp(t->form_frames + t->forms[id].first, k->frames,
						  k->nr * sizeof(*k->frames)) == 0;
}

/* Makes the frames from `first` on a new form, or removes them if the same form exists. */
static int add_form(struct flame_tables *t, uint32_t first, uint32_t *ret_form)
{
	const struct form_key key = { t->form_frames + first, t->nr_form_frames - first };
	uint64_t hash =
		hash_bytes_seeded(t->strings.seed, key.frames, key.nr * sizeof(*key.frames));
	int r;

	if (idtable_find(&t->form_index, hash, form_equals, t, &key, ret_form)) {
		t->nr_form_frames = first;
		return 0;
	}
	r = ARRAY_RESERVE(t->forms, t->cap_forms, t->nr_forms + 1, PROFILE_MAX_THINGS);
	if (r == 0)
		r = idtable_reserve(&t->form_index);
	if (r < 0)
		return r;
	*ret_form = t->nr_forms++;
	t->forms[*ret_form] = (struct profile_span){ first, key.nr };
	idtable_insert(&t->form_index, hash, *ret_form);
	return 0;
}

/* Adds the frames of a location: all its lines except the last are of functions that were inlined
 * there. */
static int add_lines(struct flame_tables *t, const struct profile_line *lines, uint32_t nr,
		     const uint32_t *functions, uint32_t *ret_frames)
{
	int r = 0;

	for (uint32_t i = 0; i < nr && r == 0; i++) {
		const struct profile_line *line = &lines[nr - 1 - i];
		const struct flame_frame frame = { .function = functions[line->function],
						   .line = line->line,
						   .is_inlined = i > 0 };

		r = add_frame(t, &frame, &ret_frames[i]);
	}
	return r;
}

int flame_tables_form(struct flame_tables *t, const struct profile *p, const uint32_t *functions,
		      uint32_t location, uint32_t *ret_form)
{
	const struct profile_location *l = &p->locations[location];
	uint32_t first = t->nr_form_frames, nr = l->nr_lines ? l->nr_lines : 1;
	int r = ARRAY_RESERVE(t->form_frames, t->cap_form_frames, (size_t)first + nr,
			      PROFILE_MAX_FRAMES_TOTAL);

	if (r < 0)
		return r;
	r = l->nr_lines
		    ? add_lines(t, p->lines + l->first_line, nr, functions, t->form_frames + first)
		    : add_address(t, p, l, t->form_frames + first);
	if (r < 0)
		return r;
	t->nr_form_frames = first + nr;
	return add_form(t, first, ret_form);
}
