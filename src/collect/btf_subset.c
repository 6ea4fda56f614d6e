/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/btf_subset.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/cursor.h"

#define MAX_TYPES_BYTES (64u << 20) /* of a kernel: 3 MiB at 126,000 types */
#define MAX_CHOSEN 16384u
#define MAX_MODIFIERS 32       /* nesting of const, volatile and typedef: a few at most */
#define KNOWN_INFO 0x9f00ffffu /* the bits of btf_type.info documented in linux/btf.h */

/* The sizes of what follows a btf_type: once, and per entry. Other kinds are unknown. */
static const struct {
	uint8_t once, each;
} tails[] = {
	[BTF_KIND_INT] = { 4, 0 },
	[BTF_KIND_ARRAY] = { sizeof(struct btf_array), 0 },
	[BTF_KIND_STRUCT] = { 0, sizeof(struct btf_member) },
	[BTF_KIND_UNION] = { 0, sizeof(struct btf_member) },
	[BTF_KIND_ENUM] = { 0, sizeof(struct btf_enum) },
	[BTF_KIND_FUNC_PROTO] = { 0, sizeof(struct btf_param) },
	[BTF_KIND_VAR] = { sizeof(struct btf_var), 0 },
	[BTF_KIND_DATASEC] = { 0, sizeof(struct btf_var_secinfo) },
	[BTF_KIND_DECL_TAG] = { sizeof(struct btf_decl_tag), 0 },
	[BTF_KIND_ENUM64] = { 0, sizeof(struct btf_enum64) },
};
#define NR_KINDS (sizeof(tails) / sizeof(tails[0]))

/* The BTF to extract from. */
struct source {
	const uint8_t *types; /* borrowed, like strings */
	const char *strings;  /* ends with a NUL, so that each string does */
	uint32_t types_bytes;
	uint32_t strings_bytes;
	uint32_t *at; /* owned; position of each type, by its number, from 1 */
	uint32_t nr;  /* the highest number */
};

struct chosen {
	uint32_t type; /* a type number of the source */
	bool is_declared_only;
};

struct subset {
	struct source from;
	const struct btf_names *names; /* borrowed */
	/* owned; for each type of the source its number in the subset, or 0 */
	uint32_t *number;
	struct chosen *chosen; /* owned; by number in the subset, minus 1 */
	uint32_t nr_chosen, cap_chosen;
	struct buf types;
	struct buf strings;
	int error; /* the first error; results after it are meaningless */
};

static void subset_done(struct subset *s)
{
	free(s->from.at);
	free(s->number);
	free(s->chosen);
	buf_done(&s->types);
	buf_done(&s->strings);
}

static uint32_t fail_subset(struct subset *s, int error)
{
	if (s->error == 0)
		s->error = error;
	return 0;
}

static uint32_t kind_of(const struct btf_type *t)
{
	return BTF_INFO_KIND(t->info);
}

static uint32_t nr_entries(const struct btf_type *t)
{
	return BTF_INFO_VLEN(t->info);
}

static bool is_composite(const struct btf_type *t)
{
	return kind_of(t) == BTF_KIND_STRUCT || kind_of(t) == BTF_KIND_UNION;
}

/* `type` is a type number of the source. */
static struct btf_type type_at(const struct source *f, uint32_t type)
{
	struct btf_type t;

	memcpy(&t, f->types + f->at[type], sizeof(t));
	return t;
}

/* The data that follows a type; find_types() has checked its size. */
static const uint8_t *tail_at(const struct source *f, uint32_t type)
{
	return f->types + f->at[type] + sizeof(struct btf_type);
}

/* NULL if the offset is not that of a string of the source. */
static const char *name_at(const struct source *f, uint32_t offset)
{
	return offset < f->strings_bytes ? f->strings + offset : NULL;
}

