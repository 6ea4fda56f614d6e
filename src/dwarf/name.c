/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a function: its own, or that of the abstract instance or declaration that it refers
 * to. */
#include "base/array.h"
#include "base/hash.h"
#include "dwarf/internal.h"

#define NAMES_MAX (4u << 20)

struct finding {
	const char *linkage_name; /* kept */
	const char *name;         /* kept */
	struct dw_file *file;     /* of the entry that has the name */
	uint64_t offset;          /* of that entry, in .debug_info */
	const char *scope;        /* kept */
	uint32_t scope_mangled_bytes;
	uint32_t start_line;
};

int dw_keep_string(struct dwarf *d, const char *s, const char **ret_kept)
{
	uint32_t id;
	int r;

	*ret_kept = NULL;
	if (d->strings.total_bytes >= DWARF_MAX_STRING_BYTES) {
		d->losses.is_over_budget = true;
		return 0;
	}
	r = strtab_intern(&d->strings, s, &id);
	if (r == 0)
		*ret_kept = strtab_get(&d->strings, id);
	return r == -ENOMEM ? r : 0;
}

static struct dw_value *step_value(struct dw_step *s, uint16_t name)
{
	switch (name) {
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return &s->linkage_name;
	case DW_AT_name:
		return &s->name;
	case DW_AT_decl_line:
		return &s->decl_line;
	case DW_AT_abstract_origin:
		return &s->origin;
	case DW_AT_specification:
		return &s->specification;
	default:
		return NULL;
	}
}

int dw_step_read(const struct dw_unit *u, uint64_t die, struct dw_step *ret_step)
{
	const struct dw_abbrev *a;
	struct cursor c;

	if (die < u->first_die || die >= u->view.n)
		return -EBADMSG;
	c = cursor_of(u->view.bytes + die, u->view.n - die);
	a = dw_abbrevs_find(u->abbrevs, cursor_uleb128(&c));
	if (!a)
		return -EBADMSG;
	*ret_step = (struct dw_step){ .tag = a->tag };
	for (uint32_t i = 0; i < a->nr_attrs; i++) {
		const struct dw_attr *attr = &u->abbrevs->attrs[a->first_attr + i];
		struct dw_value *to = step_value(ret_step, attr->name);

		if (to)
			dw_form_read(&c, u, attr, to);
		else
			dw_form_skip(&c, u, attr->form);
	}
	return c.bad ? -EBADMSG : 0;
}

static int keep_value(const struct dw_unit *u, const struct dw_value *v, const char **kept)
{
	const char *s = *kept || !v->form ? NULL : dw_value_string(u, v);

	return s && *s ? dw_keep_string(u->file->d, s, kept) : 0;
}

static int take_step(const struct dw_unit *u, uint64_t offset, const struct dw_step *s,
		     struct finding *to)
{
	bool had_name = to->name;
	uint64_t line;
	int r = keep_value(u, &s->linkage_name, &to->linkage_name);

	if (r == 0 && !to->linkage_name)
		r = keep_value(u, &s->name, &to->name);
	if (to->name && !had_name) {
		to->file = u->file;
		to->offset = offset;
	}
	if (!to->start_line && dw_value_number(&s->decl_line, &line) && line <= UINT32_MAX)
		to->start_line = (uint32_t)line;
	return r;
}

/* Follows the references, unit by unit. `own` stays in memory; others may be dropped when the next
 * is read. */
static int find_name(struct dw_unit *own, uint64_t offset, struct finding *to)
{
	struct dw_file *file = own->file;
	struct dw_unit *u = own;

	for (int i = 0; i < DWARF_MAX_REFERENCES; i++) {
		const struct dw_value *next;
		struct dw_step s;
		int r = 0;

		if (file != own->file || offset < own->offset || offset >= own->end)
			r = dw_unit_at(file, offset, &u);
		else
			u = own;
		if (r == 0)
			r = dw_step_read(u, offset - u->offset, &s);
		if (r == 0)
			r = take_step(u, offset, &s, to);
		if (r < 0)
			return r == -ENOMEM ? r : 0;
		next = s.origin.form ? &s.origin : &s.specification;
		if ((to->linkage_name && to->start_line) || !next->form ||
		    !dw_value_reference(u, next, &file, &offset))
			return 0;
	}
	return 0;
}

/* Units other than `own` are pinned while their entries are read. */
static int find_scope(struct dw_unit *own, struct finding *f)
{
	struct dw_unit *u = own;
	int r = 0;

	if (!f->name || f->linkage_name)
		return 0;
	if (f->file != own->file || f->offset < own->offset || f->offset >= own->end)
		r = dw_unit_at(f->file, f->offset, &u);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	u->nr_pins++;
	r = dw_enclosing(u, (uint32_t)(f->offset - u->offset), f->name, &f->scope,
			 &f->scope_mangled_bytes);
	u->nr_pins--;
	return r;
}

struct key {
	uint64_t die;
	uint32_t file;
};

static bool is_name_of(const void *owner, uint32_t id, const void *key)
{
	const struct dwarf *d = owner;
	const struct key *k = key;

	return d->names[id].die == k->die && d->names[id].file == k->file;
}

static int remember_name(struct dwarf *d, uint64_t hash, const struct key *k,
			 const struct finding *f)
{
	const char *name = f->linkage_name ? f->linkage_name : f->name;
	struct dw_name entry = {
		.die = k->die,
		.file = k->file,
		.start_line = f->start_line,
		.is_linkage_name = f->linkage_name != NULL,
		.scope_mangled_bytes = f->scope_mangled_bytes,
	};
	int r = name ? strtab_intern(&d->strings, name, &entry.name) : 0;

	if (r == 0 && f->scope)
		r = strtab_intern(&d->strings, f->scope, &entry.scope);
	if (r == 0)
		r = ARRAY_RESERVE(d->names, d->cap_names, d->nr_names + 1, NAMES_MAX);
	if (r == 0)
		r = idtable_reserve(&d->name_index);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	d->names[d->nr_names] = entry;
	idtable_insert(&d->name_index, hash, d->nr_names++);
	return 0;
}

int dw_name_of(struct dw_unit *u, uint32_t die, struct dwarf_frame *to)
{
	struct dwarf *d = u->file->d;
	struct key k = { u->offset + die, u->file->serial };
	uint64_t hash = hash_mix(hash_mix(0, k.die), k.file);
	struct finding f = { 0 };
	uint32_t id;
	int r;

	if (idtable_find(&d->name_index, hash, is_name_of, d, &k, &id)) {
		const struct dw_name *n = &d->names[id];

		to->name = n->name ? strtab_get(&d->strings, n->name) : NULL;
		to->start_line = n->start_line;
		to->is_linkage_name = n->is_linkage_name;
		to->scope = n->scope ? strtab_get(&d->strings, n->scope) : NULL;
		to->scope_mangled_bytes = n->scope_mangled_bytes;
		return 0;
	}
	r = find_name(u, k.die, &f);
	if (r == 0)
		r = find_scope(u, &f);
	if (r < 0)
		return r;
	to->name = f.linkage_name ? f.linkage_name : f.name;
	to->start_line = f.start_line;
	to->is_linkage_name = f.linkage_name != NULL;
	to->scope = f.scope;
	to->scope_mangled_bytes = f.scope_mangled_bytes;
	return remember_name(d, hash, &k, &f);
}
