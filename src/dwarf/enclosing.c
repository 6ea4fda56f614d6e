/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scopes around a function. Compilers omit the linkage name if a function cannot be called from
 * other units: GCC does so for lambdas, members of local types and everything with internal
 * linkage. A lambda is then called "operator()", like any other lambda.
 */
#include <string.h>

#include "base/buf.h"
#include "dwarf/internal.h"

#define SCOPE_MAX_BYTES (16u << 10)
#define SCOPE_MAX_ENTRIES 64  /* around one function, up to the next function */
#define SCOPE_MAX_FUNCTIONS 8 /* nested in each other */
#define SCOPE_COST_BYTES 64   /* per entry */

static bool is_cplusplus(const struct dw_unit *u)
{
	uint64_t language;

	if (!dw_value_number(&u->root.language, &language))
		return false;
	switch (language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_ObjC_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_C_plus_plus_17:
	case DW_LANG_C_plus_plus_20:
		return true;
	default:
		return false;
	}
}

static int prepare_places(struct dw_unit *u)
{
	int r;

	if (u->has_tried_places)
		return 0;
	r = dw_places_new(u, &u->places);
	if (r == -ENOMEM)
		return r;
	u->has_tried_places = true;
	if (u->places)
		dw_unit_grew(u, dw_places_bytes(u->places));
	return 0;
}

/* Unnamed scopes are distinguished by their line; "inner" is what they contain. */
static int add_unnamed(struct buf *to, const struct dw_step *s, const char *inner)
{
	bool is_lambda = inner && (!strncmp(inner, "operator()", strlen("operator()")) ||
				   !strcmp(inner, "_FUN"));
	uint64_t line;

	if (s->tag == DW_TAG_namespace)
		return buf_printf(to, "(anonymous namespace)");
	if (!dw_value_number(&s->decl_line, &line))
		return buf_printf(to, is_lambda ? "{lambda}" : "{unnamed type}");
	return buf_printf(to, is_lambda ? "{lambda:%llu}" : "{unnamed type:%llu}",
			  (unsigned long long)line);
}

static int add_entry(const struct dw_unit *u, const struct dw_step *s, const char *inner,
		     struct buf *to)
{
	const char *name = s->name.form ? dw_value_string(u, &s->name) : NULL;

	return name && *name ? buf_printf(to, "%s", name) : add_unnamed(to, s, inner);
}

/* The outermost enclosing function, by its own full name. */
static int add_function(struct dw_unit *u, uint32_t die, struct buf *to, uint32_t *ret_mangled)
{
	struct dwarf *d = u->file->d;
	struct dwarf_frame f = { 0 };
	int r;

	if (d->naming_depth >= SCOPE_MAX_FUNCTIONS)
		return -E2BIG;
	d->naming_depth++;
	r = dw_name_of(u, die, &f);
	d->naming_depth--;
	if (r == 0 && !f.name)
		r = -ENOENT;
	if (r < 0)
		return r;
	*ret_mangled = f.is_linkage_name ? (uint32_t)strlen(f.name) : f.scope_mangled_bytes;
	return buf_printf(to, "%s%s%s", f.scope ? f.scope : "", f.scope ? "::" : "", f.name);
}

struct around {
	uint32_t dies[SCOPE_MAX_ENTRIES]; /* innermost first */
	uint32_t nr;
	bool ends_in_function;
};

static int collect(const struct dw_unit *u, uint32_t die, struct around *to)
{
	struct dw_step s;

	while (!to->ends_in_function && dw_places_around(u->places, die, &die)) {
		int r = to->nr == SCOPE_MAX_ENTRIES || !dw_work(u->file->d, SCOPE_COST_BYTES)
				? -E2BIG
				: dw_step_read(u, die, &s);

		if (r < 0)
			return r;
		to->dies[to->nr++] = die;
		to->ends_in_function = s.tag == DW_TAG_subprogram;
	}
	/* A function directly inside another one (GNU C nested functions) keeps its own name. */
	return to->nr == 1 && to->ends_in_function ? -ENOENT : 0;
}

static int write_scope(struct dw_unit *u, const struct around *a, const char *name, struct buf *to,
		       uint32_t *ret_mangled)
{
	int r = 0;

	for (uint32_t i = a->nr; i-- > 0 && r == 0;) {
		struct dw_step s;

		if (i + 1 == a->nr && a->ends_in_function) {
			r = add_function(u, a->dies[i], to, ret_mangled);
			continue;
		}
		if (to->len)
			r = buf_append(to, "::", 2);
		if (r == 0)
			r = dw_step_read(u, a->dies[i], &s);
		if (r == 0)
			r = add_entry(u, &s, i == 0 ? name : NULL, to);
	}
	return r == 0 ? buf_append(to, "", 1) : r;
}

int dw_enclosing(struct dw_unit *u, uint32_t die, const char *name, const char **ret_scope,
		 uint32_t *ret_mangled_bytes)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(SCOPE_MAX_BYTES);
	struct around a = { 0 };
	uint32_t mangled = 0;
	int r = is_cplusplus(u) ? prepare_places(u) : 0;

	*ret_scope = NULL;
	if (r < 0 || !u->places)
		return r;
	r = collect(u, die, &a);
	if (r == 0 && a.nr)
		r = write_scope(u, &a, name, &text, &mangled);
	if (r == 0 && a.nr)
		r = dw_keep_string(u->file->d, text.data, ret_scope);
	if (*ret_scope)
		*ret_mangled_bytes = mangled;
	return r == -ENOMEM ? r : 0;
}