static int read_header(struct source *f, const void *bytes, size_t size)
{
	struct cursor c = cursor_of(bytes, size);
	struct btf_header h;
	const uint8_t *strings;
	size_t body;

	cursor_copy(&c, &h, sizeof(h));
	if (c.bad || h.magic != BTF_MAGIC || h.hdr_len < sizeof(h) || h.hdr_len > size)
		return -EBADMSG;
	if (h.version != BTF_VERSION || h.flags)
		return -EOPNOTSUPP;
	body = size - h.hdr_len;
	if (h.type_off > body || h.type_len > body - h.type_off || h.type_len > MAX_TYPES_BYTES ||
	    h.str_off > body || h.str_len > body - h.str_off || !h.str_len)
		return -EBADMSG;
	f->types = (const uint8_t *)bytes + h.hdr_len + h.type_off;
	f->types_bytes = h.type_len;
	strings = (const uint8_t *)bytes + h.hdr_len + h.str_off;
	f->strings = (const char *)strings;
	f->strings_bytes = h.str_len;
	return strings[0] || strings[h.str_len - 1] ? -EBADMSG : 0;
}

/* -EOPNOTSUPP for an unknown kind. */
static int type_bytes(const struct btf_type *t)
{
	uint32_t kind = kind_of(t);

	if (kind == BTF_KIND_UNKN)
		return -EBADMSG;
	if (kind >= NR_KINDS || (t->info & ~KNOWN_INFO))
		return -EOPNOTSUPP;
	return (int)(sizeof(*t) + tails[kind].once + tails[kind].each * nr_entries(t));
}

static uint32_t add_chosen(struct subset *s, uint32_t type, bool is_declared_only)
{
	int r = ARRAY_RESERVE(s->chosen, s->cap_chosen, s->nr_chosen + 1, MAX_CHOSEN);

	if (r < 0)
		return fail_subset(s, r);
	s->chosen[s->nr_chosen++] = (struct chosen){ type, is_declared_only };
	return s->nr_chosen;
}

/* True if values can have a type of that kind; the other kinds describe functions and variables. */
static bool is_kind_of_value(uint32_t kind)
{
	return kind != BTF_KIND_FUNC && kind != BTF_KIND_VAR && kind != BTF_KIND_DATASEC &&
	       kind != BTF_KIND_DECL_TAG;
}

/* Adds the type to the subset if necessary, and returns its number there. 0: void, or a failure. */
static uint32_t choose_type(struct subset *s, uint32_t type)
{
	struct btf_type t;

	if (!type)
		return 0;
	if (type > s->from.nr)
		return fail_subset(s, -EBADMSG);
	t = type_at(&s->from, type);
	if (!is_kind_of_value(kind_of(&t)))
		return fail_subset(s, -EBADMSG);
	if (!s->number[type])
		s->number[type] = add_chosen(s, type, false);
	return s->number[type];
}

static bool is_modifier(uint32_t kind)
{
	return kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_CONST || kind == BTF_KIND_VOLATILE ||
	       kind == BTF_KIND_RESTRICT || kind == BTF_KIND_TYPE_TAG;
}

/* The target of a pointer. A struct that is not in the subset is only declared, otherwise nearly
 * all types would be included. */
static uint32_t choose_pointee(struct subset *s, uint32_t type)
{
	uint32_t at = type;
	struct btf_type t;

	for (int i = 0; i < MAX_MODIFIERS && at && at <= s->from.nr; i++) {
		t = type_at(&s->from, at);
		if (s->number[at])
			break;
		if (is_composite(&t))
			return t.name_off ? add_chosen(s, at, true) : 0;
		if (!is_modifier(kind_of(&t)))
			break;
		at = t.type;
	}
	return choose_type(s, type);
}

static void put_bytes(struct subset *s, const void *bytes, size_t n)
{
	int r = buf_append(&s->types, bytes, n);

	if (r < 0)
		fail_subset(s, r);
}

static uint32_t put_name(struct subset *s, uint32_t offset)
{
	const char *name = name_at(&s->from, offset);
	size_t at = s->strings.len;
	int r;

	if (!name)
		return fail_subset(s, -EBADMSG);
	if (!*name)
		return 0;
	r = buf_append(&s->strings, name, strlen(name) + 1);
	return r < 0 ? fail_subset(s, r) : (uint32_t)at;
}

