/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/btf_names.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

#define MAX_NAMES 65536u

static bool is_name(const void *owner, uint32_t id, const void *key)
{
	const struct name_set *s = owner;
	const struct name *a = &s->names[id], *b = key;

	return a->len == b->len && !memcmp(a->text, b->text, b->len);
}

bool name_set_has(const struct name_set *s, const char *text, size_t len)
{
	struct name key = { text, len };
	uint32_t id;

	return idtable_find(&s->index, hash_bytes(text, len), is_name, s, &key, &id);
}

int name_set_add(struct name_set *s, const char *text, size_t len)
{
	int r;

	if (name_set_has(s, text, len))
		return 0;
	r = ARRAY_RESERVE(s->names, s->cap, s->nr + 1, MAX_NAMES);
	if (r == 0)
		r = idtable_reserve(&s->index);
	if (r < 0)
		return r;
	idtable_insert(&s->index, hash_bytes(text, len), s->nr);
	s->names[s->nr++] = (struct name){ text, len };
	return 0;
}

static void name_set_done(struct name_set *s)
{
	free(s->names);
	idtable_done(&s->index);
}

void btf_names_done(struct btf_names *n)
{
	name_set_done(&n->types);
	name_set_done(&n->members);
}

size_t btf_essential_len(const char *text, size_t len)
{
	for (size_t i = len; i >= 5; i--) {
		const char *at = text + i - 5;

		if (at[0] != '_' && !memcmp(at + 1, "___", 3) && at[4] != '_')
			return i - 4;
	}
	return len;
}

static int add_members(const struct btf *asked, const struct btf_type *t, struct name_set *to)
{
	const struct btf_member *m = btf_members(t);
	int r = 0;

	for (uint32_t i = 0; i < btf_vlen(t) && r == 0; i++) {
		const char *name = btf__name_by_offset(asked, m[i].name_off);

		if (name && *name)
			r = name_set_add(to, name, strlen(name));
	}
	return r;
}

int btf_names_of(const struct btf *asked, struct btf_names *ret_names)
{
	uint32_t nr = btf__type_cnt(asked);
	int r = 0;

	for (uint32_t i = 1; i < nr && r == 0; i++) {
		const struct btf_type *t = btf__type_by_id(asked, i);
		const char *name = btf__name_by_offset(asked, t->name_off);

		if (name && *name)
			r = name_set_add(&ret_names->types, name,
					 btf_essential_len(name, strlen(name)));
		if (r == 0 && btf_is_composite(t))
			r = add_members(asked, t, &ret_names->members);
	}
	return r;
}