static void put_head(struct subset *s, const struct btf_type *t, uint32_t size_or_type)
{
	struct btf_type to = { .name_off = put_name(s, t->name_off),
			       .info = t->info,
			       .size = size_or_type };

	put_bytes(s, &to, sizeof(to));
}

/* A requested member, or an unnamed one that may contain requested members. */
static bool is_asked_for(struct subset *s, const struct btf_member *m)
{
	const char *name = name_at(&s->from, m->name_off);

	return !name || !*name || name_set_has(&s->names->members, name, strlen(name));
}

static void put_composite(struct subset *s, uint32_t type, const struct btf_type *t)
{
	struct cursor c =
		cursor_of(tail_at(&s->from, type), nr_entries(t) * sizeof(struct btf_member));
	size_t head_at = s->types.len;
	struct btf_type head = *t;
	uint32_t nr = 0;

	put_head(s, t, t->size);
	while (cursor_left(&c) && s->error == 0) {
		struct btf_member m;

		cursor_copy(&c, &m, sizeof(m));
		if (!is_asked_for(s, &m))
			continue;
		m.name_off = put_name(s, m.name_off);
		m.type = choose_type(s, m.type);
		put_bytes(s, &m, sizeof(m));
		nr++;
	}
	if (s->error)
		return;
	memcpy(&head, s->types.data + head_at, sizeof(head));
	head.info = (head.info & ~0xffffu) | nr;
	memcpy(s->types.data + head_at, &head, sizeof(head));
}

/* Appends entries that begin with their name. */
static void put_enum(struct subset *s, uint32_t type, const struct btf_type *t)
{
	size_t each = tails[kind_of(t)].each;
	struct cursor c = cursor_of(tail_at(&s->from, type), nr_entries(t) * each);

	put_head(s, t, t->size);
	while (cursor_left(&c) && s->error == 0) {
		uint32_t name = put_name(s, cursor_u32(&c));

		put_bytes(s, &name, sizeof(name));
		put_bytes(s, cursor_take(&c, each - sizeof(name)), each - sizeof(name));
	}
}

static void put_prototype(struct subset *s, uint32_t type, const struct btf_type *t)
{
	struct cursor c =
		cursor_of(tail_at(&s->from, type), nr_entries(t) * sizeof(struct btf_param));

	put_head(s, t, choose_pointee(s, t->type));
	while (cursor_left(&c) && s->error == 0) {
		struct btf_param p;

		cursor_copy(&c, &p, sizeof(p));
		p.name_off = put_name(s, p.name_off);
		p.type = choose_pointee(s, p.type);
		put_bytes(s, &p, sizeof(p));
	}
}

static void put_array(struct subset *s, uint32_t type, const struct btf_type *t)
{
	struct btf_array a;

	memcpy(&a, tail_at(&s->from, type), sizeof(a));
	a.type = choose_type(s, a.type);
	a.index_type = choose_type(s, a.index_type);
	put_head(s, t, 0);
	put_bytes(s, &a, sizeof(a));
}

static void put_declaration(struct subset *s, const struct btf_type *t)
{
	uint32_t is_union = kind_of(t) == BTF_KIND_UNION;
	struct btf_type to = { .name_off = t->name_off,
			       .info = is_union << 31 | BTF_KIND_FWD << 24 };

	put_head(s, &to, 0);
}

static void put_type(struct subset *s, uint32_t type)
{
	struct btf_type t = type_at(&s->from, type);

	switch (kind_of(&t)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		put_composite(s, type, &t);
		break;
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		put_enum(s, type, &t);
		break;
	case BTF_KIND_FUNC_PROTO:
		put_prototype(s, type, &t);
		break;
	case BTF_KIND_ARRAY:
		put_array(s, type, &t);
		break;
	case BTF_KIND_PTR:
		put_head(s, &t, choose_pointee(s, t.type));
		break;
	case BTF_KIND_INT:
		put_head(s, &t, t.size);
		put_bytes(s, tail_at(&s->from, type), tails[BTF_KIND_INT].once);
		break;
	case BTF_KIND_FLOAT:
	case BTF_KIND_FWD:
		put_head(s, &t, t.size);
		break;
	default: /* modifiers */
		put_head(s, &t, choose_type(s, t.type));
	}
}

/* libbpf looks up only these by name. */
static bool is_kind_with_name(uint32_t kind)
{
	return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION || kind == BTF_KIND_TYPEDEF ||
	       kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64 || kind == BTF_KIND_INT ||
	       kind == BTF_KIND_FLOAT;
}

static bool has_asked_name(const struct subset *s, const struct btf_type *t)
{
	const char *name;

	if (!t->name_off || !is_kind_with_name(kind_of(t)))
		return false;
	name = name_at(&s->from, t->name_off);
	return name && name_set_has(&s->names->types, name, btf_essential_len(name, strlen(name)));
}

static int make_room(struct subset *s)
{
	size_t max = s->from.types_bytes / sizeof(struct btf_type) + 1;

	s->from.at = malloc(max * sizeof(*s->from.at));
	s->number = calloc(max, sizeof(*s->number));
	return s->from.at && s->number ? 0 : -ENOMEM;
}

/* Finds where each type begins, and checks that it fits into the source. Requested types are chosen
 * at once, so that none of them is only declared. */
static void find_types(struct subset *s)
{
	struct source *f = &s->from;
	struct cursor c = cursor_of(f->types, f->types_bytes);

	while (cursor_left(&c) && s->error == 0) {
		uint32_t at = (uint32_t)(c.at - f->types);
		struct cursor head = c;
		struct btf_type t;
		int n;

		cursor_copy(&head, &t, sizeof(t));
		n = head.bad ? -EBADMSG : type_bytes(&t);
		if (n < 0 || !cursor_take(&c, (size_t)n)) {
			fail_subset(s, n < 0 ? n : -EBADMSG);
			return;
		}
		f->at[++f->nr] = at;
		if (has_asked_name(s, &t))
			choose_type(s, f->nr);
	}
}

static void put_chosen(struct subset *s)
{
	int r = buf_append(&s->strings, "", 1); /* the empty name is at offset 0 */

	if (r < 0)
		fail_subset(s, r);
	for (uint32_t i = 0; i < s->nr_chosen && s->error == 0; i++) {
		struct btf_type t = type_at(&s->from, s->chosen[i].type);

		if (s->chosen[i].is_declared_only)
			put_declaration(s, &t);
		else
			put_type(s, s->chosen[i].type);
	}
}

static int put_all(const struct subset *s, struct buf *to)
{
	struct btf_header h = { .magic = BTF_MAGIC,
				.version = BTF_VERSION,
				.hdr_len = sizeof(h),
				.type_len = (uint32_t)s->types.len,
				.str_off = (uint32_t)s->types.len,
				.str_len = (uint32_t)s->strings.len };
	int r = buf_append(to, &h, sizeof(h));

	if (r == 0)
		r = buf_append(to, s->types.data, s->types.len);
	return r < 0 ? r : buf_append(to, s->strings.data, s->strings.len);
}

int btf_subset(const void *bytes, size_t size, const struct btf_names *names,
	       struct buf *ret_subset)
{
	_cleanup_(subset_done) struct subset s = { .names = names,
						   .types = BUF_INIT(BTF_SUBSET_MAX_BYTES),
						   .strings = BUF_INIT(BTF_SUBSET_MAX_BYTES) };
	int r = read_header(&s.from, bytes, size);

	if (r == 0)
		r = make_room(&s);
	if (r < 0)
		return r;
	find_types(&s);
	put_chosen(&s);
	return s.error < 0 ? s.error : put_all(&s, ret_subset);
}
